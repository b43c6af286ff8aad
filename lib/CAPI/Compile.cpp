//===- Compile.cpp - C API of the compiler --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/CAPI/Compile.h"

#include "lib/Pipelines/HostTarget.h"
#include "lib/Pipelines/Pipelines.h"
#include "lib/Target/Executable.h"
#include "lib/Target/ObjectCode.h"

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

/// A copy of a module on its way through the stages.
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

  LogicalResult runTo(StringRef stage) {
    // Passes assume valid IR, and their assertions would end the process.
    if (failed(verify(*module))) {
      return failure();
    }
    PassManager pm(module->getContext());
    if (failed(kvern::addStages(pm, "graph", stage, target))) {
      errors += "unknown stage '" + stage.str() + "'; the stages are";
      for (StringRef name : kvern::getStageNames()) {
        errors += " " + name.str();
      }
      errors += " binary";
      return failure();
    }
    return pm.run(*module);
  }

  LogicalResult fail(llvm::Error error) {
    errors += llvm::toString(std::move(error));
    return failure();
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

static LogicalResult compile(Compilation &compilation, StringRef version,
                             std::string &result) {
  if (failed(compilation.runTo("target"))) {
    return failure();
  }
  auto executable =
      kvern::emitExecutable(*compilation.module, compilation.target, version);
  if (!executable) {
    return compilation.fail(executable.takeError());
  }
  result = std::move(*executable);
  return success();
}

static LogicalResult print(Compilation &compilation, StringRef stage,
                           std::string &result) {
  if (stage != "binary") {
    if (failed(compilation.runTo(stage))) {
      return failure();
    }
    llvm::raw_string_ostream os(result);
    compilation.module->print(os);
    return success();
  }
  if (failed(compilation.runTo("target"))) {
    return failure();
  }
  for (auto part : compilation.module->getOps<ModuleOp>()) {
    auto code = kvern::emitCode(part, compilation.target,
                                kvern::CodeKind::Assembly);
    if (!code) {
      return compilation.fail(code.takeError());
    }
    result.append(code->begin(), code->end());
  }
  return success();
}

static MlirLogicalResult finish(LogicalResult outcome,
                                const std::string &result,
                                Compilation &compilation,
                                MlirStringCallback onDone,
                                MlirStringCallback onError, void *userData) {
  if (succeeded(outcome)) {
    onDone(wrap(StringRef(result)), userData);
  } else {
    onError(wrap(StringRef(compilation.errors)), userData);
  }
  return wrap(outcome);
}

MlirLogicalResult kvernCompile(MlirOperation module,
                               KvernCompileOptions options,
                               MlirStringCallback onDone,
                               MlirStringCallback onError, void *userData) {
  Compilation compilation(module, options);
  std::string result;
  LogicalResult outcome = compile(compilation, unwrap(options.version), result);
  return finish(outcome, result, compilation, onDone, onError, userData);
}

MlirLogicalResult kvernPrintStage(MlirOperation module, MlirStringRef stage,
                                  KvernCompileOptions options,
                                  MlirStringCallback onDone,
                                  MlirStringCallback onError, void *userData) {
  Compilation compilation(module, options);
  std::string result;
  LogicalResult outcome = print(compilation, unwrap(stage), result);
  return finish(outcome, result, compilation, onDone, onError, userData);
}

void kvernDescribeTarget(KvernCompileOptions options, MlirStringCallback onDone,
                         void *userData) {
  kvern::CpuTarget target =
      kvern::resolveTarget(unwrap(options.cpu), unwrap(options.features));
  std::string text = target.cpu + " " + target.features;
  onDone(wrap(StringRef(text)), userData);
}
