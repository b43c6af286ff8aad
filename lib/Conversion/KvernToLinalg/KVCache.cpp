//===- KVCache.cpp - Keys and values in pages -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A cache stands in the kernel that uses it; its ops take the memory and the
// tables that it is made of.
//
//===----------------------------------------------------------------------===//

#include "dialect/ops/KVCache.h"

#include "lib/Conversion/KvernToLinalg/Generic.h"
#include "lib/Conversion/KvernToLinalg/KvernToLinalg.h"

using namespace mlir;
using namespace kvern;

namespace {

/// The parts of a cache, converted.
struct CacheParts {
  Value blocks, scales, lengths, table;
  TypeAttr type;
  /// The sizes of the table.
  DimAttr sequences, most;
};

} // namespace

static FailureOr<CacheParts> getParts(Operation *op, Value cache,
                                      ConversionPatternRewriter &rewriter) {
  auto made = cache.getDefiningOp<PagedCacheOp>();
  if (!made) {
    return rewriter.notifyMatchFailure(op, "the cache is not made here");
  }
  auto convert = [&](Value value) {
    return value ? rewriter.getRemappedValue(value) : Value();
  };
  auto type = cast<PagedCacheType>(cache.getType());
  ArrayRef<DimAttr> table =
      cast<kvern::TensorType>(made.getTable().getType()).getShape();
  return CacheParts{convert(made.getBlocks()),
                    convert(made.getScales()),
                    convert(made.getCacheLengths()),
                    convert(made.getTable()),
                    TypeAttr::get(type.getElementType()),
                    table[0],
                    table[1]};
}

namespace {

struct KVStoreConversion : OpConversionPattern<KVStoreOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(KVStoreOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    FailureOr<CacheParts> cache = getParts(op, op.getCache(), rewriter);
    if (failed(cache)) {
      return failure();
    }
    LoopKVStoreOp::create(rewriter, op.getLoc(), TypeRange(), adaptor.getK(),
                          adaptor.getV(), adaptor.getOffsets(), cache->lengths,
                          cache->table, adaptor.getLayer(), /*q=*/Value(),
                          /*freqs=*/Value(), cache->blocks, cache->scales,
                          /*init=*/ValueRange(), cache->type,
                          /*interleaved=*/UnitAttr());
    rewriter.eraseOp(op);
    return success();
  }
};

struct RopeStoreConversion : OpConversionPattern<RopeStoreOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(RopeStoreOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    FailureOr<CacheParts> cache = getParts(op, op.getCache(), rewriter);
    if (failed(cache)) {
      return failure();
    }
    Value init = LoopBuilder(rewriter, op).emptyFor(op.getResult());
    rewriter.replaceOpWithNewOp<LoopKVStoreOp>(
        op, init.getType(), adaptor.getK(), adaptor.getV(),
        adaptor.getOffsets(), cache->lengths, cache->table, adaptor.getLayer(),
        adaptor.getQ(), adaptor.getFreqs(), cache->blocks, cache->scales, init,
        cache->type, op.getInterleavedAttr());
    return success();
  }
};

} // namespace

/// Both forms of attention over pages; that of latent rows has `kvB`.
template <typename OpT>
static LogicalResult convertAttention(OpT op, typename OpT::Adaptor adaptor,
                                      Value sinks, Value kvB, FloatAttr softcap,
                                      ConversionPatternRewriter &rewriter) {
  FailureOr<CacheParts> cache = getParts(op, op.getCache(), rewriter);
  if (failed(cache)) {
    return failure();
  }
  LoopBuilder loops(rewriter, op);
  Value init = loops.emptyFor(op.getResult());
  DimAttr tokens = cast<kvern::TensorType>(op.getType()).getShape()[0];
  SmallVector<Value> sizes;
  for (DimAttr dim : {cache->sequences, tokens, cache->most}) {
    sizes.push_back(loops.index(loops.size(dim)));
  }
  rewriter.replaceOpWithNewOp<LoopAttentionOp>(
      op, init.getType(), adaptor.getQ(), cache->blocks, cache->blocks,
      /*mask=*/Value(), sinks, adaptor.getOffsets(), /*k_offsets=*/Value(),
      cache->lengths, cache->table, adaptor.getLayer(), cache->scales, kvB,
      sizes, init, op.getScaleAttr(), op.getMaskVariantAttr(),
      op.getWindowAttr(), softcap, cache->type);
  return success();
}

namespace {

struct PagedAttentionConversion : OpConversionPattern<PagedAttentionOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(PagedAttentionOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    return convertAttention(op, adaptor, adaptor.getSinks(), /*kvB=*/Value(),
                            op.getSoftcapAttr(), rewriter);
  }
};

struct LatentAttentionConversion : OpConversionPattern<LatentAttentionOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(LatentAttentionOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    return convertAttention(op, adaptor, /*sinks=*/Value(), adaptor.getKvB(),
                            rewriter.getF64FloatAttr(0.0), rewriter);
  }
};

} // namespace

void kvern::populateKVCachePatterns(TypeConverter &converter,
                                    RewritePatternSet &patterns) {
  patterns.add<KVStoreConversion, RopeStoreConversion, PagedAttentionConversion,
               LatentAttentionConversion>(converter, patterns.getContext());
}
