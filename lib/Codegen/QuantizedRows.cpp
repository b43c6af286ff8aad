// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Activations, as products with quantized weights read them.
#include "lib/Codegen/QuantizedProduct.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace kvern;

void QuantizedProductBuilder::allocateRows(
    int64_t rows, bool forTile, bool forNumberTile,
    llvm::function_ref<Value(MemRefType)> allocate) {
  constexpr int64_t padding = 64;
  Type number = getF32Type();
  if (forNumberTile || digits == 0) {
    prepared.numbers =
        allocate(MemRefType::get({1, rows, depth + padding}, number));
  }
  if (!forTile) {
    return;
  }
  int64_t parts = std::max<int64_t>(digits, 1);
  prepared.elements = prepared.numbers;
  if (digits) {
    prepared.elements =
        allocate(MemRefType::get({parts, rows, depth + padding}, getI8Type()));
    prepared.scales =
        allocate(MemRefType::get({rows, depth / blockElements()}, number));
  }
  prepared.starts = allocate(
      MemRefType::get({parts, rows, groups()}, digits ? getI32Type() : number));
  if (encoding.hasMinimum) {
    prepared.sums = allocate(MemRefType::get({rows, groups()}, number));
  }
}

void QuantizedProductBuilder::prepareRows(Value first, Value count,
                                          bool forTile) {
  bool asIntegers = digits != 0 && forTile;
  parallelLoop(getAsOpFoldResult(count), 1, [&](Value row) {
    if (asIntegers) {
      prepareIntegers(first, row);
    } else {
      prepareNumbers(first, row, forTile);
    }
  });
}

Value QuantizedProductBuilder::loadActivations(Value row, Value k) {
  Type element = cast<MemRefType>(lhs.getType()).getElementType();
  auto type = VectorType::get({lanes}, element);
  Value loaded = vector::LoadOp::create(*this, type, lhs, ValueRange{row, k});
  return element.isF32()
             ? loaded
             : arith::ExtFOp::create(*this, floats, loaded).getResult();
}

static Value reduce(ImplicitLocOpBuilder &b, vector::CombiningKind kind,
                    Value vector) {
  // A sum of lanes in any order.
  bool isSum = kind == vector::CombiningKind::ADD &&
               isa<FloatType>(getElementTypeOrSelf(vector.getType()));
  return vector::ReductionOp::create(b, kind, vector,
                                     isSum ? arith::FastMathFlags::reassoc
                                           : arith::FastMathFlags::none);
}

void QuantizedProductBuilder::prepareNumbers(Value first, Value row,
                                             bool forTile) {
  Value from = add(first, row);
  if (!forTile) {
    loop(index(0), index(depth), lanes, [&](Value k) {
      vector::StoreOp::create(*this, loadActivations(from, k), prepared.numbers,
                              ValueRange{index(0), row, k});
    });
    return;
  }
  loop(index(0), index(groups()), 1, [&](Value group) {
    Value start = mul(group, encoding.group);
    Value sum = splat(0);
    for (int64_t k = 0; k < encoding.group; k += lanes) {
      Value x = loadActivations(from, add(start, k));
      sum = arith::AddFOp::create(*this, sum, x);
      // Divided by where `addNumbers` leaves the weight in its word.
      SmallVector<float> factors;
      for (int64_t place = k; place < k + lanes; ++place) {
        int64_t half = encoding.group / 2;
        int64_t shift = encoding.bits == 8
                            ? 8 * (place % 4)
                            : 8 * (place % half % 4) + 4 * (place / half);
        factors.push_back(shift == 32 - encoding.bits
                              ? 1.0F
                              : 1.0F / static_cast<float>(1 << shift));
      }
      Value factor = arith::ConstantOp::create(
          *this, DenseElementsAttr::get(floats, ArrayRef<float>(factors)));
      x = arith::MulFOp::create(*this, x, factor);
      vector::StoreOp::create(*this, x, prepared.elements,
                              ValueRange{index(0), row, add(start, k)});
    }
    Value total = reduce(*this, vector::CombiningKind::ADD, sum);
    Value zero = arith::ConstantOp::create(
        *this, getF32FloatAttr(-static_cast<float>(encoding.zero())));
    Value begin = arith::MulFOp::create(*this, total, zero);
    memref::StoreOp::create(*this, begin, prepared.starts,
                            ValueRange{index(0), row, group});
    if (prepared.sums) {
      memref::StoreOp::create(*this, total, prepared.sums,
                              ValueRange{row, group});
    }
  });
}

