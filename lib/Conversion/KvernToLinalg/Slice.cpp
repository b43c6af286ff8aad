//===- Slice.cpp - Parts of tensors ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// That bounds are within their axis, and that the sizes of the results are as
// named, has been checked before the kernel runs.
//
//===----------------------------------------------------------------------===//

#include "lib/Conversion/KvernToLinalg/Slice.h"

#include "lib/Conversion/KvernToLinalg/KvernToLinalg.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace kvern;

/// A run-time bound: below 0 it counts from the end, then it is clamped to the
/// places that a slice with this step may start from.
static Value normalizeBound(LoopBuilder &loops, Value bound, Type type,
                            Value size, int64_t step) {
  ImplicitLocOpBuilder b(loops.location, loops.builder);
  Value value = tensor::ExtractOp::create(b, bound, ValueRange());
  Value zero = arith::ConstantIndexOp::create(b, 0);
  Value one = arith::ConstantIndexOp::create(b, 1);
  if (type.isUnsignedInteger()) {
    if (type.isInteger(64)) {
      Value most = arith::ConstantOp::create(b, b.getI64IntegerAttr(INT64_MAX));
      value = arith::MinUIOp::create(b, value, most);
    }
    value = arith::IndexCastUIOp::create(b, b.getIndexType(), value);
  } else {
    value = arith::IndexCastOp::create(b, b.getIndexType(), value);
    Value isNegative =
        arith::CmpIOp::create(b, arith::CmpIPredicate::slt, value, zero);
    Value fromEnd = arith::AddIOp::create(b, value, size);
    value = arith::SelectOp::create(b, isNegative, fromEnd, value);
  }
  Value low = step > 0 ? zero : arith::ConstantIndexOp::create(b, -1);
  Value high = step > 0 ? size : arith::SubIOp::create(b, size, one);
  value = arith::MaxSIOp::create(b, value, low);
  return arith::MinSIOp::create(b, value, high);
}

SmallVector<OpFoldResult>
kvern::getSliceStarts(LoopBuilder &loops, ArrayRef<DimAttr> shape,
                      ArrayAttr starts, ArrayRef<int64_t> steps,
                      ValueRange bounds, ValueRange converted) {
  SmallVector<OpFoldResult> result;
  for (auto [axis, start] : llvm::enumerate(starts)) {
    if (auto dim = dyn_cast<DimAttr>(start)) {
      result.push_back(loops.size(dim));
      continue;
    }
    Type type =
        cast<kvern::TensorType>(bounds.front().getType()).getElementType();
    result.push_back(normalizeBound(loops, converted.front(), type,
                                    loops.index(loops.size(shape[axis])),
                                    steps[axis]));
    bounds = bounds.drop_front();
    converted = converted.drop_front();
  }
  return result;
}

bool kvern::isEmptySlice(ArrayRef<DimAttr> shape, ArrayAttr starts,
                         ArrayRef<DimAttr> count) {
  for (auto [size, start, number] :
       llvm::zip_equal(shape, starts.getValue(), count)) {
    auto dim = dyn_cast<DimAttr>(start);
    std::optional<int64_t> first = dim ? dim.getStaticValue() : std::nullopt;
    std::optional<int64_t> end = size.getStaticValue();
    if (number.isStatic(0) || (first && end && *first >= *end)) {
      return true;
    }
  }
  return false;
}

namespace {

struct SliceConversion : OpConversionPattern<SliceOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(SliceOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    LoopBuilder loops(rewriter, op);
    auto from = cast<kvern::TensorType>(op.getX().getType());
    auto to = cast<kvern::TensorType>(op.getType());
    Type storage = getStorageType(to.getElementType());
    ArrayRef<int64_t> steps = op.getSteps();
    if (isEmptySlice(from.getShape(), op.getStarts(), to.getShape())) {
      rewriter.replaceOp(op, loops.empty(to.getShape(), storage));
      return success();
    }
    SmallVector<OpFoldResult> starts =
        getSliceStarts(loops, from.getShape(), op.getStarts(), steps,
                       op.getBounds(), adaptor.getBounds());
    if (llvm::all_of(steps, [](int64_t step) { return step > 0; })) {
      SmallVector<OpFoldResult> strides;
      for (int64_t step : steps) {
        strides.push_back(rewriter.getIndexAttr(step));
      }
      rewriter.replaceOpWithNewOp<tensor::ExtractSliceOp>(
          op, loops.getType(to.getShape(), storage), adaptor.getX(), starts,
          loops.dims.getFoldResults(rewriter, op.getLoc(), to.getShape()),
          strides);
      return success();
    }
    // A tensor slice cannot run backwards: elements are read one by one.
    SmallVector<Value> firsts;
    for (OpFoldResult start : starts) {
      firsts.push_back(loops.index(start));
    }
    Value result = loops.elementwise(
        to.getShape(), storage, {},
        [&](ImplicitLocOpBuilder &b, ValueRange) -> Value {
          SmallVector<Value> places;
          for (auto [axis, first] : llvm::enumerate(firsts)) {
            Value i = linalg::IndexOp::create(b, axis);
            Value step = arith::ConstantIndexOp::create(b, steps[axis]);
            places.push_back(arith::AddIOp::create(
                b, first, arith::MulIOp::create(b, i, step)));
          }
          return tensor::ExtractOp::create(b, adaptor.getX(), places);
        });
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct SplitConversion : OpConversionPattern<SplitOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(SplitOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    LoopBuilder loops(rewriter, op);
    auto from = cast<kvern::TensorType>(op.getX().getType());
    Type storage = getStorageType(from.getElementType());
    int64_t axis = op.getAxis();
    SmallVector<OpFoldResult> starts(from.getRank(), rewriter.getIndexAttr(0));
    SmallVector<OpFoldResult> strides(from.getRank(), rewriter.getIndexAttr(1));
    DimAttr offset = DimAttr::getStatic(op.getContext(), 0);
    SmallVector<Value> parts;
    for (Value result : op.getResults()) {
      ArrayRef<DimAttr> shape =
          cast<kvern::TensorType>(result.getType()).getShape();
      starts[axis] = loops.size(offset);
      parts.push_back(
          isEmpty(shape)
              ? loops.empty(shape, storage)
              : Value(tensor::ExtractSliceOp::create(
                    rewriter, op.getLoc(), loops.getType(shape, storage),
                    adaptor.getX(), starts,
                    loops.dims.getFoldResults(rewriter, op.getLoc(), shape),
                    strides)));
      offset = offset + shape[axis];
      if (!offset) {
        return op.emitOpError("the sizes overflow 64 bits");
      }
    }
    rewriter.replaceOp(op, parts);
    return success();
  }
};

} // namespace

void kvern::populateSlicePatterns(TypeConverter &converter,
                                  RewritePatternSet &patterns) {
  patterns.add<SliceConversion, SplitConversion>(converter,
                                                 patterns.getContext());
}
