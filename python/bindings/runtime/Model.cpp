// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Binding of weights and running of models.
#include "lib/Runtime/Model.h"
#include "lib/Runtime/MachineLimits.h"

#include "python/bindings/runtime/Buffer.h"
#include "python/bindings/runtime/Errors.h"
#include "python/bindings/runtime/Executable.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace kvern::runtime;

namespace kvern::python {
namespace {

std::shared_ptr<Model> createModel(std::shared_ptr<WeightSet> weights,
                                   const std::string &program,
                                   int64_t threads) {
  int64_t index = weights->executable()->findProgram(program);
  if (index < 0) {
    raise("ArtifactError", "the executable has no program '" + program + "'");
  }
  return Model::create(std::move(weights), static_cast<size_t>(index), threads);
}

nb::list run(Model &model, nb::list inputs, StepTimes *times) {
  std::vector<TensorRef> refs;
  // Held here, so that the memory outlives the run whatever happens to the
  // list.
  std::vector<Buffer> buffers;
  refs.reserve(inputs.size());
  buffers.reserve(inputs.size());
  for (nb::handle item : inputs) {
    const Buffer &buffer =
        buffers.emplace_back(*nb::cast<const Buffer *>(item));
    if (!buffer.isContiguous()) {
      size_t index = buffers.size() - 1;
      const std::vector<InputSpec> &specs = model.program().inputs;
      std::string name = index < specs.size() ? specs[index].name : "?";
      raise("InputError", "expected input " + std::to_string(index) + " ('" +
                              name + "') to be contiguous, but got shape " +
                              formatShape(buffer.shape) + " with strides " +
                              formatShape(buffer.strides) +
                              "; pass its .contiguous(), or "
                              "np.ascontiguousarray of a NumPy array");
    }
    refs.push_back({buffer.data, buffer.dtype, buffer.shape.data(),
                    buffer.shape.size(), buffer.isWritable});
  }
  Result<std::vector<OutputTensor>> outputs = [&] {
    nb::gil_scoped_release nogil;
    return model.run(refs, times);
  }();
  if (!outputs.ok()) {
    raise(outputs.status());
  }
  nb::list result;
  for (OutputTensor &output : *outputs) {
    Buffer buffer;
    buffer.data = output.memory->data();
    buffer.memory = std::move(output.memory);
    buffer.dtype = output.dtype;
    buffer.strides = Buffer::contiguousStrides(output.dims);
    buffer.shape = std::move(output.dims);
    result.append(nb::cast(std::move(buffer)));
  }
  return result;
}

nb::list execute(Model &model, nb::list inputs) {
  return run(model, std::move(inputs), nullptr);
}

/// The outputs, the values of the symbols, the start of each step, and the end
/// of the last one.
nb::tuple executeTimed(Model &model, nb::list inputs) {
  StepTimes times;
  nb::list outputs = run(model, std::move(inputs), &times);
  return nb::make_tuple(outputs, times.symbols, times.starts, times.end);
}

} // namespace

void bindModel(nb::module_ &m) {
  nb::class_<Model>(m, "Model", "A program with its weights, ready to run.")
      .def_static("create", &createModel, nb::arg("weights"),
                  nb::arg("program"), nb::arg("threads") = 0)
      .def_prop_ro("threads", &Model::threads)
      .def("execute", &execute, nb::arg("inputs"))
      .def("execute_timed", &executeTimed, nb::arg("inputs"))
      .def_prop_ro("weight_bytes", &Model::weightBytes)
      .def("workspace_bytes", &Model::workspaceBytes, nb::arg("symbols"));
  m.def(
      "machine_limits",
      [](int64_t threads) {
        nb::gil_scoped_release nogil;
        MachineLimits limits = measureMachineLimits(threads);
        return std::make_pair(limits.flopsPerSecond, limits.bytesPerSecond);
      },
      nb::arg("threads"));
}

} // namespace kvern::python
