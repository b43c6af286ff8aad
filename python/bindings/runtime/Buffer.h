// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Strided memory with an element type: the core of kvern.driver.Buffer.
#ifndef KVERN_PYTHON_BINDINGS_RUNTIME_BUFFER_H
#define KVERN_PYTHON_BINDINGS_RUNTIME_BUFFER_H

#include "lib/Runtime/DType.h"
#include "lib/Runtime/Memory.h"

#include <cstdint>
#include <vector>

#include <nanobind/nanobind.h>

namespace kvern::python {

/// A view of memory on the host. Copies share the memory.
struct Buffer {
  runtime::Memory::Ref memory;
  uint8_t *data = nullptr;
  DType dtype = DType::Float32;
  std::vector<int64_t> shape;
  /// In elements.
  std::vector<int64_t> strides;
  bool isWritable = true;

  /// Row-major strides of `shape`.
  static std::vector<int64_t>
  contiguousStrides(const std::vector<int64_t> &shape);

  /// A new buffer; throws OutOfMemoryError, ShapeError.
  static Buffer allocate(DType dtype, std::vector<int64_t> shape, bool zeroed);

  int64_t numElements() const;
  bool isContiguous() const;

  /// Another view of the same memory; throws when it would leave the memory.
  Buffer view(int64_t offset, std::vector<int64_t> newShape,
              std::vector<int64_t> newStrides) const;

  /// The same bytes as elements of another type; needs contiguous data.
  Buffer reinterpret(DType newDtype, std::vector<int64_t> newShape) const;

  /// Copies the elements of `source`, of equal shape and element size.
  void copyFrom(const Buffer &source);
};

/// Throws DTypeError for a number that is no DType.
DType checkDType(int code);

/// Registers the class, its NumPy and its DLPack interface.
void bindBuffer(nanobind::module_ &m);
void bindDLPack(nanobind::class_<Buffer> &cls);

} // namespace kvern::python

#endif // KVERN_PYTHON_BINDINGS_RUNTIME_BUFFER_H
