// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A token for each row of logits.
//
// What is kept of a row by top-k, by min-p and by top-p is each time the
// beginning of one order: by falling logit, equal ones by rising number. So
// none of it sorts. A beginning ends at the largest logit t for which enough
// lies at or above t:
//   1. bisect the bits of floats, as integers of their order, for t, after
//      steps down from the largest that double; one turn counts the candidates
//      at or above the middle, and adds up their weights
//   2. when few candidates are left above the lower end, keep only those
//   3. keep what is above t, and of those equal to t as many as are missing
// Candidates stay in order of their numbers, in which they are drawn: with u
// uniform, the first at which the running sum exceeds u * total, found by
// chunks, then within the chunk.
#include "lib/Codegen/SamplingBuilder.h"
#include "lib/Support/Philox.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include <limits>

using namespace mlir;
using namespace kvern;

using FloatIs = arith::CmpFPredicate;
using IntegerIs = arith::CmpIPredicate;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();
static constexpr double kLog2E = 1.44269504088896340736;
/// More than there are tokens.
static constexpr int64_t kAll = int64_t{1} << 31;
/// Candidates are compacted when so many times fewer are left.
static constexpr int64_t kFewer = 8;

namespace {
/// What both ops have, [rows].
struct Parameters {
  Value temperature, topK, topP, minP;
};

class SampleEmitter {
public:
  template <typename OpT>
  SampleEmitter(OpT op, OpBuilder &builder, int64_t vectorBits)
      : b(op.getLoc(), builder, vectorBits, op.getLogits(), op.getVocabulary()),
        parameters{op.getTemperature(), op.getTopK(), op.getTopP(),
                   op.getMinP()} {}

  void emit(LoopSampleTokensOp op);
  void emit(LoopFilterLogitsOp op);

private:
  using Candidates = SamplingBuilder::Candidates;

  void sampleRow(LoopSampleTokensOp op, Value row, Value capacity);
  void filterRow(Value result, Value row, Value capacity);
  Value isFinite(Value logit);
  Value isSampled(Value row);
  /// 1 / temperature, within what keeps 0 * it and infinity * it as they are.
  Value getScale(Value row);
  Value keepSome(const Candidates &all, Value row, Value largest);
  Value keepTopP(const Candidates &all, Value count, Value topK, Value topP,
                 Value minP, Value largest, Value scale);
  Value keepFirst(const Candidates &all, Value count, Value number, Value mass,
                  Value largest, Value scale);
  Value draw(LoopSampleTokensOp op, const Candidates &all, Value count,
             Value row);
  Value getLogprob(Value row, Value token, Value largest);

  /// The integer that grows with a float, and back.
  Value toKey(Value logit);
  Value fromKey(Value key);
  Value flip(Value bits);
  Value weigh(Value logit, Value largest, Value scale) {
    Value below = arith::SubFOp::create(b, logit, largest);
    return b.exp2(b.multiply(below, scale));
  }
  Value parameter(Value memory, Value row) {
    return memref::LoadOp::create(b, memory, row);
  }
  Value integer(Value a, int64_t c) {
    Value constant = b.i64(c);
    return arith::AddIOp::create(b, a, constant);
  }

  SamplingBuilder b;
  const Parameters parameters;
};
} // namespace

Value SampleEmitter::flip(Value bits) {
  Value sign = arith::ShRSIOp::create(
      b, bits, arith::ConstantOp::create(b, b.getI32IntegerAttr(31)));
  Value magnitude = arith::ConstantOp::create(
      b, b.getI32IntegerAttr(std::numeric_limits<int32_t>::max()));
  Value mask = arith::AndIOp::create(b, sign, magnitude);
  return arith::XOrIOp::create(b, bits, mask);
}
Value SampleEmitter::toKey(Value logit) {
  Value bits = arith::BitcastOp::create(b, b.getI32Type(), logit);
  return arith::ExtSIOp::create(b, b.getI64Type(), flip(bits));
}
Value SampleEmitter::fromKey(Value key) {
  Value bits = arith::TruncIOp::create(b, b.getI32Type(), key);
  return arith::BitcastOp::create(b, b.element, flip(bits));
}

