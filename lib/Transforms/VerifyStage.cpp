//===- VerifyStage.cpp - What a stage guarantees --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Kvern.h"
#include "lib/Transforms/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Verifier.h"

namespace kvern {
#define GEN_PASS_DEF_VERIFYSTAGE
#include "lib/Transforms/Passes.h.inc"
} // namespace kvern

using namespace mlir;
using namespace kvern;

static bool isHostOp(Operation *op) {
  return op->getName().getStringRef().starts_with("kvern.host.");
}

/// Ops with loops inside, which lib/Codegen lowers.
static bool isLoopOp(Operation *op) {
  return op->getName().getStringRef().starts_with("kvern.loop.");
}

static bool touchesTensors(Operation *op) {
  auto isTensor = llvm::IsaPred<mlir::TensorType, kvern::TensorType>;
  return llvm::any_of(op->getOperandTypes(), isTensor) ||
         llvm::any_of(op->getResultTypes(), isTensor);
}

using Rule = bool (*)(Operation *);

/// Null for a name that is not a stage.
static Rule getRule(StringRef stage) {
  if (stage == "graph" || stage == "optimized") {
    return [](Operation *op) {
      return isa<KvernDialect, func::FuncDialect>(op->getDialect()) &&
             !isHostOp(op) && !isLoopOp(op);
    };
  }
  if (stage == "kernels") {
    return [](Operation *op) {
      return !isa<KvernDialect>(op->getDialect()) || isHostOp(op) ||
             isLoopOp(op);
    };
  }
  if (stage == "loops") {
    return [](Operation *op) {
      return (!isa<KvernDialect>(op->getDialect()) || isHostOp(op)) &&
             !touchesTensors(op);
    };
  }
  if (stage == "target") {
    return
        [](Operation *op) { return isa<LLVM::LLVMDialect>(op->getDialect()); };
  }
  return nullptr;
}

namespace {

struct VerifyStage : kvern::impl::VerifyStageBase<VerifyStage> {
  using VerifyStageBase::VerifyStageBase;

  void runOnOperation() override {
    Rule rule = getRule(stage);
    if (!rule) {
      getOperation().emitError("unknown stage '") << stage << "'";
      return signalPassFailure();
    }
    // The compiler does not verify between passes.
    if (failed(verify(getOperation()))) {
      return signalPassFailure();
    }
    WalkResult result = getOperation().walk([&](Operation *op) {
      if (isa<ModuleOp>(op) || !op->getDialect() || rule(op)) {
        return WalkResult::advance();
      }
      op->emitOpError("is not allowed at the end of stage '") << stage << "'";
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted()) {
      signalPassFailure();
    }
  }
};

} // namespace
