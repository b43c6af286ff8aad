// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The compiler: compile, print_stage, describe_target.
#include "python/bindings/CompileModule.h"

#include "lib/CAPI/Compile.h"

#include "mlir/Bindings/Python/NanobindAdaptors.h"

#include <string>

namespace nb = nanobind;

namespace {

struct Outcome {
  std::string result;
  std::string errors;
};

void storeResult(MlirStringRef text, void *outcome) {
  static_cast<Outcome *>(outcome)->result.assign(text.data, text.length);
}
void storeErrors(MlirStringRef text, void *outcome) {
  static_cast<Outcome *>(outcome)->errors.assign(text.data, text.length);
}

MlirStringRef toRef(const std::string &text) {
  return mlirStringRefCreate(text.data(), text.size());
}

/// The result, or RuntimeError with the diagnostics.
std::string unwrapOutcome(MlirLogicalResult result, Outcome outcome) {
  if (mlirLogicalResultIsFailure(result)) {
    throw std::runtime_error(outcome.errors);
  }
  return std::move(outcome.result);
}

} // namespace

void kvern::python::populateCompile(nb::module_ &m) {
  m.def(
      "compile",
      [](MlirOperation module, const std::string &cpu,
         const std::string &features, const std::string &version) {
        Outcome outcome;
        MlirLogicalResult result;
        {
          nb::gil_scoped_release release;
          result = kvernCompile(module,
                                {toRef(cpu), toRef(features), toRef(version)},
                                storeResult, storeErrors, &outcome);
        }
        std::string bytes = unwrapOutcome(result, std::move(outcome));
        return nb::bytes(bytes.data(), bytes.size());
      },
      nb::arg("module"), nb::arg("cpu") = "host", nb::arg("features") = "",
      nb::arg("version") = "",
      "Compiles a module of graphs to the bytes of an executable. RuntimeError "
      "holds the diagnostics.");
  m.def(
      "print_stage",
      [](MlirOperation module, const std::string &stage, const std::string &cpu,
         const std::string &features) {
        Outcome outcome;
        MlirLogicalResult result;
        {
          nb::gil_scoped_release release;
          result = kvernPrintStage(module, toRef(stage),
                                   {toRef(cpu), toRef(features), toRef("")},
                                   storeResult, storeErrors, &outcome);
        }
        return unwrapOutcome(result, std::move(outcome));
      },
      nb::arg("module"), nb::arg("stage"), nb::arg("cpu") = "host",
      nb::arg("features") = "",
      "The text of a module of graphs after a stage; assembly for \"binary\".");
  m.def(
      "describe_target",
      [](const std::string &cpu, const std::string &features) {
        Outcome outcome;
        kvernDescribeTarget({toRef(cpu), toRef(features), toRef("")},
                            storeResult, &outcome);
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
