// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Views, copies, and exchange with NumPy through the buffer protocol.
#include "python/bindings/runtime/Buffer.h"

#include "lib/Runtime/Manifest.h"
#include "python/bindings/runtime/Errors.h"

#include <algorithm>
#include <cstring>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace kvern::runtime;

namespace kvern::python {
namespace {

__extension__ typedef __int128 Wide;

nb::tuple toTuple(const std::vector<int64_t> &values) {
  PyObject *tuple = PyTuple_New(static_cast<Py_ssize_t>(values.size()));
  for (size_t i = 0; tuple && i < values.size(); ++i) {
    PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i),
                     PyLong_FromLongLong(values[i]));
  }
  return nb::steal<nb::tuple>(tuple);
}

/// Bytes of a buffer of this shape; throws ShapeError.
int64_t checkedBytes(DType dtype, const std::vector<int64_t> &shape) {
  std::optional<int64_t> bytes = byteSize(dtype, shape);
  if (!bytes) {
    raise("ShapeError",
          "expected sizes >= 0 whose product fits in memory, but got " +
              formatShape(shape));
  }
  return *bytes;
}

/// The bytes before and after `data` that a strided view touches.
struct Extent {
  Wide low = 0;
  Wide high = 0;
};

Extent extentOf(const std::vector<int64_t> &shape,
                const std::vector<int64_t> &strides, uint64_t elementSize) {
  Extent extent;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) {
      return {};
    }
    Wide reach = static_cast<Wide>(shape[i] - 1) * strides[i] *
                 static_cast<Wide>(elementSize);
    (reach < 0 ? extent.low : extent.high) += reach;
  }
  extent.high += static_cast<Wide>(elementSize);
  return extent;
}

/// Copies dims from `dim` on; whole rows where both sides are dense.
void copyStrided(uint8_t *target, const int64_t *targetStrides,
                 const uint8_t *source, const int64_t *sourceStrides,
                 const std::vector<int64_t> &shape, size_t dim,
                 size_t denseFrom, size_t denseBytes, size_t elementSize) {
  if (dim == denseFrom) {
    std::memcpy(target, source, denseBytes);
    return;
  }
  for (int64_t i = 0; i < shape[dim]; ++i) {
    copyStrided(
        target + i * targetStrides[dim] * static_cast<int64_t>(elementSize),
        targetStrides,
        source + i * sourceStrides[dim] * static_cast<int64_t>(elementSize),
        sourceStrides, shape, dim + 1, denseFrom, denseBytes, elementSize);
  }
}

/// Gives a Python buffer back to its owner.
void releasePyBuffer(void *context) {
  // After the interpreter has gone there is nobody left to tell.
  if (!Py_IsInitialized()) {
    return;
  }
  nb::gil_scoped_acquire gil;
  Py_buffer *view = static_cast<Py_buffer *>(context);
  PyBuffer_Release(view);
  delete view;
}

/// Wraps the memory of an object with the buffer protocol, without copying.
Buffer fromPyBuffer(nb::handle object, int dtypeCode) {
  DType dtype = checkDType(dtypeCode);
  auto *view = new Py_buffer;
  if (PyObject_GetBuffer(object.ptr(), view, PyBUF_STRIDES) != 0) {
    delete view;
    throw nb::python_error();
  }
  const int64_t size = static_cast<int64_t>(dtypeSize(dtype));
  bool isAligned = view->itemsize == size;
  Buffer buffer;
  for (int i = 0; i < view->ndim; ++i) {
    buffer.shape.push_back(view->shape[i]);
    buffer.strides.push_back(view->strides[i] / size);
    isAligned &= view->strides[i] % size == 0;
  }
  if (!isAligned) {
    std::string message =
        "expected elements of " + std::to_string(size) +
        " bytes at strides that are multiples of that, but got elements of " +
        std::to_string(view->itemsize) + " bytes";
    releasePyBuffer(view);
    raise("InputError", message);
  }
  Extent extent = extentOf(buffer.shape, buffer.strides, dtypeSize(dtype));
  buffer.data = static_cast<uint8_t *>(view->buf);
  buffer.dtype = dtype;
  buffer.isWritable = !view->readonly;
  buffer.memory =
      Memory::borrow(buffer.data + static_cast<int64_t>(extent.low),
                     static_cast<uint64_t>(extent.high - extent.low),
                     !view->readonly, releasePyBuffer, view);
  return buffer;
}

