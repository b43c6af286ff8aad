//===- DecomposeLatentAttention.cpp - The absorbed form -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For each head h, with the rows U and W of kv_b:
//
//   q'     = (q[:nope] U, q[nope:])
//   result = attention(q', rows of the cache, their first elements) W^T
//
//===----------------------------------------------------------------------===//

#include "dialect/ops/KVCache.h"
#include "lib/Transforms/GraphBuilder.h"
#include "lib/Transforms/Passes.h"

namespace kvern {
#define GEN_PASS_DEF_DECOMPOSELATENTATTENTION
#include "lib/Transforms/Passes.h.inc"
} // namespace kvern

using namespace mlir;
using namespace kvern;

/// The result, in place of `op`.
static Value decompose(GraphBuilder &b, LatentAttentionOp op) {
  ArrayRef<DimAttr> q = b.shapeOf(op.getQ());
  int64_t latent = *b.shapeOf(op.getKvB())[1].getStaticValue();
  int64_t rope =
      cast<PagedCacheType>(op.getCache().getType()).getHeadDim() - latent;
  int64_t size = *q[2].getStaticValue(), nope = size - rope;
  int64_t valueDim = op.getValueDim();

  Value weight = op.getKvB();
  Type element = cast<kvern::TensorType>(op.getType()).getElementType();
  if (cast<kvern::TensorType>(weight.getType()).getElementType() != element) {
    weight = CastOp::create(b, weight, element);
  }
  weight = b.reshape(weight, {q[1], b.dim(nope + valueDim), b.dim(latent)});
  Value keys = b.slice(weight, 1, 0, nope);
  Value values = b.slice(weight, 1, nope, nope + valueDim);

  Value absorbed = b.permute(b.slice(op.getQ(), 2, 0, nope), {1, 0, 2});
  absorbed = MatmulOp::create(b, absorbed, keys, /*transpose_rhs=*/false);
  absorbed = b.permute(absorbed, {1, 0, 2});
  if (rope != 0) {
    Value rotated = b.slice(op.getQ(), 2, nope, size);
    absorbed = ConcatOp::create(b, ValueRange{absorbed, rotated},
                                b.getI64IntegerAttr(2));
  }
  Value gathered = PagedAttentionOp::create(
      b, absorbed, op.getOffsets(), op.getCache(), op.getLayer(),
      /*sinks=*/Value(), op.getScaleAttr(), op.getMaskVariantAttr(),
      op.getWindowAttr(), /*softcap=*/b.getF64FloatAttr(0.0),
      b.getI64IntegerAttr(latent));
  Value result = MatmulOp::create(b, b.permute(gathered, {1, 0, 2}), values,
                                  /*transpose_rhs=*/true);
  return b.permute(result, {1, 0, 2});
}

namespace {

struct DecomposeLatentAttention
    : kvern::impl::DecomposeLatentAttentionBase<DecomposeLatentAttention> {
  void runOnOperation() override {
    SmallVector<LatentAttentionOp> ops;
    getOperation().walk([&](LatentAttentionOp op) {
      if (op.getAbsorbed()) {
        ops.push_back(op);
      }
    });
    for (LatentAttentionOp op : ops) {
      OpBuilder builder(op);
      GraphBuilder b(op.getLoc(), builder);
      op.replaceAllUsesWith(decompose(b, op));
      op.erase();
    }
  }
};

} // namespace
