// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The order of the passes between the stages `kernels` and `loops`.
#include "lib/Pipelines/KernelCodegen.h"

#include "lib/Codegen/CpuTarget.h"
#include "lib/Codegen/Passes.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void kvern::addKernelCodegenPasses(OpPassManager &modulePM,
                                   const CpuTarget &target) {
  OpPassManager &funcPM = modulePM.nest<func::FuncOp>();
  funcPM.addPass(createCanonicalizerPass());
  funcPM.addPass(createCSEPass());
  funcPM.addPass(createCollapseRows());
  funcPM.addPass(createCanonicalizerPass());
  funcPM.addPass(createFuseElementwise());
  funcPM.addPass(createCSEPass());
  funcPM.addPass(createTileAndFuse());
  funcPM.addPass(createResolveDims());
  funcPM.addPass(createCanonicalizerPass());
  funcPM.addPass(createCSEPass());

  funcPM.addPass(createBufferize());
  funcPM.addPass(createResolveDims());
  funcPM.addPass(createCanonicalizerPass());
  funcPM.addPass(createCSEPass());
  funcPM.addPass(createHoistAllocations());

  LowerContractionOptions contraction;
  contraction.vectorBits = target.vectorBits;
  contraction.vectorRegisters = target.vectorRegisters;
  funcPM.addPass(createLowerContraction(contraction));
  funcPM.addPass(createLowerLinalg());
  funcPM.addPass(createExpandMath());
  funcPM.addPass(createLowerAffinePass());
  funcPM.addPass(createCanonicalizerPass());
  funcPM.addPass(createCSEPass());
  funcPM.addPass(createLoopInvariantCodeMotionPass());
}
