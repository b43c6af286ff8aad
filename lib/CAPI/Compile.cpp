//===- Compile.cpp - C API of the compiler --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/CAPI/Compile.h"

#include "lib/Pipelines/HostTarget.h"
#include "lib/Pipelines/Pipelines.h"
#include "lib/Target/Compiler.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

/// Collects the diagnostics of one compilation as "file:line: error: text".
static void appendDiagnostic(std::string &text, Diagnostic &diagnostic) {
  llvm::raw_string_ostream os(text);
  auto print = [&](Diagnostic &entry, StringRef kind) {
    bool located = false;
    entry.getLocation()->walk([&](Location inner) {
      auto file = dyn_cast<FileLineColLoc>(inner);
      if (!file) {
        return WalkResult::advance();
      }
      os << file.getFilename().getValue() << ':' << file.getLine() << ": ";
      located = true;
      return WalkResult::interrupt();
    });
    os << kind << ": " << entry << '\n';
  };
  if (diagnostic.getSeverity() != DiagnosticSeverity::Error) {
    return;
  }
  print(diagnostic, "error");
  for (Diagnostic &note : diagnostic.getNotes()) {
    print(note, "note");
  }
}

namespace {

/// A copy of a module on its way through the stages, and the diagnostics.
class Compilation {
public:
  Compilation(MlirOperation source, KvernCompileOptions options)
      : module(cast<ModuleOp>(unwrap(source)->clone())),
        target(kvern::resolveTarget(unwrap(options.cpu),
                                    unwrap(options.features))),
        handler(module->getContext(), [this](Diagnostic &diagnostic) {
          appendDiagnostic(errors, diagnostic);
          return success();
        }) {}

  FailureOr<std::string> print(StringRef stage) {
    PassManager pm(module->getContext());
    if (failed(kvern::addStages(pm, "graph", stage, target))) {
      errors += "unknown stage '" + stage.str() + "'; the stages are";
      for (StringRef name : kvern::getStageNames()) {
        errors += " " + name.str();
      }
      errors += " binary";
      return failure();
    }
    if (failed(pm.run(*module))) {
      return failure();
    }
    std::string text;
    llvm::raw_string_ostream os(text);
    module->print(os);
    return text;
  }

  OwningOpRef<ModuleOp> module;
  kvern::CpuTarget target;
  std::string errors;

private:
  ScopedDiagnosticHandler handler;
};

} // namespace

intptr_t kvernGetNumStages() { return kvern::getStageNames().size(); }

MlirStringRef kvernGetStageName(intptr_t index) {
  return wrap(kvern::getStageNames()[index]);
}

static kvern::CompilerOptions
getOptions(const kvern::CpuTarget &target, const KvernCompileOptions &options,
           const KvernCompileCallbacks &callbacks) {
  kvern::CompilerOptions result;
  result.target = target;
  result.version = unwrap(options.version).str();
  result.build = unwrap(options.build).str();
  result.kernelFolder = unwrap(options.kernelFolder).str();
  result.useCache = options.useCache;
  if (callbacks.onProgress) {
    result.onProgress = [callbacks](size_t done, size_t total, StringRef name) {
      return callbacks.onProgress(done, total, wrap(name), callbacks.userData);
    };
  }
  return result;
}

/// Runs `work` on a copy of the module and tells the caller what came of it.
static MlirLogicalResult withCompiler(
    MlirOperation module, KvernCompileOptions options,
    KvernCompileCallbacks callbacks,
    llvm::function_ref<FailureOr<std::string>(kvern::Compiler &, Compilation &)>
        work) {
  Compilation compilation(module, options);
  kvern::Compiler compiler(*compilation.module,
                           getOptions(compilation.target, options, callbacks));
  auto tell = [&](MlirStringCallback callback, StringRef text) {
    if (callback) {
      callback(wrap(text), callbacks.userData);
    }
  };
  // Passes assume valid IR, and their assertions would end the process.
  FailureOr<std::string> result = failed(verify(*compilation.module))
                                      ? FailureOr<std::string>()
                                      : work(compiler, compilation);
  tell(callbacks.onReport, compiler.getReport().toJson());
  if (failed(result)) {
    tell(callbacks.onReproducer, compiler.getReproducer());
    tell(callbacks.onError, compilation.errors);
    return wrap(failure());
  }
  tell(callbacks.onDone, *result);
  return wrap(success());
}

MlirLogicalResult kvernCompile(MlirOperation module,
                               KvernCompileOptions options,
                               KvernCompileCallbacks callbacks) {
  return withCompiler(module, options, callbacks,
                      [](kvern::Compiler &compiler, Compilation &) {
                        return compiler.compile();
                      });
}

MlirLogicalResult kvernPrintStage(MlirOperation module, MlirStringRef stage,
                                  KvernCompileOptions options,
                                  KvernCompileCallbacks callbacks) {
  return withCompiler(
      module, options, callbacks,
      [stage](kvern::Compiler &compiler, Compilation &compilation) {
        StringRef name = unwrap(stage);
        return name == "binary" ? compiler.printAssembly()
                                : compilation.print(name);
      });
}

void kvernClearKernels() { kvern::KernelCache::get().clear(); }

void kvernDescribeTarget(KvernCompileOptions options, MlirStringCallback onDone,
                         void *userData) {
  kvern::CpuTarget target =
      kvern::resolveTarget(unwrap(options.cpu), unwrap(options.features));
  std::string text = target.cpu + " " + target.features;
  onDone(wrap(StringRef(text)), userData);
}
