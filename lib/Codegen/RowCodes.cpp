// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rows of 8-bit codes: integers, and floats of four exponent bits.
//
// f8E4M3FN (OCP 8-bit Floating Point Specification, revision 1.0): a sign, four
// bits of exponent with bias 7, three of mantissa. Its bits, moved to the
// places of an f32, are 2^-120 times the number, subnormal numbers among them.
#include "lib/Codegen/RowBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace kvern;

/// Between the mantissas of the two types.
static constexpr int64_t kShift = 20;

namespace {
/// Arithmetic on a register of 32-bit integers.
struct Integers {
  RowBuilder &b;
  VectorType type = VectorType::get(b.lanes, b.getI32Type());

  Value constant(int64_t value) {
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(type, b.getI32IntegerAttr(value)));
  }
  Value both(Value a, int64_t mask) {
    return arith::AndIOp::create(b, a, constant(mask));
  }
  Value left(Value a, int64_t by) {
    return arith::ShLIOp::create(b, a, constant(by));
  }
  Value right(Value a, int64_t by) {
    return arith::ShRUIOp::create(b, a, constant(by));
  }
  Value either(Value a, Value c) { return arith::OrIOp::create(b, a, c); }
  Value plus(Value a, Value c) { return arith::AddIOp::create(b, a, c); }
  Value bitsOf(Value value) { return arith::BitcastOp::create(b, type, value); }
  Value floatOf(Value bits) {
    return arith::BitcastOp::create(b, b.vector, bits);
  }
};
} // namespace

Value RowBuilder::loadCoded(Value memory, Type code, ArrayRef<Value> indices,
                            Value column, int64_t length) {
  Value stored = loadStored(memory, indices, column, length);
  Integers integers{*this};
  if (isa<IntegerType>(code)) {
    Value wide = arith::ExtSIOp::create(*this, integers.type, stored);
    return arith::SIToFPOp::create(*this, vector, wide);
  }
  Value wide = arith::ExtUIOp::create(*this, integers.type, stored);
  Value sign = integers.left(integers.both(wide, 0x80), 24);
  Value rest = integers.left(integers.both(wide, 0x7f), kShift);
  Value magnitude = multiply(integers.floatOf(rest), splat(0x1p120));
  Value bits = integers.either(integers.bitsOf(magnitude), sign);
  return integers.floatOf(bits);
}

void RowBuilder::storeCoded(Value value, Type code, Value memory,
                            ArrayRef<Value> indices, Value column,
                            int64_t length) {
  Integers integers{*this};
  bool isInteger = isa<IntegerType>(code);
  Value most = splat(isInteger ? 127.0 : 448.0);
  Value least = splat(isInteger ? -127.0 : -448.0);
  Value bounded = arith::MaxNumFOp::create(
      *this, arith::MinNumFOp::create(*this, value, most).getResult(), least);
  Value codes;
  if (isInteger) {
    Value rounded = math::RoundEvenOp::create(*this, bounded);
    codes = arith::FPToSIOp::create(*this, integers.type, rounded);
  } else {
    Value bits = integers.bitsOf(bounded);
    Value sign = integers.both(integers.right(bits, 24), 0x80);
    Value size = integers.floatOf(integers.both(bits, 0x7fffffff));
    Value moved = integers.bitsOf(multiply(size, splat(0x1p-120)));
    // To the nearest; a tie to the even one.
    Value odd = integers.both(integers.right(moved, kShift), 1);
    Value half = integers.constant((1 << (kShift - 1)) - 1);
    Value rounded = integers.plus(integers.plus(moved, half), odd);
    codes = integers.either(integers.right(rounded, kShift), sign);
  }
  Type byte = VectorType::get(lanes, getI8Type());
  storeStored(arith::TruncIOp::create(*this, byte, codes), memory, indices,
              column, length);
}
