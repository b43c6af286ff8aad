//===- Attention.cpp - Attention and rotary positions ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/ops/Attention.h"

#include "dialect/Inference.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace kvern;

#define GET_OP_CLASSES
#include "dialect/ops/Attention.cpp.inc"

void KvernDialect::registerAttentionOps() {
  addOperations<
#define GET_OP_LIST
#include "dialect/ops/Attention.cpp.inc"
      >();
}

std::optional<MaskVariant> kvern::parseMaskVariant(StringRef name) {
  return llvm::StringSwitch<std::optional<MaskVariant>>(name)
      .Case("null", MaskVariant::Null)
      .Case("causal", MaskVariant::Causal)
      .Case("chunked_causal", MaskVariant::ChunkedCausal)
      .Case("sliding_window_causal", MaskVariant::SlidingWindowCausal)
      .Case("sliding_window_noncausal", MaskVariant::SlidingWindowNoncausal)
      .Default(std::nullopt);
}

//===----------------------------------------------------------------------===//
// Graph ops
//===----------------------------------------------------------------------===//

/// What a message says after two sizes that should be equal.
static StringRef proofHint(DimAttr a, DimAttr b) {
  return a.isStatic() && b.isStatic()
             ? ""
             : ", which are not provably equal; rebind one of them";
}

/// q, k and v of rank `rank` against each other.
static LogicalResult checkShapes(InferError error, kvern::TensorType qType,
                                 kvern::TensorType kType,
                                 kvern::TensorType vType, int64_t rank) {
  ArrayRef<DimAttr> q = qType.getShape(), k = kType.getShape(),
                    v = vType.getShape();
  // attention_c1
  for (ArrayRef<DimAttr> shape : {q, k, v}) {
    if (static_cast<int64_t>(shape.size()) != rank) {
      return error("expected q, k and v of rank ", rank, ", but got ",
                   toString(q), ", ", toString(k), " and ", toString(v));
    }
  }
  // attention_c2
  for (auto [a, b] : llvm::zip(k.drop_back(), v.drop_back())) {
    if (a != b) {
      return error(
          "expected k and v to have equal sizes but for the last, but got ",
          toString(k), " and ", toString(v), proofHint(a, b));
    }
  }
  // attention_c3
  for (ArrayRef<DimAttr> shape : {q, k, v}) {
    for (DimAttr dim : shape.take_back(2)) {
      if (!dim.isStatic() || dim.isStatic(0)) {
        return error("expected static numbers of heads and head sizes of 1 or "
                     "more, but got ",
                     toString(shape));
      }
    }
  }
  // attention_c4
  if (q.back() != k.back()) {
    return error("expected q and k to have equal last sizes, but got ",
                 q.back().str(), " and ", k.back().str());
  }
  int64_t heads = *q[rank - 2].getStaticValue();
  int64_t kvHeads = *k[rank - 2].getStaticValue();
  // attention_c5
  if (heads % kvHeads != 0) {
    return error("expected the number of heads of q to be a multiple of that "
                 "of k and v (",
                 kvHeads, "), but got ", heads);
  }
  return success();
}

LogicalResult kvern::checkMask(InferError error, StringRef name, int64_t window,
                               const APFloat &softcap) {
  std::optional<MaskVariant> variant = parseMaskVariant(name);
  // attention_c6
  if (!variant) {
    return error("expected mask_variant to be null, causal, chunked_causal, "
                 "sliding_window_causal or sliding_window_noncausal, but got '",
                 name, "'");
  }
  // attention_c7
  if (hasWindow(*variant) ? window <= 0 : window != 0) {
    return error("expected window to be ",
                 hasWindow(*variant) ? "above 0" : "0", " with mask_variant '",
                 name, "', but got ", window);
  }
  // attention_c9
  if (softcap.isNegative() || !softcap.isFinite()) {
    return error("expected softcap to be 0 or above, and finite, but got ",
                 softcap.convertToDouble());
  }
  return success();
}

LogicalResult kvern::checkSinks(InferError error, Value sinks, DimAttr heads) {
  if (!sinks) {
    return success();
  }
  ArrayRef<DimAttr> shape = cast<kvern::TensorType>(sinks.getType()).getShape();
  // attention_c8
  if (shape.size() != 1 || shape[0] != heads) {
    return error("expected sinks of shape [", heads.str(), "], but got ",
                 toString(shape));
  }
  return success();
}

