//===- DecomposeProjections.cpp - A product, then a store -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   x       = hidden weight^T + bias, as heads
//   q, k, v = x
//   the cache gets k and v
//
//===----------------------------------------------------------------------===//

#include "dialect/ops/KVCache.h"
#include "lib/Transforms/Passes.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace kvern {
#define GEN_PASS_DEF_DECOMPOSEPROJECTIONS
#include "lib/Transforms/Passes.h.inc"
} // namespace kvern

using namespace mlir;
using namespace kvern;

static ArrayRef<DimAttr> shapeOf(Value value) {
  return cast<kvern::TensorType>(value.getType()).getShape();
}

/// Heads from `from` to below `to` of `[tokens, heads, head_dim]`.
static Value sliceHeads(ImplicitLocOpBuilder &b, Value x, int64_t from,
                        int64_t to) {
  ArrayRef<DimAttr> shape = shapeOf(x);
  DimAttr zero = DimAttr::getStatic(b.getContext(), 0);
  SmallVector<Attribute> starts{zero, DimAttr::getStatic(b.getContext(), from),
                                zero};
  SmallVector<Attribute> stops{shape[0], DimAttr::getStatic(b.getContext(), to),
                               shape[2]};
  SmallVector<Attribute> named(3, b.getUnitAttr());
  return SliceOp::create(
      b, x, ValueRange(), b.getArrayAttr(starts), b.getArrayAttr(stops),
      b.getDenseI64ArrayAttr({1, 1, 1}), b.getArrayAttr(named));
}

/// Returns the queries.
static Value decompose(ImplicitLocOpBuilder &b, QkvProjectStoreOp op) {
  auto cache = cast<PagedCacheType>(op.getCache().getType());
  int64_t heads = op.getQueryHeads(), kvHeads = cache.getHeads();
  int64_t all = heads + 2 * kvHeads;
  Value x = MatmulOp::create(b, op.getHidden(), op.getWeight(),
                             /*transpose_rhs=*/true);
  if (op.getBias()) {
    x = AddOp::create(b, x, op.getBias());
  }
  SmallVector<DimAttr> shape{
      shapeOf(x)[0], DimAttr::getStatic(b.getContext(), all),
      DimAttr::getStatic(b.getContext(), cache.getHeadDim())};
  x = ReshapeOp::create(b, x, ShapeAttr::get(b.getContext(), shape));
  Value k = sliceHeads(b, x, heads, heads + kvHeads);
  Value v = sliceHeads(b, x, heads + kvHeads, all);
  KVStoreOp::create(b, k, v, op.getOffsets(), op.getCache(), op.getLayer());
  return sliceHeads(b, x, 0, heads);
}

namespace {

struct DecomposeProjections
    : kvern::impl::DecomposeProjectionsBase<DecomposeProjections> {
  void runOnOperation() override {
    SmallVector<QkvProjectStoreOp> ops;
    getOperation().walk([&](QkvProjectStoreOp op) { ops.push_back(op); });
    for (QkvProjectStoreOp op : ops) {
      OpBuilder builder(op);
      ImplicitLocOpBuilder b(op.getLoc(), builder);
      op.replaceAllUsesWith(decompose(b, op));
      op.erase();
    }
  }
};

} // namespace
