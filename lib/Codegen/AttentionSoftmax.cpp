// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The softmax of a row of attention, block by block.
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
