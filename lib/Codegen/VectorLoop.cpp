// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The innermost loop of a linalg.generic on buffers, several elements a turn.
#include "lib/Codegen/VectorLoop.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace kvern;

SmallVector<Value> VectorLoop::address(ImplicitLocOpBuilder &b,
                                       OpOperand &operand, Value at) {
  AffineMap map = op.getMatchingIndexingMap(&operand);
  SmallVector<Value> result;
  for (AffineExpr expr : map.getResults()) {
    if (auto loop = dyn_cast<AffineDimExpr>(expr)) {
      result.push_back(loop.getPosition() == dim ? at
                                                 : indices[loop.getPosition()]);
      continue;
    }
    // Not along this loop, so its index does not matter.
    SmallVector<Value> values(indices);
    values[dim] = values[dim] ? values[dim] : at;
    result.push_back(affine::AffineApplyOp::create(
        b, AffineMap::get(map.getNumDims(), 0, expr), values));
  }
  return result;
}

Value VectorLoop::load(ImplicitLocOpBuilder &b, Value memory,
                       ArrayRef<Value> place, Value mask) {
  VectorType type =
      vectorOf(cast<MemRefType>(memory.getType()).getElementType());
  if (!mask) {
    return vector::LoadOp::create(b, type, memory, place);
  }
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(type));
  return vector::MaskedLoadOp::create(b, type, memory, place, mask, zero);
}

Value VectorLoop::widen(ImplicitLocOpBuilder &b, Value value) {
  return isa<VectorType>(value.getType())
             ? value
             : vector::BroadcastOp::create(b, vectorOf(value.getType()), value)
                   .getResult();
}

void VectorLoop::emitUniform(ImplicitLocOpBuilder &b) {
  Value zero = arith::ConstantIndexOp::create(b, 0);
  for (OpOperand *input : op.getDpsInputOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(input);
    if (!isUniform.contains(argument) || argument.use_empty()) {
      continue;
    }
    Value memory = input->get();
    uniform.map(argument, isa<MemRefType>(memory.getType())
                              ? memref::LoadOp::create(b, memory,
                                                       address(b, *input, zero))
                              : memory);
  }
  for (Operation &inner : op.getBody()->without_terminator()) {
    if (inner.getNumResults() == 0 || !isUniform.contains(inner.getResult(0))) {
      continue;
    }
    if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
      uniform.map(index.getResult(), indices[index.getDim()]);
    } else {
      b.clone(inner, uniform);
    }
  }
}

Value VectorLoop::emitOp(ImplicitLocOpBuilder &b, Operation &inner,
                         IRMapping &values, Value at, Value mask) {
  VectorType type = vectorOf(inner.getResult(0).getType());
  if (isa<linalg::IndexOp>(inner)) {
    Value steps = vector::StepOp::create(b, type);
    return arith::AddIOp::create(b, steps, widen(b, at));
  }
  if (auto row = dyn_cast<memref::LoadOp>(inner)) {
    SmallVector<Value> place;
    for (Value index : row.getIndices().drop_back()) {
      place.push_back(values.lookupOrDefault(index));
    }
    place.push_back(at);
    return load(b, row.getMemRef(), place, mask);
  }
  SmallVector<Value> operands;
  for (Value operand : inner.getOperands()) {
    operands.push_back(widen(b, values.lookupOrDefault(operand)));
  }
  OperationState state(op.getLoc(), inner.getName());
  state.addOperands(operands);
  state.addTypes(type);
  state.addAttributes(inner.getAttrs());
  return b.create(state)->getResult(0);
}

