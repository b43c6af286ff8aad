// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Element types, numbered as in executable files and in kvern.dtype.DType.
#ifndef KVERN_LIB_RUNTIME_DTYPE_H
#define KVERN_LIB_RUNTIME_DTYPE_H

#include <cstdint>
#include <string_view>

namespace kvern {

/// Element type of a tensor. Sub-byte types take one byte an element in memory.
enum class DType : uint8_t {
  Bool = 1,
  Float4E2M1FN = 64,
  Float8E8M0FNU = 73,
  Float8E4M3FN = 75,
  Float8E4M3FNUZ = 76,
  Float8E5M2 = 77,
  Float8E5M2FNUZ = 78,
  Float16 = 79,
  BFloat16 = 80,
  Float32 = 81,
  Float64 = 82,
  UInt8 = 134,
  Int8 = 135,
  UInt16 = 136,
  Int16 = 137,
  UInt32 = 138,
  Int32 = 139,
  UInt64 = 140,
  Int64 = 141,
};

/// Bytes of one element in memory, also its natural alignment; 0 for a number
/// that is no DType.
uint64_t dtypeSize(DType dtype);

/// The Python name, such as "float32"; "invalid" for a number that is no DType.
std::string_view dtypeName(DType dtype);

/// Whether `code` is the number of a DType.
inline bool isValidDType(uint8_t code) {
  return dtypeSize(static_cast<DType>(code)) != 0;
}

} // namespace kvern

#endif // KVERN_LIB_RUNTIME_DTYPE_H
