//===- ManifestBuilder.cpp - From attributes to a manifest ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Target/ManifestBuilder.h"

#include "dialect/Kvern.h"
#include "lib/Runtime/CpuFeatures.h"
#include "lib/Support/KernelModules.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace kvern;
using runtime::DimExpr;

static DType getDType(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type)) {
    bool isUnsigned = integer.isUnsigned();
    switch (integer.getWidth()) {
    case 1:
      return DType::Bool;
    case 8:
      return isUnsigned ? DType::UInt8 : DType::Int8;
    case 16:
      return isUnsigned ? DType::UInt16 : DType::Int16;
    case 32:
      return isUnsigned ? DType::UInt32 : DType::Int32;
    default:
      return isUnsigned ? DType::UInt64 : DType::Int64;
    }
  }
  return llvm::TypeSwitch<Type, DType>(type)
      .Case([](Float4E2M1FNType) { return DType::Float4E2M1FN; })
      .Case([](Float8E8M0FNUType) { return DType::Float8E8M0FNU; })
      .Case([](Float8E4M3FNType) { return DType::Float8E4M3FN; })
      .Case([](Float8E4M3FNUZType) { return DType::Float8E4M3FNUZ; })
      .Case([](Float8E5M2Type) { return DType::Float8E5M2; })
      .Case([](Float8E5M2FNUZType) { return DType::Float8E5M2FNUZ; })
      .Case([](Float16Type) { return DType::Float16; })
      .Case([](BFloat16Type) { return DType::BFloat16; })
      .Case([](Float64Type) { return DType::Float64; })
      .Default([](Type) { return DType::Float32; });
}

using SymbolNumbers = llvm::DenseMap<StringAttr, int64_t>;

static void appendTerms(AffineExpr expr, DimAttr dim,
                        const SymbolNumbers &numbers, DimExpr &out) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    out.terms.push_back({DimExpr::Op::Const, constant.getValue()});
    return;
  }
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr)) {
    out.terms.push_back(
        {DimExpr::Op::Symbol,
         numbers.lookup(dim.getSymbols()[symbol.getPosition()])});
    return;
  }
  auto binary = cast<AffineBinaryOpExpr>(expr);
  auto push = [&](AffineExpr operand) {
    appendTerms(operand, dim, numbers, out);
  };
  switch (expr.getKind()) {
  case AffineExprKind::CeilDiv: {
    // ceil(a / b) = -floor(-a / b)
    auto negate = [&] {
      out.terms.push_back({DimExpr::Op::Const, -1});
      out.terms.push_back({DimExpr::Op::Mul});
    };
    push(binary.getLHS());
    negate();
    push(binary.getRHS());
    out.terms.push_back({DimExpr::Op::FloorDiv});
    negate();
    return;
  }
  default:
    push(binary.getLHS());
    push(binary.getRHS());
    out.terms.push_back(
        {expr.getKind() == AffineExprKind::Add   ? DimExpr::Op::Add
         : expr.getKind() == AffineExprKind::Mul ? DimExpr::Op::Mul
         : expr.getKind() == AffineExprKind::Mod ? DimExpr::Op::Mod
                                                 : DimExpr::Op::FloorDiv});
  }
}

static std::vector<DimExpr> getDims(ArrayRef<DimAttr> shape,
                                    const SymbolNumbers &numbers) {
  std::vector<DimExpr> dims;
  for (DimAttr dim : shape) {
    DimExpr expr;
    appendTerms(dim.getExpr(), dim, numbers, expr);
    expr.text = dim.str();
    dims.push_back(std::move(expr));
  }
  return dims;
}

static runtime::InputSpec getInput(Type type, size_t index,
                                   const SymbolNumbers &numbers) {
  runtime::InputSpec spec;
  spec.name = "input" + std::to_string(index);
  if (auto tensor = dyn_cast<kvern::TensorType>(type)) {
    spec.dtype = getDType(tensor.getElementType());
    spec.device = tensor.getDevice().str();
    spec.dims = getDims(tensor.getShape(), numbers);
  } else {
    auto buffer = cast<BufferType>(type);
    spec.kind = runtime::InputKind::Buffer;
    spec.dtype = getDType(buffer.getElementType());
    spec.device = buffer.getDevice().str();
    spec.dims = getDims(buffer.getShape(), numbers);
  }
  return spec;
}

static runtime::OutputSpec getOutput(Type type, size_t index,
                                     const SymbolNumbers &numbers) {
  auto tensor = cast<kvern::TensorType>(type);
  runtime::OutputSpec spec;
  spec.name = "output" + std::to_string(index);
  spec.dtype = getDType(tensor.getElementType());
  spec.device = tensor.getDevice().str();
  spec.dims = getDims(tensor.getShape(), numbers);
  return spec;
}

static std::string getText(DictionaryAttr entry, StringRef key) {
  auto text = entry.getAs<StringAttr>(key);
  return text ? text.str() : "";
}

static std::vector<std::string> getTexts(DictionaryAttr entry, StringRef key) {
  std::vector<std::string> texts;
  if (auto list = entry.getAs<ArrayAttr>(key)) {
    for (auto text : list.getAsRange<StringAttr>()) {
      texts.push_back(text.str());
    }
  }
  return texts;
}

static runtime::StepSpec getStep(DictionaryAttr entry, DictionaryAttr schedules,
                                 const SymbolNumbers &numbers) {
  auto getSize = [&](StringRef key) {
    auto dim = entry.getAs<DimAttr>(key);
    return getDims(dim ? dim : DimAttr::getStatic(entry.getContext(), -1),
                   numbers)
        .front();
  };
  std::string kernel = getText(entry, "kernel");
  return {kernel,
          getTexts(entry, "ops"),
          getTexts(entry, "lines"),
          schedules ? getText(schedules, kernel) : "",
          getSize("flops"),
          getSize("bytes")};
}

