//===- DecomposeAttention.cpp - Attention by its definition ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// scores  = scale * q k^T for each head of keys and its group of heads, capped,
//           masked
// weights = e^(scores - largest) / (sum + e^(sinks - largest))
// result  = weights v
//
//===----------------------------------------------------------------------===//

#include "dialect/ops/Attention.h"
#include "lib/Transforms/GraphBuilder.h"
#include "lib/Transforms/Passes.h"

namespace kvern {
#define GEN_PASS_DEF_DECOMPOSEATTENTION
#include "lib/Transforms/Passes.h.inc"
} // namespace kvern

using namespace mlir;
using namespace kvern;

namespace {

/// Builds what one op means. Axes are called b, n, m, h, g, d as in the
/// description of the op.
class Decomposer : public GraphBuilder {
public:
  Decomposer(AttentionOp op, OpBuilder &builder)
      : GraphBuilder(op.getLoc(), builder), op(op),
        type(cast<kvern::TensorType>(op.getType())), device(type.getDevice()) {
    Type element = type.getElementType();
    compute = element.isF64() ? element : Type(getF32Type());
    ArrayRef<DimAttr> q = shapeOf(op.getQ()), k = shapeOf(op.getK());
    batch = q[0];
    queries = q[1];
    heads = q[2];
    keys = k[1];
    kvHeads = k[2];
    group = dim(*heads.getStaticValue() / *kvHeads.getStaticValue());
  }

  /// The result, in place of `op`.
  Value build();

private:
  template <typename OpT, typename... Args> Value emit(Args &&...args) {
    return OpT::create(*this, std::forward<Args>(args)...);
  }
  Value wide(Value value) { return emit<CastOp>(value, compute); }
  Value number(double value) {
    return splat(getFloatAttr(compute, value), compute);
  }
  Value number(int64_t value) {
    return splat(getI64IntegerAttr(value), getI64Type());
  }
  Value splat(Attribute value, Type element) {
    auto scalar = kvern::TensorType::get({}, element, device);
    auto elements =
        DenseElementsAttr::get(RankedTensorType::get({}, element), value);
    return emit<ConstantOp>(scalar, elements, device);
  }
  /// Which keys are seen, [queries, keys]; null for all.
  Value visible();

  AttentionOp op;
  const kvern::TensorType type;
  const DeviceAttr device;
  Type compute;
  DimAttr batch, queries, heads, keys, kvHeads, group;
};

} // namespace

Value Decomposer::visible() {
  MaskVariant variant = *parseMaskVariant(op.getMaskVariant());
  if (variant == MaskVariant::Null) {
    return {};
  }
  auto range = [&](DimAttr size) {
    return emit<RangeOp>(getI64IntegerAttr(0), getI64IntegerAttr(1), size,
                         device);
  };
  Value shift = emit<ShapeToTensorOp>(
      ShapeAttr::get(getContext(), keys - queries), device);
  Value p = reshape(emit<AddOp>(range(queries), shift), {queries, dim(1)});
  Value j = range(keys);
  Value window = number(static_cast<int64_t>(op.getWindow()));
  Value causal = emit<GreaterEqualOp>(p, j);
  switch (variant) {
  case MaskVariant::ChunkedCausal: {
    Value same =
        emit<EqualOp>(emit<FloorDivOp>(p, window), emit<FloorDivOp>(j, window));
    return emit<LogicalAndOp>(causal, same);
  }
  case MaskVariant::SlidingWindowCausal:
    return emit<LogicalAndOp>(causal,
                              emit<GreaterOp>(window, emit<SubOp>(p, j)));
  case MaskVariant::SlidingWindowNoncausal:
    return emit<GreaterOp>(window, emit<AbsOp>(emit<SubOp>(p, j)));
  default:
    return causal;
  }
}

Value Decomposer::build() {
  DimAttr rows = group * queries;
  DimAttr depth = shapeOf(op.getQ()).back(), valueDepth = type.getShape()[3];
  // [batch, kv_heads, group * queries, head_dim] and the like.
  Value q = reshape(wide(op.getQ()), {batch, queries, kvHeads, group, depth});
  q = reshape(permute(q, {0, 2, 3, 1, 4}), {batch, kvHeads, rows, depth});
  Value k = permute(wide(op.getK()), {0, 2, 1, 3});
  Value v = permute(wide(op.getV()), {0, 2, 1, 3});

  Value scores = emit<MatmulOp>(q, k, /*transpose_rhs=*/true);
  scores = reshape(scores, {batch, heads, queries, keys});
  scores = emit<MulOp>(scores, number(op.getScale().convertToDouble()));
  if (double softcap = op.getSoftcap().convertToDouble()) {
    Value part = emit<TanhOp>(emit<DivOp>(scores, number(softcap)));
    scores = emit<MulOp>(part, number(softcap));
  }
  if (op.getMask()) {
    scores = emit<AddOp>(scores, wide(op.getMask()));
  }
  Value lowest = number(-std::numeric_limits<double>::infinity());
  if (Value seen = visible()) {
    scores = emit<WhereOp>(seen, scores, lowest);
  }

  Value largest = emit<ReduceMaxOp>(scores, 3);
  Value sinks;
  if (op.getSinks()) {
    sinks = reshape(wide(op.getSinks()), {heads, dim(1), dim(1)});
    largest = emit<MaxOp>(largest, sinks);
  }
  Value zero = number(0.0);
  Value none = emit<EqualOp>(largest, lowest);
  largest = emit<WhereOp>(none, zero, largest);
  Value weights = emit<ExpOp>(emit<SubOp>(scores, largest));
  Value total = emit<SumOp>(weights, 3);
  if (sinks) {
    total = emit<AddOp>(total, emit<ExpOp>(emit<SubOp>(sinks, largest)));
  }
  // No key is seen: 0 / 1.
  Value empty = emit<EqualOp>(total, zero);
  total = emit<WhereOp>(empty, number(1.0), total);
  weights = emit<DivOp>(weights, total);

  weights = reshape(weights, {batch, kvHeads, rows, keys});
  Value result = emit<MatmulOp>(weights, v, /*transpose_rhs=*/false);
  result = reshape(result, {batch, heads, queries, valueDepth});
  result = permute(result, {0, 2, 1, 3});
  return emit<CastOp>(result, type.getElementType());
}

namespace {

struct DecomposeAttention
    : kvern::impl::DecomposeAttentionBase<DecomposeAttention> {
  void runOnOperation() override {
    SmallVector<AttentionOp> ops;
    getOperation().walk([&](AttentionOp op) { ops.push_back(op); });
    for (AttentionOp op : ops) {
      OpBuilder builder(op);
      op.replaceAllUsesWith(Decomposer(op, builder).build());
      op.erase();
    }
  }
};

} // namespace
