// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Registration against libMLIR.so: all of MLIR, and kvern.
#include "lib/Registration/Registration.h"

#include "dialect/Kvern.h"
#include "lib/Codegen/Passes.h"
#include "lib/Conversion/Passes.h"
#include "lib/Pipelines/Pipelines.h"
#include "lib/Transforms/Passes.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"

using namespace mlir;

void kvern::registerDialects(DialectRegistry &registry) {
  registerAllDialects(registry);
  registerAllExtensions(registry);
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registry.insert<KvernDialect>();
}

void kvern::registerPasses() {
  [[maybe_unused]] static const bool once = [] {
    registerAllPasses();
    registerKvernConversionPasses();
    registerKvernTransformsPasses();
    registerKvernCodegenPasses();
    registerPipelines();
    return true;
  }();
}
