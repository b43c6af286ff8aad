//===- ParallelFor.cpp - Calls of tasks through the runtime ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Conversion/HostToLLVM/ParallelFor.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/FunctionCallUtils.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace kvern;

/// `value` as a value of the type that it will be converted to, or back.
static Value convert(ImplicitLocOpBuilder &b, Value value, Type type) {
  if (value.getType() == type) {
    return value;
  }
  if (value.getType().isIndex() || type.isIndex()) {
    return arith::IndexCastOp::create(b, type, value);
  }
  return UnrealizedConversionCastOp::create(b, type, value).getResult(0);
}

static Value fieldOf(ImplicitLocOpBuilder &b, Type structType, Value pointer,
                     size_t index) {
  return LLVM::GEPOp::create(
      b, pointer.getType(), structType, pointer,
      ArrayRef<LLVM::GEPArg>{0, static_cast<int32_t>(index)});
}

/// The function that the runtime calls for each task.
static LLVM::LLVMFuncOp createTask(HostParallelForOp op, ModuleOp module,
                                   LLVM::LLVMStructType captured) {
  ImplicitLocOpBuilder b(op.getLoc(), op.getContext());
  b.setInsertionPointToEnd(module.getBody());
  auto pointer = LLVM::LLVMPointerType::get(op.getContext());
  Type i64 = b.getI64Type(), index = b.getIndexType();
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(op.getContext()), {pointer, i64, i64});
  auto task = LLVM::LLVMFuncOp::create(b, (op.getBody() + "_task").str(), type,
                                       LLVM::Linkage::Internal);
  Block *body = task.addEntryBlock(b);
  b.setInsertionPointToStart(body);
  SmallVector<Value> operands;
  for (auto [i, value] : llvm::enumerate(op.getCaptures())) {
    Value field = fieldOf(b, captured, body->getArgument(0), i);
    Value loaded = LLVM::LoadOp::create(b, captured.getBody()[i], field);
    operands.push_back(convert(b, loaded, value.getType()));
  }
  operands.push_back(convert(b, body->getArgument(1), index));
  operands.push_back(convert(b, body->getArgument(2), index));
  func::CallOp::create(b, op.getBody(), TypeRange(), operands);
  LLVM::ReturnOp::create(b, ValueRange());
  return task;
}

LogicalResult kvern::lowerParallelFor(HostParallelForOp op,
                                      LLVMTypeConverter &converter) {
  auto module = op->getParentOfType<ModuleOp>();
  SmallVector<Type> types;
  for (Value value : op.getCaptures()) {
    types.push_back(converter.convertType(value.getType()));
    if (!types.back()) {
      return op.emitOpError("cannot capture ") << value.getType();
    }
  }
  auto captured = LLVM::LLVMStructType::getLiteral(op.getContext(), types);
  LLVM::LLVMFuncOp task = createTask(op, module, captured);

  ImplicitLocOpBuilder b(op.getLoc(), op);
  auto pointer = LLVM::LLVMPointerType::get(op.getContext());
  Type i64 = b.getI64Type();
  FailureOr<LLVM::LLVMFuncOp> runtime = LLVM::lookupOrCreateFn(
      b, module, "kvern_rt_parallel_for", {pointer, pointer, i64, i64},
      LLVM::LLVMVoidType::get(op.getContext()));
  if (failed(runtime)) {
    return failure();
  }

  Value memory;
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(
        &op->getParentOfType<func::FuncOp>().getBody().front());
    Value one = LLVM::ConstantOp::create(b, i64, b.getI64IntegerAttr(1));
    memory = LLVM::AllocaOp::create(b, pointer, captured, one);
  }
  Value one = arith::ConstantIndexOp::create(b, 1);
  Value isSingle =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, op.getTasks(), one);
  auto choice = scf::IfOp::create(b, isSingle, /*withElseRegion=*/true);
  b.setInsertionPointToStart(choice.thenBlock());
  Value zero = arith::ConstantIndexOp::create(b, 0);
  SmallVector<Value> operands(op.getCaptures());
  operands.append({zero, zero});
  func::CallOp::create(b, op.getBody(), TypeRange(), operands);

  b.setInsertionPointToStart(choice.elseBlock());
  for (auto [i, value] : llvm::enumerate(op.getCaptures())) {
    LLVM::StoreOp::create(b, convert(b, value, types[i]),
                          fieldOf(b, captured, memory, i));
  }
  Value function = LLVM::AddressOfOp::create(b, pointer, task.getSymName());
  LLVM::CallOp::create(b, *runtime,
                       ValueRange{function, memory,
                                  convert(b, op.getTasks(), i64),
                                  convert(b, op.getWork(), i64)});
  op.erase();
  return success();
}