Buffer mapFile(const std::string &path, int dtypeCode,
               std::vector<int64_t> shape, const std::string &mode,
               uint64_t offset) {
  DType dtype = checkDType(dtypeCode);
  uint64_t bytes = static_cast<uint64_t>(checkedBytes(dtype, shape));
  Buffer buffer;
  buffer.memory = unwrap(
      Memory::mapFile(path.c_str(), offset, bytes, mode != "r", mode == "r+"));
  buffer.data = buffer.memory->data();
  buffer.dtype = dtype;
  buffer.strides = Buffer::contiguousStrides(shape);
  buffer.shape = std::move(shape);
  buffer.isWritable = mode != "r";
  return buffer;
}

/// NumPy's description of the memory, for zero-copy views.
nb::dict arrayInterface(const Buffer &buffer, const std::string &typestr) {
  std::vector<int64_t> byteStrides;
  for (int64_t stride : buffer.strides) {
    byteStrides.push_back(stride *
                          static_cast<int64_t>(dtypeSize(buffer.dtype)));
  }
  nb::dict description;
  description["version"] = 3;
  description["typestr"] = typestr;
  description["shape"] = toTuple(buffer.shape);
  description["strides"] = toTuple(byteStrides);
  description["data"] = nb::make_tuple(reinterpret_cast<uintptr_t>(buffer.data),
                                       !buffer.isWritable);
  return description;
}

} // namespace

DType checkDType(int code) {
  if (code < 0 || code > 255 || !isValidDType(static_cast<uint8_t>(code))) {
    raise("DTypeError", "no dtype has the number " + std::to_string(code));
  }
  return static_cast<DType>(code);
}

std::vector<int64_t>
Buffer::contiguousStrides(const std::vector<int64_t> &shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<int64_t>(shape[i], 1);
  }
  return strides;
}

Buffer Buffer::allocate(DType dtype, std::vector<int64_t> shape, bool zeroed) {
  uint64_t bytes = static_cast<uint64_t>(checkedBytes(dtype, shape));
  Buffer buffer;
  buffer.memory = Memory::allocate(bytes, zeroed);
  if (!buffer.memory) {
    raise("OutOfMemoryError", "no memory for a buffer of " +
                                  std::to_string(bytes) + " bytes (shape " +
                                  formatShape(shape) + ")");
  }
  buffer.data = buffer.memory->data();
  buffer.dtype = dtype;
  buffer.strides = contiguousStrides(shape);
  buffer.shape = std::move(shape);
  return buffer;
}

int64_t Buffer::numElements() const {
  int64_t count = 1;
  for (int64_t dim : shape) {
    count *= dim;
  }
  return count;
}

bool Buffer::isContiguous() const {
  int64_t expected = 1;
  bool isDense = true;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 0) {
      return true;
    }
    // The stride of a dim of one element means nothing.
    isDense &= shape[i] == 1 || strides[i] == expected;
    expected *= shape[i];
  }
  return isDense;
}

Buffer Buffer::view(int64_t offset, std::vector<int64_t> newShape,
                    std::vector<int64_t> newStrides) const {
  checkedBytes(dtype, newShape);
  const Wide size = static_cast<Wide>(dtypeSize(dtype));
  Extent extent = extentOf(newShape, newStrides, dtypeSize(dtype));
  Wide start = data - memory->data() + offset * size;
  if (newStrides.size() != newShape.size() || start + extent.low < 0 ||
      start + extent.high > static_cast<Wide>(memory->size())) {
    raise("ShapeError", "a view of shape " + formatShape(newShape) +
                            " leaves the memory of the buffer");
  }
  Buffer result = *this;
  result.data = memory->data() + static_cast<int64_t>(start);
  result.shape = std::move(newShape);
  result.strides = std::move(newStrides);
  return result;
}

Buffer Buffer::reinterpret(DType newDtype,
                           std::vector<int64_t> newShape) const {
  int64_t bytes = numElements() * static_cast<int64_t>(dtypeSize(dtype));
  int64_t newBytes = checkedBytes(newDtype, newShape);
  if (!isContiguous()) {
    raise("ShapeError", "expected a contiguous buffer, but got shape " +
                            formatShape(shape) + " with strides " +
                            formatShape(strides) + "; call contiguous() first");
  }
  if (bytes != newBytes) {
    raise("ShapeError", "expected a view of " + std::to_string(bytes) +
                            " bytes, but " + std::string(dtypeName(newDtype)) +
                            formatShape(newShape) + " takes " +
                            std::to_string(newBytes));
  }
  Buffer result = *this;
  result.dtype = newDtype;
  result.strides = contiguousStrides(newShape);
  result.shape = std::move(newShape);
  return result;
}

