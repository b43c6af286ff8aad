//===- DecomposeProjections.cpp - A product, then a store -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   x       = hidden weight^T + bias, as heads
//   q, k, v = x
//   the cache gets k and v
//
//===----------------------------------------------------------------------===//

#include "dialect/ops/KVCache.h"
#include "lib/Transforms/GraphBuilder.h"
#include "lib/Transforms/Passes.h"

namespace kvern {
#define GEN_PASS_DEF_DECOMPOSEPROJECTIONS
#include "lib/Transforms/Passes.h.inc"
} // namespace kvern

using namespace mlir;
using namespace kvern;

/// Returns the queries.
static Value decompose(GraphBuilder &b, QkvProjectStoreOp op) {
  auto cache = cast<PagedCacheType>(op.getCache().getType());
  int64_t heads = op.getQueryHeads(), kvHeads = cache.getHeads();
  int64_t all = heads + 2 * kvHeads;
  Value x = MatmulOp::create(b, op.getHidden(), op.getWeight(),
                             /*transpose_rhs=*/true);
  if (op.getBias()) {
    x = AddOp::create(b, x, op.getBias());
  }
  x = b.reshape(x, {b.shapeOf(x)[0], b.dim(all), b.dim(cache.getHeadDim())});
  Value k = b.slice(x, 1, heads, heads + kvHeads);
  Value v = b.slice(x, 1, heads + kvHeads, all);
  KVStoreOp::create(b, k, v, op.getOffsets(), op.getCache(), op.getLayer());
  return b.slice(x, 1, 0, heads);
}

namespace {

struct DecomposeProjections
    : kvern::impl::DecomposeProjectionsBase<DecomposeProjections> {
  void runOnOperation() override {
    SmallVector<QkvProjectStoreOp> ops;
    getOperation().walk([&](QkvProjectStoreOp op) { ops.push_back(op); });
    for (QkvProjectStoreOp op : ops) {
      OpBuilder builder(op);
      GraphBuilder b(op.getLoc(), builder);
      op.replaceAllUsesWith(decompose(b, op));
      op.erase();
    }
  }
};

} // namespace
