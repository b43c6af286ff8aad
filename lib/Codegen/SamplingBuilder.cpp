// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What sampling does with a row of logits: passes over all of it in registers.
#include "lib/Codegen/SamplingBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <limits>
#include <numeric>

using namespace mlir;
using namespace kvern;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

SamplingBuilder::SamplingBuilder(Location loc, OpBuilder &builder,
                                 int64_t vectorBits, Value logits,
                                 Value vocabulary)
    : RowBuilder(loc, builder, builder.getF32Type(), vectorBits),
      logits(logits), vocabulary(vocabulary ? vocabulary : sizeOf(logits, 1)),
      block(unroll * lanes), chunk(16 * block),
      integers(VectorType::get(lanes, getI32Type())),
      bits(VectorType::get(lanes, getI1Type())) {}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Value SamplingBuilder::i64(int64_t value) {
  return arith::ConstantOp::create(*this, getI64IntegerAttr(value));
}
Value SamplingBuilder::asIndex(Value integer) {
  return createOrFold<arith::IndexCastOp>(getIndexType(), integer);
}
Value SamplingBuilder::asInteger(Value index) {
  return createOrFold<arith::IndexCastOp>(getI64Type(), index);
}
Value SamplingBuilder::f64(double value) {
  return arith::ConstantOp::create(*this, getF64FloatAttr(value));
}
Value SamplingBuilder::compare(arith::CmpFPredicate predicate, Value a,
                               Value b) {
  return arith::CmpFOp::create(*this, predicate, a, b);
}
Value SamplingBuilder::compare(arith::CmpIPredicate predicate, Value a,
                               Value b) {
  return createOrFold<arith::CmpIOp>(predicate, a, b);
}
Value SamplingBuilder::select(Value condition, Value a, Value b) {
  return createOrFold<arith::SelectOp>(condition, a, b);
}

Value SamplingBuilder::largestOf(SmallVector<Value> registers) {
  while (registers.size() > 1) {
    Value last = registers.pop_back_val();
    registers.front() = maximum(last, registers.front());
  }
  Value largest = registers.front();
  for (int64_t d = lanes / 2; d != 0; d /= 2) {
    SmallVector<int64_t> mask(lanes);
    for (int64_t l = 0; l < lanes; ++l) {
      mask[l] = (l + d) % lanes;
    }
    Value turned = vector::ShuffleOp::create(*this, largest, largest, mask);
    largest = maximum(largest, turned);
  }
  return vector::ExtractOp::create(*this, largest, ArrayRef<int64_t>{0});
}

Value SamplingBuilder::sumOf(SmallVector<Value> registers) {
  while (registers.size() > 1) {
    SmallVector<Value> sums;
    for (size_t i = 0; i < registers.size(); i += 2) {
      sums.push_back(plus(registers[i], registers[i + 1]));
    }
    registers = sums;
  }
  return vector::ReductionOp::create(*this, vector::CombiningKind::ADD,
                                     registers.front(),
                                     arith::FastMathFlags::reassoc);
}

SmallVector<Value> SamplingBuilder::choose(Value condition, Branch then,
                                           Branch otherwise) {
  // Both sides are built before their types are known.
  SmallVector<Value> thenValues, otherwiseValues;
  auto inBlock = [&](Block &body, Branch branch, SmallVector<Value> &values) {
    InsertionGuard guard(*this);
    setInsertionPointToStart(&body);
    values = branch();
  };
  Region thenRegion, otherwiseRegion;
  inBlock(thenRegion.emplaceBlock(), then, thenValues);
  inBlock(otherwiseRegion.emplaceBlock(), otherwise, otherwiseValues);
  auto result = scf::IfOp::create(*this, TypeRange(ValueRange(thenValues)),
                                  condition, /*withElseRegion=*/true);
  auto finish = [&](Region &target, Region &source, ArrayRef<Value> values) {
    target.takeBody(source);
    InsertionGuard guard(*this);
    setInsertionPointToEnd(&target.front());
    scf::YieldOp::create(*this, values);
  };
  finish(result.getThenRegion(), thenRegion, thenValues);
  finish(result.getElseRegion(), otherwiseRegion, otherwiseValues);
  return SmallVector<Value>(result.getResults());
}

Value SamplingBuilder::any(Value mask) {
  Type integer = getIntegerType(lanes);
  Value packed =
      vector::BitCastOp::create(*this, VectorType::get({1}, integer), mask);
  Value number = vector::ExtractOp::create(*this, packed, ArrayRef<int64_t>{0});
  Value zero = arith::ConstantOp::create(*this, getIntegerAttr(integer, 0));
  return compare(arith::CmpIPredicate::ne, number, zero);
}

//===----------------------------------------------------------------------===//
// Logits
//===----------------------------------------------------------------------===//

