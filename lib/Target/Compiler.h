// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From a staged graph to an executable, with each kernel compiled once.
#ifndef KVERN_LIB_TARGET_COMPILER_H
#define KVERN_LIB_TARGET_COMPILER_H

#include "lib/Target/CompileReport.h"
#include "lib/Target/KernelCache.h"
#include "lib/Target/ObjectCode.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include <functional>

namespace kvern {

struct CompilerOptions {
  CpuTarget target;
  /// The version of kvern, for the manifest.
  std::string version;
  /// What tells this build of the compiler from others, for the cache.
  std::string build;
  /// The folder of compiled kernels; empty for none.
  std::string kernelFolder;
  /// Whether kernels are looked up and kept, in memory or in the folder.
  bool useCache = true;
  /// Called when an object is done, on any thread, one call at a time: how many
  /// are, of how many, and the name of this one. False ends the compilation.
  std::function<bool(size_t, size_t, llvm::StringRef)> onProgress;
};

/// Compiles one module of graphs.
///
/// 1. The stages up to `kernels`; each kernel becomes a module.
/// 2. A kernel's key is the hash of its text, the passes and the target. What
///    the cache has leaves the module.
/// 3. The other kernels are taken to loops, in parallel; with the companions of
///    all, the host program is planned.
/// 4. These kernels and the host program become objects, in parallel.
///
/// The same graph gives the same bytes, whatever the cache held.
class Compiler {
public:
  /// `module` is a staged graph that has been verified; it is consumed.
  Compiler(mlir::ModuleOp module, CompilerOptions options);
  ~Compiler();

  /// The bytes of the executable. On failure, the diagnostics are those of the
  /// context, and `getReproducer` may say more.
  llvm::FailureOr<std::string> compile();

  /// The assembly of all parts, one after the other, compiled as by `compile`.
  llvm::FailureOr<std::string> printAssembly();

  /// When a single kernel failed: its IR at the end of stage `kernels`.
  /// Otherwise empty.
  const std::string &getReproducer() const { return reproducer; }

  const CompileReport &getReport() const { return report; }

private:
  struct Kernel;

  llvm::LogicalResult run(mlir::PassManager &pm);
  llvm::LogicalResult emitParts(CodeKind kind);
  llvm::LogicalResult lowerToKernels();
  void identifyKernels();
  void takeCachedKernels();
  /// Gives the module what the reports say of each kernel.
  void noteSchedules();
  /// Gives the host module a companion for each kernel with scratch.
  llvm::LogicalResult joinScratch();
  void storeKernels();
  void findReproducer();

  mlir::ModuleOp module;
  CompilerOptions options;
  CompileReport report;
  std::string reproducer;
  std::vector<std::unique_ptr<Kernel>> kernels;
  llvm::SmallVector<char, 0> hostCode;
};

} // namespace kvern

#endif // KVERN_LIB_TARGET_COMPILER_H