SmallVector<Value> VectorLoop::emitTurn(ImplicitLocOpBuilder &b, Value at,
                                        Value mask, ArrayRef<Value> sums) {
  IRMapping values = uniform;
  for (OpOperand *input : op.getDpsInputOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(input);
    if (follows(*input) && !argument.use_empty()) {
      values.map(argument, load(b, input->get(), address(b, *input, at), mask));
    }
  }
  ArrayRef<Value> remaining = sums;
  for (auto [index, carried] : llvm::enumerate(isCarried)) {
    OpOperand *init = op.getDpsInitOperand(index);
    BlockArgument argument = op.getMatchingBlockArgument(init);
    if (carried) {
      values.map(argument, remaining.front());
      remaining = remaining.drop_front();
    } else if (!argument.use_empty()) {
      values.map(argument, load(b, init->get(), address(b, *init, at), mask));
    }
  }
  for (Operation &inner : op.getBody()->without_terminator()) {
    if (!isUniform.contains(inner.getResult(0))) {
      values.map(inner.getResult(0), emitOp(b, inner, values, at, mask));
    }
  }
  SmallVector<Value> result;
  Operation *yield = op.getBody()->getTerminator();
  for (auto [index, carried] : llvm::enumerate(isCarried)) {
    Value value = widen(b, values.lookupOrDefault(yield->getOperand(index)));
    if (carried) {
      result.push_back(
          mask ? arith::SelectOp::create(b, mask, value, sums[result.size()])
               : value);
      continue;
    }
    OpOperand *init = op.getDpsInitOperand(index);
    SmallVector<Value> place = address(b, *init, at);
    if (mask) {
      vector::MaskedStoreOp::create(b, init->get(), place, mask, value);
    } else {
      vector::StoreOp::create(b, value, init->get(), place);
    }
  }
  return result;
}

/// A loop from `from` to `to` over `vectors` vectors a turn; `sums` are those
/// of the first vector, then those of the second, ...
SmallVector<Value> VectorLoop::emitTurns(ImplicitLocOpBuilder &b, Value from,
                                         Value to, int64_t vectors,
                                         ArrayRef<Value> sums) {
  Value step = arith::ConstantIndexOp::create(b, vectors * lanes);
  auto loop = scf::ForOp::create(b, from, to, step, sums);
  OpBuilder::InsertionGuard guard(b);
  if (sums.empty()) {
    b.setInsertionPoint(loop.getBody()->getTerminator());
  } else {
    b.setInsertionPointToEnd(loop.getBody());
  }
  SmallVector<Value> inner(loop.getRegionIterArgs());
  SmallVector<Value> results;
  for (int64_t i = 0; i < vectors; ++i) {
    Value at = loop.getInductionVar();
    if (i != 0) {
      Value offset = arith::ConstantIndexOp::create(b, i * lanes);
      at = arith::AddIOp::create(b, at, offset);
    }
    size_t count = combiners.size();
    llvm::append_range(
        results, emitTurn(b, at, {}, ArrayRef(inner).slice(i * count, count)));
  }
  if (!sums.empty()) {
    scf::YieldOp::create(b, results);
  }
  return SmallVector<Value>(loop.getResults());
}

Value VectorLoop::emitIsBetter(ImplicitLocOpBuilder &b, Value element,
                               Value best) {
  IRMapping values = uniform;
  values.map(search->element, element);
  values.map(search->best, best);
  SmallVector<Operation *> needed;
  SetVector<Value> reached;
  reached.insert(search->isBetter);
  for (size_t i = 0; i < reached.size(); ++i) {
    if (values.contains(reached[i]) || isUniform.contains(reached[i])) {
      continue;
    }
    needed.push_back(reached[i].getDefiningOp());
    reached.insert_range(reached[i].getDefiningOp()->getOperands());
  }
  llvm::sort(needed, [](Operation *one, Operation *other) {
    return one->isBeforeInBlock(other);
  });
  for (Operation *inner : needed) {
    values.map(inner->getResult(0), emitOp(b, *inner, values, {}, {}));
  }
  return values.lookup(search->isBetter);
}

SmallVector<Value> VectorLoop::combine(ImplicitLocOpBuilder &b,
                                       ArrayRef<Value> one,
                                       ArrayRef<Value> other) {
  SmallVector<Value> result;
  if (search) {
    // The other if it is better, or as good and before.
    Value better = emitIsBetter(b, other[0], one[0]);
    Value worse = emitIsBetter(b, one[0], other[0]);
    Value before =
        arith::CmpIOp::create(b, arith::CmpIPredicate::slt, other[1], one[1]);
    Value never = arith::ConstantOp::create(b, b.getZeroAttr(worse.getType()));
    Value takes = arith::SelectOp::create(b, worse, never, before);
    takes = arith::OrIOp::create(b, better, takes);
    for (size_t i = 0; i < 2; ++i) {
      result.push_back(arith::SelectOp::create(b, takes, other[i], one[i]));
    }
    return result;
  }
  for (size_t i = 0; i < combiners.size(); ++i) {
    result.push_back(
        vector::makeArithReduction(b, b.getLoc(), combiners[i].kind, one[i],
                                   other[i], combiners[i].fastMath));
  }
  return result;
}

