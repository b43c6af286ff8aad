// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A pass that makes machine code of a module.
#ifndef KVERN_LIB_TARGET_EMITOBJECTS_H
#define KVERN_LIB_TARGET_EMITOBJECTS_H

#include "lib/Target/CompileReport.h"
#include "lib/Target/ObjectCode.h"

#include "mlir/Pass/Pass.h"
#include <atomic>
#include <functional>

namespace kvern {

/// What the copies of the pass that run in parallel share.
struct EmitContext {
  CpuTarget target;
  CodeKind kind = CodeKind::Object;
  /// By name of a module: new names of its functions.
  llvm::StringMap<llvm::StringMap<std::string>> symbols;
  CompileReport *report = nullptr;
  /// Takes the code of a module; called one at a time. False ends the work.
  std::function<bool(llvm::StringRef, llvm::SmallVector<char, 0>)> take;
  std::mutex mutex;
  std::atomic<bool> isCancelled = false;
};

/// Emits the code of a module in the LLVM dialect, and leaves it as it is. The
/// context must outlive the pass.
std::unique_ptr<mlir::Pass> createEmitObjects(EmitContext &context);

} // namespace kvern

#endif // KVERN_LIB_TARGET_EMITOBJECTS_H
