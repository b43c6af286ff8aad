//===- PlanWorkspace.cpp - One arena for all intermediate values ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// 1. The body of a kernel's companion (KernelModules.h) is copied before each
//    call, and what it allocates is passed to the kernel.
// 2. What the host program allocates becomes views of one arena
//    (ArenaPlanner.h).
//
//===----------------------------------------------------------------------===//

#include "dialect/Kvern.h"
#include "lib/Support/KernelModules.h"
#include "lib/Transforms/ArenaPlanner.h"
#include "lib/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Transforms/CSE.h"

namespace kvern {
#define GEN_PASS_DEF_PLANWORKSPACE
#include "lib/Transforms/Passes.h.inc"
} // namespace kvern

using namespace mlir;
using namespace kvern;

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Allocates what `companion` says before each of `calls`, and passes it.
static void passScratch(func::FuncOp companion, ArrayRef<func::CallOp> calls) {
  for (func::CallOp call : calls) {
    OpBuilder builder(call);
    IRMapping mapping;
    auto sizes = llvm::make_filter_range(
        call.getOperands(), [](Value v) { return v.getType().isIndex(); });
    mapping.map(companion.getArguments(), llvm::to_vector(sizes));
    Block &body = companion.getBody().front();
    for (Operation &op : body.without_terminator()) {
      builder.clone(op, mapping);
    }
    for (Value scratch : body.getTerminator()->getOperands()) {
      call.getOperandsMutable().append(mapping.lookup(scratch));
    }
  }
}

/// Lets the declaration of `kernel` agree with its calls.
static LogicalResult extendDeclaration(func::FuncOp kernel, TypeRange scratch) {
  for (Type type : scratch) {
    if (failed(kernel.insertArgument(kernel.getNumArguments(), type, {},
                                     kernel.getLoc()))) {
      return failure();
    }
  }
  return success();
}

namespace {

struct PlanWorkspace : kvern::impl::PlanWorkspaceBase<PlanWorkspace> {
  void runOnOperation() override {
    SmallVector<func::FuncOp> companions;
    getOperation().walk([&](func::FuncOp function) {
      if (function->hasAttr(scratchAttrName)) {
        companions.push_back(function);
      }
    });
    // The functions that call kernels are in the host module, or here.
    ModuleOp host = getOperation();
    if (auto module = getOperation().lookupSymbol<ModuleOp>(hostModuleName)) {
      host = module;
    }
    SymbolTable symbols(host);
    llvm::DenseMap<StringAttr, SmallVector<func::CallOp>> calls;
    for (auto program : host.getOps<func::FuncOp>()) {
      program.walk([&](func::CallOp call) {
        calls[call.getCalleeAttr().getAttr()].push_back(call);
      });
    }
    for (func::FuncOp companion : companions) {
      auto name = companion->getAttrOfType<FlatSymbolRefAttr>(scratchAttrName);
      passScratch(companion, calls[name.getAttr()]);
      auto kernel = symbols.lookup<func::FuncOp>(name.getAttr());
      if (kernel && kernel.isExternal() &&
          failed(extendDeclaration(kernel, companion.getResultTypes()))) {
        return signalPassFailure();
      }
      companion.erase();
    }
    // Planning adds functions.
    for (auto program : llvm::to_vector(host.getOps<func::FuncOp>())) {
      if (program->hasAttr("kvern.program")) {
        // Equal sizes must be one value to share memory.
        DominanceInfo dominance(program);
        IRRewriter rewriter(&getContext());
        eliminateCommonSubExpressions(rewriter, dominance, program);
        planArena(program);
      }
    }
  }
};

} // namespace