static runtime::ProgramSpec getProgram(LLVM::LLVMFuncOp function,
                                       DictionaryAttr attrs,
                                       DictionaryAttr schedules) {
  runtime::ProgramSpec program;
  program.name = getText(attrs, "name");
  program.fingerprint = getText(attrs, "initializer");
  if (auto rows = attrs.getAs<IntegerAttr>("rows")) {
    program.rowsPerBlock = rows.getInt();
  }
  program.entrySymbol = function.getSymName().str();
  if (auto workspace =
          function->getAttrOfType<FlatSymbolRefAttr>("kvern.workspace")) {
    program.workspaceSymbol = workspace.getValue().str();
  }
  SymbolNumbers numbers;
  for (auto name : attrs.getAs<ArrayAttr>("symbols").getAsRange<StringAttr>()) {
    numbers.try_emplace(name, program.symbols.size());
    program.symbols.push_back(name.str());
  }
  program.numInputSymbols =
      attrs.getAs<IntegerAttr>("num_input_symbols").getInt();
  auto inputs = attrs.getAs<ArrayAttr>("inputs").getAsValueRange<TypeAttr>();
  for (auto [i, type] : llvm::enumerate(inputs)) {
    program.inputs.push_back(getInput(type, i, numbers));
  }
  auto outputs = attrs.getAs<ArrayAttr>("outputs").getAsValueRange<TypeAttr>();
  for (auto [i, type] : llvm::enumerate(outputs)) {
    program.outputs.push_back(getOutput(type, i, numbers));
  }
  for (int64_t weight :
       attrs.getAs<DenseI64ArrayAttr>("weights").asArrayRef()) {
    program.weights.push_back(weight);
  }
  for (auto check :
       attrs.getAs<ArrayAttr>("checks").getAsRange<DictionaryAttr>()) {
    program.checks.push_back({getText(check, "kind"), getText(check, "op"),
                              getText(check, "location"),
                              getText(check, "message")});
  }
  if (auto steps = attrs.getAs<ArrayAttr>("steps")) {
    for (auto step : steps.getAsRange<DictionaryAttr>()) {
      program.steps.push_back(getStep(step, schedules, numbers));
    }
  }
  return program;
}

static std::vector<int64_t> getStaticShape(Type type) {
  std::vector<int64_t> shape;
  for (DimAttr dim : cast<kvern::TensorType>(type).getShape()) {
    shape.push_back(*dim.getStaticValue());
  }
  return shape;
}

/// What a derived weight is made of.
static void addInputs(DictionaryAttr entry, runtime::WeightSpec &weight) {
  auto numbers = entry.getAs<DenseI64ArrayAttr>("inputs").asArrayRef();
  auto types =
      entry.getAs<ArrayAttr>("input_types").getAsValueRange<TypeAttr>();
  for (auto [number, type] : llvm::zip_equal(numbers, types)) {
    weight.inputs.push_back(
        {static_cast<uint32_t>(number), getStaticShape(type)});
  }
}

llvm::Expected<ManifestContents> kvern::buildManifest(ModuleOp module,
                                                      const CpuTarget &target,
                                                      StringRef version) {
  ManifestContents contents;
  runtime::Manifest &manifest = contents.manifest;
  manifest.kvernVersion = version.str();
  manifest.triple = target.triple;
  manifest.cpu = target.cpu;
  // Of what the code may use, what the loader can ask a CPU for.
  for (const std::string &known : runtime::knownCpuFeatures()) {
    if (llvm::is_contained(target.available, known)) {
      manifest.cpuFeatures.push_back(known);
    }
  }
  auto weights = module->getAttrOfType<ArrayAttr>("kvern.weights");
  if (!weights) {
    return llvm::createStringError("the module has no kvern.weights");
  }
  auto host = module.lookupSymbol<ModuleOp>(hostModuleName);
  if (!host) {
    return llvm::createStringError("the module has no host program");
  }
  llvm::StringMap<int32_t> initializers;
  for (auto function : host.getOps<LLVM::LLVMFuncOp>()) {
    auto attrs = function->getAttrOfType<DictionaryAttr>("kvern.program");
    if (!attrs) {
      continue;
    }
    runtime::ProgramSpec program =
        getProgram(function, attrs,
                   module->getAttrOfType<DictionaryAttr>("kvern.schedules"));
    if (program.fingerprint.empty()) {
      manifest.programs.push_back(std::move(program));
    } else {
      initializers[program.name] = manifest.initializers.size();
      manifest.initializers.push_back(std::move(program));
    }
  }
  for (auto entry : weights.getAsRange<DictionaryAttr>()) {
    auto type =
        cast<kvern::TensorType>(entry.getAs<TypeAttr>("type").getValue());
    runtime::WeightSpec weight;
    weight.name = getText(entry, "name");
    weight.dtype = getDType(type.getElementType());
    weight.shape = getStaticShape(type);
    weight.align = std::max<uint64_t>(dtypeSize(weight.dtype), 1);
    if (auto align = entry.getAs<IntegerAttr>("align")) {
      weight.align = align.getInt();
    }
    if (auto initializer = entry.getAs<StringAttr>("initializer")) {
      weight.initializer = initializers.lookup(initializer.getValue());
      addInputs(entry, weight);
    }
    manifest.weights.push_back(std::move(weight));
    contents.constants.push_back(entry.getAs<ElementsAttr>("value"));
  }
  return contents;
}