void QuantizedProductBuilder::prepareIntegers(Value first, Value row) {
  Value from = add(first, row);
  // Rounding below is exact up to 2^22.
  float largest = digits == 1 ? 127 : 63 * 65536;
  auto constant = [&](float value) -> Value {
    return arith::ConstantOp::create(*this, getF32FloatAttr(value));
  };
  int64_t block = blockElements();
  loop(index(0), index(depth / block), 1, [&](Value number) {
    Value start = mul(number, block);
    Value bound = splat(0);
    for (int64_t k = 0; k < block; k += lanes) {
      Value x = loadActivations(from, add(start, k));
      bound = arith::MaximumFOp::create(*this, bound,
                                        math::AbsFOp::create(*this, x));
    }
    bound = reduce(*this, vector::CombiningKind::MAXIMUMF, bound);
    Value scale = arith::DivFOp::create(*this, bound, constant(largest));
    // NaN for infinity too, of which nothing would be left in the integers.
    Value none = arith::SubFOp::create(*this, bound, bound);
    scale = arith::AddFOp::create(*this, scale, none);
    memref::StoreOp::create(*this, scale, prepared.scales,
                            ValueRange{row, number});
    // Below the smallest normal number, all counts as zero.
    Value isZero = arith::CmpFOp::create(*this, arith::CmpFPredicate::OLT,
                                         scale, constant(1.17549435e-38F));
    Value inverse = arith::DivFOp::create(*this, constant(1), scale);
    inverse =
        broadcast(arith::SelectOp::create(*this, isZero, constant(0), inverse));
    Value firstGroup = mul(number, block / encoding.group);
    loop(firstGroup, add(firstGroup, block / encoding.group), 1,
         [&](Value group) {
           roundGroup(from, row, group, inverse, scale, largest);
         });
  });
}

void QuantizedProductBuilder::roundGroup(Value from, Value row, Value group,
                                         Value inverse, Value scale,
                                         float largest) {
  auto bytes = VectorType::get({lanes}, getI8Type());
  Value start = mul(group, encoding.group);
  SmallVector<Value> sums(digits, splatInteger(0));
  Value total = splatInteger(0);
  // Adding this number rounds to an integer, which is then in the low bits.
  constexpr float kMagic = 12582912;
  for (int64_t k = 0; k < encoding.group; k += lanes) {
    Value place = add(start, k);
    Value x = loadActivations(from, place);
    x = arith::MulFOp::create(*this, x, inverse);
    // NaN becomes a number here; the scale is NaN then.
    x = arith::MinNumFOp::create(*this, x, splat(largest));
    x = arith::MaxNumFOp::create(*this, x, splat(-largest));
    x = arith::AddFOp::create(*this, x, splat(kMagic));
    Value left = arith::BitcastOp::create(*this, integers, x);
    left = arith::SubIOp::create(*this, left, splatInteger(0x4B400000));
    total = arith::AddIOp::create(*this, total, left);
    for (int64_t digit = digits - 1; digit >= 0; --digit) {
      Value low = arith::TruncIOp::create(*this, bytes, left);
      vector::StoreOp::create(*this, low, prepared.elements,
                              ValueRange{index(digit), row, place});
      Value wide = arith::ExtSIOp::create(*this, integers, low);
      sums[digit] = arith::AddIOp::create(*this, sums[digit], wide);
      if (digit > 0) {
        left = arith::SubIOp::create(*this, left, wide);
        left = arith::ShRSIOp::create(*this, left, splatInteger(8));
      }
    }
  }
  Value zero =
      arith::ConstantOp::create(*this, getI32IntegerAttr(-integerZero()));
  for (auto [digit, sum] : llvm::enumerate(sums)) {
    Value begin = arith::MulIOp::create(
        *this, reduce(*this, vector::CombiningKind::ADD, sum), zero);
    memref::StoreOp::create(*this, begin, prepared.starts,
                            ValueRange{index(digit), row, group});
  }
  if (prepared.sums) {
    Value sum = arith::SIToFPOp::create(
        *this, getF32Type(), reduce(*this, vector::CombiningKind::ADD, total));
    memref::StoreOp::create(*this, arith::MulFOp::create(*this, sum, scale),
                            prepared.sums, ValueRange{row, group});
  }
}
