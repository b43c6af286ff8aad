// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One-shot bufferization, one kernel at a time.
#include "lib/Codegen/Kernel.h"
#include "lib/Codegen/Passes.h"

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace kvern {
#define GEN_PASS_DEF_BUFFERIZE
#include "lib/Codegen/Passes.h.inc"
} // namespace kvern

using namespace mlir;
using namespace kvern;

namespace {
struct BufferizePass : kvern::impl::BufferizeBase<BufferizePass> {
  void runOnOperation() override {
    if (!isKernel(getOperation())) {
      return;
    }
    bufferization::OneShotBufferizationOptions options;
    // Kernels take and return buffers already.
    options.opFilter.denyDialect<func::FuncDialect>();
    IRRewriter rewriter(&getContext());
    bufferization::BufferizationState state;
    if (failed(
            bufferization::eliminateEmptyTensors(rewriter, getOperation())) ||
        failed(bufferization::runOneShotBufferize(getOperation(), options,
                                                  state))) {
      signalPassFailure();
    }
  }
};
} // namespace
