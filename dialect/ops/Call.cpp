//===- Call.cpp - Subgraphs -----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/ops/Call.h"

#include "dialect/Inference.h"

using namespace mlir;
using namespace kvern;

#define GET_OP_CLASSES
#include "dialect/ops/Call.cpp.inc"

void KvernDialect::registerCallOps() {
  addOperations<
#define GET_OP_LIST
#include "dialect/ops/Call.cpp.inc"
      >();
}

namespace {

/// Element type, device and sizes of a tensor or buffer.
struct Parts {
  ArrayRef<DimAttr> shape;
  Type elementType;
  DeviceAttr device;
};

} // namespace

static std::optional<Parts> getParts(Type type) {
  if (auto tensor = dyn_cast<kvern::TensorType>(type)) {
    return Parts{tensor.getShape(), tensor.getElementType(),
                 tensor.getDevice()};
  }
  if (auto buffer = dyn_cast<BufferType>(type)) {
    return Parts{buffer.getShape(), buffer.getElementType(),
                 buffer.getDevice()};
  }
  return std::nullopt;
}

Type kvern::substitute(Type type, const DimMapping &mapping) {
  std::optional<Parts> parts = getParts(type);
  if (!parts) {
    return type;
  }
  SmallVector<DimAttr> shape;
  for (DimAttr dim : parts->shape) {
    shape.push_back(dim.substitute(mapping));
    if (!shape.back()) {
      return {};
    }
  }
  if (!getTypeError(shape, parts->elementType).empty()) {
    return {};
  }
  if (isa<kvern::TensorType>(type)) {
    return kvern::TensorType::get(shape, parts->elementType, parts->device);
  }
  return BufferType::get(shape, parts->elementType, parts->device);
}

FailureOr<DimMapping>
kvern::matchArguments(func::FuncOp callee, TypeRange operands,
                      DictionaryAttr given,
                      function_ref<InFlightDiagnostic()> emitError) {
  TypeRange arguments = callee.getArgumentTypes();
  // call_c2
  if (arguments.size() != operands.size()) {
    return emitError() << "expected " << arguments.size() << " operands for @"
                       << callee.getSymName() << ", but got "
                       << operands.size();
  }
  // Bare names are bound where they first stand; everything else must agree.
  DimMapping mapping;
  if (given) {
    for (NamedAttribute entry : given) {
      auto dim = dyn_cast<DimAttr>(entry.getValue());
      // call_c3
      if (!dim) {
        return emitError() << "expected a dim for " << entry.getName()
                           << ", but got " << entry.getValue();
      }
      mapping[entry.getName()] = dim;
    }
  }
  for (auto [argument, operand] : llvm::zip_equal(arguments, operands)) {
    std::optional<Parts> want = getParts(argument);
    std::optional<Parts> got = getParts(operand);
    if (!want || !got || want->shape.size() != got->shape.size()) {
      continue;
    }
    for (auto [dim, size] : llvm::zip_equal(want->shape, got->shape)) {
      if (StringAttr name = dim.getSymbolName()) {
        mapping.try_emplace(name, size);
      }
    }
  }
  for (auto [i, argument, operand] : llvm::enumerate(arguments, operands)) {
    Type expected = substitute(argument, mapping);
    // call_c4
    if (expected != operand) {
      InFlightDiagnostic diagnostic =
          emitError() << "expected operand " << i << " of @"
                      << callee.getSymName() << " to be " << argument;
      if (expected && expected != argument) {
        diagnostic << ", here " << expected;
      }
      return diagnostic << ", but got " << operand;
    }
  }
  return mapping;
}

FailureOr<SmallVector<Type>>
kvern::inferCallResults(func::FuncOp callee, TypeRange operands,
                        DictionaryAttr given,
                        function_ref<InFlightDiagnostic()> emitError) {
  FailureOr<DimMapping> mapping =
      matchArguments(callee, operands, given, emitError);
  if (failed(mapping)) {
    return failure();
  }
  SmallVector<Type> results;
  for (Type type : callee.getResultTypes()) {
    results.push_back(substitute(type, *mapping));
    // call_c5
    if (!results.back()) {
      return emitError() << "expected result " << results.size() - 1 << " of @"
                         << callee.getSymName() << " to be " << type
                         << ", which has no valid sizes here";
    }
  }
  return results;
}

LogicalResult CallOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto callee =
      symbols.lookupNearestSymbolFrom<func::FuncOp>(*this, getCalleeAttr());
  // call_c1
  if (!callee) {
    return emitOpError("expected a function named @")
           << getCallee() << ", but there is none";
  }
  // A kernel is lowered before the programs that call it.
  if (callee->hasAttr("kvern.kernel") &&
      llvm::any_of(callee.getArgumentTypes(), llvm::IsaPred<MemRefType>)) {
    return success();
  }
  auto results = inferCallResults(callee, getOperandTypes(), getDimsAttr(),
                                  [&] { return emitOpError(); });
  if (failed(results)) {
    return failure();
  }
  // call_c6
  if (TypeRange(*results) != getResultTypes()) {
    return emitOpError("expected results ")
           << *results << ", but got " << getResultTypes();
  }
  return success();
}