/// Keeps the first candidates of the order whose number reaches `number`, or
/// whose weights reach `mass`, both above 0 and not known to be out of reach.
Value SampleEmitter::keepFirst(const Candidates &all, Value count, Value number,
                               Value mass, Value largest, Value scale) {
  // At `low` enough is reached; at `high` it is not, but those numbers are.
  Value lowest = toKey(b.constant(-kInfinity));
  Value highest = integer(toKey(largest), 1);
  // The first steps double, from a quarter of the largest weight down; 0
  // bisects.
  Value step = arith::DivFOp::create(b, b.constant(2.0), scale);
  Value zero = b.constant(0.0);
  SmallVector<Value> init{lowest, highest, count, b.i64(0), zero, step};
  SmallVector<Type> types(ValueRange(init).getTypes());
  auto search = scf::WhileOp::create(
      b, types, init,
      [&](OpBuilder &, Location, ValueRange state) {
        Value next = integer(state[0], 1);
        Value open = b.compare(IntegerIs::slt, next, state[1]);
        scf::ConditionOp::create(b, open, state);
      },
      [&](OpBuilder &, Location, ValueRange state) {
        Value low = state[0], high = state[1], left = state[2];
        Value sum = arith::AddIOp::create(b, low, high);
        Value one = b.i64(1);
        Value half = arith::ShRSIOp::create(b, sum, one);
        Value below = toKey(arith::SubFOp::create(b, largest, state[5]));
        Value isAbove = b.compare(IntegerIs::sgt, below, low);
        Value isBelow = b.compare(IntegerIs::slt, below, high);
        Value isWithin = arith::AndIOp::create(b, isAbove, isBelow);
        Value isStep = b.compare(FloatIs::OGT, state[5], b.constant(0.0));
        isStep = arith::AndIOp::create(b, isStep, isWithin);
        Value middle = b.select(isStep, below, half);
        Value logit = fromKey(middle);
        SamplingBuilder::Measure measure = b.measure(all, left, logit);
        Value found = measure.count, weight = measure.mass;
        Value isMany = b.compare(IntegerIs::sge, found, number);
        Value isHeavy = b.compare(FloatIs::OGE, weight, mass);
        Value isEnough = arith::OrIOp::create(b, isMany, isHeavy);
        SmallVector<Value> next = b.choose(
            isEnough,
            [&]() -> SmallVector<Value> {
              Value scaled = b.mul(b.asIndex(found), kFewer);
              Value isFew = b.less(scaled, left);
              Value kept = b.choose(
                  isFew,
                  [&]() -> SmallVector<Value> {
                    Value ties = b.i64(kAll);
                    return {b.keep(all, left, all.logits, logit, ties)};
                  },
                  [&]() -> SmallVector<Value> { return {left}; })[0];
              return {middle, high, kept, state[3], state[4], b.constant(0.0)};
            },
            [&]() -> SmallVector<Value> {
              Value twice = b.plus(state[5], state[5]);
              return {low, middle, left, found, weight, twice};
            });
        scf::YieldOp::create(b, next);
      });
  Value last = fromKey(search.getResult(0)), left = search.getResult(2);
  // How many of those equal to it are missing.
  Value missing = arith::SubIOp::create(b, number, search.getResult(3));
  Value rest = arith::SubFOp::create(b, mass, search.getResult(4));
  Value each = weigh(last, largest, scale);
  Value needed = arith::DivFOp::create(b, rest, each);
  needed = math::CeilOp::create(b, needed);
  needed = b.maximum(needed, b.constant(1.0));
  // NaN, which a comparison refuses, is beyond it too.
  Value bounded = b.compare(FloatIs::OLT, needed, b.constant(1 << 30));
  needed = b.select(bounded, needed, b.constant(1 << 30));
  needed = arith::FPToSIOp::create(b, b.getI64Type(), needed);
  Value ties = arith::MinSIOp::create(b, missing, needed);
  return b.keep(all, left, all.logits, last, ties);
}

/// Top-p of what top-k left: its part of their mass, which min-p does not
/// change, and min-p before it.
Value SampleEmitter::keepTopP(const Candidates &all, Value count, Value topK,
                              Value topP, Value minP, Value largest,
                              Value scale) {
  Value positive = b.compare(IntegerIs::sgt, topK, b.i64(0));
  Value fewer = b.compare(IntegerIs::slt, topK, b.asInteger(count));
  Value byNumber = arith::AndIOp::create(b, positive, fewer);
  Value unbounded = b.constant(kInfinity);
  count = b.choose(
      byNumber,
      [&]() -> SmallVector<Value> {
        return {keepFirst(all, count, topK, unbounded, largest, scale)};
      },
      [&]() -> SmallVector<Value> { return {count}; })[0];

  Value zero = b.constant(0.0), one = b.constant(1.0);
  Value byMass = b.compare(FloatIs::OLT, topP, one);
  Value mass = b.choose(
      byMass,
      [&]() -> SmallVector<Value> {
        Value total = b.sumWeights(all, b.index(0), count);
        // Of 0, the first is kept.
        Value part = b.maximum(topP, b.constant(0x1p-60));
        return {b.multiply(part, total)};
      },
      [&]() -> SmallVector<Value> { return {unbounded}; })[0];

  Value byRatio = b.compare(FloatIs::OGT, minP, zero);
  count = b.choose(
      byRatio,
      [&]() -> SmallVector<Value> {
        // The largest has weight 1.
        Value isBelow = b.compare(FloatIs::OLT, minP, one);
        Value least = b.select(isBelow, minP, one);
        return {b.keep(all, count, all.weights, least, b.i64(kAll))};
      },
      [&]() -> SmallVector<Value> { return {count}; })[0];

  Value left = b.sumWeights(all, b.index(0), count);
  Value isWithin = b.compare(FloatIs::OLT, mass, left);
  return b.choose(
      isWithin,
      [&]() -> SmallVector<Value> {
        return {keepFirst(all, count, b.i64(kAll), mass, largest, scale)};
      },
      [&]() -> SmallVector<Value> { return {count}; })[0];
}