LogicalResult AttentionOp::inferReturnTypes(MLIRContext *,
                                            std::optional<Location> location,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &results) {
  InferError error(location, getOperationName());
  auto types = getUniformTypes(error, adaptor.getOperands());
  if (failed(types)) {
    return failure();
  }
  ArrayRef<DimAttr> q = (*types)[0].getShape(), k = (*types)[1].getShape(),
                    v = (*types)[2].getShape();
  if (failed(checkShapes(error, (*types)[0], (*types)[1], (*types)[2], 4)) ||
      failed(checkMask(error, adaptor.getMaskVariant(), adaptor.getWindow(),
                       adaptor.getSoftcap())) ||
      failed(checkSinks(error, adaptor.getSinks(), q[2]))) {
    return failure();
  }
  // attention_c10
  if (q[0] != k[0]) {
    return error("expected q and k to have equal batch sizes, but got ",
                 q[0].str(), " and ", k[0].str(), proofHint(q[0], k[0]));
  }
  if (Value mask = adaptor.getMask()) {
    SmallVector<DimAttr> scores{q[0], q[2], q[1], k[1]};
    auto shape = cast<kvern::TensorType>(mask.getType()).getShape();
    bool fits = shape.size() <= scores.size();
    if (fits) {
      for (auto [have, want] :
           llvm::zip(llvm::reverse(shape), llvm::reverse(scores))) {
        fits &= have.isStatic(1) || have == want;
      }
    }
    // attention_c11
    if (!fits) {
      return error("expected a mask of a shape that broadcasts to [batch, "
                   "heads, queries, keys] ",
                   toString(scores), ", but got ", toString(shape));
    }
  }
  return addResult(error, (*types)[0], {q[0], q[1], q[2], v[3]}, results);
}

LogicalResult RaggedAttentionOp::inferReturnTypes(
    MLIRContext *, std::optional<Location> location, Adaptor adaptor,
    SmallVectorImpl<Type> &results) {
  InferError error(location, getOperationName());
  auto types = getTypesOnOneDevice(error, adaptor.getOperands());
  if (failed(types)) {
    return failure();
  }
  // All but the offsets.
  ArrayRef<kvern::TensorType> all = *types;
  SmallVector<kvern::TensorType> floats(all.take_front(3));
  llvm::append_range(floats, all.drop_front(5));
  // ragged_attention_c1
  if (failed(checkSameElementType(error, floats)) ||
      failed(checkShapes(error, floats[0], floats[1], floats[2], 3)) ||
      failed(checkMask(error, adaptor.getMaskVariant(), adaptor.getWindow(),
                       adaptor.getSoftcap()))) {
    return failure();
  }
  ArrayRef<DimAttr> q = floats[0].getShape(), v = floats[2].getShape();
  ArrayRef<DimAttr> rows = (*types)[3].getShape(),
                    keys = (*types)[4].getShape();
  // ragged_attention_c2
  if (rows.size() != 1 || keys.size() != 1 || rows[0] != keys[0] ||
      rows[0].isStatic(0)) {
    return error("expected q_offsets and k_offsets of rank 1 and one size of 1 "
                 "or more, but got ",
                 toString(rows), " and ", toString(keys));
  }
  if (failed(checkSinks(error, adaptor.getSinks(), q[1]))) {
    return failure();
  }
  return addResult(error, floats[0], {q[0], q[1], v[2]}, results);
}

LogicalResult RopeOp::inferReturnTypes(MLIRContext *,
                                       std::optional<Location> location,
                                       Adaptor adaptor,
                                       SmallVectorImpl<Type> &results) {
  InferError error(location, getOperationName());
  auto types = getTypesOnOneDevice(error, adaptor.getOperands());
  if (failed(types)) {
    return failure();
  }
  kvern::TensorType x = (*types)[0], table = (*types)[1];
  ArrayRef<DimAttr> shape = x.getShape();
  size_t minimum = adaptor.getPositions() ? 2 : 3;
  // rope_c1
  if (shape.size() < minimum) {
    return error("expected x of rank ", minimum, " or more, but got ",
                 toString(shape));
  }
  // rope_c2
  if (table.getRank() != 2) {
    return error("expected a table of shape [rows, width], but got ",
                 toString(table.getShape()));
  }
  auto size = shape.back().getStaticValue();
  auto width = table.getShape()[1].getStaticValue();
  // rope_c3
  if (!size || !width || *width % 2 != 0 || *width > *size) {
    return error("expected static last sizes, that of the table even and at "
                 "most that of x, but got ",
                 table.getShape()[1].str(), " and ", shape.back().str());
  }
  if (adaptor.getPositions()) {
    ArrayRef<DimAttr> positions = types->back().getShape();
    // rope_c4
    if (positions != shape.drop_back(2)) {
      return error("expected positions of shape ", toString(shape.drop_back(2)),
                   ", but got ", toString(positions));
    }
  }
  // rope_c5
  if (table.getElementType() != x.getElementType() &&
      !table.getElementType().isF32()) {
    return error("expected a table of element type f32 or that of x (",
                 x.getElementType(), "), but got ", table.getElementType());
  }
  results.push_back(x);
  return success();
}

