// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rows of attention: where they are, what they see, and their softmax.
//
// The softmax is that of M. Milakov and N. Gimelshein, "Online normalizer
// calculation for softmax" (2018), to base 2: a factor log2(e) is part of the
// scale. For each block of keys, with scores s of a row:
//   1. m' = max(m, max(s)), factor = 2^(m - m')
//   2. w = 2^(s - m'), total = total * factor + sum(w)
//   3. sums = sums * factor + w * v
// While m is minus infinity, 0 stands for it: no key has been seen, all w are
// 0. A sink is a key without a value, which is seen first.
#include "lib/Codegen/AttentionBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <limits>

using namespace mlir;
using namespace kvern;

static constexpr double kLog2E = 1.44269504088896340736;
static constexpr double kInfinity = std::numeric_limits<double>::infinity();

AttentionBlocking::AttentionBlocking(const AttentionTarget &target) {
  // Two vectors wide: sums, one row of the packed operand, and a factor.
  smallTileRows = target.vectorRegisters >= 32 ? 4 : 2;
  tileRows = 3 * smallTileRows;
  blockRows = 96;
  blockKeys = 128;
  accumulators = target.vectorRegisters / 2;
}

static int64_t sizeFromEnd(Value value, int64_t axis) {
  ArrayRef<int64_t> shape = cast<ShapedType>(value.getType()).getShape();
  return shape[shape.size() - axis];
}

AttentionBuilder::AttentionBuilder(LoopAttentionOp op, OpBuilder &builder,
                                   const AttentionTarget &target)
    : RowBuilder(op.getLoc(), builder,
                 getAccumulatorType(getElementTypeOrSelf(op.getQ().getType())),
                 target.vectorBits),
      op(op), blocking(target), variant(*parseMaskVariant(op.getMaskVariant())),
      heads(sizeFromEnd(op.getQ(), 2)),
      group(heads / sizeFromEnd(op.getK(), 2)),
      depth(sizeFromEnd(op.getQ(), 1)), valueDepth(sizeFromEnd(op.getV(), 1)) {}

//===----------------------------------------------------------------------===//
// Sequences
//===----------------------------------------------------------------------===//

SmallVector<Value> AttentionBuilder::getSizes() {
  if (!op.getSizes().empty()) {
    return SmallVector<Value>(op.getSizes());
  }
  return {sizeOf(op.getQ(), 0), sizeOf(op.getQ(), 1), sizeOf(op.getK(), 1)};
}

Value AttentionBuilder::getOffset(Value offsets, Value at, Value total) {
  Value offset = memref::LoadOp::create(*this, offsets, at);
  offset = arith::IndexCastUIOp::create(*this, getIndexType(), offset);
  return arith::MinUIOp::create(*this, offset, total);
}

Sequence AttentionBuilder::getSequence(Value batch) {
  Sequence result;
  result.batch = batch;
  if (!op.getQOffsets()) {
    result.queries = getSizes()[1];
    result.keys = getSizes()[2];
    auto rowsOf = [=](Value memory) {
      return RowSource{memory,
                       [=](Value row, Value kvHead) -> SmallVector<Value> {
                         return {batch, row, kvHead};
                       }};
    };
    result.k = rowsOf(op.getK());
    result.v = rowsOf(op.getV());
    return result;
  }
  // The start of a sequence and its size, whatever the offsets are.
  auto span = [&](Value offsets, Value total) -> std::pair<Value, Value> {
    Value from = getOffset(offsets, batch, total);
    Value to = max(getOffset(offsets, add(batch, 1), total), from);
    return {from, sub(to, from)};
  };
  std::tie(result.firstQuery, result.queries) =
      span(op.getQOffsets(), sizeOf(op.getQ(), 0));
  Value firstKey;
  std::tie(firstKey, result.keys) =
      span(op.getKOffsets(), sizeOf(op.getK(), 0));
  auto rowsOf = [=](Value memory) {
    return RowSource{memory,
                     [=](Value row, Value kvHead) -> SmallVector<Value> {
                       return {add(firstKey, row), kvHead};
                     }};
  };
  result.k = rowsOf(op.getK());
  result.v = rowsOf(op.getV());
  return result;
}

Value AttentionBuilder::getHead(Value kvHead, Value row) {
  return add(mul(kvHead, group), mod(row, group));
}

