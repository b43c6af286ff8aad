//===- IsolateKernels.cpp - One module for each kernel --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Kvern.h"
#include "lib/Support/DimNames.h"
#include "lib/Support/KernelModules.h"
#include "lib/Transforms/Passes.h"

namespace kvern {
#define GEN_PASS_DEF_ISOLATEKERNELS
#include "lib/Transforms/Passes.h.inc"
} // namespace kvern

using namespace mlir;
using namespace kvern;

namespace {

struct IsolateKernels : kvern::impl::IsolateKernelsBase<IsolateKernels> {
  void runOnOperation() override {
    ModuleOp root = getOperation();
    SmallVector<Operation *> ops;
    for (Operation &op : *root.getBody()) {
      if (!isa<ModuleOp>(op)) {
        ops.push_back(&op);
      }
    }
    if (ops.empty()) {
      return;
    }
    OpBuilder builder = OpBuilder::atBlockEnd(root.getBody());
    auto host = ModuleOp::create(builder, root.getLoc(), hostModuleName);
    for (Operation *op : ops) {
      auto kernel = dyn_cast<func::FuncOp>(op);
      if (!kernel || kernel.isExternal() || !kernel->hasAttr(kernelAttrName)) {
        op->moveBefore(host.getBody(), host.getBody()->end());
        continue;
      }
      func::FuncOp declaration = kernel.cloneWithoutRegions();
      declaration.setPrivate();
      host.push_back(declaration);
      auto module =
          ModuleOp::create(builder, kernel.getLoc(), kernel.getSymName());
      kernel->moveBefore(module.getBody(), module.getBody()->end());
      kernel.setPublic();
    }
  }
};

} // namespace
