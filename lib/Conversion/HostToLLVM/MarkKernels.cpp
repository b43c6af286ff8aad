//===- MarkKernels.cpp - What LLVM may assume of kernels ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Conversion/Passes.h"
#include "lib/Support/DimNames.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace kvern {
#define GEN_PASS_DEF_MARKKERNELS
#include "lib/Conversion/Passes.h.inc"
} // namespace kvern

using namespace mlir;
using namespace kvern;

namespace {

struct MarkKernels : kvern::impl::MarkKernelsBase<MarkKernels> {
  void runOnOperation() override {
    LLVM::LLVMFuncOp function = getOperation();
    if (!function->hasAttr(kernelAttrName)) {
      return;
    }
    Builder builder(&getContext());
    // The body of a parallel loop: what is known of its arguments would be lost
    // by inlining.
    if (SymbolTable::getSymbolVisibility(function) ==
            SymbolTable::Visibility::Private &&
        !function.isExternal()) {
      function.setLinkage(LLVM::Linkage::Internal);
      function.setNoInline(true);
    }
    for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
      if (isa<LLVM::LLVMPointerType>(type)) {
        function.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                            builder.getUnitAttr());
      }
      function.removeArgAttr(i, symbolAttrName);
    }
  }
};

} // namespace
