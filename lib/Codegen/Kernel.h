// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What marks a function as a kernel.
#ifndef KVERN_LIB_CODEGEN_KERNEL_H
#define KVERN_LIB_CODEGEN_KERNEL_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace kvern {

/// Unit attribute of the functions that lib/Codegen transforms; it leaves all
/// others alone.
inline constexpr llvm::StringLiteral kKernelAttrName = "kvern.kernel";

inline bool isKernel(mlir::func::FuncOp function) {
  return !function.isExternal() && function->hasAttr(kKernelAttrName);
}

} // namespace kvern

#endif // KVERN_LIB_CODEGEN_KERNEL_H
