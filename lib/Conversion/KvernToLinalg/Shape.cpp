//===- Shape.cpp - The same elements in another shape ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Inference.h"
#include "lib/Conversion/KvernToLinalg/Generic.h"
#include "lib/Conversion/KvernToLinalg/KvernToLinalg.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace kvern;

namespace {

/// Axes [fromBegin, fromEnd) of the operand hold the elements of axes
/// [toBegin, toEnd) of the result.
struct Reassociation {
  SmallVector<ReassociationIndices> from;
  SmallVector<ReassociationIndices> to;
  /// The number of elements of each group.
  SmallVector<DimAttr> sizes;
};

} // namespace

/// The finest grouping of axes: groups are closed as soon as both sides have as
/// many elements. Axes of size 1 that are left belong to the last group.
static Reassociation reassociate(MLIRContext *context, ArrayRef<DimAttr> from,
                                 ArrayRef<DimAttr> to) {
  Reassociation result;
  int64_t i = 0;
  int64_t j = 0;
  int64_t fromRank = from.size();
  int64_t toRank = to.size();
  auto close = [&](int64_t fromCount, int64_t toCount, DimAttr size) {
    result.from.push_back(llvm::to_vector<2>(llvm::seq(i, i + fromCount)));
    result.to.push_back(llvm::to_vector<2>(llvm::seq(j, j + toCount)));
    result.sizes.push_back(size);
    i += fromCount;
    j += toCount;
  };
  auto closeNext = [&] {
    for (int64_t count = 2; count <= fromRank - i + toRank - j; ++count) {
      for (int64_t fromCount = 1; fromCount < count; ++fromCount) {
        int64_t toCount = count - fromCount;
        if (i + fromCount > fromRank || j + toCount > toRank) {
          continue;
        }
        DimAttr size = getNumElements(context, from.slice(i, fromCount));
        if (size && size == getNumElements(context, to.slice(j, toCount))) {
          close(fromCount, toCount, size);
          return;
        }
      }
    }
    close(fromRank - i, toRank - j,
          getNumElements(context, from.drop_front(i)));
  };
  while (i < fromRank && j < toRank) {
    closeNext();
  }
  if (!result.from.empty()) {
    for (; i < fromRank; ++i) {
      result.from.back().push_back(i);
    }
    for (; j < toRank; ++j) {
      result.to.back().push_back(j);
    }
  }
  return result;
}

/// Whether a group has two sizes that are not numbers: lowering a
/// memref.expand_shape to strides is limited to one.
static bool hasTwoDynamicSizes(ArrayRef<ReassociationIndices> groups,
                               ArrayRef<DimAttr> shape) {
  return llvm::any_of(groups, [&](const ReassociationIndices &group) {
    return llvm::count_if(group, [&](int64_t axis) {
             return !shape[axis].isStatic();
           }) > 1;
  });
}

/// A copy of `value`, whose axis i has the elements of the axes `groups[i]` of
/// `shape`, into a tensor of that shape.
static Value copyToShape(LoopBuilder &loops, Value value,
                         ArrayRef<ReassociationIndices> groups,
                         ArrayRef<DimAttr> shape) {
  SmallVector<Value> sizes;
  for (DimAttr dim : shape) {
    sizes.push_back(loops.index(loops.size(dim)));
  }
  Type type = cast<RankedTensorType>(value.getType()).getElementType();
  return loops.elementwise(
      shape, type, {}, [&](ImplicitLocOpBuilder &b, ValueRange) -> Value {
        SmallVector<Value> places;
        for (const ReassociationIndices &group : groups) {
          Value place = linalg::IndexOp::create(b, group.front());
          for (int64_t axis : llvm::drop_begin(group)) {
            place = arith::MulIOp::create(b, place, sizes[axis]);
            place = arith::AddIOp::create(b, place,
                                          linalg::IndexOp::create(b, axis));
          }
          places.push_back(place);
        }
        return tensor::ExtractOp::create(b, value, places);
      });
}