SmallVector<Value> AttentionBuilder::rowAddress(const Sequence &sequence,
                                                Value kvHead, Value row) {
  Value query = div(row, group), head = getHead(kvHead, row);
  if (sequence.firstQuery) {
    return {add(sequence.firstQuery, query), head};
  }
  return {sequence.batch, query, head};
}

KeyRange AttentionBuilder::visible(const Sequence &sequence, Value query) {
  Value zero = index(0);
  if (variant == MaskVariant::Null) {
    return {zero, sequence.keys};
  }
  int64_t window = op.getWindow();
  Value position = add(query, sub(sequence.keys, sequence.queries));
  bool looksAhead = variant == MaskVariant::SlidingWindowNoncausal;
  Value to = max(add(position, looksAhead ? window : 1), zero);
  to = min(to, sequence.keys);
  switch (variant) {
  case MaskVariant::ChunkedCausal:
    return {roundDown(max(position, zero), window), to};
  case MaskVariant::SlidingWindowCausal:
  case MaskVariant::SlidingWindowNoncausal:
    return {max(add(position, 1 - window), zero), to};
  default:
    return {zero, to};
  }
}

Value AttentionBuilder::firstRowToSee(const Sequence &sequence, Value key) {
  Value zero = index(0);
  if (variant == MaskVariant::Null) {
    return zero;
  }
  Value query = sub(key, sub(sequence.keys, sequence.queries));
  if (variant == MaskVariant::SlidingWindowNoncausal) {
    query = add(query, 1 - static_cast<int64_t>(op.getWindow()));
  }
  return mul(max(query, zero), group);
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

AttentionBuilder::Rows AttentionBuilder::describeRows(int64_t keys) {
  // A line more than a power of two keeps rows in different cache sets.
  Rows rows;
  rows.queryStride = llvm::alignTo(depth, scorePadding()) + 16;
  rows.scoreStride = keys + 16;
  rows.sumStride = llvm::alignTo(valueDepth, lanes);
  rows.stateStride = llvm::alignTo(rows.sumStride, 16) + 16;
  rows.base = rows.stateAt = index(0);
  return rows;
}

AttentionBuilder::Rows AttentionBuilder::allocateRows(int64_t count,
                                                      int64_t keys) {
  Rows rows = describeRows(keys);
  rows.queries = allocate(count * rows.queryStride);
  rows.scores = allocate(count * rows.scoreStride);
  rows.factor = allocate(count);
  return rows;
}

Value AttentionBuilder::queryAt(const Rows &rows, Value row) {
  return mul(add(rows.base, row), rows.queryStride);
}
Value AttentionBuilder::scoreAt(const Rows &rows, Value row) {
  return mul(add(rows.base, row), rows.scoreStride);
}
Value AttentionBuilder::factorAt(const Rows &rows, Value row) {
  return add(rows.base, row);
}
Value AttentionBuilder::sumAt(const Rows &rows, Value row) {
  return add(rows.stateAt, mul(add(rows.base, row), rows.stateStride));
}
Value AttentionBuilder::maximumAt(const Rows &rows, Value row) {
  return add(sumAt(rows, row), rows.sumStride);
}
Value AttentionBuilder::totalAt(const Rows &rows, Value row) {
  return add(sumAt(rows, row), rows.sumStride + 1);
}

void AttentionBuilder::startRows(const Rows &rows, const Sequence &sequence,
                                 int64_t padding, Value withSinks) {
  double softcap = op.getSoftcap().convertToDouble();
  double scale = op.getScale().convertToDouble();
  Value factor = splat(softcap != 0.0 ? scale / softcap : scale * kLog2E);
  Value zero = splat(0.0);
  Value lowest = constant(-kInfinity), none = constant(0.0);
  loop(index(0), rows.count, 1, [&](Value row) {
    Value source = add(rows.first, row);
    SmallVector<Value> address = rowAddress(sequence, rows.kvHead, source);
    Value at = queryAt(rows, row);
    forEachVector(depth, [&](Value column, int64_t length) {
      Value query = loadRow(op.getQ(), address, column, length);
      store(multiply(query, factor), rows.queries, add(at, column));
    });
    loop(index(llvm::alignTo(depth, lanes)), index(rows.queryStride - 16),
         lanes,
         [&](Value column) { store(zero, rows.queries, add(at, column)); });
    loop(index(0), index(rows.sumStride), lanes, [&](Value column) {
      store(zero, rows.state, add(sumAt(rows, row), column));
    });
    Value maximum = lowest, total = none;
    if (op.getSinks()) {
      Value sink = loadElement(op.getSinks(), getHead(rows.kvHead, source));
      maximum = multiply(sink, constant(kLog2E));
      total = constant(1.0);
      if (withSinks) {
        maximum = arith::SelectOp::create(*this, withSinks, maximum, lowest);
        total = arith::SelectOp::create(*this, withSinks, total, none);
      }
    }
    store(maximum, rows.state, maximumAt(rows, row));
    store(total, rows.state, totalAt(rows, row));
  });
  // What rows beyond yield is not used, but computed.
  loop(rows.count, roundUp(rows.count, padding), 1, [&](Value row) {
    loop(index(0), index(rows.queryStride - 16), lanes, [&](Value column) {
      store(zero, rows.queries, add(queryAt(rows, row), column));
    });
    store(none, rows.factor, factorAt(rows, row));
  });
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

Value AttentionBuilder::isPlain(const Rows &rows, const Sequence &sequence,
                                Value first, Value last, Value firstKey,
                                Value count) {
  if (op.getMask() || !op.getSoftcap().isZero()) {
    return {};
  }
  Value plain = createOrFold<arith::CmpIOp>(
      arith::CmpIPredicate::eq, mod(count, scorePadding()), index(0));
  if (variant == MaskVariant::Null) {
    return plain;
  }
  auto range = [&](Value row) {
    return visible(sequence, div(add(rows.first, row), group));
  };
  Value end = add(firstKey, count);
  Value from = createOrFold<arith::CmpIOp>(arith::CmpIPredicate::sle,
                                           range(last).from, firstKey);
  Value to = createOrFold<arith::CmpIOp>(arith::CmpIPredicate::sle, end,
                                         range(first).to);
  return createOrFold<arith::AndIOp>(plain,
                                     createOrFold<arith::AndIOp>(from, to));
}

/// `scores` + mask of `length` keys from `key` on, or more if the machine does.
Value AttentionBuilder::addMask(Value scores, const Sequence &sequence,
                                Value head, Value query, Value key,
                                Value length) {
  Value mask = op.getMask();
  ArrayRef<int64_t> shape = cast<ShapedType>(mask.getType()).getShape();
  SmallVector<Value> indices{sequence.batch, head, query, key};
  indices.erase(indices.begin(), indices.end() - shape.size());
  for (auto [at, size] : llvm::zip(indices, shape)) {
    at = size == 1 ? index(0) : at;
  }
  Value values;
  if (shape.empty() || shape.back() == 1) {
    values = splat(loadElement(mask, indices));
  } else {
    auto stored = VectorType::get(lanes, getElementTypeOrSelf(mask.getType()));
    auto bits = VectorType::get(lanes, getI1Type());
    Value zero = arith::ConstantOp::create(*this, getZeroAttr(stored));
    values = extend(vector::MaskedLoadOp::create(
        *this, stored, mask, indices,
        vector::CreateMaskOp::create(*this, bits, length), zero));
  }
  return multiplyAdd(values, splat(kLog2E), scores);
}

void AttentionBuilder::softmaxRow(const Rows &rows, const Sequence &sequence,
                                  Value row, Value firstKey, Value count,
                                  bool plain) {
  Value at = scoreAt(rows, row);
  Value end = roundUp(count, scorePadding());
  Value lowest = splat(-kInfinity);
  std::function<Value(Value, Value)> prepare;
  if (!plain) {
    Value source = add(rows.first, row);
    Value query = div(source, group), head = getHead(rows.kvHead, source);
    KeyRange range = visible(sequence, query);
    auto integers = VectorType::get(lanes, getI32Type());
    auto splatIndex = [&](Value value) -> Value {
      Value cast = arith::IndexCastOp::create(*this, getI32Type(), value);
      return vector::BroadcastOp::create(*this, integers, cast);
    };
    SmallVector<int32_t> steps(lanes);
    std::iota(steps.begin(), steps.end(), 0);
    Value iota = arith::ConstantOp::create(*this, getI32VectorAttr(steps));
    Value from = splatIndex(sub(range.from, firstKey));
    Value to = splatIndex(min(sub(range.to, firstKey), count));
    double softcap = op.getSoftcap().convertToDouble();
    prepare = [=](Value scores, Value key) -> Value {
      if (softcap != 0.0) {
        scores = multiply(math::TanhOp::create(*this, scores),
                          splat(softcap * kLog2E));
      }
      if (op.getMask()) {
        scores = addMask(scores, sequence, head, query, add(firstKey, key),
                         min(sub(count, key), index(lanes)));
      }
      Value number = arith::AddIOp::create(*this, splatIndex(key), iota);
      Value late =
          arith::CmpIOp::create(*this, arith::CmpIPredicate::sge, number, from);
      Value early =
          arith::CmpIOp::create(*this, arith::CmpIPredicate::slt, number, to);
      Value seen = arith::AndIOp::create(*this, late, early);
      return arith::SelectOp::create(*this, seen, scores, lowest);
    };
  }

  Value largest =
      loop(index(0), end, lanes, lowest,
           [&](Value key, ValueRange carried) -> SmallVector<Value> {
             Value place = add(at, key);
             Value scores = loadVector(rows.scores, place);
             if (prepare) {
               scores = prepare(scores, key);
               store(scores, rows.scores, place);
             }
             return {maximum(scores, carried[0])};
           })[0];
  for (int64_t d = lanes / 2; d != 0; d /= 2) {
    SmallVector<int64_t> mask(lanes);
    for (int64_t l = 0; l < lanes; ++l) {
      mask[l] = (l + d) % lanes;
    }
    largest = maximum(largest,
                      vector::ShuffleOp::create(*this, largest, largest, mask));
  }
  Value before = splat(load(rows.state, maximumAt(rows, row)));
  largest = maximum(largest, before);
  Value shift = finiteOrZero(largest);
  auto first = [&](Value value) -> Value {
    return vector::ExtractOp::create(*this, value, ArrayRef<int64_t>{0});
  };
  Value factor = first(exp2(arith::SubFOp::create(*this, before, shift)));

  Value sum = loop(index(0), end, lanes, splat(0.0),
                   [&](Value key, ValueRange carried) -> SmallVector<Value> {
                     Value place = add(at, key);
                     Value scores = loadVector(rows.scores, place);
                     Value weights =
                         exp2(arith::SubFOp::create(*this, scores, shift));
                     store(weights, rows.scores, place);
                     return {plus(weights, carried[0])};
                   })[0];
  sum = vector::ReductionOp::create(*this, vector::CombiningKind::ADD, sum,
                                    arith::FastMathFlags::reassoc);
  Value total = load(rows.state, totalAt(rows, row));
  store(multiplyAdd(total, factor, sum), rows.state, totalAt(rows, row));
  store(first(largest), rows.state, maximumAt(rows, row));
  store(factor, rows.factor, factorAt(rows, row));
}

Value AttentionBuilder::finiteOrZero(Value maximum) {
  bool isVector = isa<VectorType>(maximum.getType());
  auto as = [&](double value) {
    return isVector ? splat(value) : constant(value);
  };
  Value none = arith::CmpFOp::create(*this, arith::CmpFPredicate::OEQ, maximum,
                                     as(-kInfinity));
  return arith::SelectOp::create(*this, none, as(0.0), maximum);
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

void AttentionBuilder::storeResult(ArrayRef<Value> values,
                                   ArrayRef<Value> address) {
  for (auto [i, value] : llvm::enumerate(values)) {
    int64_t column = i * lanes;
    storeRow(value, op.getInit(), address, index(column),
             std::min(lanes, valueDepth - column));
  }
}

void AttentionBuilder::finishRow(const Sequence &sequence, Value kvHead,
                                 Value row, ArrayRef<Value> sums, Value total) {
  Value zero = constant(0.0);
  Value nothing =
      arith::CmpFOp::create(*this, arith::CmpFPredicate::OEQ, total, zero);
  Value inverse = arith::DivFOp::create(*this, constant(1.0), total);
  inverse = splat(arith::SelectOp::create(*this, nothing, zero, inverse));
  SmallVector<Value> values;
  for (Value sum : sums) {
    values.push_back(multiply(sum, inverse));
  }
  storeResult(values, rowAddress(sequence, kvHead, row));
}

void AttentionBuilder::finishRow(const Sequence &sequence, const Rows &rows,
                                 Value row) {
  SmallVector<Value> sums;
  for (int64_t column = 0; column < valueDepth; column += lanes) {
    sums.push_back(loadVector(rows.state, add(sumAt(rows, row), column)));
  }
  finishRow(sequence, rows.kvHead, add(rows.first, row), sums,
            load(rows.state, totalAt(rows, row)));
}
