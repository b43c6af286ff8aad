//===- HostToLLVM.cpp - Runtime requests become loads and calls -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The layout of the frame and the functions called here are those of
// lib/Runtime/Abi.h.
//
//===----------------------------------------------------------------------===//

#include "dialect/Kvern.h"
#include "dialect/ops/Parallel.h"
#include "dialect/ops/Trace.h"
#include "lib/Conversion/HostToLLVM/ParallelFor.h"
#include "lib/Conversion/Passes.h"

#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/FunctionCallUtils.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

namespace kvern {
#define GEN_PASS_DEF_CONVERTHOSTTOLLVM
#include "lib/Conversion/Passes.h.inc"
} // namespace kvern

using namespace mlir;
using namespace kvern;

/// The fields of KvernFrame.
enum FrameField : int64_t { Inputs = 0, Weights = 1, Symbols = 2 };

namespace {

class HostLowering {
public:
  HostLowering(ModuleOp module)
      : module(module), builder(module.getContext()),
        converter(module.getContext()),
        pointer(LLVM::LLVMPointerType::get(module.getContext())),
        i64(builder.getI64Type()) {}

  LogicalResult lower(Operation *op);

private:
  LogicalResult lowerOutput(HostOutputOp op);
  LogicalResult lowerCheck(HostCheckOp op);
  LogicalResult lowerWorkers(HostWorkersOp op);
  LogicalResult lowerRequest(Operation *op, StringRef function, Value frame,
                             Value bytes);

  Value constant(Location loc, int64_t value) {
    return LLVM::ConstantOp::create(builder, loc, i64,
                                    builder.getI64IntegerAttr(value));
  }
  Value toInt(Location loc, Value index) {
    return arith::IndexCastOp::create(builder, loc, i64, index);
  }
  Value getElement(Location loc, Value base, int64_t index) {
    return LLVM::GEPOp::create(
        builder, loc, pointer, i64, base,
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)});
  }
  Value loadField(Location loc, Value frame, FrameField field, int64_t index,
                  Type type) {
    Value table = LLVM::LoadOp::create(builder, loc, pointer,
                                       getElement(loc, frame, field));
    return LLVM::LoadOp::create(builder, loc, type,
                                getElement(loc, table, index));
  }
  /// The sizes of a memref type as i64, the dynamic ones from `dynamic`.
  SmallVector<Value> getSizes(Location loc, MemRefType type,
                              ValueRange dynamic);
  /// Replaces `op` by a contiguous memref at `memory`.
  void replaceByMemRef(Operation *op, Value memory, ValueRange sizes);
  FailureOr<Value> call(Location loc, StringRef name, Type result,
                        ValueRange operands);

  ModuleOp module;
  OpBuilder builder;
  LLVMTypeConverter converter;
  LLVM::LLVMPointerType pointer;
  Type i64;
};

} // namespace

SmallVector<Value> HostLowering::getSizes(Location loc, MemRefType type,
                                          ValueRange dynamic) {
  SmallVector<Value> sizes;
  for (int64_t size : type.getShape()) {
    if (ShapedType::isDynamic(size)) {
      sizes.push_back(toInt(loc, dynamic.front()));
      dynamic = dynamic.drop_front();
    } else {
      sizes.push_back(constant(loc, size));
    }
  }
  return sizes;
}

void HostLowering::replaceByMemRef(Operation *op, Value memory,
                                   ValueRange sizes) {
  Location loc = op->getLoc();
  auto type = cast<MemRefType>(op->getResult(0).getType());
  auto descriptor =
      MemRefDescriptor::poison(builder, loc, converter.convertType(type));
  descriptor.setAllocatedPtr(builder, loc, memory);
  descriptor.setAlignedPtr(builder, loc, memory);
  descriptor.setOffset(builder, loc, constant(loc, 0));
  Value stride = constant(loc, 1);
  for (int64_t axis = type.getRank() - 1; axis >= 0; --axis) {
    descriptor.setSize(builder, loc, axis, sizes[axis]);
    descriptor.setStride(builder, loc, axis, stride);
    stride = LLVM::MulOp::create(builder, loc, stride, sizes[axis]);
  }
  auto cast =
      UnrealizedConversionCastOp::create(builder, loc, type, Value(descriptor));
  op->replaceAllUsesWith(cast);
  op->erase();
}

FailureOr<Value> HostLowering::call(Location loc, StringRef name, Type result,
                                    ValueRange operands) {
  SmallVector<Type> types(operands.getTypes());
  FailureOr<LLVM::LLVMFuncOp> function =
      LLVM::lookupOrCreateFn(builder, module, name, types, result);
  if (failed(function)) {
    return failure();
  }
  auto op = LLVM::CallOp::create(builder, loc, *function, operands);
  return op.getNumResults() ? op.getResult() : Value();
}

LogicalResult HostLowering::lowerRequest(Operation *op, StringRef function,
                                         Value frame, Value bytes) {
  Location loc = op->getLoc();
  Value size = toInt(loc, bytes);
  FailureOr<Value> memory = call(loc, function, pointer, {frame, size});
  if (failed(memory)) {
    return failure();
  }
  replaceByMemRef(op, *memory, size);
  return success();
}