/// `value` of shape `from` as a tensor of shape `to`, which has as many
/// elements: a collapse, an expand, or one after the other.
static Value reshape(LoopBuilder &loops, Value value, ArrayRef<DimAttr> from,
                     ArrayRef<DimAttr> to) {
  Type type = cast<RankedTensorType>(value.getType()).getElementType();
  if (isEmpty(from) || isEmpty(to)) {
    return loops.empty(to, type);
  }
  Reassociation groups = reassociate(type.getContext(), from, to);
  if (groups.sizes.size() != from.size()) {
    value = tensor::CollapseShapeOp::create(loops.builder, loops.location,
                                            loops.getType(groups.sizes, type),
                                            value, groups.from);
  }
  if (groups.sizes.size() == to.size()) {
    return value;
  }
  if (hasTwoDynamicSizes(groups.to, to)) {
    return copyToShape(loops, value, groups.to, to);
  }
  return tensor::ExpandShapeOp::create(
      loops.builder, loops.location, loops.getType(to, type), value, groups.to,
      loops.dims.getFoldResults(loops.builder, loops.location, to));
}

namespace {

/// reshape, squeeze and unsqueeze.
template <typename OpT> struct ReshapeConversion : OpConversionPattern<OpT> {
  using OpConversionPattern<OpT>::OpConversionPattern;
  LogicalResult
  matchAndRewrite(OpT op, typename OpT::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    LoopBuilder loops(rewriter, op);
    rewriter.replaceOp(
        op, reshape(loops, adaptor.getX(),
                    cast<kvern::TensorType>(op.getX().getType()).getShape(),
                    cast<kvern::TensorType>(op.getType()).getShape()));
    return success();
  }
};

/// The sizes have been checked before the kernel runs.
struct RebindConversion : OpConversionPattern<RebindOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(RebindOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Type type = getTypeConverter()->convertType(op.getType());
    if (adaptor.getX().getType() == type) {
      rewriter.replaceOp(op, adaptor.getX());
    } else {
      rewriter.replaceOpWithNewOp<tensor::CastOp>(op, type, adaptor.getX());
    }
    return success();
  }
};

/// Each operand is copied into its part of one new tensor.
struct ConcatConversion : OpConversionPattern<ConcatOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(ConcatOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    LoopBuilder loops(rewriter, op);
    auto type = cast<kvern::TensorType>(op.getType());
    int64_t axis = op.getAxis();
    Value result =
        loops.empty(type.getShape(), getStorageType(type.getElementType()));
    SmallVector<OpFoldResult> offsets(type.getRank(), rewriter.getIndexAttr(0));
    DimAttr offset = DimAttr::getStatic(op.getContext(), 0);
    for (auto [input, converted] :
         llvm::zip_equal(op.getInputs(), adaptor.getInputs())) {
      ArrayRef<DimAttr> shape =
          cast<kvern::TensorType>(input.getType()).getShape();
      if (!isEmpty(shape)) {
        offsets[axis] = loops.size(offset);
        result = loops.insert(converted, result, shape, offsets);
      }
      offset = offset + shape[axis];
      if (!offset) {
        return op.emitOpError("the size of axis ")
               << axis << " overflows 64 bits";
      }
    }
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct StackConversion : OpConversionPattern<StackOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(StackOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    LoopBuilder loops(rewriter, op);
    auto type = cast<kvern::TensorType>(op.getType());
    int64_t axis = op.getAxis();
    ArrayRef<DimAttr> shape =
        cast<kvern::TensorType>(op.getInputs().front().getType()).getShape();
    Value result =
        loops.empty(type.getShape(), getStorageType(type.getElementType()));
    SmallVector<OpFoldResult> offsets(type.getRank(), rewriter.getIndexAttr(0));
    for (auto [i, input] : llvm::enumerate(adaptor.getInputs())) {
      if (isEmpty(shape)) {
        break;
      }
      offsets[axis] = rewriter.getIndexAttr(i);
      result = loops.insert(input, result, shape, offsets, axis);
    }
    rewriter.replaceOp(op, result);
    return success();
  }
};

} // namespace

void kvern::populateShapePatterns(TypeConverter &converter,
                                  RewritePatternSet &patterns) {
  patterns.add<ReshapeConversion<ReshapeOp>, ReshapeConversion<SqueezeOp>,
               ReshapeConversion<UnsqueezeOp>, RebindConversion,
               ConcatConversion, StackConversion>(converter,
                                                  patterns.getContext());
}
