//===- Pipelines.cpp - The compiler's stages by name ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Pipelines/Pipelines.h"

#include "lib/Codegen/Passes.h"
#include "lib/Conversion/Passes.h"
#include "lib/Pipelines/HostTarget.h"
#include "lib/Pipelines/KernelCodegen.h"
#include "lib/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace kvern;

/// Upstream passes by their names, which keeps their headers out of this file.
static void addUpstream(OpPassManager &pm, StringRef pipeline) {
  [[maybe_unused]] LogicalResult parsed = parsePassPipeline(pipeline, pm);
  assert(succeeded(parsed) && "a built-in pipeline does not parse");
}

static void addGraph(OpPassManager &, const CpuTarget &) {}

static void addOptimized(OpPassManager &pm, const CpuTarget &target) {
  pm.addPass(createInlineSubgraphs());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addNestedPass<func::FuncOp>(createDecomposeLatentAttention());
  pm.addNestedPass<func::FuncOp>(createDecomposeProjections());
  pm.addNestedPass<func::FuncOp>(createInsertChecks());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addNestedPass<func::FuncOp>(createPackQuantized());
  PackWeightsOptions packs;
  packs.panelBits = target.tileVectors() * target.vectorBits;
  pm.addNestedPass<func::FuncOp>(createPackWeights(packs));
  pm.addPass(createFormKernels());
  pm.addPass(createHoistInitializers());
}

static void addKernels(OpPassManager &pm, const CpuTarget &) {
  pm.addNestedPass<func::FuncOp>(createDescribeKernels());
  pm.addNestedPass<func::FuncOp>(createConvertToLinalg());
  pm.addPass(createConvertToHost());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void kvern::addIsolationPasses(OpPassManager &pm) {
  pm.addPass(createIsolateKernels());
}

void kvern::addKernelPasses(OpPassManager &pm, const CpuTarget &target) {
  OpPassManager &kernelPM = pm.nest<ModuleOp>();
  addKernelCodegenPasses(kernelPM, target);
  kernelPM.addPass(createExposeScratch());
}

static void addLoops(OpPassManager &pm, const CpuTarget &target) {
  addIsolationPasses(pm);
  addKernelPasses(pm, target);
  pm.addPass(createPlanWorkspace());
}

static void addTarget(OpPassManager &rootPM, const CpuTarget &) {
  OpPassManager &pm = rootPM.nest<ModuleOp>();
  pm.addPass(createConvertHostToLLVM());
  addUpstream(pm, "func.func(kvern-expand-math,convert-vector-to-scf),"
                  "expand-strided-metadata,lower-affine,canonicalize,cse,"
                  "convert-scf-to-cf,convert-vector-to-llvm,"
                  "convert-math-to-llvm,convert-math-to-libm,"
                  "finalize-memref-to-llvm,convert-func-to-llvm,"
                  "convert-arith-to-llvm,convert-index-to-llvm,"
                  "convert-cf-to-llvm,convert-ub-to-llvm,"
                  "reconcile-unrealized-casts");
  pm.addNestedPass<LLVM::LLVMFuncOp>(createMarkKernels());
}

namespace {

struct Stage {
  StringRef name;
  void (*add)(OpPassManager &, const CpuTarget &);
};

constexpr Stage stages[] = {
    {"graph", addGraph}, {"optimized", addOptimized}, {"kernels", addKernels},
    {"loops", addLoops}, {"target", addTarget},
};

struct TargetOptions : PassPipelineOptions<TargetOptions> {
  Option<std::string> cpu{
      *this, "cpu", llvm::cl::init("host"),
      llvm::cl::desc("LLVM's name of the processor, or host")};
  Option<std::string> features{
      *this, "features", llvm::cl::init(""),
      llvm::cl::desc("Processor features to add or remove, as of LLVM")};
};

} // namespace

ArrayRef<StringRef> kvern::getStageNames() {
  static const auto names = [] {
    SmallVector<StringRef> all;
    for (const Stage &stage : stages) {
      all.push_back(stage.name);
    }
    return all;
  }();
  return names;
}

static void addVerifyStage(OpPassManager &pm, StringRef stage) {
  VerifyStageOptions options;
  options.stage = stage.str();
  pm.addPass(createVerifyStage(options));
}

LogicalResult kvern::addStages(OpPassManager &pm, StringRef first,
                               StringRef last, const CpuTarget &target) {
  auto names = getStageNames();
  const auto *from = llvm::find(names, first);
  const auto *to = llvm::find(names, last);
  if (from == names.end() || to == names.end()) {
    return failure();
  }
  for (const Stage &stage : ArrayRef(stages).drop_front(from - names.begin())) {
    stage.add(pm, target);
    addVerifyStage(pm, stage.name);
    if (stage.name == last) {
      break;
    }
  }
  return success();
}

void kvern::addProgramPasses(OpPassManager &pm, const CpuTarget &target) {
  pm.addPass(createPlanWorkspace());
  addVerifyStage(pm, "loops");
  addTarget(pm, target);
  addVerifyStage(pm, "target");
}

void kvern::registerPipelines() {
  for (StringRef name : getStageNames()) {
    PassPipelineRegistration<TargetOptions>(
        ("kvern-to-" + name).str(),
        ("Takes a staged graph to the end of stage `" + name + "`.").str(),
        [name](OpPassManager &pm, const TargetOptions &options) {
          (void)addStages(pm, "graph", name,
                          resolveTarget(options.cpu, options.features));
        });
  }
  for (StringRef name : {"loops", "target"}) {
    PassPipelineRegistration<TargetOptions>(
        ("kvern-kernels-to-" + name).str(),
        ("Takes stage `kernels` to the end of stage `" + name + "`.").str(),
        [name](OpPassManager &pm, const TargetOptions &options) {
          (void)addStages(pm, "loops", name,
                          resolveTarget(options.cpu, options.features));
        });
  }
}
