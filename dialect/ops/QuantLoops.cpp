//===- QuantLoops.cpp - Quantized weights in kernels ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/ops/Quant.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace kvern;

/// Panels that hold `rows` rows.
static int64_t countPanels(int64_t rows) {
  return (rows - 1) / kQuantizedPanel + 1;
}

/// Whether `size` is `count` times `unit`, which may not be a number.
static bool holds(int64_t size, int64_t count, int64_t unit) {
  return size % unit == 0 && size / unit == count;
}

/// All operands tensors and a result of the type of the last, or all memrefs
/// and no result.
static LogicalResult verifyForm(Operation *op) {
  bool onTensors =
      llvm::all_of(op->getOperandTypes(), llvm::IsaPred<RankedTensorType>);
  bool onBuffers =
      llvm::all_of(op->getOperandTypes(), llvm::IsaPred<MemRefType>);
  Type out = op->getOperand(op->getNumOperands() - 1).getType();
  // loop_quantized_product_c2 loop_pack_quantized_c2
  if (op->getNumResults() != (onTensors ? 1 : 0) ||
      (!onTensors && !onBuffers) ||
      (onTensors && op->getResultTypes().front() != out)) {
    return op->emitOpError("expected tensors and a result of the type of out, "
                           "or memrefs and no result, but got ")
           << op->getNumResults() << " results";
  }
  return success();
}

LogicalResult LoopQuantizedProductOp::verify() {
  auto lhs = cast<ShapedType>(getLhs().getType());
  auto panels = cast<ShapedType>(getPanels().getType());
  auto out = cast<ShapedType>(getOut().getType());
  auto encoding = BlockEncoding::parse(getEncoding());
  bool ranked = lhs.hasRank() && panels.hasRank() && out.hasRank();
  // loop_quantized_product_c1
  if (!encoding || !ranked ||
      (getActivations() != "exact" && getActivations() != "int8") ||
      lhs.getRank() < 2 || lhs.getRank() != out.getRank() ||
      lhs.getElementType() != out.getElementType() ||
      !isa<Float32Type, Float16Type, BFloat16Type>(lhs.getElementType()) ||
      panels.getRank() != 3 || !panels.getElementType().isInteger(8) ||
      !panels.hasStaticShape() || out.isDynamicDim(out.getRank() - 1) ||
      out.getShape().back() < 1 ||
      panels.getDimSize(0) != countPanels(out.getShape().back()) ||
      !holds(lhs.getShape().back(), panels.getDimSize(1), encoding->group) ||
      panels.getDimSize(2) != kQuantizedPanel * encoding->blockBytes()) {
    return emitOpError("expected lhs, panels and out of a product with ")
           << getEncoding() << " weights, but got " << lhs << ", " << panels
           << " and " << out;
  }
  return verifyForm(*this);
}

LogicalResult LoopPackQuantizedOp::verify() {
  auto blocks = cast<ShapedType>(getBlocks().getType());
  auto out = cast<ShapedType>(getOut().getType());
  auto encoding = BlockEncoding::parse(getEncoding());
  auto isBytes = [](ShapedType type, int64_t rank) {
    return type.hasRank() && type.hasStaticShape() && type.getRank() == rank &&
           type.getElementType().isInteger(8);
  };
  // loop_pack_quantized_c1
  if (!encoding || !isBytes(blocks, 2) || !isBytes(out, 3) ||
      blocks.getDimSize(0) < 1 ||
      out.getDimSize(0) != countPanels(blocks.getDimSize(0)) ||
      !holds(blocks.getDimSize(1), out.getDimSize(1), encoding->blockBytes()) ||
      out.getDimSize(2) != kQuantizedPanel * encoding->blockBytes()) {
    return emitOpError("expected blocks and panels of ")
           << getEncoding() << " weights, but got " << blocks << " and " << out;
  }
  return verifyForm(*this);
}

//===----------------------------------------------------------------------===//
// Interfaces
//===----------------------------------------------------------------------===//

template <typename Op>
static void
addEffects(Op op, SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  if (!isa<MemRefType>(op.getOut().getType())) {
    return;
  }
  for (OpOperand &operand : op->getOpOperands()) {
    if (op.isDpsInit(&operand)) {
      effects.emplace_back(MemoryEffects::Write::get(), &operand);
    } else {
      effects.emplace_back(MemoryEffects::Read::get(), &operand);
    }
  }
}

template <typename Op>
static bufferization::AliasingValueList aliasingValues(Op op,
                                                       OpOperand &operand) {
  if (!op.isDpsInit(&operand) || op->getNumResults() == 0) {
    return {};
  }
  return {{op->getResult(0), bufferization::BufferRelation::Equivalent}};
}

template <typename Op>
static LogicalResult
bufferizeOperands(Op op, RewriterBase &rewriter,
                  const bufferization::BufferizationOptions &options,
                  bufferization::BufferizationState &state) {
  SmallVector<Value> buffers;
  for (Value operand : op->getOperands()) {
    FailureOr<Value> buffer =
        bufferization::getBuffer(rewriter, operand, options, state);
    if (failed(buffer)) {
      return failure();
    }
    buffers.push_back(*buffer);
  }
  Op::create(rewriter, op.getLoc(), TypeRange(), buffers, op->getAttrs());
  bufferization::replaceOpWithBufferizedValues(rewriter, op, buffers.back());
  return success();
}

void LoopQuantizedProductOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  addEffects(*this, effects);
}
bool LoopQuantizedProductOp::bufferizesToMemoryRead(
    OpOperand &operand, const bufferization::AnalysisState &) {
  return !isDpsInit(&operand);
}
bool LoopQuantizedProductOp::bufferizesToMemoryWrite(
    OpOperand &operand, const bufferization::AnalysisState &) {
  return isDpsInit(&operand);
}
bufferization::AliasingValueList LoopQuantizedProductOp::getAliasingValues(
    OpOperand &operand, const bufferization::AnalysisState &) {
  return aliasingValues(*this, operand);
}
LogicalResult LoopQuantizedProductOp::bufferize(
    RewriterBase &rewriter, const bufferization::BufferizationOptions &options,
    bufferization::BufferizationState &state) {
  return bufferizeOperands(*this, rewriter, options, state);
}

void LoopPackQuantizedOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  addEffects(*this, effects);
}
bool LoopPackQuantizedOp::bufferizesToMemoryRead(
    OpOperand &operand, const bufferization::AnalysisState &) {
  return !isDpsInit(&operand);
}
bool LoopPackQuantizedOp::bufferizesToMemoryWrite(
    OpOperand &operand, const bufferization::AnalysisState &) {
  return isDpsInit(&operand);
}
bufferization::AliasingValueList
LoopPackQuantizedOp::getAliasingValues(OpOperand &operand,
                                       const bufferization::AnalysisState &) {
  return aliasingValues(*this, operand);
}
LogicalResult LoopPackQuantizedOp::bufferize(
    RewriterBase &rewriter, const bufferization::BufferizationOptions &options,
    bufferization::BufferizationState &state) {
  return bufferizeOperands(*this, rewriter, options, state);
}
