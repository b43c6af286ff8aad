//===- Sampling.cpp - From logits to tokens -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/ops/Sampling.h"

#include "dialect/Inference.h"
#include "dialect/ops/Attention.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace kvern;

#define GET_OP_CLASSES
#include "dialect/ops/Sampling.cpp.inc"

void KvernDialect::registerSamplingOps() {
  addOperations<
#define GET_OP_LIST
#include "dialect/ops/Sampling.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Graph ops
//===----------------------------------------------------------------------===//

/// Logits against the shape that they should have.
static LogicalResult checkLogits(InferError error, ArrayRef<DimAttr> logits) {
  if (logits.size() != 2) {
    return error("expected logits of shape [rows, vocabulary], but got ",
                 toString(logits));
  }
  return success();
}

/// One element for each row of the logits.
static LogicalResult checkByRow(InferError error, StringRef what,
                                ArrayRef<DimAttr> logits,
                                ArrayRef<kvern::TensorType> types) {
  for (kvern::TensorType type : types) {
    if (type.getShape() != logits.take_front()) {
      return error("expected ", what, " of shape ",
                   toString(logits.take_front()), ", but got ",
                   toString(type.getShape()));
    }
  }
  return success();
}

/// A word of a counter.
static bool isStream(uint64_t stream) { return stream >> 32 == 0; }

LogicalResult RandomUniformOp::inferReturnTypes(
    MLIRContext *context, std::optional<Location> location, Adaptor adaptor,
    SmallVectorImpl<Type> &results) {
  InferError error(location, getOperationName());
  auto types = getTypesOnOneDevice(error, adaptor.getOperands());
  if (failed(types)) {
    return failure();
  }
  ArrayRef<DimAttr> seed = (*types)[0].getShape(),
                    position = (*types)[1].getShape();
  // random_uniform_c1
  if (seed != position) {
    return error("expected seed and position of one shape, but got ",
                 toString(seed), " and ", toString(position));
  }
  // random_uniform_c2
  if (!isStream(adaptor.getStream())) {
    return error("expected stream to be from 0 to below 2^32, but got ",
                 static_cast<int64_t>(adaptor.getStream()));
  }
  results.push_back((*types)[0].withElementType(Float32Type::get(context)));
  return success();
}

LogicalResult SampleTokensOp::inferReturnTypes(MLIRContext *context,
                                               std::optional<Location> location,
                                               Adaptor adaptor,
                                               SmallVectorImpl<Type> &results) {
  InferError error(location, getOperationName());
  auto types = getTypesOnOneDevice(error, adaptor.getOperands());
  if (failed(types)) {
    return failure();
  }
  ArrayRef<DimAttr> logits = types->front().getShape();
  // sample_tokens_c1
  if (failed(checkLogits(error, logits))) {
    return failure();
  }
  // sample_tokens_c2
  if (logits[1].isStatic(0)) {
    return error("expected a vocabulary of size 1 or more, but got ",
                 toString(logits));
  }
  // sample_tokens_c3
  if (failed(checkByRow(error, "parameters", logits,
                        ArrayRef(*types).drop_front()))) {
    return failure();
  }
  // sample_tokens_c4
  if (!isStream(adaptor.getStream())) {
    return error("expected stream to be from 0 to below 2^32, but got ",
                 static_cast<int64_t>(adaptor.getStream()));
  }
  kvern::TensorType row = (*types)[1];
  results.push_back(row.withElementType(IntegerType::get(context, 64)));
  if (adaptor.getWithLogprobs()) {
    results.push_back(row);
  }
  return success();
}

/// Nothing is computed for log-probabilities that nobody reads.
LogicalResult SampleTokensOp::canonicalize(SampleTokensOp op,
                                           PatternRewriter &rewriter) {
  if (!op.getWithLogprobs() || !op.getResults()[1].use_empty()) {
    return failure();
  }
  auto tokens = SampleTokensOp::create(
      rewriter, op.getLoc(), op.getLogits(), op.getTemperature(), op.getTopK(),
      op.getTopP(), op.getMinP(), op.getSeed(), op.getPosition(),
      op.getStream(), /*with_logprobs=*/false);
  rewriter.replaceAllUsesWith(op.getResults()[0], tokens.getResults()[0]);
  rewriter.eraseOp(op);
  return success();
}

LogicalResult FilterLogitsOp::inferReturnTypes(MLIRContext *,
                                               std::optional<Location> location,
                                               Adaptor adaptor,
                                               SmallVectorImpl<Type> &results) {
  InferError error(location, getOperationName());
  auto types = getTypesOnOneDevice(error, adaptor.getOperands());
  if (failed(types)) {
    return failure();
  }
  ArrayRef<DimAttr> logits = types->front().getShape();
  // filter_logits_c1
  if (failed(checkLogits(error, logits))) {
    return failure();
  }
  // filter_logits_c2
  if (failed(checkByRow(error, "parameters", logits,
                        ArrayRef(*types).drop_front()))) {
    return failure();
  }
  results.push_back(types->front());
  return success();
}

/// Entries of tokens and counts.
static bool areCounts(ArrayRef<DimAttr> data, ArrayRef<DimAttr> offsets,
                      DimAttr rows) {
  DimAttr more = rows + DimAttr::getStatic(rows.getContext(), 1);
  return data.size() == 2 && data[1].isStatic(2) && offsets.size() == 1 &&
         offsets[0] == more;
}

LogicalResult ApplyPenaltiesOp::inferReturnTypes(
    MLIRContext *, std::optional<Location> location, Adaptor adaptor,
    SmallVectorImpl<Type> &results) {
  InferError error(location, getOperationName());
  auto types = getTypesOnOneDevice(error, adaptor.getOperands());
  if (failed(types)) {
    return failure();
  }
  ArrayRef<DimAttr> logits = types->front().getShape();
  // apply_penalties_c1
  if (failed(checkLogits(error, logits))) {
    return failure();
  }
  ArrayRef<DimAttr> data = (*types)[1].getShape(),
                    offsets = (*types)[2].getShape();
  // apply_penalties_c2
  if (!areCounts(data, offsets, logits[0])) {
    return error("expected data of shape [entries, 2] and offsets of shape "
                 "[rows + 1] for logits ",
                 toString(logits), ", but got shapes ", toString(data), " and ",
                 toString(offsets));
  }
  // apply_penalties_c3
  if (failed(checkByRow(error, "penalties", logits,
                        ArrayRef(*types).drop_front(3)))) {
    return failure();
  }
  results.push_back(types->front());
  return success();
}

LogicalResult CountTokensOp::inferReturnTypes(MLIRContext *,
                                              std::optional<Location> location,
                                              Adaptor adaptor,
                                              SmallVectorImpl<Type> &results) {
  InferError error(location, getOperationName());
  auto types = getTypesOnOneDevice(error, adaptor.getOperands());
  if (failed(types)) {
    return failure();
  }
  ArrayRef<DimAttr> data = (*types)[0].getShape(),
                    offsets = (*types)[1].getShape(),
                    tokens = (*types)[2].getShape();
  // count_tokens_c1
  if (tokens.size() != 1 || !areCounts(data, offsets, tokens[0])) {
    return error(
        "expected data of shape [entries, 2], offsets of shape [rows + "
        "1] and tokens of shape [rows], but got shapes ",
        toString(data), ", ", toString(offsets), " and ", toString(tokens));
  }
  results.push_back(types->front());
  return success();
}

//===----------------------------------------------------------------------===//
// Structured ops
//===----------------------------------------------------------------------===//

void LoopSampleTokensOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  addLoopEffects(cast<DestinationStyleOpInterface>(getOperation()), effects);
}
void LoopFilterLogitsOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  addLoopEffects(cast<DestinationStyleOpInterface>(getOperation()), effects);
}
void LoopApplyPenaltiesOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  addLoopEffects(cast<DestinationStyleOpInterface>(getOperation()), effects);
}
void LoopCountTokensOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  addLoopEffects(cast<DestinationStyleOpInterface>(getOperation()), effects);
}

