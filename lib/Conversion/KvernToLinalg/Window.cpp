//===- Window.cpp - Loops of windows that move over images ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Conversion/KvernToLinalg/Window.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace kvern;

using utils::IteratorType;

ArrayRef<DimAttr> kvern::getDims(Value value) {
  return cast<kvern::TensorType>(value.getType()).getShape();
}

Value kvern::insertEvery(LoopBuilder &loops, Value value, Value destination,
                         ArrayRef<DimAttr> shape, ArrayRef<int64_t> offsets,
                         ArrayRef<int64_t> strides) {
  OpBuilder &b = loops.builder;
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<OpFoldResult> from =
      getAsIndexOpFoldResult(b.getContext(), offsets);
  SmallVector<OpFoldResult> step =
      getAsIndexOpFoldResult(b.getContext(), strides);
  SmallVector<OpFoldResult> sizes =
      loops.dims.getFoldResults(b, loops.location, shape);
  Value part = tensor::ExtractSliceOp::create(b, loops.location, type,
                                              destination, from, sizes, step);
  AffineMap identity = b.getMultiDimIdentityMap(type.getRank());
  auto copy = linalg::GenericOp::create(
      b, loops.location, type, value, part, ArrayRef{identity, identity},
      SmallVector<IteratorType>(type.getRank(), IteratorType::parallel),
      [](OpBuilder &nested, Location loc, ValueRange arguments) {
        linalg::YieldOp::create(nested, loc, arguments.front());
      });
  return tensor::InsertSliceOp::create(b, loops.location, copy.getResult(0),
                                       destination, from, sizes, step);
}

Value kvern::padSpatial(LoopBuilder &loops, Value value,
                        ArrayRef<DimAttr> shape, ArrayRef<int64_t> before,
                        ArrayRef<int64_t> after, TypedAttr padding) {
  auto isZero = [](int64_t size) { return size == 0; };
  if (llvm::all_of(before, isZero) && llvm::all_of(after, isZero)) {
    return value;
  }
  OpBuilder &b = loops.builder;
  SmallVector<DimAttr> padded(shape);
  for (size_t i = 0; i < before.size(); ++i) {
    padded[i + 1] = shape[i + 1] + (before[i] + after[i]);
  }
  Value scalar = arith::ConstantOp::create(b, loops.location, padding);
  Value result = loops.empty(padded, padding.getType());
  SmallVector<OpFoldResult> offsets(shape.size(), b.getIndexAttr(0)),
      sizes = loops.dims.getFoldResults(b, loops.location, padded),
      steps(shape.size(), b.getIndexAttr(1));
  // The slabs at both ends of an axis; those of later axes lie between them.
  for (size_t i = 0; i < before.size(); ++i) {
    auto fill = [&](OpFoldResult offset, int64_t size) {
      if (size == 0) {
        return;
      }
      offsets[i + 1] = offset;
      sizes[i + 1] = b.getIndexAttr(size);
      Value slab = tensor::ExtractSliceOp::create(b, loops.location, result,
                                                  offsets, sizes, steps);
      slab =
          linalg::FillOp::create(b, loops.location, scalar, slab).getResult(0);
      result = tensor::InsertSliceOp::create(b, loops.location, slab, result,
                                             offsets, sizes, steps);
    };
    fill(b.getIndexAttr(0), before[i]);
    fill(loops.size(shape[i + 1] + before[i]), after[i]);
    offsets[i + 1] = b.getIndexAttr(before[i]);
    sizes[i + 1] = loops.size(shape[i + 1]);
  }
  SmallVector<int64_t> starts(shape.size(), 0), strides(shape.size(), 1);
  llvm::copy(before, starts.begin() + 1);
  return insertEvery(loops, value, result, shape, starts, strides);
}

AffineMap WindowLoops::read(AffineExpr channel, ArrayRef<int64_t> strides,
                            ArrayRef<int64_t> dilations, bool contracts) const {
  SmallVector<AffineExpr> exprs{loop(0)};
  for (int64_t axis = 0; axis < rank; ++axis) {
    exprs.push_back(loop(axis + 1) * strides[axis] +
                    offset(axis) * dilations[axis]);
  }
  exprs.push_back(channel);
  return map(exprs, contracts);
}

AffineMap WindowLoops::result(bool contracts) const {
  SmallVector<AffineExpr> exprs;
  for (int64_t i = 0; i < rank + 2; ++i) {
    exprs.push_back(loop(i));
  }
  return map(exprs, contracts);
}

SmallVector<IteratorType> WindowLoops::iterators(bool contracts) const {
  SmallVector<IteratorType> kinds(rank + 2, IteratorType::parallel);
  kinds.resize(count(contracts), IteratorType::reduction);
  return kinds;
}

Value kvern::convolve(LoopBuilder &loops, kvern::TensorType type, Value x,
                      Value filter, ArrayRef<AffineMap> maps,
                      const WindowLoops &window, bool contracts, Value init) {
  if (!init) {
    Type compute = getComputeType(type.getElementType());
    init = loops.fill(type.getShape(),
                      cast<TypedAttr>(loops.builder.getZeroAttr(compute)));
  }
  SmallVector<AffineMap> all(maps);
  all.push_back(window.result(contracts));
  auto product = linalg::GenericOp::create(
      loops.builder, loops.location, init.getType(), ValueRange{x, filter},
      init, all, window.iterators(contracts),
      [&](OpBuilder &nested, Location loc, ValueRange arguments) {
        ImplicitLocOpBuilder b(loc, nested);
        Scalar s(b, type.getElementType());
        Value x = s.load(arguments[0]);
        Value y = s.load(arguments[1]);
        Value sum = s.accumulate(s.accumulateProduct(x, y), arguments[2]);
        linalg::YieldOp::create(nested, loc, sum);
      });
  return product.getResult(0);
}

Value kvern::finishConvolution(LoopBuilder &loops, Value sum, Value bias,
                               kvern::TensorType type) {
  Type storage = getStorageType(type.getElementType());
  if (!bias &&
      cast<RankedTensorType>(sum.getType()).getElementType() == storage) {
    return sum;
  }
  int64_t rank = type.getRank();
  SmallVector<LoopOperand> operands{loops.all(sum, rank)};
  if (bias) {
    operands.push_back(
        loops.broadcast(bias, type.getShape().take_back(), type.getShape()));
  }
  return loops.elementwise(type.getShape(), storage, operands,
                           [&](ImplicitLocOpBuilder &b, ValueRange values) {
                             Scalar s(b, type.getElementType());
                             Value result = values[0];
                             if (values.size() > 1) {
                               result = s.add(result, s.load(values[1]));
                             }
                             return s.store(result);
                           });
}

Value kvern::convolveNothing(LoopBuilder &loops, Value bias,
                             kvern::TensorType type) {
  Type element = type.getElementType();
  if (isEmpty(type.getShape())) {
    return loops.empty(type.getShape(), getStorageType(element));
  }
  Value zero = loops.fill(
      type.getShape(),
      cast<TypedAttr>(loops.builder.getZeroAttr(getComputeType(element))));
  return finishConvolution(loops, zero, bias, type);
}
