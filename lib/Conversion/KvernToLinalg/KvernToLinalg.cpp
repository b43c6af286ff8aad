//===- KvernToLinalg.cpp - Kernels as linalg on tensors -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Conversion/KvernToLinalg/KvernToLinalg.h"

#include "dialect/ops/KVCache.h"
#include "dialect/ops/Quant.h"
#include "dialect/ops/Sampling.h"
#include "lib/Support/DimNames.h"
#include "lib/Support/StorageTypes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/Pass.h"

namespace kvern {
#define GEN_PASS_DEF_CONVERTTOLINALG
#include "lib/Conversion/Passes.h.inc"
} // namespace kvern

using namespace mlir;
using namespace kvern;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

KernelTypeConverter::KernelTypeConverter() {
  addConversion([](Type type) { return type; });
  addConversion([](kvern::TensorType type) -> Type {
    MemRefType memory = getMemRefType(type);
    return RankedTensorType::get(memory.getShape(), memory.getElementType());
  });
  addConversion([](BufferType type) -> Type { return getMemRefType(type); });
  auto cast = [](OpBuilder &builder, Type type, ValueRange inputs,
                 Location location) -> Value {
    return UnrealizedConversionCastOp::create(builder, location, type, inputs)
        .getResult(0);
  };
  addSourceMaterialization(cast);
  addTargetMaterialization(cast);
}

static LogicalResult checkType(Operation *op, Type type) {
  Type elementType;
  DeviceAttr device;
  if (auto tensor = dyn_cast<kvern::TensorType>(type)) {
    elementType = tensor.getElementType();
    device = tensor.getDevice();
  } else if (auto buffer = dyn_cast<BufferType>(type)) {
    elementType = buffer.getElementType();
    device = buffer.getDevice();
  } else {
    return success();
  }
  if (!device.isCPU()) {
    return op->emitOpError("expected device cpu, but got ") << device.str();
  }
  // The ops on a cache know what its pages hold.
  bool isMemory = isa<BufferType>(type) && isa<Float8E4M3FNType>(elementType);
  if (!isMemory &&
      !isa<IntegerType, Float16Type, BFloat16Type, Float32Type, Float64Type>(
          elementType)) {
    return op->emitOpError("expected element type of ")
           << type
           << " to be one that the CPU target supports (i1, i8 to i64, ui8 to "
              "ui64, f16, bf16, f32, f64), but got "
           << elementType;
  }
  return success();
}

