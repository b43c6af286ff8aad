//===- ObjectCode.cpp - From the LLVM dialect to machine code -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Target/ObjectCode.h"

#include "lib/Support/KernelModules.h"
#include "lib/Target/CompileReport.h"

#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include <utility>

using namespace kvern;

static void initializeTargets() {
  [[maybe_unused]] static const bool once = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    return true;
  }();
}

static llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createMachine(const CpuTarget &target, bool isHost) {
  initializeTargets();
  llvm::Triple triple(target.triple);
  std::string error;
  const llvm::Target *backend =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!backend) {
    return llvm::createStringError("no code generator for " + target.triple +
                                   ": " + error);
  }
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  std::unique_ptr<llvm::TargetMachine> machine(backend->createTargetMachine(
      triple, target.cpu, target.features, options, llvm::Reloc::PIC_,
      llvm::CodeModel::Small,
      isHost ? llvm::CodeGenOptLevel::None : llvm::CodeGenOptLevel::Default));
  if (!machine) {
    return llvm::createStringError("no code generator for " + target.triple);
  }
  return machine;
}

namespace {
class Stopwatch {
public:
  /// Processor time since the last call.
  double next() {
    double now = getThreadSeconds();
    return now - std::exchange(last, now);
  }

private:
  double last = getThreadSeconds();
};
} // namespace

/// Small functions get all that pays for scalar loops, which LLVM vectorizes
/// and unrolls.
static constexpr llvm::StringLiteral smallPipeline =
    "sroa,early-cse<memssa>,simplifycfg,loop-mssa(loop-rotate,licm),"
    "instcombine<no-verify-fixpoint>,loop(indvars,loop-deletion,"
    "loop-unroll-full),gvn,loop-vectorize,loop-unroll<O3>,"
    "instcombine<no-verify-fixpoint>,simplifycfg,loop-mssa(licm)";

/// Large ones are products and the like, written for whole registers: what is
/// left is to fold the arithmetic on addresses and to move it out of loops.
/// Scalar loops beside them are vectorized too.
static constexpr llvm::StringLiteral largePipeline =
    "sroa,early-cse<memssa>,simplifycfg,loop-mssa(loop-rotate,licm),"
    "instcombine<no-verify-fixpoint>,loop-mssa(licm),gvn,loop-vectorize,"
    "instcombine<no-verify-fixpoint>,simplifycfg";

/// Code that runs once.
static constexpr llvm::StringLiteral hostPipeline =
    "sroa,early-cse<memssa>,simplifycfg";

static llvm::StringRef choosePipeline(const llvm::Function &function,
                                      bool isHost) {
  if (isHost) {
    return hostPipeline;
  }
  constexpr unsigned large = 1000;
  bool usesVectors = llvm::any_of(llvm::instructions(function),
                                  [](const llvm::Instruction &instruction) {
                                    return instruction.getType()->isVectorTy();
                                  });
  return usesVectors && function.getInstructionCount() > large ? largePipeline
                                                               : smallPipeline;
}

static llvm::Error optimize(llvm::Module &module, llvm::TargetMachine &machine,
                            bool isHost) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  for (llvm::Function &function : module) {
    if (function.isDeclaration()) {
      continue;
    }
    llvm::FunctionPassManager passes;
    if (llvm::Error error = builder.parsePassPipeline(
            passes, choosePipeline(function, isHost))) {
      return error;
    }
    passes.run(function, functions);
  }
  return llvm::Error::success();
}

llvm::Expected<llvm::SmallVector<char, 0>>
kvern::emitCode(mlir::ModuleOp module, const CpuTarget &target, CodeKind kind,
                const llvm::StringMap<std::string> &symbols, CodeTimes &times) {
  Stopwatch stopwatch;
  const bool isHost = module.getSymName() == hostModuleName;
  auto machine = createMachine(target, isHost);
  if (!machine) {
    return machine.takeError();
  }
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code =
      mlir::translateModuleToLLVMIR(module, context);
  if (!code) {
    return llvm::createStringError("the module has no translation to LLVM IR");
  }
  code->setDataLayout((*machine)->createDataLayout());
  code->setTargetTriple((*machine)->getTargetTriple());
  for (llvm::Function &function : llvm::make_early_inc_range(*code)) {
    if (auto it = symbols.find(function.getName()); it != symbols.end()) {
      if (llvm::Function *same = code->getFunction(it->second)) {
        // Two declarations of kernels that have become equal.
        function.replaceAllUsesWith(same);
        function.eraseFromParent();
        continue;
      }
      function.setName(it->second);
    }
    // Generated code never unwinds, and finds libm only through the loader.
    function.setDoesNotThrow();
    if (!function.isDeclaration()) {
      function.addFnAttr("target-cpu", target.cpu);
      function.addFnAttr("target-features", target.features);
      // Loops are written for whole registers.
      function.addFnAttr("prefer-vector-width",
                         std::to_string(target.vectorBits));
    }
  }
  times.translate = stopwatch.next();
  if (llvm::Error error = optimize(*code, **machine, isHost)) {
    return error;
  }
  times.optimize = stopwatch.next();

  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream os(bytes);
  llvm::legacy::PassManager passes;
  if ((*machine)->addPassesToEmitFile(
          passes, os, nullptr,
          kind == CodeKind::Object ? llvm::CodeGenFileType::ObjectFile
                                   : llvm::CodeGenFileType::AssemblyFile)) {
    return llvm::createStringError("no object emission for " + target.triple);
  }
  passes.run(*code);
  times.generate = stopwatch.next();
  return bytes;
}
