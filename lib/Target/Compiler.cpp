// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Target/Compiler.h"

#include "lib/Codegen/Schedule.h"
#include "lib/Pipelines/Pipelines.h"
#include "lib/Support/KernelModules.h"
#include "lib/Target/EmitObjects.h"
#include "lib/Target/Executable.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace kvern;

/// A kernel of the module on its way to an object.
struct Compiler::Kernel {
  /// The names of the declarations that stand for it; the first is that of its
  /// module. Ops that are told apart before lowering may be equal after it.
  SmallVector<std::string, 1> names;
  /// "kernel_matmul" of "kernel_matmul_3": the function's name meanwhile.
  std::string baseName;
  /// Null when the kernel was found compiled.
  ModuleOp module;
  /// Its IR at the end of stage `kernels`.
  std::string text;
  /// Empty for a kernel that cannot be cached.
  std::string key;
  /// The global symbol in the object.
  std::string symbol;
  std::shared_ptr<const CompiledKernel> compiled;
  std::string scratch;
  std::string schedule;
  llvm::SmallVector<char, 0> code;
};

Compiler::Compiler(ModuleOp module, CompilerOptions options)
    : module(module), options(std::move(options)) {}

Compiler::~Compiler() = default;

/// The name without the number that kept it apart from others.
static StringRef getBaseName(StringRef name) {
  StringRef base = name.rtrim("0123456789");
  return base.size() < name.size() && base.consume_back("_") ? base : name;
}

LogicalResult Compiler::run(PassManager &pm) {
  // Each stage is verified at its end; kvern-opt also verifies between passes.
  pm.enableVerifier(false);
  pm.addInstrumentation(report.createInstrumentation());
  return pm.run(module);
}

LogicalResult Compiler::lowerToKernels() {
  for (StringRef stage : {"optimized", "kernels"}) {
    PassManager pm(module->getContext());
    StringRef first = stage == "optimized" ? "graph" : stage;
    if (failed(addStages(pm, first, stage, options.target)) ||
        failed(run(pm))) {
      return failure();
    }
    report.endStage(stage);
  }
  return success();
}

void Compiler::identifyKernels() {
  // The passes with their options say all that they take from the target.
  std::string passes;
  {
    PassManager pm(module->getContext());
    addKernelPasses(pm, options.target);
    addProgramPasses(pm, options.target);
    llvm::raw_string_ostream os(passes);
    pm.printAsTextualPipeline(os);
  }
  std::string vectorBits = std::to_string(options.target.vectorBits);
  llvm::StringMap<Kernel *> known;
  for (auto part : llvm::make_early_inc_range(module.getOps<ModuleOp>())) {
    if (part.getSymName() == hostModuleName) {
      continue;
    }
    auto kernel = std::make_unique<Kernel>();
    kernel->names.push_back(part.getSymName()->str());
    kernel->baseName = getBaseName(kernel->names.front()).str();
    kernel->module = part;
    auto function = part.lookupSymbol<func::FuncOp>(kernel->names.front());
    function.setSymName(kernel->baseName);
    llvm::raw_string_ostream os(kernel->text);
    function.print(os);
    kernel->symbol = kernel->names.front();
    // The data of a resource is not part of the text.
    if (!StringRef(kernel->text).contains("dense_resource<")) {
      kernel->key = getKernelKey({options.build, options.target.triple,
                                  options.target.cpu, options.target.features,
                                  vectorBits, passes, kernel->text});
      kernel->symbol = kernel->baseName + "_" + kernel->key.substr(0, 16);
      Kernel *&same = known[kernel->key];
      if (same) {
        same->names.push_back(kernel->names.front());
        part.erase();
        continue;
      }
      same = kernel.get();
    }
    kernels.push_back(std::move(kernel));
  }
}

void Compiler::takeCachedKernels() {
  for (auto &kernel : kernels) {
    if (!options.useCache || kernel->key.empty()) {
      continue;
    }
    bool fromDisk = false;
    kernel->compiled =
        KernelCache::get().lookup(kernel->key, options.kernelFolder, fromDisk);
    if (!kernel->compiled) {
      continue;
    }
    StringRef name = kernel->names.front();
    report.setSource(name, fromDisk ? "disk" : "memory");
    report.setObjectBytes(name, kernel->compiled->object.size());
    kernel->module.erase();
    kernel->module = nullptr;
  }
}

void Compiler::noteSchedules() {
  Builder builder(module.getContext());
  SmallVector<NamedAttribute> schedules;
  for (auto &kernel : kernels) {
    if (kernel->compiled) {
      kernel->schedule = kernel->compiled->schedule;
    } else {
      kernel->schedule = getSchedule(
          kernel->module.lookupSymbol<func::FuncOp>(kernel->baseName));
    }
    for (const std::string &name : kernel->names) {
      schedules.push_back(
          builder.getNamedAttr(name, builder.getStringAttr(kernel->schedule)));
    }
  }
  module->setAttr("kvern.schedules", builder.getDictionaryAttr(schedules));
}

