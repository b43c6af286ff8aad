// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lets the caller of a kernel allocate its temporaries.
#include "lib/Codegen/Kernel.h"
#include "lib/Codegen/Passes.h"
#include "lib/Support/CopyArithmetic.h"
#include "lib/Support/KernelModules.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace kvern {
#define GEN_PASS_DEF_EXPOSESCRATCH
#include "lib/Codegen/Passes.h.inc"
} // namespace kvern

using namespace mlir;
using namespace kvern;

/// The function that makes the scratch of `kernel`, which gets it as further
/// arguments.
static FailureOr<func::FuncOp> exposeScratch(func::FuncOp kernel) {
  auto allocations =
      llvm::to_vector(kernel.getBody().front().getOps<memref::AllocOp>());
  if (allocations.empty()) {
    return func::FuncOp();
  }
  OpBuilder builder(kernel.getContext());
  SmallVector<Value> sizes;
  SmallVector<Type> sizeTypes, scratchTypes;
  for (BlockArgument argument : kernel.getArguments()) {
    if (argument.getType().isIndex()) {
      sizes.push_back(argument);
      sizeTypes.push_back(argument.getType());
    }
  }
  for (memref::AllocOp alloc : allocations) {
    scratchTypes.push_back(alloc.getType());
  }
  auto companion = func::FuncOp::create(
      kernel.getLoc(), (kernel.getSymName() + scratchSuffix).str(),
      builder.getFunctionType(sizeTypes, scratchTypes));
  companion.setPrivate();
  companion->setAttr(scratchAttrName,
                     FlatSymbolRefAttr::get(kernel.getSymNameAttr()));
  Block *body = companion.addEntryBlock();
  builder.setInsertionPointToStart(body);
  IRMapping mapping;
  mapping.map(sizes, body->getArguments());
  SmallVector<Value> results;
  for (memref::AllocOp alloc : allocations) {
    SmallVector<Value> dynamicSizes;
    for (Value size : alloc.getDynamicSizes()) {
      dynamicSizes.push_back(copyArithmetic(size, builder, mapping, isPure));
      if (!dynamicSizes.back()) {
        companion.erase();
        return alloc.emitOpError("has a size that the caller cannot know");
      }
    }
    results.push_back(memref::AllocOp::create(builder, alloc.getLoc(),
                                              alloc.getType(), dynamicSizes,
                                              alloc.getAlignmentAttr()));
  }
  func::ReturnOp::create(builder, kernel.getLoc(), results);

  for (memref::AllocOp alloc : allocations) {
    unsigned index = kernel.getNumArguments();
    if (failed(kernel.insertArgument(index, alloc.getType(), {},
                                     alloc.getLoc()))) {
      companion.erase();
      return failure();
    }
    alloc.replaceAllUsesWith(kernel.getArgument(index));
    alloc.erase();
  }
  return companion;
}

namespace {
struct ExposeScratchPass : kvern::impl::ExposeScratchBase<ExposeScratchPass> {
  void runOnOperation() override {
    auto functions = llvm::to_vector(getOperation().getOps<func::FuncOp>());
    for (func::FuncOp kernel : functions) {
      if (!isKernel(kernel)) {
        continue;
      }
      FailureOr<func::FuncOp> companion = exposeScratch(kernel);
      if (failed(companion)) {
        return signalPassFailure();
      }
      if (*companion) {
        getOperation().insert(std::next(kernel->getIterator()), *companion);
      }
    }
  }
};
} // namespace
