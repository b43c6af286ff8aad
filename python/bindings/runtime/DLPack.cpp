// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Exchange of memory with other libraries by DLPack, both ways.
#include "python/bindings/runtime/Buffer.h"
#include "python/bindings/runtime/DLPackAbi.h"
#include "python/bindings/runtime/Errors.h"

#include "lib/Runtime/Manifest.h"

#include <optional>
#include <type_traits>

namespace nb = nanobind;
using namespace kvern::runtime;

namespace kvern::python {
namespace {

using dlpack::TypeCode;

constexpr const char *kPlain = "dltensor";
constexpr const char *kVersioned = "dltensor_versioned";
constexpr const char *kUsedPlain = "used_dltensor";
constexpr const char *kUsedVersioned = "used_dltensor_versioned";

struct TypeEntry {
  DType dtype;
  TypeCode code;
  uint8_t bits;
};

constexpr TypeEntry kTypes[] = {
    {DType::Bool, TypeCode::Bool, 8},
    {DType::Int8, TypeCode::Int, 8},
    {DType::Int16, TypeCode::Int, 16},
    {DType::Int32, TypeCode::Int, 32},
    {DType::Int64, TypeCode::Int, 64},
    {DType::UInt8, TypeCode::UInt, 8},
    {DType::UInt16, TypeCode::UInt, 16},
    {DType::UInt32, TypeCode::UInt, 32},
    {DType::UInt64, TypeCode::UInt, 64},
    {DType::Float16, TypeCode::Float, 16},
    {DType::Float32, TypeCode::Float, 32},
    {DType::Float64, TypeCode::Float, 64},
    {DType::BFloat16, TypeCode::BFloat, 16},
    {DType::Float8E4M3FN, TypeCode::Float8E4M3FN, 8},
    {DType::Float8E4M3FNUZ, TypeCode::Float8E4M3FNUZ, 8},
    {DType::Float8E5M2, TypeCode::Float8E5M2, 8},
    {DType::Float8E5M2FNUZ, TypeCode::Float8E5M2FNUZ, 8},
    {DType::Float8E8M0FNU, TypeCode::Float8E8M0FNU, 8},
    {DType::Float4E2M1FN, TypeCode::Float4E2M1FN, 4},
};

dlpack::DataType toDLPack(DType dtype) {
  for (const TypeEntry &entry : kTypes) {
    if (entry.dtype == dtype) {
      return {entry.code, entry.bits, 1};
    }
  }
  raise("DTypeError",
        "DLPack has no code for " + std::string(dtypeName(dtype)));
}

DType fromDLPack(dlpack::DataType dtype, uint64_t flags) {
  for (const TypeEntry &entry : kTypes) {
    if (entry.code == dtype.code && entry.bits == dtype.bits &&
        dtype.lanes == 1 &&
        (entry.bits >= 8 || (flags & dlpack::kPaddedSubByte))) {
      return entry.dtype;
    }
  }
  raise("DTypeError", "unsupported DLPack element type (code " +
                          std::to_string(static_cast<int>(dtype.code)) + ", " +
                          std::to_string(dtype.bits) + " bits, " +
                          std::to_string(dtype.lanes) + " lanes)");
}

//===- Producer -----------------------------------------------------------===//

/// What an exported tensor points into.
template <typename Managed> struct Export {
  Managed managed;
  Buffer buffer;
};

template <typename Managed> void deleteExport(Managed *managed) {
  // Only C++ memory goes here; the owner of borrowed memory takes the GIL
  // itself.
  delete static_cast<Export<Managed> *>(managed->context);
}

/// Frees a tensor that no consumer took.
template <typename Managed> void destroyCapsule(PyObject *capsule) {
  const char *name =
      std::is_same_v<Managed, dlpack::VersionedTensor> ? kVersioned : kPlain;
  if (PyCapsule_IsValid(capsule, name)) {
    auto *managed = static_cast<Managed *>(PyCapsule_GetPointer(capsule, name));
    managed->deleter(managed);
  }
}

template <typename Managed>
nb::object exportAs(const Buffer &buffer, uint64_t flags) {
  auto *exported = new Export<Managed>{{}, buffer};
  Managed &managed = exported->managed;
  managed.context = exported;
  managed.deleter = deleteExport<Managed>;
  managed.tensor = {exported->buffer.data,
                    {dlpack::DeviceKind::Cpu, 0},
                    static_cast<int32_t>(exported->buffer.shape.size()),
                    toDLPack(buffer.dtype),
                    exported->buffer.shape.data(),
                    exported->buffer.strides.data(),
                    0};
  if constexpr (std::is_same_v<Managed, dlpack::VersionedTensor>) {
    managed.major = 1;
    managed.minor = 1;
    managed.flags = flags;
  }
  const char *name =
      std::is_same_v<Managed, dlpack::VersionedTensor> ? kVersioned : kPlain;
  PyObject *capsule = PyCapsule_New(&managed, name, destroyCapsule<Managed>);
  if (!capsule) {
    delete exported;
    throw nb::python_error();
  }
  return nb::steal(capsule);
}

nb::object exportBuffer(const Buffer &self, bool versioned, bool copied) {
  if (versioned) {
    uint64_t flags =
        (self.isWritable ? 0 : dlpack::kReadOnly) |
        (copied ? dlpack::kIsCopied : 0) |
        (self.dtype == DType::Float4E2M1FN ? dlpack::kPaddedSubByte : 0);
    return exportAs<dlpack::VersionedTensor>(self, flags);
  }
  // The old protocol can say neither.
  if (!self.isWritable || self.dtype == DType::Float4E2M1FN) {
    PyErr_SetString(
        PyExc_BufferError,
        self.isWritable
            ? "float4_e2m1fn needs a consumer of DLPack 1.1 or later"
            : "a read-only buffer needs a consumer of DLPack 1.0 or later");
    throw nb::python_error();
  }
  return exportAs<dlpack::ManagedTensor>(self, 0);
}

//===- Consumer -----------------------------------------------------------===//

template <typename Managed> void releaseImport(void *context) {
  auto *managed = static_cast<Managed *>(context);
  // The deleter may need the GIL, or may not have a Python to go back to.
  if (managed->deleter && Py_IsInitialized()) {
    nb::gil_scoped_acquire gil;
    managed->deleter(managed);
  }
}

template <typename Managed>
Buffer importTensor(Managed *managed, uint64_t flags) {
  const dlpack::Tensor &tensor = managed->tensor;
  if (tensor.device.kind != dlpack::DeviceKind::Cpu &&
      tensor.device.kind != dlpack::DeviceKind::CudaHost) {
    raise("DeviceError",
          "expected memory on the CPU, but got DLPack device type " +
              std::to_string(static_cast<int>(tensor.device.kind)));
  }
  Buffer buffer;
  buffer.dtype = fromDLPack(tensor.dtype, flags);
  buffer.shape.assign(tensor.shape, tensor.shape + tensor.rank);
  std::optional<int64_t> bytes = byteSize(buffer.dtype, buffer.shape);
  if (!bytes) {
    raise("ShapeError", "DLPack tensor of shape " + formatShape(buffer.shape));
  }
  if (tensor.strides) {
    buffer.strides.assign(tensor.strides, tensor.strides + tensor.rank);
  } else {
    buffer.strides = Buffer::contiguousStrides(buffer.shape);
  }
  buffer.isWritable = !(flags & dlpack::kReadOnly);
  buffer.data = static_cast<uint8_t *>(tensor.data) + tensor.byteOffset;
  int64_t low = 0, high = *bytes == 0 ? 0 : 1;
  for (size_t i = 0; *bytes != 0 && i < buffer.shape.size(); ++i) {
    int64_t reach = (buffer.shape[i] - 1) * buffer.strides[i];
    (reach < 0 ? low : high) += reach;
  }
  const int64_t size = static_cast<int64_t>(dtypeSize(buffer.dtype));
  buffer.memory = Memory::borrow(
      buffer.data + low * size, static_cast<uint64_t>((high - low) * size),
      buffer.isWritable, releaseImport<Managed>, managed);
  return buffer;
}

Buffer importCapsule(nb::handle capsule) {
  if (PyCapsule_IsValid(capsule.ptr(), kVersioned)) {
    auto *managed = static_cast<dlpack::VersionedTensor *>(
        PyCapsule_GetPointer(capsule.ptr(), kVersioned));
    if (managed->major != 1) {
      raise("InputTypeError", "expected DLPack version 1, but got " +
                                  std::to_string(managed->major));
    }
    Buffer buffer = importTensor(managed, managed->flags);
    PyCapsule_SetName(capsule.ptr(), kUsedVersioned);
    return buffer;
  }
  if (PyCapsule_IsValid(capsule.ptr(), kPlain)) {
    auto *managed = static_cast<dlpack::ManagedTensor *>(
        PyCapsule_GetPointer(capsule.ptr(), kPlain));
    Buffer buffer = importTensor(managed, 0);
    PyCapsule_SetName(capsule.ptr(), kUsedPlain);
    return buffer;
  }
  raise("InputTypeError", "expected an unused DLPack capsule");
}

} // namespace

void bindDLPack(nb::class_<Buffer> &cls) {
  cls.def("export_dlpack", &exportBuffer, nb::arg("versioned"),
          nb::arg("copied") = false)
      .def_static("import_dlpack", &importCapsule, nb::arg("capsule"));
}

} // namespace kvern::python
