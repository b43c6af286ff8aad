// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Binding of weights, and reading them back.
#include "lib/Runtime/WeightSet.h"
#include "lib/Runtime/ContentHash.h"
#include "lib/Runtime/FilePages.h"
#include "lib/Runtime/ThreadPool.h"

#include "python/bindings/runtime/Buffer.h"
#include "python/bindings/runtime/Errors.h"
#include "python/bindings/runtime/Executable.h"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

namespace nb = nanobind;
using namespace kvern::runtime;

namespace kvern::python {
namespace {

Buffer contiguousCopy(const Buffer &buffer) {
  Buffer copy = Buffer::allocate(buffer.dtype, buffer.shape, /*zeroed=*/false);
  copy.copyFrom(buffer);
  return copy;
}

/// Takes the entries out of `weights`, so that binding holds the only
/// references.
std::vector<WeightData> takeWeights(nb::dict weights) {
  std::vector<WeightData> offered;
  for (auto [name, value] : weights) {
    const Buffer *given = nb::cast<const Buffer *>(value);
    Buffer buffer = given->isContiguous() ? *given : contiguousCopy(*given);
    offered.push_back({nb::cast<std::string>(name), buffer.dtype, buffer.shape,
                       buffer.data, std::move(buffer.memory)});
  }
  weights.clear();
  return offered;
}

std::shared_ptr<WeightSet> bindWeights(std::shared_ptr<Executable> executable,
                                       nb::dict weights, bool allowUnexpected,
                                       int64_t threads, nb::dict derived,
                                       nb::dict candidates,
                                       nb::object progress) {
  BindOptions options;
  options.allowUnexpected = allowUnexpected;
  options.derived = takeWeights(derived);
  options.candidates = takeWeights(candidates);
  nb::object failure;
  if (!progress.is_none()) {
    options.progress = [&](uint64_t done, uint64_t total,
                           const std::string &name) {
      nb::gil_scoped_acquire gil;
      try {
        progress(done, total, name);
        return true;
      } catch (nb::python_error &error) {
        failure = nb::borrow(error.value());
        return false;
      }
    };
  }
  std::vector<WeightData> offered = takeWeights(weights);
  Result<WeightSet::Ref> result = [&] {
    nb::gil_scoped_release nogil;
    WorkerLimit limit(threads);
    return WeightSet::bind(std::move(executable), std::move(offered), options);
  }();
  if (failure.is_valid()) {
    PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(failure.ptr())),
                    failure.ptr());
    throw nb::python_error();
  }
  return std::const_pointer_cast<WeightSet>(unwrap(std::move(result)));
}

/// What programs read and the executable does not hold, by name.
nb::dict getTensors(const WeightSet &weights) {
  nb::dict tensors;
  const std::vector<WeightSpec> &specs =
      weights.executable()->manifest().weights;
  for (size_t i = 0; i < specs.size(); ++i) {
    if (!weights.memory(i)) {
      continue;
    }
    Buffer buffer;
    buffer.memory = weights.memory(i);
    buffer.data = static_cast<uint8_t *>(const_cast<void *>(weights.data(i)));
    buffer.dtype = specs[i].dtype;
    buffer.shape = specs[i].shape;
    buffer.strides = Buffer::contiguousStrides(buffer.shape);
    buffer.isWritable = false;
    tensors[specs[i].name.c_str()] = nb::cast(std::move(buffer));
  }
  return tensors;
}

/// The hash of contiguous data, whose pages then leave memory if they can.
std::string hashContents(const Buffer &given) {
  Buffer buffer = given.isContiguous() ? given : contiguousCopy(given);
  nb::gil_scoped_release nogil;
  const uint64_t size =
      static_cast<uint64_t>(buffer.numElements()) * dtypeSize(buffer.dtype);
  std::string hash = contentHash(buffer.data, size);
  forgetFilePages(buffer.data, size);
  return hash;
}

} // namespace

void bindWeightSet(nb::module_ &m) {
  nb::class_<WeightSet>(m, "WeightSet",
                        "The weights of an executable, bound by name.",
                        nb::is_weak_referenceable())
      .def("tensors", &getTensors);
  m.def("content_hash", &hashContents, nb::arg("buffer"));
  m.def("bind_weights", &bindWeights, nb::arg("executable"), nb::arg("weights"),
        nb::arg("allow_unexpected") = false, nb::arg("threads") = 0,
        nb::arg("derived") = nb::dict(), nb::arg("candidates") = nb::dict(),
        nb::arg("progress") = nb::none());
}

} // namespace kvern::python