void VectorLoop::combineLanes(ImplicitLocOpBuilder &b, ArrayRef<Value> sums,
                              SmallVectorImpl<Value> &carried) {
  if (!search) {
    for (size_t i = 0; i < combiners.size(); ++i) {
      carried[i] = vector::ReductionOp::create(
          b, combiners[i].kind, sums[i], carried[i],
          combiners[i].fastMath ? combiners[i].fastMath.getValue()
                                : arith::FastMathFlags::none);
    }
    return;
  }
  SmallVector<Value> all(sums);
  for (int64_t step = lanes / 2; step > 0; step /= 2) {
    SmallVector<int64_t> turned;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      turned.push_back((lane + step) % lanes);
    }
    SmallVector<Value> other;
    for (Value value : all) {
      other.push_back(vector::ShuffleOp::create(b, value, value, turned));
    }
    all = combine(b, all, other);
  }
  for (size_t i = 0; i < all.size(); ++i) {
    carried[i] = vector::ExtractOp::create(b, all[i], 0);
  }
}

Value VectorLoop::emit(OpBuilder &builder, ArrayRef<Value> outer, Value size,
                       SmallVectorImpl<Value> &carried) {
  ImplicitLocOpBuilder b(op.getLoc(), builder);
  indices.assign(outer.begin(), outer.end());
  indices[dim] = Value();
  uniform.clear();
  emitUniform(b);

  auto roundDown = [&](int64_t multiple) -> Value {
    Value divisor = arith::ConstantIndexOp::create(b, multiple);
    Value rest = arith::RemUIOp::create(b, size, divisor);
    return arith::SubIOp::create(b, size, rest);
  };
  size_t count = combiners.size();
  SmallVector<Value> sums;
  for (auto [combiner, initial] : llvm::zip_equal(combiners, carried)) {
    if (search) {
      sums.push_back(widen(b, initial));
      continue;
    }
    VectorType type = vectorOf(combiner.neutral.getType());
    sums.push_back(arith::ConstantOp::create(
        b, DenseElementsAttr::get(type, combiner.neutral)));
  }
  Value from = arith::ConstantIndexOp::create(b, 0);
  if (unroll > 1) {
    SmallVector<Value> all;
    for (int64_t i = 0; i < unroll; ++i) {
      llvm::append_range(all, sums);
    }
    Value to = roundDown(unroll * lanes);
    all = emitTurns(b, from, to, unroll, all);
    sums.assign(all.begin(), all.begin() + count);
    for (int64_t part = 1; part < unroll && count != 0; ++part) {
      sums = combine(b, sums, ArrayRef(all).slice(part * count, count));
    }
    from = to;
  }
  Value whole = roundDown(lanes);
  sums = emitTurns(b, from, whole, 1, sums);
  if (masks) {
    Value rest = arith::SubIOp::create(b, size, whole);
    Value isLeft = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, rest,
                                         arith::ConstantIndexOp::create(b, 0));
    SmallVector<Type> types;
    for (Value sum : sums) {
      types.push_back(sum.getType());
    }
    auto end =
        scf::IfOp::create(b, types, isLeft, /*withElseRegion=*/count != 0);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(end.thenBlock());
    Value mask = vector::CreateMaskOp::create(b, vectorOf(b.getI1Type()), rest);
    SmallVector<Value> results = emitTurn(b, whole, mask, sums);
    if (count != 0) {
      scf::YieldOp::create(b, results);
      b.setInsertionPointToStart(end.elseBlock());
      scf::YieldOp::create(b, sums);
      sums.assign(end.getResults().begin(), end.getResults().end());
    }
  }
  combineLanes(b, sums, carried);
  return masks ? Value() : whole;
}
