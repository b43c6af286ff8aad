// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Target/EmitObjects.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace kvern;

namespace {

// Not in Passes.td: it has no form on the command line, since its result is no
// IR.
struct EmitObjects : PassWrapper<EmitObjects, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(EmitObjects)

  explicit EmitObjects(EmitContext &shared) : shared(shared) {}

  StringRef getName() const override { return "EmitObjects"; }

  void runOnOperation() override {
    if (shared.isCancelled) {
      return signalPassFailure();
    }
    StringRef part = getPartName(getOperation());
    CodeTimes times;
    auto code = emitCode(getOperation(), shared.target, shared.kind,
                         shared.symbols.lookup(part), times);
    if (!code) {
      getOperation().emitError(llvm::toString(code.takeError()));
      shared.report->setFailed(part);
      return signalPassFailure();
    }
    shared.report->addSeconds(part, "llvm-translate", times.translate);
    shared.report->addSeconds(part, "llvm-optimize", times.optimize);
    shared.report->addSeconds(part, "llvm-codegen", times.generate);
    shared.report->setObjectBytes(part, code->size());
    std::lock_guard<std::mutex> lock(shared.mutex);
    if (!shared.take(part, std::move(*code))) {
      shared.isCancelled = true;
    }
  }

  EmitContext &shared;
};

} // namespace

std::unique_ptr<Pass> kvern::createEmitObjects(EmitContext &context) {
  return std::make_unique<EmitObjects>(context);
}
