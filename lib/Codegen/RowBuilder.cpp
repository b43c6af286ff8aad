// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Code for rows of memory: addresses, loops, vectors, arithmetic.
#include "lib/Codegen/RowBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kvern;

Type kvern::getAccumulatorType(Type element) {
  return element.isF64() ? element : Float32Type::get(element.getContext());
}

LogicalResult kvern::checkContiguousRows(Operation *op) {
  for (Type operand : op->getOperandTypes()) {
    auto type = dyn_cast<MemRefType>(operand);
    if (!operand.isIndex() && !(type && type.isLastDimUnitStride())) {
      return op->emitOpError("expected memrefs whose last axis is contiguous, "
                             "but got ")
             << operand;
    }
  }
  return success();
}

RowBuilder::RowBuilder(Location loc, OpBuilder &builder, Type element,
                       int64_t vectorBits)
    : LoopBuilder(loc, builder), element(element),
      lanes(vectorBits / element.getIntOrFloatBitWidth()),
      vector(VectorType::get({lanes}, element)) {}

//===----------------------------------------------------------------------===//
// Index arithmetic
//===----------------------------------------------------------------------===//

Value RowBuilder::div(Value a, int64_t b) {
  return b == 1 ? a : createOrFold<arith::DivUIOp>(a, index(b));
}
Value RowBuilder::mod(Value a, int64_t b) {
  return b == 1 ? index(0) : createOrFold<arith::RemUIOp>(a, index(b));
}
Value RowBuilder::roundDown(Value a, int64_t multiple) {
  return sub(a, mod(a, multiple));
}
Value RowBuilder::roundUp(Value a, int64_t multiple) {
  return roundDown(add(a, multiple - 1), multiple);
}
Value RowBuilder::sizeOf(Value memory, int64_t axis) {
  return getValueOrCreateConstantIndexOp(
      *this, getLoc(), memref::getMixedSize(*this, getLoc(), memory, axis));
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

void RowBuilder::parallel(ArrayRef<Value> sizes,
                          llvm::function_ref<void(ValueRange)> body) {
  SmallVector<OpFoldResult> bounds;
  for (Value size : sizes) {
    bounds.push_back(getAsOpFoldResult(size));
  }
  auto result = scf::ForallOp::create(*this, bounds, ValueRange(),
                                      /*mapping=*/std::nullopt);
  InsertionGuard guard(*this);
  setInsertionPoint(result.getBody()->getTerminator());
  body(result.getInductionVars());
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value RowBuilder::allocate(Value size) {
  std::optional<int64_t> known = getConstantIntValue(size);
  auto type = MemRefType::get({known.value_or(ShapedType::kDynamic)}, element);
  return memref::AllocOp::create(*this, type,
                                 known ? ValueRange() : ValueRange(size),
                                 getI64IntegerAttr(64));
}
Value RowBuilder::load(Value memory, Value at) {
  return memref::LoadOp::create(*this, memory, at);
}
Value RowBuilder::loadVector(Value memory, Value at) {
  return vector::LoadOp::create(*this, vector, memory, at);
}
void RowBuilder::store(Value value, Value memory, Value at) {
  if (isa<VectorType>(value.getType())) {
    vector::StoreOp::create(*this, value, memory, at);
  } else {
    memref::StoreOp::create(*this, value, memory, at);
  }
}

Value RowBuilder::extend(Value value) {
  Type type = getElementTypeOrSelf(value.getType());
  if (type == element) {
    return value;
  }
  Type wide = element;
  if (auto shaped = dyn_cast<VectorType>(value.getType())) {
    wide = shaped.clone(element);
  }
  return arith::ExtFOp::create(*this, wide, value);
}

Value RowBuilder::loadElement(Value memory, ArrayRef<Value> indices) {
  return extend(memref::LoadOp::create(*this, memory, indices));
}

/// Powers of two that add up to `length`, the largest first.
static SmallVector<int64_t> getPieces(int64_t length) {
  SmallVector<int64_t> pieces;
  while (length != 0) {
    pieces.push_back(llvm::bit_floor(static_cast<uint64_t>(length)));
    length -= pieces.back();
  }
  return pieces;
}

Value RowBuilder::loadStored(Value memory, ArrayRef<Value> indices,
                             Value column, int64_t length) {
  Type stored = getElementTypeOrSelf(memory.getType());
  auto whole = VectorType::get(lanes, stored);
  SmallVector<Value> at(indices);
  at.push_back(column);
  if (length == lanes) {
    return vector::LoadOp::create(*this, whole, memory, at);
  }
  // No element past the row is touched.
  Value result = arith::ConstantOp::create(*this, getZeroAttr(whole));
  int64_t done = 0;
  for (int64_t size : getPieces(length)) {
    at.back() = add(column, done);
    Value piece = vector::LoadOp::create(*this, VectorType::get(size, stored),
                                         memory, at);
    result = vector::InsertStridedSliceOp::create(
        *this, piece, result, ArrayRef<int64_t>{done}, ArrayRef<int64_t>{1});
    done += size;
  }
  return result;
}

Value RowBuilder::loadRow(Value memory, ArrayRef<Value> indices, Value column,
                          int64_t length) {
  return extend(loadStored(memory, indices, column, length));
}

Value RowBuilder::loadIndex(Value memory, ArrayRef<Value> indices, Value most) {
  Value loaded = memref::LoadOp::create(*this, memory, indices);
  loaded = arith::IndexCastUIOp::create(*this, getIndexType(), loaded);
  return arith::MinUIOp::create(*this, loaded, most);
}

std::pair<Value, Value> RowBuilder::loadSpan(Value offsets, Value number,
                                             Value total) {
  Value from = loadIndex(offsets, number, total);
  Value to = loadIndex(offsets, add(number, 1), total);
  return {from, max(to, from)};
}

void RowBuilder::storeStored(Value value, Value memory, ArrayRef<Value> indices,
                             Value column, int64_t length) {
  SmallVector<Value> at(indices);
  at.push_back(column);
  if (length == lanes) {
    vector::StoreOp::create(*this, value, memory, at);
    return;
  }
  int64_t done = 0;
  for (int64_t size : getPieces(length)) {
    at.back() = add(column, done);
    Value piece = vector::ExtractStridedSliceOp::create(
        *this, value, ArrayRef<int64_t>{done}, ArrayRef<int64_t>{size},
        ArrayRef<int64_t>{1});
    vector::StoreOp::create(*this, piece, memory, at);
    done += size;
  }
}

void RowBuilder::storeRow(Value value, Value memory, ArrayRef<Value> indices,
                          Value column, int64_t length) {
  Type stored = getElementTypeOrSelf(memory.getType());
  if (stored != element) {
    value =
        arith::TruncFOp::create(*this, VectorType::get(lanes, stored), value);
  }
  storeStored(value, memory, indices, column, length);
}

void RowBuilder::forEachVector(int64_t size,
                               llvm::function_ref<void(Value, int64_t)> body) {
  int64_t whole = size - size % lanes;
  loop(index(0), index(whole), lanes,
       [&](Value column) { body(column, lanes); });
  if (whole != size) {
    body(index(whole), size - whole);
  }
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Value RowBuilder::constant(double value) {
  return arith::ConstantOp::create(*this, getFloatAttr(element, value));
}
Value RowBuilder::splat(Value scalar) {
  return vector::BroadcastOp::create(*this, vector, scalar);
}
Value RowBuilder::multiplyAdd(Value a, Value b, Value sum) {
  return math::FmaOp::create(*this, a, b, sum);
}
Value RowBuilder::multiply(Value a, Value b) {
  return arith::MulFOp::create(*this, a, b);
}
Value RowBuilder::plus(Value a, Value b) {
  return arith::AddFOp::create(*this, a, b);
}
Value RowBuilder::maximum(Value a, Value b) {
  // What machines have as one instruction.
  Value above = arith::CmpFOp::create(*this, arith::CmpFPredicate::OGT, a, b);
  return arith::SelectOp::create(*this, above, a, b);
}

/// 2^x = 2^n * 2^r, n the integer nearest to x; the polynomial is that of S. L.
/// Moshier, Cephes Mathematical Library, exp2f.c.
Value RowBuilder::exp2(Value x) {
  if (!element.isF32()) {
    return math::Exp2Op::create(*this, x);
  }
  bool isVector = isa<VectorType>(x.getType());
  auto as = [&](Value scalar) { return isVector ? splat(scalar) : scalar; };
  auto f32 = [&](double value) { return as(constant(value)); };
  Type integer = getI32Type();
  Type bits = isVector ? Type(VectorType::get(lanes, integer)) : integer;
  Value shift = arith::ConstantOp::create(*this, getI32IntegerAttr(23));
  if (isVector) {
    shift = vector::BroadcastOp::create(*this, bits, shift);
  }
  // The sum with it is rounded to an integer, which is then in the low bits.
  Value round = f32(0x1.8p23);
  Value tiny =
      arith::CmpFOp::create(*this, arith::CmpFPredicate::OLT, x, f32(-125.0));
  Value clamped = arith::SelectOp::create(*this, tiny, f32(-125.0), x);
  Value shifted = plus(clamped, round);
  Value n = arith::SubFOp::create(*this, shifted, round);
  Value r = arith::SubFOp::create(*this, clamped, n);
  Value p = f32(1.535336188319500e-4);
  for (double coefficient :
       {1.339887440266574e-3, 9.618437357674640e-3, 5.550332471162809e-2,
        2.402264791363012e-1, 6.931472028550421e-1, 1.0}) {
    p = multiplyAdd(p, r, f32(coefficient));
  }
  Value exponent = arith::ShLIOp::create(
      *this, arith::BitcastOp::create(*this, bits, shifted), shift);
  Value result = arith::AddIOp::create(
      *this, arith::BitcastOp::create(*this, bits, p), exponent);
  result = arith::BitcastOp::create(*this, x.getType(), result);
  return arith::SelectOp::create(*this, tiny, f32(0.0), result);
}

/// The masks that exchange the elements off the diagonal of the 2 x 2 blocks of
/// size `d` of two registers.
static std::pair<SmallVector<int64_t>, SmallVector<int64_t>>
getExchange(int64_t lanes, int64_t d) {
  SmallVector<int64_t> upper, lower;
  for (int64_t l = 0; l < lanes; ++l) {
    bool first = (l & d) == 0;
    upper.push_back(first ? l : lanes + l - d);
    lower.push_back(first ? l + d : lanes + l);
  }
  return {upper, lower};
}

SmallVector<Value> RowBuilder::transpose(SmallVector<Value> rows) {
  for (int64_t d = 1; d < lanes; d *= 2) {
    auto [upper, lower] = getExchange(lanes, d);
    for (int64_t i = 0; i < lanes; ++i) {
      if ((i & d) == 0) {
        Value a = rows[i], c = rows[i + d];
        rows[i] = vector::ShuffleOp::create(*this, a, c, upper);
        rows[i + d] = vector::ShuffleOp::create(*this, a, c, lower);
      }
    }
  }
  return rows;
}

Value RowBuilder::sumEach(SmallVector<Value> registers) {
  for (int64_t d = 1; registers.size() > 1; d *= 2) {
    auto [upper, lower] = getExchange(lanes, d);
    SmallVector<Value> sums;
    for (size_t i = 0; i < registers.size(); i += 2) {
      Value a = registers[i], c = registers[i + 1];
      sums.push_back(plus(vector::ShuffleOp::create(*this, a, c, upper),
                          vector::ShuffleOp::create(*this, a, c, lower)));
    }
    registers = sums;
  }
  return registers.front();
}
