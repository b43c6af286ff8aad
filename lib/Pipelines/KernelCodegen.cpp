// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The order of the passes between the stages `kernels` and `loops`.
#include "lib/Pipelines/KernelCodegen.h"

#include "lib/Codegen/CpuTarget.h"
#include "lib/Codegen/Passes.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include <limits>

using namespace mlir;

/// The figures of a target, as options of a pass.
template <typename Options>
static Options withTarget(const kvern::CpuTarget &target) {
  Options options;
  options.vectorBits = target.vectorBits;
  options.vectorRegisters = target.vectorRegisters;
  options.l1Bytes = target.l1Bytes;
  options.l2Bytes = target.l2Bytes;
  return options;
}

void kvern::addKernelCodegenPasses(OpPassManager &modulePM,
                                   const CpuTarget &target) {
  OpPassManager &funcPM = modulePM.nest<func::FuncOp>();
  funcPM.addPass(createCanonicalizerPass());
  funcPM.addPass(createCSEPass());
  funcPM.addPass(createCollapseRows());
  funcPM.addPass(createCanonicalizerPass());
  funcPM.addPass(createFuseElementwise());
  funcPM.addPass(createCSEPass());
  funcPM.addPass(createTileAndFuse(withTarget<TileAndFuseOptions>(target)));
  funcPM.addPass(createResolveDims());
  funcPM.addPass(createCanonicalizerPass());
  funcPM.addPass(createCSEPass());

  funcPM.addPass(createBufferize());
  funcPM.addPass(createResolveDims());
  funcPM.addPass(createCanonicalizerPass());
  funcPM.addPass(createCSEPass());
  funcPM.addPass(
      createLowerAttention(withTarget<LowerAttentionOptions>(target)));
  LowerSamplingOptions sampling;
  sampling.vectorBits = target.vectorBits;
  funcPM.addPass(createLowerSampling(sampling));
  funcPM.addPass(createHoistAllocations());

  funcPM.addPass(
      createLowerContraction(withTarget<LowerContractionOptions>(target)));
  LowerConvolutionOptions convolution;
  convolution.vectorBits = target.vectorBits;
  convolution.vectorRegisters = target.vectorRegisters;
  funcPM.addPass(createLowerConvolution(convolution));
  LowerQuantizedProductOptions quantized;
  quantized.vectorBits = target.vectorBits;
  quantized.dot = target.integerDot;
  quantized.tileRows = target.vectorRegisters >= 32 ? 8 : 4;
  if (target.integerDot == "vnni") {
    // Three products of bytes take less time than one of numbers.
    quantized.decodedRows = std::numeric_limits<int64_t>::max();
  }
  funcPM.addPass(createLowerQuantizedProduct(quantized));
  LowerLinalgOptions loops;
  loops.vectorBits = target.vectorBits;
  funcPM.addPass(createLowerLinalg(loops));
  funcPM.addPass(createExpandMath());
  // What the lowerings allocate in parallel loops.
  funcPM.addPass(createHoistAllocations());

  modulePM.addPass(createOutlineParallel());
  OpPassManager &cleanupPM = modulePM.nest<func::FuncOp>();
  cleanupPM.addPass(createLowerAffinePass());
  cleanupPM.addPass(createCanonicalizerPass());
  cleanupPM.addPass(createCSEPass());
  cleanupPM.addPass(createLoopInvariantCodeMotionPass());
}