/// Whether the operands have these ranks, and further ones the last.
static bool haveRanks(Operation *op, ArrayRef<int64_t> ranks) {
  for (auto [i, type] : llvm::enumerate(op->getOperandTypes())) {
    int64_t rank = ranks[std::min(i, ranks.size() - 1)];
    auto shaped = dyn_cast<ShapedType>(type);
    if (shaped && shaped.getRank() != rank) {
      return false;
    }
  }
  return true;
}

LogicalResult LoopSampleTokensOp::verify() {
  // loop_sample_tokens_c1
  if (!haveRanks(*this, {2, 1})) {
    return emitOpError("expected logits of rank 2 and all else of rank 1, but "
                       "got ")
           << getOperandTypes();
  }
  // loop_sample_tokens_c2
  if (getInits().empty() || getInits().size() > 2) {
    return emitOpError("expected one or two results, but got ")
           << getInits().size();
  }
  return success();
}

LogicalResult LoopFilterLogitsOp::verify() {
  // loop_filter_logits_c1
  if (getInits().size() != 1 || !haveRanks(*this, {2, 1, 1, 1, 1, 2})) {
    return emitOpError("expected logits and one result of rank 2 and all else "
                       "of rank 1, but got ")
           << getOperandTypes();
  }
  return success();
}

LogicalResult LoopApplyPenaltiesOp::verify() {
  // loop_apply_penalties_c1
  if (getInits().size() != 1 || !haveRanks(*this, {2, 2, 1, 1, 1, 1, 2})) {
    return emitOpError("expected logits, data and one result of rank 2 and all "
                       "else of rank 1, but got ")
           << getOperandTypes();
  }
  return success();
}

LogicalResult LoopCountTokensOp::verify() {
  // loop_count_tokens_c1
  if (getInits().size() != 1 || !haveRanks(*this, {2, 1, 1, 2})) {
    return emitOpError("expected data and one result of rank 2 and all else of "
                       "rank 1, but got ")
           << getOperandTypes();
  }
  return success();
}
