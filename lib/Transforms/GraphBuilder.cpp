//===- GraphBuilder.cpp - Ops of graphs by what they do -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Transforms/GraphBuilder.h"

using namespace mlir;
using namespace kvern;

Value GraphBuilder::reshape(Value value, ArrayRef<DimAttr> shape) {
  return ReshapeOp::create(*this, value, ShapeAttr::get(getContext(), shape));
}

Value GraphBuilder::permute(Value value, ArrayRef<int64_t> order) {
  return PermuteOp::create(*this, value, getDenseI64ArrayAttr(order));
}

Value GraphBuilder::slice(Value value, size_t axis, int64_t from, int64_t to) {
  ArrayRef<DimAttr> shape = shapeOf(value);
  SmallVector<Attribute> starts(shape.size(), dim(0));
  SmallVector<Attribute> stops(shape.begin(), shape.end());
  starts[axis] = dim(from);
  stops[axis] = dim(to);
  SmallVector<int64_t> steps(shape.size(), 1);
  SmallVector<Attribute> named(shape.size(), getUnitAttr());
  return SliceOp::create(*this, value, ValueRange(), getArrayAttr(starts),
                         getArrayAttr(stops), getDenseI64ArrayAttr(steps),
                         getArrayAttr(named));
}
