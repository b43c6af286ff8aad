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
#include "lib/Transforms/Passes.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace kvern {
#define GEN_PASS_DEF_DECOMPOSELATENTATTENTION
#include "lib/Transforms/Passes.h.inc"
} // namespace kvern

using namespace mlir;
using namespace kvern;

namespace {

class Decomposer : public ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  /// The result, in place of `op`.
  Value build(LatentAttentionOp op);

private:
  static ArrayRef<DimAttr> shapeOf(Value value) {
    return cast<kvern::TensorType>(value.getType()).getShape();
  }
  DimAttr dim(int64_t size) { return DimAttr::getStatic(getContext(), size); }
  Value reshape(Value value, ArrayRef<DimAttr> shape) {
    return ReshapeOp::create(*this, value, ShapeAttr::get(getContext(), shape));
  }
  Value permute(Value value, ArrayRef<int64_t> order) {
    return PermuteOp::create(*this, value, getDenseI64ArrayAttr(order));
  }
  /// Elements from `from` to below `to` along an axis.
  Value slice(Value value, size_t axis, int64_t from, int64_t to);
};

} // namespace

Value Decomposer::slice(Value value, size_t axis, int64_t from, int64_t to) {
  SmallVector<Attribute> starts, stops;
  ArrayRef<DimAttr> shape = shapeOf(value);
  SmallVector<int64_t> steps(shape.size(), 1);
  SmallVector<Attribute> named(shape.size(), getUnitAttr());
  for (size_t i = 0; i < shape.size(); ++i) {
    starts.push_back(dim(i == axis ? from : 0));
    stops.push_back(i == axis ? dim(to) : shape[i]);
  }
  return SliceOp::create(*this, value, ValueRange(), getArrayAttr(starts),
                         getArrayAttr(stops), getDenseI64ArrayAttr(steps),
                         getArrayAttr(named));
}

Value Decomposer::build(LatentAttentionOp op) {
  ArrayRef<DimAttr> q = shapeOf(op.getQ());
  int64_t latent = *shapeOf(op.getKvB())[1].getStaticValue();
  int64_t rope =
      cast<PagedCacheType>(op.getCache().getType()).getHeadDim() - latent;
  int64_t size = *q[2].getStaticValue(), nope = size - rope;
  int64_t valueDim = op.getValueDim();

  Value weight = op.getKvB();
  Type element = cast<kvern::TensorType>(op.getType()).getElementType();
  if (cast<kvern::TensorType>(weight.getType()).getElementType() != element) {
    weight = CastOp::create(*this, weight, element);
  }
  weight = reshape(weight, {q[1], dim(nope + valueDim), dim(latent)});
  Value keys = slice(weight, 1, 0, nope);
  Value values = slice(weight, 1, nope, nope + valueDim);

  Value absorbed = permute(slice(op.getQ(), 2, 0, nope), {1, 0, 2});
  absorbed = MatmulOp::create(*this, absorbed, keys, /*transpose_rhs=*/false);
  absorbed = permute(absorbed, {1, 0, 2});
  if (rope != 0) {
    Value rotated = slice(op.getQ(), 2, nope, size);
    absorbed = ConcatOp::create(*this, ValueRange{absorbed, rotated},
                                getI64IntegerAttr(2));
  }
  Value gathered = PagedAttentionOp::create(
      *this, absorbed, op.getOffsets(), op.getCache(), op.getLayer(),
      /*sinks=*/Value(), op.getScaleAttr(), op.getMaskVariantAttr(),
      op.getWindowAttr(), /*softcap=*/getF64FloatAttr(0.0),
      getI64IntegerAttr(latent));
  Value result = MatmulOp::create(*this, permute(gathered, {1, 0, 2}), values,
                                  /*transpose_rhs=*/true);
  return permute(result, {1, 0, 2});
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
      op.replaceAllUsesWith(Decomposer(op.getLoc(), builder).build(op));
      op.erase();
    }
  }
};

} // namespace