Value SampleEmitter::draw(LoopSampleTokensOp op, const Candidates &all,
                          Value count, Value row) {
  Value size = b.roundUp(count, b.block);
  auto endOf = [&](Value start) { return b.min(b.add(start, b.chunk), size); };
  auto massOf = [&](Value start) -> Value {
    Value mass = b.sumWeights(all, start, endOf(start));
    return arith::ExtFOp::create(b, b.getF64Type(), mass);
  };
  Value zero = b.f64(0.0), start = b.index(0);
  Value total = b.loop(b.index(0), size, b.chunk, zero,
                       [&](Value chunk, ValueRange sum) -> SmallVector<Value> {
                         Value mass = massOf(chunk);
                         return {arith::AddFOp::create(b, sum[0], mass)};
                       })[0];
  Value seed = parameter(op.getSeed(), row);
  Value position = parameter(op.getPosition(), row);
  Value uniform =
      emitUniform(b, b.getF64Type(), seed, position, op.getStream());
  Value target = arith::MulFOp::create(b, uniform, total);

  // The place, the sum before it, the running sum. Nothing of weight 0 is
  // taken, and the last otherwise when rounding keeps the sum below the target.
  auto walk = [&](ValueRange state, Value at, Value weight) {
    Value open = b.compare(FloatIs::OLE, state[2], target);
    Value counts = b.compare(FloatIs::OGT, weight, zero);
    Value taken = arith::AndIOp::create(b, open, counts);
    Value place = b.select(taken, at, state[0]);
    Value before = b.select(taken, state[2], state[1]);
    Value sum = arith::AddFOp::create(b, state[2], weight);
    return SmallVector<Value>{place, before, sum};
  };
  SmallVector<Value> chunk =
      b.loop(b.index(0), size, b.chunk, {start, zero, zero},
             [&](Value chunk, ValueRange state) {
               Value mass = massOf(chunk);
               return walk(state, chunk, mass);
             });
  Value place =
      b.loop(chunk[0], endOf(chunk[0]), 1, {chunk[0], chunk[1], chunk[1]},
             [&](Value at, ValueRange state) {
               Value weight = b.load(all.weights, at);
               weight = arith::ExtFOp::create(b, b.getF64Type(), weight);
               return walk(state, at, weight);
             })[0];
  Value number = b.load(all.numbers, place);
  return arith::ExtSIOp::create(b, b.getI64Type(), number);
}

Value SampleEmitter::isFinite(Value logit) {
  Value above = b.compare(FloatIs::OGT, logit, b.constant(-kInfinity));
  Value below = b.compare(FloatIs::OLT, logit, b.constant(kInfinity));
  return arith::AndIOp::create(b, above, below);
}

Value SampleEmitter::isSampled(Value row) {
  Value temperature = parameter(parameters.temperature, row);
  Value topK = parameter(parameters.topK, row);
  Value isWarm = b.compare(FloatIs::OGT, temperature, b.constant(0.0));
  Value isFree = b.compare(IntegerIs::ne, topK, b.i64(1));
  return arith::AndIOp::create(b, isWarm, isFree);
}

Value SampleEmitter::getScale(Value row) {
  Value temperature = parameter(parameters.temperature, row);
  Value scale = arith::DivFOp::create(b, b.constant(1.0), temperature);
  scale = b.maximum(scale, b.constant(0x1p-100));
  Value most = b.constant(0x1p+100);
  Value isBelow = b.compare(FloatIs::OLT, scale, most);
  return b.select(isBelow, scale, most);
}

