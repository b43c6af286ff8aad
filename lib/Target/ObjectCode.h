//===- ObjectCode.h - From the LLVM dialect to machine code ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_LIB_TARGET_OBJECTCODE_H
#define KVERN_LIB_TARGET_OBJECTCODE_H

#include "lib/Codegen/CpuTarget.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

namespace kvern {

enum class CodeKind { Object, Assembly };

/// Translates a module in the LLVM dialect, optimizes it for `target` and emits
/// position-independent code.
llvm::Expected<llvm::SmallVector<char, 0>>
emitCode(mlir::ModuleOp module, const CpuTarget &target, CodeKind kind);

} // namespace kvern

#endif // KVERN_LIB_TARGET_OBJECTCODE_H
