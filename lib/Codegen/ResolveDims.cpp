// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Replaces sizes read from tensors by the index arguments they are equal to.
#include "lib/Codegen/DimClasses.h"
#include "lib/Codegen/Kernel.h"
#include "lib/Codegen/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace kvern {
#define GEN_PASS_DEF_RESOLVEDIMS
#include "lib/Codegen/Passes.h.inc"
} // namespace kvern

using namespace kvern;

namespace {
struct ResolveDimsPass : kvern::impl::ResolveDimsBase<ResolveDimsPass> {
  void runOnOperation() override {
    if (isKernel(getOperation())) {
      DimClasses(getOperation()).resolve(getOperation());
    }
  }
};
} // namespace
