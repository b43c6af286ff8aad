// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The compiler: compile, print_stage, clear_kernels, describe_target.
#include "python/bindings/CompileModule.h"

#include "lib/CAPI/Compile.h"

#include "mlir/Bindings/Python/NanobindAdaptors.h"

#include <string>

namespace nb = nanobind;

namespace {

struct Outcome {
  std::string result;
  std::string errors;
  std::string reproducer;
  std::string report;
  /// None, or a function of (done, total, name).
  nb::object progress;
  /// What it raised.
  nb::object raised;
};

template <std::string Outcome::*Member>
void store(MlirStringRef text, void *outcome) {
  (static_cast<Outcome *>(outcome)->*Member).assign(text.data, text.length);
}

bool reportProgress(intptr_t done, intptr_t total, MlirStringRef name,
                    void *userData) {
  auto *outcome = static_cast<Outcome *>(userData);
  nb::gil_scoped_acquire acquire;
  try {
    outcome->progress(done, total, nb::str(name.data, name.length));
  } catch (nb::python_error &error) {
    if (!outcome->raised) {
      outcome->raised = nb::borrow(error.value());
    }
  }
  return !outcome->raised;
}

MlirStringRef toRef(const std::string &text) {
  return mlirStringRefCreate(text.data(), text.size());
}

KvernCompileOptions getOptions(const std::string &cpu,
                               const std::string &features,
                               const std::string &version,
                               const std::string &build,
                               const std::string &kernelFolder, bool useCache) {
  return {toRef(cpu),   toRef(features),     toRef(version),
          toRef(build), toRef(kernelFolder), useCache};
}

KvernCompileCallbacks getCallbacks(Outcome &outcome) {
  return {store<&Outcome::result>,
          store<&Outcome::errors>,
          store<&Outcome::reproducer>,
          store<&Outcome::report>,
          outcome.progress && !outcome.progress.is_none() ? reportProgress
                                                          : nullptr,
          &outcome};
}

/// Raises RuntimeError(diagnostics, reproducer) after a failure, and what the
/// progress function raised.
void check(MlirLogicalResult result, const Outcome &outcome) {
  if (outcome.raised) {
    PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(outcome.raised.ptr())),
                    outcome.raised.ptr());
    throw nb::python_error();
  }
  if (mlirLogicalResultIsFailure(result)) {
    nb::object error = nb::borrow(PyExc_RuntimeError)(
        nb::str(outcome.errors.data(), outcome.errors.size()),
        nb::str(outcome.reproducer.data(), outcome.reproducer.size()));
    PyErr_SetObject(PyExc_RuntimeError, error.ptr());
    throw nb::python_error();
  }
}

} // namespace

void kvern::python::populateCompile(nb::module_ &m) {
  m.def(
      "compile",
      [](MlirOperation module, const std::string &cpu,
         const std::string &features, const std::string &version,
         const std::string &build, const std::string &kernelFolder,
         bool useCache, nb::object progress) {
        Outcome outcome;
        outcome.progress = std::move(progress);
        MlirLogicalResult result;
        {
          nb::gil_scoped_release release;
          result = kvernCompile(
              module,
              getOptions(cpu, features, version, build, kernelFolder, useCache),
              getCallbacks(outcome));
        }
        check(result, outcome);
        return nb::make_tuple(
            nb::bytes(outcome.result.data(), outcome.result.size()),
            nb::str(outcome.report.data(), outcome.report.size()));
      },
      nb::arg("module"), nb::arg("cpu") = "host", nb::arg("features") = "",
      nb::arg("version") = "", nb::arg("build") = "",
      nb::arg("kernel_folder") = "", nb::arg("use_cache") = true,
      nb::arg("progress") = nb::none(),
      "Compiles a module of graphs to the bytes of an executable; also returns "
      "where the time went, as JSON. RuntimeError holds the diagnostics and, "
      "when one kernel failed, its IR.");
  m.def(
      "print_stage",
      [](MlirOperation module, const std::string &stage, const std::string &cpu,
         const std::string &features) {
        Outcome outcome;
        MlirLogicalResult result;
        {
          nb::gil_scoped_release release;
          result = kvernPrintStage(
              module, toRef(stage),
              getOptions(cpu, features, "", "", "", /*useCache=*/false),
              getCallbacks(outcome));
        }
        check(result, outcome);
        return outcome.result;
      },
      nb::arg("module"), nb::arg("stage"), nb::arg("cpu") = "host",
      nb::arg("features") = "",
      "The text of a module of graphs after a stage; assembly for \"binary\".");
  m.def(
      "clear_kernels", [] { kvernClearKernels(); },
      "Forgets the compiled kernels in the memory of the process.");
  m.def(
      "describe_target",
      [](const std::string &cpu, const std::string &features) {
        Outcome outcome;
        kvernDescribeTarget(getOptions(cpu, features, "", "", "", false),
                            store<&Outcome::result>, &outcome);
        return outcome.result;
      },
      nb::arg("cpu") = "host", nb::arg("features") = "",
      "The resolved processor: its name and features.");
  m.def("stage_names", [] {
    nb::list names;
    for (intptr_t i = 0, e = kvernGetNumStages(); i < e; ++i) {
      MlirStringRef name = kvernGetStageName(i);
      names.append(nb::str(name.data, name.length));
    }
    names.append("binary");
    return names;
  });
}
