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

/// The tensor that the result of `op` is written to. Null when it is empty, in
/// which case `op` has been replaced.
static Value getInit(Operation *op, ConversionPatternRewriter &rewriter) {
  LoopBuilder loops(rewriter, op);
  auto type = cast<kvern::TensorType>(op->getResult(0).getType());
  Type storage = getStorageType(type.getElementType());
  if (isEmpty(type.getShape())) {
    auto zero = cast<TypedAttr>(rewriter.getZeroAttr(storage));
    rewriter.replaceOp(op, loops.fill(type.getShape(), zero));
    return {};
  }
  return loops.empty(type.getShape(), storage);
}

namespace {

struct AttentionConversion : OpConversionPattern<AttentionOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(AttentionOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (Value init = getInit(op, rewriter)) {
      LoopBuilder loops(rewriter, op);
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
    }
    return success();
  }
};

struct RaggedAttentionConversion : OpConversionPattern<RaggedAttentionOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(RaggedAttentionOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (Value init = getInit(op, rewriter)) {
      rewriter.replaceOpWithNewOp<LoopAttentionOp>(
          op, init.getType(), adaptor.getQ(), adaptor.getK(), adaptor.getV(),
          /*mask=*/Value(), adaptor.getSinks(), adaptor.getQOffsets(),
          adaptor.getKOffsets(), /*lengths=*/Value(), /*table=*/Value(),
          /*layer=*/Value(), /*scales=*/Value(), /*kv_b=*/Value(),
          /*sizes=*/ValueRange(), init, op.getScaleAttr(),
          op.getMaskVariantAttr(), op.getWindowAttr(), op.getSoftcapAttr(),
          /*cache_type=*/TypeAttr());
    }
    return success();
  }
};

struct RopeConversion : OpConversionPattern<RopeOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(RopeOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (Value init = getInit(op, rewriter)) {
      rewriter.replaceOpWithNewOp<LoopRopeOp>(
          op, init.getType(), adaptor.getX(), adaptor.getTable(),
          adaptor.getPositions(), init, op.getInterleavedAttr());
    }
    return success();
  }
};

} // namespace

void kvern::populateAttentionPatterns(TypeConverter &converter,
                                      RewritePatternSet &patterns) {
  patterns.add<AttentionConversion, RaggedAttentionConversion, RopeConversion>(
      converter, patterns.getContext());
}
