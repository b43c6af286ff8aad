// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bufferization of the ops with loops inside.
#include "lib/Codegen/LoopBufferization.h"

#include "dialect/ops/KVCache.h"
#include "dialect/ops/Sampling.h"

#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"

using namespace mlir;
using namespace mlir::bufferization;
using namespace kvern;

namespace {
/// The same op on buffers, without results.
template <typename OpT>
struct LoopModel
    : DstBufferizableOpInterfaceExternalModel<LoopModel<OpT>, OpT> {
  /// Every element of what is written to is written, none is read.
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &) const {
    return !cast<DestinationStyleOpInterface>(op).isDpsInit(&operand);
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(op);
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      if (!isa<mlir::TensorType>(operand.getType())) {
        operands.push_back(operand);
        continue;
      }
      FailureOr<Value> buffer = getBuffer(rewriter, operand, options, state);
      if (failed(buffer)) {
        return failure();
      }
      operands.push_back(*buffer);
    }
    OperationState created(op->getLoc(), op->getName(), operands, TypeRange(),
                           op->getAttrs());
    rewriter.create(created);
    replaceOpWithBufferizedValues(
        rewriter, op, ArrayRef(operands).take_back(op->getNumResults()));
    return success();
  }
};
} // namespace

void kvern::registerLoopBufferization(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, KvernDialect *) {
    LoopAttentionOp::attachInterface<LoopModel<LoopAttentionOp>>(*context);
    LoopKVStoreOp::attachInterface<LoopModel<LoopKVStoreOp>>(*context);
    LoopRopeOp::attachInterface<LoopModel<LoopRopeOp>>(*context);
    LoopSampleTokensOp::attachInterface<LoopModel<LoopSampleTokensOp>>(
        *context);
    LoopFilterLogitsOp::attachInterface<LoopModel<LoopFilterLogitsOp>>(
        *context);
    LoopApplyPenaltiesOp::attachInterface<LoopModel<LoopApplyPenaltiesOp>>(
        *context);
    LoopCountTokensOp::attachInterface<LoopModel<LoopCountTokensOp>>(*context);
  });
}