SmallVector<Value> SamplingBuilder::foldBlocks(Value row, Value from, Value to,
                                               ValueRange init, Turn turn) {
  Value whole = add(from, roundDown(sub(to, from), block));
  auto turnAt = [&](Value column, ValueRange before) {
    SmallVector<Value> registers;
    for (int64_t i = 0; i < unroll; ++i) {
      Value at = add(column, i * lanes);
      registers.push_back(loadRow(logits, {row}, at, lanes));
    }
    return turn(column, registers, before);
  };
  SmallVector<Value> carried;
  if (init.empty()) {
    loop(from, whole, block, [&](Value column) { turnAt(column, {}); });
  } else {
    carried = loop(from, whole, block, init, turnAt);
  }
  Value rest = sub(to, whole);
  if (getConstantIntValue(rest) == 0) {
    return carried;
  }
  Value lowest = splat(-kInfinity);
  auto restOf = [&]() -> SmallVector<Value> {
    SmallVector<Value> registers;
    for (int64_t i = 0; i < unroll; ++i) {
      Value column = add(whole, i * lanes);
      Value length = max(sub(to, column), index(0));
      Value mask = vector::CreateMaskOp::create(*this, bits, length);
      SmallVector<Value> at{row, column};
      registers.push_back(vector::MaskedLoadOp::create(*this, vector, logits,
                                                       at, mask, lowest));
    }
    return turn(whole, registers, carried);
  };
  return choose(less(index(0), rest), restOf, [&] { return carried; });
}

SmallVector<Value> SamplingBuilder::foldRow(Value row, ValueRange init,
                                            Turn turn) {
  return foldBlocks(row, index(0), vocabulary, init, turn);
}

SamplingBuilder::Largest SamplingBuilder::findLargest(Value row) {
  // By chunks: where the largest is, is found within its chunk.
  Value lowest = splat(-kInfinity);
  Value none = arith::ConstantOp::create(*this, getZeroAttr(integers));
  Value size = vocabulary;
  auto endOf = [&](Value start) { return min(add(start, chunk), size); };
  SmallVector<Value> carried = loop(
      index(0), size, chunk, {constant(-kInfinity), index(0), none},
      [&](Value start, ValueRange before) -> SmallVector<Value> {
        SmallVector<Value> maxima(unroll, lowest);
        maxima.push_back(before[2]);
        maxima = foldBlocks(
            row, start, endOf(start), maxima,
            [&](Value, ArrayRef<Value> registers, ValueRange carried) {
              SmallVector<Value> next;
              Value strange = carried.back();
              for (auto [x, largest] : llvm::zip(registers, carried)) {
                next.push_back(maximum(x, largest));
                Value isNaN = compare(arith::CmpFPredicate::UNO, x, x);
                Value marks = arith::ExtSIOp::create(*this, integers, isNaN);
                strange = arith::OrIOp::create(*this, strange, marks);
              }
              next.push_back(strange);
              return next;
            });
        Value strange = maxima.pop_back_val();
        Value largest = largestOf(maxima);
        Value above = compare(arith::CmpFPredicate::OGT, largest, before[0]);
        Value best = select(above, largest, before[0]);
        Value place = select(above, start, before[1]);
        return {best, place, strange};
      });
  Value largest = carried[0], start = carried[1];

  SmallVector<int32_t> steps(lanes);
  std::iota(steps.begin(), steps.end(), 0);
  Value iota = arith::ConstantOp::create(*this, getI32VectorAttr(steps));
  Value wanted = splat(largest);
  Value late = arith::ConstantOp::create(
      *this,
      DenseElementsAttr::get(integers, std::numeric_limits<int32_t>::max()));
  Value places =
      foldBlocks(row, start, endOf(start), late,
                 [&](Value column, ArrayRef<Value> registers,
                     ValueRange carried) -> SmallVector<Value> {
                   Value first = carried[0];
                   for (auto [i, x] : llvm::enumerate(registers)) {
                     Value at = add(column, i * lanes);
                     at = arith::IndexCastOp::create(*this, getI32Type(), at);
                     at = vector::BroadcastOp::create(*this, integers, at);
                     Value place = arith::AddIOp::create(*this, at, iota);
                     Value same = compare(arith::CmpFPredicate::OEQ, x, wanted);
                     place = select(same, place, late);
                     first = arith::MinSIOp::create(*this, first, place);
                   }
                   return {first};
                 })[0];
  Value token =
      vector::ReductionOp::create(*this, vector::CombiningKind::MINSI, places);
  Value zeros = arith::ConstantOp::create(*this, getZeroAttr(integers));
  Value isNaN = any(compare(arith::CmpIPredicate::ne, carried[2], zeros));
  Value nan = constant(std::numeric_limits<double>::quiet_NaN());
  return {select(isNaN, nan, largest),
          arith::ExtSIOp::create(*this, getI64Type(), token)};
}
