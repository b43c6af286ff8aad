// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What marks a function as a kernel.
#ifndef KVERN_LIB_CODEGEN_KERNEL_H
#define KVERN_LIB_CODEGEN_KERNEL_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace kvern {

/// Unit attribute of the functions that lib/Codegen transforms; it leaves all
/// others alone.
inline constexpr llvm::StringLiteral kKernelAttrName = "kvern.kernel";

inline bool isKernel(mlir::func::FuncOp function) {
  return !function.isExternal() && function->hasAttr(kKernelAttrName);
}

/// The block whose start is the place of a kernel's temporaries that are used
/// at `op`: the body of the outermost `scf.forall` around it, of which each
/// thread has its own, or the entry block.
inline mlir::Block &scratchBlock(mlir::Operation *op) {
  mlir::Block *block = nullptr;
  for (mlir::Operation *parent = op->getParentOp(); parent;
       parent = parent->getParentOp()) {
    if (auto function = llvm::dyn_cast<mlir::func::FuncOp>(parent)) {
      return block ? *block : function.getBody().front();
    }
    if (auto loop = llvm::dyn_cast<mlir::scf::ForallOp>(parent)) {
      block = loop.getBody();
    }
  }
  llvm_unreachable("an op of a kernel is in a function");
}

} // namespace kvern

#endif // KVERN_LIB_CODEGEN_KERNEL_H
