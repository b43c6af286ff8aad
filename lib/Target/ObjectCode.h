//===- ObjectCode.h - From the LLVM dialect to machine code ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_LIB_TARGET_OBJECTCODE_H
#define KVERN_LIB_TARGET_OBJECTCODE_H

#include "lib/Codegen/CpuTarget.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

namespace kvern {

enum class CodeKind : uint8_t { Object, Assembly };

/// Seconds of the three steps.
struct CodeTimes {
  double translate = 0;
  double optimize = 0;
  double generate = 0;
};

/// Translates a module in the LLVM dialect, optimizes it for `target` and emits
/// position-independent code. Functions named in `symbols` get the name that it
/// gives.
llvm::Expected<llvm::SmallVector<char, 0>>
emitCode(mlir::ModuleOp module, const CpuTarget &target, CodeKind kind,
         const llvm::StringMap<std::string> &symbols, CodeTimes &times);

} // namespace kvern

#endif // KVERN_LIB_TARGET_OBJECTCODE_H