/// One block, and only types that can be lowered.
static LogicalResult checkKernel(func::FuncOp kernel) {
  if (!kernel.getBody().hasOneBlock()) {
    return kernel.emitOpError("expected a kernel of one block, but got ")
           << kernel.getBody().getBlocks().size();
  }
  if (!isa<func::ReturnOp>(kernel.getBody().front().getTerminator())) {
    return kernel.emitOpError("expected a kernel to end with func.return");
  }
  for (Type type : kernel.getArgumentTypes()) {
    if (!isa<kvern::TensorType, BufferType, MemRefType, IndexType>(type)) {
      return kernel.emitOpError(
                 "expected kernel arguments to be tensors or buffers, but got ")
             << type;
    }
  }
  for (Type type : kernel.getResultTypes()) {
    if (!isa<kvern::TensorType>(type)) {
      return kernel.emitOpError(
                 "expected kernel results to be tensors, but got ")
             << type;
    }
  }
  WalkResult result = kernel.walk([](Operation *op) {
    auto check = [&](Type type) { return failed(checkType(op, type)); };
    return llvm::any_of(op->getOperandTypes(), check) ||
                   llvm::any_of(op->getResultTypes(), check)
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  if (result.wasInterrupted()) {
    return failure();
  }
  for (Type type : kernel.getArgumentTypes()) {
    if (failed(checkType(kernel, type))) {
      return failure();
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Signature
//===----------------------------------------------------------------------===//

/// Gives the kernel the arguments inputs, outputs, dimension values. Inside,
/// the old types are reached through casts, which cancel out once the body has
/// been converted.
static void lowerSignature(func::FuncOp kernel,
                           const TypeConverter &converter) {
  SmallVector<StringAttr> names = collectDimNames(kernel);
  Block &body = kernel.getBody().front();
  Location location = kernel.getLoc();
  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  auto cast = [&](Type type, Value value) {
    return UnrealizedConversionCastOp::create(builder, location, type, value);
  };
  for (BlockArgument argument : body.getArguments()) {
    Type type = argument.getType();
    if (!isa<kvern::TensorType, BufferType>(type)) {
      continue;
    }
    argument.setType(getMemRefType(type));
    Operation *first;
    Operation *last;
    if (isa<kvern::TensorType>(type)) {
      first = bufferization::ToTensorOp::create(
          builder, location, converter.convertType(type), argument,
          /*restrict=*/true);
      last = cast(type, first->getResult(0));
    } else {
      first = last = cast(type, argument);
    }
    argument.replaceAllUsesExcept(last->getResult(0), first);
  }

  auto terminator = llvm::cast<func::ReturnOp>(body.getTerminator());
  builder.setInsertionPoint(terminator);
  for (Value result : terminator.getOperands()) {
    Type type = result.getType();
    Value output = body.addArgument(getMemRefType(type), location);
    Value value = cast(converter.convertType(type), result).getResult(0);
    bufferization::MaterializeInDestinationOp::create(
        builder, terminator.getLoc(), /*result=*/Type(), value, output,
        /*restrict=*/true, /*writable=*/true);
  }
  terminator.getOperandsMutable().clear();

  unsigned firstName = body.getNumArguments();
  for (size_t i = 0; i < names.size(); ++i) {
    body.addArgument(builder.getIndexType(), location);
  }
  SmallVector<DictionaryAttr> attributes;
  kernel.getAllArgAttrs(attributes);
  attributes.resize(body.getNumArguments(), builder.getDictionaryAttr({}));
  for (auto [i, name] : llvm::enumerate(names)) {
    attributes[firstName + i] =
        builder.getDictionaryAttr(builder.getNamedAttr(symbolAttrName, name));
  }
  kernel.removeResAttrsAttr();
  kernel.setType(builder.getFunctionType(body.getArgumentTypes(), {}));
  kernel.setAllArgAttrs(attributes);
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace {

struct ConvertToLinalg : kvern::impl::ConvertToLinalgBase<ConvertToLinalg> {
  LogicalResult initialize(MLIRContext *context) override {
    auto kernelTypes = std::make_shared<KernelTypeConverter>();
    RewritePatternSet set(context);
    populateElementwisePatterns(*kernelTypes, set);
    populateContractionPatterns(*kernelTypes, set);
    populatePackedPatterns(*kernelTypes, set);
    populateAttentionPatterns(*kernelTypes, set);
    populateConvolutionPatterns(*kernelTypes, set);
    populateTransposedConvolutionPatterns(*kernelTypes, set);
    populatePoolingPatterns(*kernelTypes, set);
    populateQuantPatterns(*kernelTypes, set);
    populateSamplingPatterns(*kernelTypes, set);
    populateReductionPatterns(*kernelTypes, set);
    populateNormPatterns(*kernelTypes, set);
    populateShapePatterns(*kernelTypes, set);
    populateSlicePatterns(*kernelTypes, set);
    populateIndexingPatterns(*kernelTypes, set);
    populateConstantPatterns(*kernelTypes, set);
    populateBufferPatterns(*kernelTypes, set);
    populateKVCachePatterns(*kernelTypes, set);
    converter = std::move(kernelTypes);
    patterns = FrozenRewritePatternSet(std::move(set));
    return success();
  }

  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    if (!kernel->hasAttr(kernelAttrName) || kernel.isExternal()) {
      return;
    }
    if (failed(checkKernel(kernel))) {
      return signalPassFailure();
    }
    lowerSignature(kernel, *converter);
    ConversionTarget target(getContext());
    // Ops with loops inside stay; caches go with the ops on them.
    target.addDynamicallyLegalDialect<KvernDialect>([](Operation *op) {
      return isa<PagedCacheOp>(op) ||
             op->getName().stripDialect().starts_with("loop.");
    });
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    if (failed(applyPartialConversion(kernel, target, patterns))) {
      return signalPassFailure();
    }
    kernel.walk([](PagedCacheOp cache) { cache.erase(); });
    SmallVector<UnrealizedConversionCastOp> casts;
    kernel.walk(
        [&](UnrealizedConversionCastOp cast) { casts.push_back(cast); });
    SmallVector<UnrealizedConversionCastOp> remaining;
    reconcileUnrealizedCasts(casts, &remaining);
    if (!remaining.empty()) {
      remaining.front().emitOpError("cannot be removed from a kernel");
      return signalPassFailure();
    }
  }

  // Shared by the copies of the pass that run in parallel.
  std::shared_ptr<KernelTypeConverter> converter;
  FrozenRewritePatternSet patterns;
};

} // namespace
