// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The structures of the DLPack protocol, versions 0 and 1.
// Source: the DLPack specification and the array API standard.
#ifndef KVERN_PYTHON_BINDINGS_RUNTIME_DLPACKABI_H
#define KVERN_PYTHON_BINDINGS_RUNTIME_DLPACKABI_H

#include <cstdint>

namespace kvern::python::dlpack {

enum class DeviceKind : int32_t { Cpu = 1, Cuda = 2, CudaHost = 3 };

enum class TypeCode : uint8_t {
  Int = 0,
  UInt = 1,
  Float = 2,
  BFloat = 4,
  Bool = 6,
  Float8E4M3FN = 10,
  Float8E4M3FNUZ = 11,
  Float8E5M2 = 12,
  Float8E5M2FNUZ = 13,
  Float8E8M0FNU = 14,
  Float4E2M1FN = 17,
};

struct Device {
  DeviceKind kind;
  int32_t id;
};

struct DataType {
  TypeCode code;
  uint8_t bits;
  uint16_t lanes;
};

struct Tensor {
  void *data;
  Device device;
  int32_t rank;
  DataType dtype;
  int64_t *shape;
  /// In elements; null for contiguous row-major data.
  int64_t *strides;
  uint64_t byteOffset;
};

/// In a capsule named "dltensor".
struct ManagedTensor {
  Tensor tensor;
  void *context;
  void (*deleter)(ManagedTensor *self);
};

/// In a capsule named "dltensor_versioned".
struct VersionedTensor {
  uint32_t major;
  uint32_t minor;
  void *context;
  void (*deleter)(VersionedTensor *self);
  uint64_t flags;
  Tensor tensor;
};

inline constexpr uint64_t kReadOnly = 1;
inline constexpr uint64_t kIsCopied = 2;
/// Elements narrower than a byte take a byte each.
inline constexpr uint64_t kPaddedSubByte = 4;

} // namespace kvern::python::dlpack

#endif // KVERN_PYTHON_BINDINGS_RUNTIME_DLPACKABI_H