LogicalResult HostLowering::lowerOutput(HostOutputOp op) {
  Location loc = op.getLoc();
  auto type = cast<MemRefType>(op.getType());
  SmallVector<Value> sizes = getSizes(loc, type, op.getSizes());
  Value rank = constant(loc, sizes.size());
  Value dims;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(
        &op->getParentOfType<func::FuncOp>().getBody().front());
    dims = LLVM::AllocaOp::create(
        builder, loc, pointer, i64,
        constant(loc, std::max<int64_t>(sizes.size(), 1)));
  }
  for (auto [i, size] : llvm::enumerate(sizes)) {
    LLVM::StoreOp::create(builder, loc, size, getElement(loc, dims, i));
  }
  FailureOr<Value> memory =
      call(loc, "kvern_rt_output", pointer,
           {op.getFrame(), constant(loc, op.getIndex()), rank, dims});
  if (failed(memory)) {
    return failure();
  }
  replaceByMemRef(op, *memory, sizes);
  return success();
}

LogicalResult HostLowering::lowerCheck(HostCheckOp op) {
  Location loc = op.getLoc();
  Block *block = op->getBlock();
  Block *rest = block->splitBlock(op);
  Block *fail = builder.createBlock(rest->getParent());
  SmallVector<Value> operands = {op.getFrame(), constant(loc, op.getIndex())};
  for (unsigned i = 0; i < 3; ++i) {
    operands.push_back(i < op.getValues().size() ? toInt(loc, op.getValues()[i])
                                                 : constant(loc, 0));
  }
  if (failed(call(loc, "kvern_rt_fail",
                  LLVM::LLVMVoidType::get(module.getContext()), operands))) {
    return failure();
  }
  Value one =
      arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(1));
  func::ReturnOp::create(builder, loc, one);
  builder.setInsertionPointToEnd(block);
  cf::CondBranchOp::create(builder, loc, op.getCondition(), rest, fail);
  op.erase();
  return success();
}

LogicalResult HostLowering::lowerWorkers(HostWorkersOp op) {
  Location loc = op.getLoc();
  FailureOr<Value> count = call(loc, "kvern_rt_max_workers", i64, {});
  if (failed(count)) {
    return failure();
  }
  op.replaceAllUsesWith(
      arith::IndexCastOp::create(builder, loc, builder.getIndexType(), *count)
          .getResult());
  op.erase();
  return success();
}

LogicalResult HostLowering::lower(Operation *op) {
  Location loc = op->getLoc();
  builder.setInsertionPoint(op);
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](HostSymbolOp symbol) {
        Value value =
            loadField(loc, symbol.getFrame(), Symbols, symbol.getIndex(), i64);
        symbol.replaceAllUsesWith(
            arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                       value)
                .getResult());
        symbol.erase();
        return success();
      })
      .Case([&](HostInputOp input) {
        auto type = cast<MemRefType>(input.getType());
        Value memory =
            loadField(loc, input.getFrame(), Inputs, input.getIndex(), pointer);
        replaceByMemRef(op, memory, getSizes(loc, type, input.getSizes()));
        return success();
      })
      .Case([&](HostWeightOp weight) {
        auto type = cast<MemRefType>(weight.getType());
        Value memory = loadField(loc, weight.getFrame(), Weights,
                                 weight.getIndex(), pointer);
        replaceByMemRef(op, memory, getSizes(loc, type, {}));
        return success();
      })
      .Case([&](HostWorkspaceOp workspace) {
        return lowerRequest(op, "kvern_rt_workspace", workspace.getFrame(),
                            workspace.getBytes());
      })
      .Case([&](HostAllocOp alloc) {
        return lowerRequest(op, "kvern_rt_alloc", alloc.getFrame(),
                            alloc.getBytes());
      })
      .Case([&](HostStepOp step) {
        auto none = LLVM::LLVMVoidType::get(module.getContext());
        LogicalResult result =
            call(loc, "kvern_rt_step", none,
                 {step.getFrame(), constant(loc, step.getIndex())});
        step.erase();
        return result;
      })
      .Case([&](HostOutputOp output) { return lowerOutput(output); })
      .Case([&](HostCheckOp check) { return lowerCheck(check); })
      .Case([&](HostWorkersOp workers) { return lowerWorkers(workers); })
      .Case([&](HostParallelForOp parallel) {
        return lowerParallelFor(parallel, converter);
      })
      .Default([](Operation *) { return success(); });
}

namespace {

struct ConvertHostToLLVM
    : kvern::impl::ConvertHostToLLVMBase<ConvertHostToLLVM> {
  void runOnOperation() override {
    HostLowering lowering(getOperation());
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa<KvernDialect>(op->getDialect())) {
        ops.push_back(op);
      }
    });
    for (Operation *op : ops) {
      if (failed(lowering.lower(op))) {
        return signalPassFailure();
      }
    }
  }
};

} // namespace
