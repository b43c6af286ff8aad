//===- Sampling.cpp - From logits to tokens -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// These keep their form: an op on builtin tensors with the loops inside. Random
// numbers are computed element by element.
//
//===----------------------------------------------------------------------===//

#include "dialect/ops/Sampling.h"

#include "lib/Conversion/KvernToLinalg/Generic.h"
#include "lib/Conversion/KvernToLinalg/KvernToLinalg.h"
#include "lib/Support/Philox.h"

using namespace mlir;
using namespace kvern;

namespace {

struct RandomUniformConversion : OpConversionPattern<RandomUniformOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(RandomUniformOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    LoopBuilder loops(rewriter, op);
    ArrayRef<DimAttr> shape = cast<kvern::TensorType>(op.getType()).getShape();
    auto type = Float32Type::get(op.getContext());
    int64_t rank = static_cast<int64_t>(shape.size());
    auto body = [&](ImplicitLocOpBuilder &b, ValueRange values) {
      return emitUniform(b, type, values[0], values[1], op.getStream());
    };
    rewriter.replaceOp(
        op, loops.elementwise(shape, type,
                              {loops.all(adaptor.getSeed(), rank),
                               loops.all(adaptor.getPosition(), rank)},
                              body));
    return success();
  }
};

struct SampleTokensConversion : OpConversionPattern<SampleTokensOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(SampleTokensOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (succeeded(replaceEmpty(op, rewriter))) {
      return success();
    }
    LoopBuilder loops(rewriter, op);
    SmallVector<Value> inits;
    for (Value result : op.getResults()) {
      inits.push_back(loops.emptyFor(result));
    }
    ArrayRef<DimAttr> shape =
        cast<kvern::TensorType>(op.getLogits().getType()).getShape();
    Value vocabulary = loops.index(loops.size(shape[1]));
    rewriter.replaceOpWithNewOp<LoopSampleTokensOp>(
        op, TypeRange(ValueRange(inits)), adaptor.getLogits(),
        adaptor.getTemperature(), adaptor.getTopK(), adaptor.getTopP(),
        adaptor.getMinP(), adaptor.getSeed(), adaptor.getPosition(), vocabulary,
        inits, op.getStreamAttr());
    return success();
  }
};

struct FilterLogitsConversion : OpConversionPattern<FilterLogitsOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(FilterLogitsOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (succeeded(replaceEmpty(op, rewriter))) {
      return success();
    }
    LoopBuilder loops(rewriter, op);
    Value init = loops.emptyFor(op.getResult());
    ArrayRef<DimAttr> shape = cast<kvern::TensorType>(op.getType()).getShape();
    Value vocabulary = loops.index(loops.size(shape[1]));
    rewriter.replaceOpWithNewOp<LoopFilterLogitsOp>(
        op, TypeRange(init.getType()), adaptor.getLogits(),
        adaptor.getTemperature(), adaptor.getTopK(), adaptor.getTopP(),
        adaptor.getMinP(), vocabulary, init);
    return success();
  }
};

struct ApplyPenaltiesConversion : OpConversionPattern<ApplyPenaltiesOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(ApplyPenaltiesOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (succeeded(replaceEmpty(op, rewriter))) {
      return success();
    }
    LoopBuilder loops(rewriter, op);
    Value init = loops.emptyFor(op.getResult());
    rewriter.replaceOpWithNewOp<LoopApplyPenaltiesOp>(
        op, TypeRange(init.getType()), adaptor.getLogits(), adaptor.getData(),
        adaptor.getOffsets(), adaptor.getFrequency(), adaptor.getPresence(),
        adaptor.getRepetition(), init);
    return success();
  }
};

struct CountTokensConversion : OpConversionPattern<CountTokensOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(CountTokensOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (succeeded(replaceEmpty(op, rewriter))) {
      return success();
    }
    LoopBuilder loops(rewriter, op);
    Value init = loops.emptyFor(op.getResult());
    rewriter.replaceOpWithNewOp<LoopCountTokensOp>(
        op, TypeRange(init.getType()), adaptor.getData(), adaptor.getOffsets(),
        adaptor.getTokens(), init);
    return success();
  }
};

} // namespace

void kvern::populateSamplingPatterns(TypeConverter &converter,
                                     RewritePatternSet &patterns) {
  patterns.add<RandomUniformConversion, SampleTokensConversion,
               FilterLogitsConversion, ApplyPenaltiesConversion,
               CountTokensConversion>(converter, patterns.getContext());
}
