//===- KvernToHost.cpp - Graphs become host programs ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Conversion/KvernToHost/ProgramBuilder.h"
#include "lib/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace kvern {
#define GEN_PASS_DEF_CONVERTTOHOST
#include "lib/Conversion/Passes.h.inc"
} // namespace kvern

using namespace mlir;
using namespace kvern;

namespace {

struct ConvertToHost : kvern::impl::ConvertToHostBase<ConvertToHost> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    WeightTable weights;
    auto graphs = llvm::to_vector(llvm::make_filter_range(
        getOperation().getOps<func::FuncOp>(),
        [](func::FuncOp function) { return function.isPublic(); }));
    for (func::FuncOp graph : graphs) {
      if (graph->hasAttr("kvern.kernel")) {
        graph.emitOpError("expected a kernel to be private, but @")
            << graph.getSymName() << " is public";
        return signalPassFailure();
      }
      if (failed(ProgramBuilder(graph, symbols, weights).run())) {
        return signalPassFailure();
      }
      graph.erase();
    }
    // The manifests have it now.
    for (auto kernel : getOperation().getOps<func::FuncOp>()) {
      kernel->removeAttr("kvern.work");
    }
    getOperation()->setAttr("kvern.weights", weights.getAttr(&getContext()));
  }
};

} // namespace
