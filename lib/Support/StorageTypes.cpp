//===- StorageTypes.cpp - How values lie in memory ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Support/StorageTypes.h"

using namespace mlir;
using namespace kvern;

Type kvern::getStorageType(Type elementType) {
  unsigned width = elementType.getIntOrFloatBitWidth();
  if (elementType.isUnsignedInteger()) {
    return IntegerType::get(elementType.getContext(), width);
  }
  if (width == 1 || (isa<FloatType>(elementType) && width <= 8)) {
    return IntegerType::get(elementType.getContext(), 8);
  }
  return elementType;
}

MemRefType kvern::getMemRefType(Type type) {
  ArrayRef<DimAttr> shape;
  Type elementType;
  if (auto tensor = dyn_cast<kvern::TensorType>(type)) {
    shape = tensor.getShape();
    elementType = tensor.getElementType();
  } else {
    shape = cast<BufferType>(type).getShape();
    elementType = cast<BufferType>(type).getElementType();
  }
  SmallVector<int64_t> sizes;
  for (DimAttr dim : shape) {
    sizes.push_back(dim.getStaticValue().value_or(ShapedType::kDynamic));
  }
  return MemRefType::get(sizes, getStorageType(elementType));
}
