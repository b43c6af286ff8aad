//===- Executable.h - Writes executables ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_LIB_TARGET_EXECUTABLE_H
#define KVERN_LIB_TARGET_EXECUTABLE_H

#include "lib/Codegen/CpuTarget.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include <string>

namespace kvern {

/// The executable file of a module at the end of stage `target`: the manifest,
/// read from its `kvern.*` attributes, the constants, and its objects.
llvm::Expected<std::string>
emitExecutable(mlir::ModuleOp module, const CpuTarget &target,
               llvm::StringRef version,
               llvm::ArrayRef<llvm::StringRef> objects);

} // namespace kvern

#endif // KVERN_LIB_TARGET_EXECUTABLE_H
