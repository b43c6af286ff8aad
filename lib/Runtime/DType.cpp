// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names and sizes of element types.
#include "lib/Runtime/DType.h"

namespace kvern {
namespace {

struct DTypeInfo {
  std::string_view name;
  uint64_t size;
};

DTypeInfo describe(DType dtype) {
  switch (dtype) {
  case DType::Bool:
    return {"bool", 1};
  case DType::Float4E2M1FN:
    return {"float4_e2m1fn", 1};
  case DType::Float8E8M0FNU:
    return {"float8_e8m0fnu", 1};
  case DType::Float8E4M3FN:
    return {"float8_e4m3fn", 1};
  case DType::Float8E4M3FNUZ:
    return {"float8_e4m3fnuz", 1};
  case DType::Float8E5M2:
    return {"float8_e5m2", 1};
  case DType::Float8E5M2FNUZ:
    return {"float8_e5m2fnuz", 1};
  case DType::Float16:
    return {"float16", 2};
  case DType::BFloat16:
    return {"bfloat16", 2};
  case DType::Float32:
    return {"float32", 4};
  case DType::Float64:
    return {"float64", 8};
  case DType::UInt8:
    return {"uint8", 1};
  case DType::Int8:
    return {"int8", 1};
  case DType::UInt16:
    return {"uint16", 2};
  case DType::Int16:
    return {"int16", 2};
  case DType::UInt32:
    return {"uint32", 4};
  case DType::Int32:
    return {"int32", 4};
  case DType::UInt64:
    return {"uint64", 8};
  case DType::Int64:
    return {"int64", 8};
  }
  return {"invalid", 0};
}

} // namespace

uint64_t dtypeSize(DType dtype) { return describe(dtype).size; }

std::string_view dtypeName(DType dtype) { return describe(dtype).name; }

} // namespace kvern
