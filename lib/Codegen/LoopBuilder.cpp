// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Codegen/LoopBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace kvern;

Value LoopBuilder::index(int64_t value) {
  return arith::ConstantIndexOp::create(*this, value);
}
Value LoopBuilder::add(Value a, Value b) {
  return createOrFold<arith::AddIOp>(a, b);
}
Value LoopBuilder::add(Value a, int64_t b) {
  return b == 0 ? a : add(a, index(b));
}
Value LoopBuilder::sub(Value a, Value b) {
  return createOrFold<arith::SubIOp>(a, b);
}
Value LoopBuilder::mul(Value a, Value b) {
  return createOrFold<arith::MulIOp>(a, b);
}
Value LoopBuilder::mul(Value a, int64_t b) {
  return b == 1 ? a : mul(a, index(b));
}
Value LoopBuilder::min(Value a, Value b) {
  return createOrFold<arith::MinSIOp>(a, b);
}
Value LoopBuilder::max(Value a, Value b) {
  return createOrFold<arith::MaxSIOp>(a, b);
}
Value LoopBuilder::less(Value a, Value b) {
  return createOrFold<arith::CmpIOp>(arith::CmpIPredicate::slt, a, b);
}

void LoopBuilder::loop(Value from, Value to, int64_t step, Loop body) {
  loop(from, to, index(step), body);
}

void LoopBuilder::loop(Value from, Value to, Value step, Loop body) {
  auto result = scf::ForOp::create(*this, from, to, step);
  InsertionGuard guard(*this);
  setInsertionPoint(result.getBody()->getTerminator());
  body(result.getInductionVar());
}

SmallVector<Value> LoopBuilder::loop(Value from, Value to, int64_t step,
                                     ValueRange init, CarryingLoop body) {
  auto result = scf::ForOp::create(*this, from, to, index(step), init);
  InsertionGuard guard(*this);
  setInsertionPointToEnd(result.getBody());
  SmallVector<Value> next =
      body(result.getInductionVar(), result.getRegionIterArgs());
  scf::YieldOp::create(*this, next);
  return SmallVector<Value>(result.getResults());
}

void LoopBuilder::when(Value condition, llvm::function_ref<void()> then,
                       llvm::function_ref<void()> otherwise) {
  if (std::optional<int64_t> known = getConstantIntValue(condition)) {
    if (*known) {
      then();
    } else if (otherwise) {
      otherwise();
    }
    return;
  }
  auto branch =
      scf::IfOp::create(*this, condition,
                        /*withElseRegion=*/static_cast<bool>(otherwise));
  InsertionGuard guard(*this);
  setInsertionPoint(branch.thenYield());
  then();
  if (otherwise) {
    setInsertionPoint(branch.elseYield());
    otherwise();
  }
}