LogicalResult Compiler::joinScratch() {
  auto host = module.lookupSymbol<ModuleOp>(hostModuleName);
  MLIRContext *context = module.getContext();
  for (auto &kernel : kernels) {
    if (kernel->compiled) {
      kernel->scratch = kernel->compiled->scratch;
    } else if (auto companion = kernel->module.lookupSymbol<func::FuncOp>(
                   kernel->baseName + scratchSuffix.str())) {
      llvm::raw_string_ostream os(kernel->scratch);
      companion.print(os);
      companion.erase();
    }
    if (kernel->scratch.empty()) {
      continue;
    }
    for (const std::string &name : kernel->names) {
      OwningOpRef<ModuleOp> parsed =
          parseSourceString<ModuleOp>(kernel->scratch, context);
      if (!parsed || parsed->getOps<func::FuncOp>().empty()) {
        return failure();
      }
      auto companion = *parsed->getOps<func::FuncOp>().begin();
      companion.setSymName(name + scratchSuffix.str());
      companion->setAttr(scratchAttrName,
                         FlatSymbolRefAttr::get(context, name));
      companion->moveBefore(host.getBody(), host.getBody()->end());
    }
  }
  return success();
}

/// The longest work first, so that no thread is left with it at the end.
static void sortBySize(ModuleOp module) {
  SmallVector<std::pair<int64_t, ModuleOp>> parts;
  for (auto part : module.getOps<ModuleOp>()) {
    int64_t size = 0;
    part.walk([&](Operation *) { ++size; });
    parts.emplace_back(size, part);
  }
  llvm::stable_sort(parts, [](auto &a, auto &b) { return a.first > b.first; });
  for (auto &[size, part] : parts) {
    part->moveBefore(module.getBody(), module.getBody()->end());
  }
}

LogicalResult Compiler::emitParts(CodeKind kind) {
  if (failed(lowerToKernels())) {
    return failure();
  }
  {
    PassManager pm(module->getContext());
    addIsolationPasses(pm);
    if (failed(run(pm))) {
      return failure();
    }
  }
  identifyKernels();
  takeCachedKernels();
  report.endStage("lookup");

  PassManager kernelPM(module->getContext());
  addKernelPasses(kernelPM, options.target);
  if (failed(run(kernelPM)) || failed(joinScratch())) {
    return failure();
  }
  noteSchedules();
  report.endStage("loops");

  sortBySize(module);
  EmitContext emit;
  emit.target = options.target;
  emit.kind = kind;
  emit.report = &report;
  llvm::StringMap<llvm::SmallVector<char, 0> *> slots;
  slots[hostModuleName] = &hostCode;
  for (auto &kernel : kernels) {
    for (const std::string &name : kernel->names) {
      emit.symbols[hostModuleName][name] = kernel->symbol;
    }
    if (kernel->module) {
      StringRef name = kernel->names.front();
      emit.symbols[name][kernel->baseName] = kernel->symbol;
      slots[name] = &kernel->code;
    }
  }
  size_t done = 0;
  emit.take = [&](StringRef part, llvm::SmallVector<char, 0> code) {
    *slots.lookup(part) = std::move(code);
    return !options.onProgress ||
           options.onProgress(++done, slots.size(), part);
  };
  PassManager programPM(module->getContext());
  addProgramPasses(programPM, options.target);
  programPM.addNestedPass<ModuleOp>(createEmitObjects(emit));
  if (failed(run(programPM))) {
    return failure();
  }
  report.endStage("binary");
  return success();
}

void Compiler::storeKernels() {
  for (auto &kernel : kernels) {
    if (kernel->compiled) {
      continue;
    }
    auto compiled = std::make_shared<CompiledKernel>();
    compiled->object.assign(kernel->code.begin(), kernel->code.end());
    compiled->scratch = kernel->scratch;
    compiled->schedule = kernel->schedule;
    kernel->compiled = compiled;
    if (options.useCache && !kernel->key.empty()) {
      KernelCache::get().store(kernel->key, options.kernelFolder, compiled);
    }
  }
}

void Compiler::findReproducer() {
  for (auto &kernel : kernels) {
    if (report.getFailedParts().count(kernel->names.front())) {
      reproducer = kernel->text;
      return;
    }
  }
}

FailureOr<std::string> Compiler::compile() {
  if (failed(emitParts(CodeKind::Object))) {
    findReproducer();
    return failure();
  }
  storeKernels();
  SmallVector<StringRef> objects = {{hostCode.data(), hostCode.size()}};
  for (auto &kernel : kernels) {
    objects.push_back(kernel->compiled->object);
  }
  auto executable =
      emitExecutable(module, options.target, options.version, objects);
  if (!executable) {
    module.emitError(llvm::toString(executable.takeError()));
    return failure();
  }
  report.endStage("write");
  return std::move(*executable);
}

FailureOr<std::string> Compiler::printAssembly() {
  options.useCache = false;
  if (failed(emitParts(CodeKind::Assembly))) {
    findReproducer();
    return failure();
  }
  std::string text = "# host\n";
  text.append(hostCode.begin(), hostCode.end());
  for (auto &kernel : kernels) {
    text += "# " + kernel->names.front() + "\n";
    text.append(kernel->code.begin(), kernel->code.end());
  }
  return text;
}