//===----------------------------------------------------------------------===//
// Structured ops
//===----------------------------------------------------------------------===//

void kvern::addLoopEffects(
    DestinationStyleOpInterface op,
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType())) {
      continue;
    }
    if (op.isDpsInit(&operand)) {
      effects.emplace_back(MemoryEffects::Write::get(), &operand,
                           SideEffects::DefaultResource::get());
    } else {
      effects.emplace_back(MemoryEffects::Read::get(), &operand,
                           SideEffects::DefaultResource::get());
    }
  }
}

void LoopAttentionOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  addLoopEffects(cast<DestinationStyleOpInterface>(getOperation()), effects);
}

void LoopRopeOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  addLoopEffects(cast<DestinationStyleOpInterface>(getOperation()), effects);
}

LogicalResult LoopAttentionOp::verify() {
  SmallVector<ArrayRef<int64_t>> shapes;
  size_t rank = getQOffsets() ? 3 : 4;
  for (Value value : {getQ(), getInit(), getK(), getV()}) {
    size_t wanted = shapes.size() >= 2 && getTable() ? 6 : rank;
    shapes.push_back(cast<ShapedType>(value.getType()).getShape());
    // loop_attention_c1
    if (shapes.back().size() != wanted) {
      return emitOpError("expected an operand of rank ")
             << wanted << ", but got " << value.getType();
    }
  }
  // The last two sizes.
  ArrayRef<int64_t> q = shapes[0].take_back(2), out = shapes[1].take_back(2),
                    k = shapes[2].take_back(2), v = shapes[3].take_back(2);
  // Rows of a latent cache begin with the values.
  bool fit = q[0] == out[0] && k[0] == v[0];
  if (!getKvB()) {
    fit &= q[1] == k[1] && (getTable() ? v[1] >= out[1] : v[1] == out[1]);
  } else {
    // Rows of kv_b make the keys, but for what all heads share, and values.
    ArrayRef<int64_t> weight = cast<ShapedType>(getKvB().getType()).getShape();
    fit &= weight.size() == 2 && weight[1] <= k[1] &&
           weight[0] == q[0] * (q[1] - (k[1] - weight[1]) + out[1]);
  }
  for (ArrayRef<int64_t> shape : shapes) {
    for (int64_t size : shape.take_back(2)) {
      fit &= !ShapedType::isDynamic(size) && size != 0;
    }
  }
  // loop_attention_c2
  if (!fit || q[0] % k[0] != 0) {
    return emitOpError("expected numbers of heads and head sizes that are "
                       "static and fit each other");
  }
  // loop_attention_c3
  if (!parseMaskVariant(getMaskVariant())) {
    return emitOpError("expected a mask_variant that there is, but got '")
           << getMaskVariant() << "'";
  }
  // loop_attention_c4
  if ((getTable() || !getSizes().empty()) && getSizes().size() != 3) {
    return emitOpError(getTable() ? "expected three sizes, but got "
                                  : "expected no sizes or three, but got ")
           << getSizes().size();
  }
  return success();
}

LogicalResult LoopRopeOp::verify() {
  auto x = cast<ShapedType>(getX().getType());
  auto table = cast<ShapedType>(getTable().getType());
  auto out = cast<ShapedType>(getInit().getType());
  // loop_rope_c1
  if (x.getRank() < 2 || x.getRank() != out.getRank() || table.getRank() != 2) {
    return emitOpError("expected operands of equal rank of 2 or more and a "
                       "table of rank 2, but got ")
           << x << ", " << out << " and " << table;
  }
  int64_t size = x.getShape().back(), width = table.getShape().back();
  // loop_rope_c2
  if (ShapedType::isDynamic(size) || ShapedType::isDynamic(width) ||
      size != out.getShape().back() || width % 2 != 0 || width > size) {
    return emitOpError("expected static last sizes, that of the table even and "
                       "at most that of x, but got ")
           << x << ", " << out << " and " << table;
  }
  return success();
}
