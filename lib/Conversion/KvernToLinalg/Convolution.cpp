//===- Convolution.cpp - Convolutions -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/ops/Convolution.h"
#include "lib/Conversion/KvernToLinalg/KvernToLinalg.h"
#include "lib/Conversion/KvernToLinalg/Window.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace kvern;

/// x with the zeros that `paddings` of the op ask for.
template <typename OpT>
static Value padZeros(LoopBuilder &loops, OpT op, Value x) {
  SmallVector<int64_t> before, after;
  for (auto [i, size] : llvm::enumerate(op.getPaddings())) {
    (i % 2 == 0 ? before : after).push_back(size);
  }
  Type storage = cast<RankedTensorType>(x.getType()).getElementType();
  return padSpatial(loops, x, getDims(op.getX()), before, after,
                    cast<TypedAttr>(loops.builder.getZeroAttr(storage)));
}

template <typename OpT>
static LogicalResult checkLayouts(OpT op, PatternRewriter &rewriter) {
  if (!isChannelsLast(op.getInputLayout()) ||
      !isFiltersLast(op.getFilterLayout())) {
    return rewriter.notifyMatchFailure(op, "channels are not last");
  }
  return success();
}

namespace {

/// conv2d and conv3d.
template <typename OpT>
struct ConvolutionConversion : OpConversionPattern<OpT> {
  using OpConversionPattern<OpT>::OpConversionPattern;
  LogicalResult
  matchAndRewrite(OpT op, typename OpT::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (failed(checkLayouts(op, rewriter))) {
      return failure();
    }
    LoopBuilder loops(rewriter, op);
    auto type = cast<kvern::TensorType>(op.getType());
    ArrayRef<DimAttr> x = getDims(op.getX());
    ArrayRef<DimAttr> filter = getDims(op.getFilter());
    if (isEmpty(x) || isEmpty(filter) || isEmpty(type.getShape())) {
      rewriter.replaceOp(op, convolveNothing(loops, adaptor.getBias(), type));
      return success();
    }
    int64_t rank = filter.size() - 2;
    Value padded = padZeros(loops, op, adaptor.getX());

    // Which channel of x and of the filter a filter reads.
    WindowLoops window(rewriter.getContext(), rank);
    AffineExpr xChannel = window.contracted();
    AffineExpr filterChannel = window.contracted();
    bool contracts = true;
    if (int64_t groups = op.getGroups(); groups != 1) {
      int64_t channels = *filter[rank].getStaticValue();
      int64_t filters = *filter.back().getStaticValue() / groups;
      AffineExpr group =
          filters == 1 ? window.channel() : window.channel().floorDiv(filters);
      contracts = channels != 1;
      xChannel = contracts ? group * channels + xChannel : group;
      if (!contracts) {
        filterChannel = rewriter.getAffineConstantExpr(0);
      }
    }
    SmallVector<AffineExpr> filterExprs;
    for (int64_t axis = 0; axis < rank; ++axis) {
      filterExprs.push_back(window.offset(axis));
    }
    filterExprs.append({filterChannel, window.channel()});
    Value sum = convolve(
        loops, type, padded, adaptor.getFilter(),
        {window.read(xChannel, op.getStrides(), op.getDilations(), contracts),
         window.map(filterExprs, contracts)},
        window, contracts);
    rewriter.replaceOp(op,
                       finishConvolution(loops, sum, adaptor.getBias(), type));
    return success();
  }
};

struct PackedConvolutionConversion : OpConversionPattern<PackedConvOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(PackedConvOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    LoopBuilder loops(rewriter, op);
    auto type = cast<kvern::TensorType>(op.getType());
    if (isEmpty(getDims(op.getX())) || isEmpty(type.getShape())) {
      rewriter.replaceOp(op, convolveNothing(loops, adaptor.getBias(), type));
      return success();
    }
    int64_t rank = type.getRank() - 2;
    WindowLoops window(rewriter.getContext(), rank);
    int64_t panel = *getDims(op.getPanels()).back().getStaticValue();
    SmallVector<AffineExpr> exprs{window.channel().floorDiv(panel)};
    for (int64_t axis = 0; axis < rank; ++axis) {
      exprs.push_back(window.offset(axis));
    }
    exprs.append({window.contracted(), window.channel() % panel});
    Value sum = convolve(loops, type, padZeros(loops, op, adaptor.getX()),
                         adaptor.getPanels(),
                         {window.read(window.contracted(), op.getStrides(),
                                      op.getDilations(), true),
                          window.map(exprs, true)},
                         window, /*contracts=*/true);
    rewriter.replaceOp(op,
                       finishConvolution(loops, sum, adaptor.getBias(), type));
    return success();
  }
};

} // namespace

void kvern::populateConvolutionPatterns(TypeConverter &converter,
                                        RewritePatternSet &patterns) {
  patterns.add<ConvolutionConversion<Conv2dOp>, ConvolutionConversion<Conv3dOp>,
               PackedConvolutionConversion>(converter, patterns.getContext());
}
