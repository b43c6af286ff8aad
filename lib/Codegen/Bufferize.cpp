// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One-shot bufferization, one kernel at a time.
#include "lib/Codegen/Kernel.h"
#include "lib/Codegen/LoopBufferization.h"
#include "lib/Codegen/Passes.h"

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace kvern {
#define GEN_PASS_DEF_BUFFERIZE
#include "lib/Codegen/Passes.h.inc"
} // namespace kvern

using namespace mlir;
using namespace kvern;

/// A result that is put together of parts is put together in its destination:
/// elimination of empty tensors would replace the empty tensor for the first
/// part only, and leave memory of its own to what computes that part.
static void assembleInDestinations(func::FuncOp kernel, IRRewriter &rewriter) {
  SmallVector<bufferization::MaterializeInDestinationOp> stores;
  kernel.walk([&](bufferization::MaterializeInDestinationOp store) {
    stores.push_back(store);
  });
  for (bufferization::MaterializeInDestinationOp store : stores) {
    Value source = store.getSource();
    bool inParts = false;
    while (auto insert = source.getDefiningOp<tensor::InsertSliceOp>()) {
      inParts |= source != store.getSource();
      if (!source.hasOneUse()) {
        break;
      }
      source = insert.getDest();
    }
    auto empty = source.getDefiningOp<tensor::EmptyOp>();
    auto dest = dyn_cast<BlockArgument>(store.getDest());
    if (!inParts || !empty || !empty->hasOneUse() || !dest ||
        !isa<MemRefType>(dest.getType()) || !dest.hasOneUse()) {
      continue;
    }
    rewriter.setInsertionPoint(empty);
    rewriter.replaceOpWithNewOp<bufferization::ToTensorOp>(
        empty, empty.getType(), dest, /*restrict=*/true, /*writable=*/true);
  }
}

namespace {
struct BufferizePass : kvern::impl::BufferizeBase<BufferizePass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    BufferizeBase::getDependentDialects(registry);
    registerLoopBufferization(registry);
  }

  void runOnOperation() override {
    if (!isKernel(getOperation())) {
      return;
    }
    bufferization::OneShotBufferizationOptions options;
    // Kernels take and return buffers already.
    options.opFilter.denyDialect<func::FuncDialect>();
    IRRewriter rewriter(&getContext());
    bufferization::BufferizationState state;
    assembleInDestinations(getOperation(), rewriter);
    if (failed(
            bufferization::eliminateEmptyTensors(rewriter, getOperation())) ||
        failed(bufferization::runOneShotBufferize(getOperation(), options,
                                                  state))) {
      signalPassFailure();
    }
  }
};
} // namespace
