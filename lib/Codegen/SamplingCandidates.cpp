// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tokens that may be drawn: made of a row, counted, and dropped.
#include "lib/Codegen/SamplingBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <limits>
#include <numeric>

using namespace mlir;
using namespace kvern;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

Value SamplingBuilder::getCapacity() {
  // A block more, so that the end can be marked anywhere.
  return add(roundUp(vocabulary, block), block);
}

SamplingBuilder::Candidates
SamplingBuilder::allocateCandidates(Value capacity) {
  Value values = allocate(capacity), weights = allocate(capacity);
  auto like = cast<MemRefType>(values.getType());
  Value numbers = memref::AllocOp::create(
      *this, MemRefType::get(like.getShape(), getI32Type()),
      like.hasStaticShape() ? ValueRange() : ValueRange(capacity),
      getI64IntegerAttr(64));
  return {values, weights, numbers};
}

void SamplingBuilder::fill(const Candidates &all, Value row, Value largest,
                           Value scale) {
  SmallVector<int32_t> steps(lanes);
  std::iota(steps.begin(), steps.end(), 0);
  Value iota = arith::ConstantOp::create(*this, getI32VectorAttr(steps));
  Value shift = splat(largest), factor = splat(scale);
  foldRow(row, {},
          [&](Value column, ArrayRef<Value> registers,
              ValueRange) -> SmallVector<Value> {
            for (auto [i, x] : llvm::enumerate(registers)) {
              Value at = add(column, i * lanes);
              Value below = arith::SubFOp::create(*this, x, shift);
              Value weight = exp2(multiply(below, factor));
              Value first = arith::IndexCastOp::create(*this, getI32Type(), at);
              first = vector::BroadcastOp::create(*this, integers, first);
              Value number = arith::AddIOp::create(*this, first, iota);
              store(x, all.logits, at);
              store(weight, all.weights, at);
              store(number, all.numbers, at);
            }
            return {};
          });
}

SamplingBuilder::Measure SamplingBuilder::measure(const Candidates &all,
                                                  Value count, Value least) {
  Value zero = splat(0.0), bound = splat(least);
  Value none = arith::ConstantOp::create(*this, getZeroAttr(integers));
  SmallVector<Value> init(unroll, zero);
  init.append(unroll, none);
  SmallVector<Value> sums =
      loop(index(0), count, block, init,
           [&](Value column, ValueRange before) -> SmallVector<Value> {
             SmallVector<Value> next(before);
             for (int64_t i = 0; i < unroll; ++i) {
               Value at = add(column, i * lanes);
               Value values = loadVector(all.logits, at);
               Value weights = loadVector(all.weights, at);
               Value is = compare(arith::CmpFPredicate::OGE, values, bound);
               next[i] = plus(next[i], select(is, weights, zero));
               // -1 where it is.
               Value marks = arith::ExtSIOp::create(*this, integers, is);
               next[unroll + i] =
                   arith::SubIOp::create(*this, next[unroll + i], marks);
             }
             return next;
           });
  Value number = sums[unroll];
  for (int64_t i = 1; i < unroll; ++i) {
    number = arith::AddIOp::create(*this, number, sums[unroll + i]);
  }
  number =
      vector::ReductionOp::create(*this, vector::CombiningKind::ADD, number);
  sums.truncate(unroll);
  return {arith::ExtSIOp::create(*this, getI64Type(), number), sumOf(sums)};
}

Value SamplingBuilder::sumWeights(const Candidates &all, Value from, Value to) {
  SmallVector<Value> init(unroll, splat(0.0));
  return sumOf(
      loop(from, to, block, init, [&](Value column, ValueRange before) {
        SmallVector<Value> next;
        for (int64_t i = 0; i < unroll; ++i) {
          Value at = add(column, i * lanes);
          next.push_back(plus(before[i], loadVector(all.weights, at)));
        }
        return next;
      }));
}

Value SamplingBuilder::keep(const Candidates &all, Value count, Value keys,
                            Value bound, Value ties) {
  Value bounds = splat(bound);
  Value none = i64(0), one = i64(1);
  auto keepLanes = [&](Value column, ValueRange before) {
    return loop(column, add(column, lanes), 1, before,
                [&](Value at, ValueRange carried) -> SmallVector<Value> {
                  Value to = carried[0], left = carried[1];
                  Value key = load(keys, at), logit = load(all.logits, at);
                  Value weight = load(all.weights, at);
                  Value number = load(all.numbers, at);
                  Value above = compare(arith::CmpFPredicate::OGT, key, bound);
                  Value equal = compare(arith::CmpFPredicate::OEQ, key, bound);
                  Value isLeft = compare(arith::CmpIPredicate::sgt, left, none);
                  Value tie = arith::AndIOp::create(*this, equal, isLeft);
                  Value kept = arith::OrIOp::create(*this, above, tie);
                  // What is not kept is written over.
                  store(logit, all.logits, to);
                  store(weight, all.weights, to);
                  store(number, all.numbers, to);
                  Value next = select(kept, add(to, 1), to);
                  Value less = arith::SubIOp::create(*this, left, one);
                  return {next, select(tie, less, left)};
                });
  };
  Value kept = loop(index(0), roundUp(count, lanes), lanes, {index(0), ties},
                    [&](Value column, ValueRange before) -> SmallVector<Value> {
                      Value is = compare(arith::CmpFPredicate::OGE,
                                         loadVector(keys, column), bounds);
                      return choose(
                          any(is), [&] { return keepLanes(column, before); },
                          [&] { return SmallVector<Value>(before); });
                    })[0];
  for (int64_t i = 0; i < unroll; ++i) {
    Value at = add(kept, i * lanes);
    store(splat(-kInfinity), all.logits, at);
    store(splat(0.0), all.weights, at);
  }
  return kept;
}