/// Makes all tokens candidates, and keeps those that may be drawn.
Value SampleEmitter::keepSome(const Candidates &all, Value row, Value largest) {
  Value scale = b.multiply(getScale(row), b.constant(kLog2E));
  b.fill(all, row, largest, scale);
  Value topK = parameter(parameters.topK, row);
  Value topP = parameter(parameters.topP, row);
  Value minP = parameter(parameters.minP, row);
  return keepTopP(all, b.vocabulary, topK, topP, minP, largest, scale);
}

Value SampleEmitter::getLogprob(Value row, Value token, Value largest) {
  Value shift = b.splat(largest), scale = b.splat(kLog2E);
  SmallVector<Value> init(b.unroll, b.splat(0.0));
  SmallVector<Value> sums = b.foldRow(
      row, init, [&](Value, ArrayRef<Value> registers, ValueRange before) {
        SmallVector<Value> next;
        for (auto [x, sum] : llvm::zip(registers, before)) {
          Value below = arith::SubFOp::create(b, x, shift);
          next.push_back(b.plus(b.exp2(b.multiply(below, scale)), sum));
        }
        return next;
      });
  Value total = math::LogOp::create(b, b.sumOf(sums));
  Value logit = b.loadElement(b.logits, {row, b.asIndex(token)});
  Value below = arith::SubFOp::create(b, logit, largest);
  return arith::SubFOp::create(b, below, total);
}

void SampleEmitter::sampleRow(LoopSampleTokensOp op, Value row,
                              Value capacity) {
  SamplingBuilder::Largest found = b.findLargest(row);
  Value largest = found.logit, first = found.token;
  bool withLogprobs = op.getInits().size() == 2;
  SmallVector<Value> results = b.choose(
      isFinite(largest),
      [&]() {
        SmallVector<Value> values = b.choose(
            isSampled(row),
            [&]() -> SmallVector<Value> {
              Candidates all = b.allocateCandidates(capacity);
              Value count = keepSome(all, row, largest);
              return {draw(op, all, count, row)};
            },
            [&]() -> SmallVector<Value> { return {first}; });
        if (withLogprobs) {
          values.push_back(getLogprob(row, values[0], largest));
        }
        return values;
      },
      [&]() {
        SmallVector<Value> values{b.i64(-1)};
        if (withLogprobs) {
          values.push_back(
              b.constant(std::numeric_limits<double>::quiet_NaN()));
        }
        return values;
      });
  for (auto [value, init] : llvm::zip_equal(results, op.getInits())) {
    memref::StoreOp::create(b, value, init, row);
  }
}

void SampleEmitter::filterRow(Value result, Value row, Value capacity) {
  SamplingBuilder::Largest found = b.findLargest(row);
  Value largest = found.logit;
  auto store = [&](Value value, Value column) {
    memref::StoreOp::create(b, value, result, ValueRange{row, column});
  };
  Value valid = isFinite(largest);
  Value nan = b.constant(std::numeric_limits<double>::quiet_NaN());
  Value other = b.select(valid, b.constant(-kInfinity), nan);
  b.loop(b.index(0), b.vocabulary, 1,
         [&](Value column) { store(other, column); });
  b.when(valid, [&] {
    b.when(
        isSampled(row),
        [&] {
          Candidates all = b.allocateCandidates(capacity);
          Value count = keepSome(all, row, largest);
          Value scale = getScale(row);
          b.loop(b.index(0), count, 1, [&](Value at) {
            Value number = b.load(all.numbers, at);
            Value below =
                arith::SubFOp::create(b, b.load(all.logits, at), largest);
            store(b.multiply(below, scale), b.asIndex(number));
          });
        },
        [&] { store(b.constant(0.0), b.asIndex(found.token)); });
  });
}

void SampleEmitter::emit(LoopSampleTokensOp op) {
  Value capacity = b.getCapacity();
  b.parallel({b.sizeOf(b.logits, 0)},
             [&](ValueRange ids) { sampleRow(op, ids[0], capacity); });
}

void SampleEmitter::emit(LoopFilterLogitsOp op) {
  Value capacity = b.getCapacity();
  Value result = op.getInits().front();
  b.parallel({b.sizeOf(b.logits, 0)},
             [&](ValueRange ids) { filterRow(result, ids[0], capacity); });
}

void kvern::emitSampleTokens(LoopSampleTokensOp op, OpBuilder &builder,
                             int64_t vectorBits) {
  SampleEmitter(op, builder, vectorBits).emit(op);
}

void kvern::emitFilterLogits(LoopFilterLogitsOp op, OpBuilder &builder,
                             int64_t vectorBits) {
  SampleEmitter(op, builder, vectorBits).emit(op);
}
