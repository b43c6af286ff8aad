//===- Attention.cpp - Attention and rotary positions ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// These keep their form: an op on builtin tensors with the loops inside.
//
//===----------------------------------------------------------------------===//

#include "dialect/ops/Attention.h"

#include "lib/Conversion/KvernToLinalg/Generic.h"
#include "lib/Conversion/KvernToLinalg/KvernToLinalg.h"

using namespace mlir;
using namespace kvern;

namespace {

struct AttentionConversion : OpConversionPattern<AttentionOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(AttentionOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (succeeded(replaceEmpty(op, rewriter))) {
      return success();
    }
    LoopBuilder loops(rewriter, op);
    Value init = loops.emptyFor(op.getResult());
    ArrayRef<DimAttr> q =
        cast<kvern::TensorType>(op.getQ().getType()).getShape();
    ArrayRef<DimAttr> k =
        cast<kvern::TensorType>(op.getK().getType()).getShape();
    SmallVector<Value> sizes;
    for (DimAttr dim : {q[0], q[1], k[1]}) {
      sizes.push_back(loops.index(loops.size(dim)));
    }
    rewriter.replaceOpWithNewOp<LoopAttentionOp>(
        op, init.getType(), adaptor.getQ(), adaptor.getK(), adaptor.getV(),
        adaptor.getMask(), adaptor.getSinks(), /*q_offsets=*/Value(),
        /*k_offsets=*/Value(), /*lengths=*/Value(), /*table=*/Value(),
        /*layer=*/Value(), /*scales=*/Value(), /*kv_b=*/Value(), sizes, init,
        op.getScaleAttr(), op.getMaskVariantAttr(), op.getWindowAttr(),
        op.getSoftcapAttr(),
        /*cache_type=*/TypeAttr());
    return success();
  }
};

struct RaggedAttentionConversion : OpConversionPattern<RaggedAttentionOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(RaggedAttentionOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (succeeded(replaceEmpty(op, rewriter))) {
      return success();
    }
    LoopBuilder loops(rewriter, op);
    Value init = loops.emptyFor(op.getResult());
    rewriter.replaceOpWithNewOp<LoopAttentionOp>(
        op, init.getType(), adaptor.getQ(), adaptor.getK(), adaptor.getV(),
        /*mask=*/Value(), adaptor.getSinks(), adaptor.getQOffsets(),
        adaptor.getKOffsets(), /*lengths=*/Value(), /*table=*/Value(),
        /*layer=*/Value(), /*scales=*/Value(), /*kv_b=*/Value(),
        /*sizes=*/ValueRange(), init, op.getScaleAttr(),
        op.getMaskVariantAttr(), op.getWindowAttr(), op.getSoftcapAttr(),
        /*cache_type=*/TypeAttr());
    return success();
  }
};

struct RopeConversion : OpConversionPattern<RopeOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(RopeOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (succeeded(replaceEmpty(op, rewriter))) {
      return success();
    }
    LoopBuilder loops(rewriter, op);
    Value init = loops.emptyFor(op.getResult());
    rewriter.replaceOpWithNewOp<LoopRopeOp>(
        op, init.getType(), adaptor.getX(), adaptor.getTable(),
        adaptor.getPositions(), init, op.getInterleavedAttr());
    return success();
  }
};

} // namespace

void kvern::populateAttentionPatterns(TypeConverter &converter,
                                      RewritePatternSet &patterns) {
  patterns.add<AttentionConversion, RaggedAttentionConversion, RopeConversion>(
      converter, patterns.getContext());
}