void Buffer::copyFrom(const Buffer &source) {
  const size_t size = dtypeSize(dtype);
  if (source.shape != shape || source.dtype != dtype) {
    raise("ShapeError",
          "expected a source of " + std::string(dtypeName(dtype)) +
              formatShape(shape) + ", but got " +
              std::string(dtypeName(source.dtype)) + formatShape(source.shape));
  }
  if (!isWritable) {
    raise("InputError", "the buffer is read-only");
  }
  if (numElements() == 0) {
    return;
  }
  size_t denseFrom = shape.size();
  int64_t dense = 1;
  while (denseFrom > 0 && strides[denseFrom - 1] == dense &&
         source.strides[denseFrom - 1] == dense) {
    dense *= shape[--denseFrom];
  }
  nb::gil_scoped_release nogil;
  // memmove semantics for whole overlapping views; partial overlap of strided
  // views goes through a copy of the source.
  uintptr_t targetStart = reinterpret_cast<uintptr_t>(memory->data());
  uintptr_t sourceStart = reinterpret_cast<uintptr_t>(source.memory->data());
  bool mayOverlap = targetStart < sourceStart + source.memory->size() &&
                    sourceStart < targetStart + memory->size();
  if (!mayOverlap) {
    copyStrided(data, strides.data(), source.data, source.strides.data(), shape,
                0, denseFrom, static_cast<size_t>(dense) * size, size);
    return;
  }
  std::vector<int64_t> packed = contiguousStrides(shape);
  std::vector<uint8_t> scratch(static_cast<size_t>(numElements()) * size);
  copyStrided(scratch.data(), packed.data(), source.data, source.strides.data(),
              shape, 0, denseFrom, static_cast<size_t>(dense) * size, size);
  copyStrided(data, strides.data(), scratch.data(), packed.data(), shape, 0,
              denseFrom, static_cast<size_t>(dense) * size, size);
}

void bindBuffer(nb::module_ &m) {
  nb::class_<Buffer> cls(m, "Buffer",
                         "Strided memory on the host with an element type.");
  cls.def_static(
         "allocate",
         [](int dtype, std::vector<int64_t> shape, bool zeroed) {
           return Buffer::allocate(checkDType(dtype), std::move(shape), zeroed);
         },
         nb::arg("dtype"), nb::arg("shape"), nb::arg("zeroed") = false)
      .def_static("from_buffer", &fromPyBuffer, nb::arg("object"),
                  nb::arg("dtype"))
      .def_static("map_file", &mapFile, nb::arg("path"), nb::arg("dtype"),
                  nb::arg("shape"), nb::arg("mode"), nb::arg("offset"))
      .def_prop_ro(
          "dtype",
          [](const Buffer &self) { return static_cast<int>(self.dtype); })
      .def_prop_ro("shape",
                   [](const Buffer &self) { return toTuple(self.shape); })
      .def_prop_ro("strides",
                   [](const Buffer &self) { return toTuple(self.strides); })
      .def_prop_ro("address",
                   [](const Buffer &self) {
                     return reinterpret_cast<uintptr_t>(self.data);
                   })
      .def_prop_ro("num_elements", &Buffer::numElements)
      .def_prop_ro("is_contiguous", &Buffer::isContiguous)
      .def_ro("is_writable", &Buffer::isWritable)
      .def("view", &Buffer::view, nb::arg("offset"), nb::arg("shape"),
           nb::arg("strides"))
      .def(
          "reinterpret",
          [](const Buffer &self, int dtype, std::vector<int64_t> shape) {
            return self.reinterpret(checkDType(dtype), std::move(shape));
          },
          nb::arg("dtype"), nb::arg("shape"))
      .def("copy_from", &Buffer::copyFrom, nb::arg("source"))
      .def("array_interface", &arrayInterface, nb::arg("typestr"));
  bindDLPack(cls);
}

} // namespace kvern::python
