// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Activations, and products of integers, for products with quantized weights.
#include "lib/Codegen/QuantizedProduct.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace kvern;

std::optional<IntegerDot> kvern::parseIntegerDot(StringRef name) {
  return llvm::StringSwitch<std::optional<IntegerDot>>(name)
      .Case("none", IntegerDot::None)
      .Case("maddubs", IntegerDot::Maddubs)
      .Case("vnni", IntegerDot::Vnni)
      .Case("neon", IntegerDot::Neon)
      .Default(std::nullopt);
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

void QuantizedProductBuilder::allocateRows(
    int64_t rows, llvm::function_ref<Value(MemRefType)> allocate) {
  Type integer = getI32Type(), number = getF32Type();
  constexpr int64_t padding = 64;
  prepared.elements = allocate(
      MemRefType::get({rows, depth + padding}, exact ? number : getI8Type()));
  MemRefType perGroup = MemRefType::get({rows, groups()}, number);
  prepared.starts =
      allocate(exact ? perGroup : MemRefType::get({rows, groups()}, integer));
  if (encoding.hasMinimum) {
    prepared.sums = allocate(perGroup);
  }
  if (!exact) {
    prepared.scales = allocate(perGroup);
  }
}

void QuantizedProductBuilder::prepareRows(Value first, Value count,
                                          bool scaled) {
  loop(index(0), count, 1, [&](Value row) {
    exact ? prepareNumbers(first, row, scaled) : prepareIntegers(first, row);
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
                                             bool scaled) {
  Value from = add(first, row);
  loop(index(0), index(groups()), 1, [&](Value group) {
    Value start = mul(group, encoding.group);
    Value sum = splat(0);
    for (int64_t k = 0; k < encoding.group; k += lanes) {
      Value x = loadActivations(from, add(start, k));
      sum = arith::AddFOp::create(*this, sum, x);
      if (scaled) {
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
      }
      vector::StoreOp::create(*this, x, prepared.elements,
                              ValueRange{row, add(start, k)});
    }
    Value total = reduce(*this, vector::CombiningKind::ADD, sum);
    Value zero = arith::ConstantOp::create(
        *this, getF32FloatAttr(-static_cast<float>(encoding.zero())));
    Value begin = arith::MulFOp::create(*this, total, zero);
    memref::StoreOp::create(*this, begin, prepared.starts,
                            ValueRange{row, group});
    if (prepared.sums) {
      memref::StoreOp::create(*this, total, prepared.sums,
                              ValueRange{row, group});
    }
  });
}

void QuantizedProductBuilder::prepareIntegers(Value first, Value row) {
  Value from = add(first, row);
  Type number = getF32Type();
  auto constant = [&](float value) -> Value {
    return arith::ConstantOp::create(*this, getF32FloatAttr(value));
  };
  auto bytes = VectorType::get({lanes}, getI8Type());
  loop(index(0), index(groups()), 1, [&](Value group) {
    Value start = mul(group, encoding.group);
    SmallVector<Value> xs;
    Value largest = splat(0);
    for (int64_t k = 0; k < encoding.group; k += lanes) {
      xs.push_back(loadActivations(from, add(start, k)));
      Value magnitude = math::AbsFOp::create(*this, xs.back());
      largest = arith::MaximumFOp::create(*this, largest, magnitude);
    }
    Value bound = reduce(*this, vector::CombiningKind::MAXIMUMF, largest);
    Value scale = arith::DivFOp::create(*this, bound, constant(127));
    memref::StoreOp::create(*this, scale, prepared.scales,
                            ValueRange{row, group});
    // Below the smallest normal number, all counts as zero.
    Value isZero = arith::CmpFOp::create(*this, arith::CmpFPredicate::OLT,
                                         scale, constant(1.17549435e-38F));
    Value inverse = arith::DivFOp::create(*this, constant(1), scale);
    inverse =
        broadcast(arith::SelectOp::create(*this, isZero, constant(0), inverse));
    Value sum = splatInteger(0);
    // Adding this number rounds to an integer, which is then in the low bits.
    constexpr float kMagic = 12582912;
    for (auto [i, x] : llvm::enumerate(xs)) {
      Value scaled = arith::MulFOp::create(*this, x, inverse);
      // NaN becomes a number here; the scale is NaN then.
      scaled = arith::MinNumFOp::create(*this, scaled, splat(127));
      scaled = arith::MaxNumFOp::create(*this, scaled, splat(-127));
      Value moved = arith::AddFOp::create(*this, scaled, splat(kMagic));
      Value q = arith::SubIOp::create(
          *this, arith::BitcastOp::create(*this, integers, moved).getResult(),
          splatInteger(0x4B400000));
      sum = arith::AddIOp::create(*this, sum, q);
      vector::StoreOp::create(*this, arith::TruncIOp::create(*this, bytes, q),
                              prepared.elements,
                              ValueRange{row, add(start, i * lanes)});
    }
    Value total = reduce(*this, vector::CombiningKind::ADD, sum);
    Value zero =
        arith::ConstantOp::create(*this, getI32IntegerAttr(-integerZero()));
    Value begin = arith::MulIOp::create(*this, total, zero);
    memref::StoreOp::create(*this, begin, prepared.starts,
                            ValueRange{row, group});
    if (prepared.sums) {
      Value product = arith::MulFOp::create(
          *this, arith::SIToFPOp::create(*this, number, total), scale);
      memref::StoreOp::create(*this, product, prepared.sums,
                              ValueRange{row, group});
    }
  });
}

//===----------------------------------------------------------------------===//
// Products of integers
//===----------------------------------------------------------------------===//

/// Signed weights of 8 bits are the unsigned ones with the sign bit flipped.
static bool readsSigned(IntegerDot dot, const BlockEncoding &encoding) {
  return encoding.bits == 8 &&
         (dot == IntegerDot::Maddubs || dot == IntegerDot::Neon);
}

int64_t QuantizedProductBuilder::integerZero() const {
  return encoding.zero() - (readsSigned(dot, encoding) ? 128 : 0);
}

/// sum[lane] + the products of the four bytes of each lane; activations are
/// from -127 to 127.
Value QuantizedProductBuilder::dotProduct(Value weights, Value activations,
                                          Value sum) {
  auto call = [&](Type type, StringRef name, ValueRange arguments) -> Value {
    return LLVM::CallIntrinsicOp::create(*this, type, getStringAttr(name),
                                         arguments)
        .getResult(0);
  };
  auto bytes = cast<VectorType>(weights.getType());
  int64_t size = bytes.getNumElements();
  switch (dot) {
  case IntegerDot::Vnni:
    return call(integers,
                "llvm.x86.avx512.vpdpbusd." + std::to_string(8 * size),
                {sum, weights, activations});
  case IntegerDot::Neon:
    return call(integers, "llvm.aarch64.neon.sdot",
                {sum, weights, activations});
  case IntegerDot::Maddubs: {
    auto pairs = VectorType::get({size / 2}, getI16Type());
    if (encoding.bits == 8) {
      // |w| * (x with the sign of w): no sum of two exceeds 16 bits.
      activations =
          call(bytes, "llvm.x86.avx2.psign.b", {activations, weights});
      weights = math::AbsIOp::create(*this, weights);
    }
    Value products =
        call(pairs, "llvm.x86.avx2.pmadd.ub.sw", {weights, activations});
    Value ones = arith::ConstantOp::create(
        *this, DenseElementsAttr::get(pairs, static_cast<int16_t>(1)));
    Value wide = call(integers, "llvm.x86.avx2.pmadd.wd", {products, ones});
    return arith::AddIOp::create(*this, sum, wide);
  }
  case IntegerDot::None:
    break;
  }
  Value w = vector::BitCastOp::create(*this, integers, weights);
  Value x = vector::BitCastOp::create(*this, integers, activations);
  for (int64_t byte = 0; byte < 4; ++byte) {
    Value left = arith::ShRUIOp::create(*this, w, splatInteger(8 * byte));
    left = arith::AndIOp::create(*this, left, splatInteger(255));
    Value right = arith::ShLIOp::create(*this, x, splatInteger(24 - 8 * byte));
    right = arith::ShRSIOp::create(*this, right, splatInteger(24));
    Value product = arith::MulIOp::create(*this, left, right);
    sum = arith::AddIOp::create(*this, sum, product);
  }
  return sum;
}

void QuantizedProductBuilder::addIntegers(RowSums &sums, Value panel,
                                          Value group, int64_t vector,
                                          Value row) {
  Value first = mul(group, encoding.group);
  auto bytes = VectorType::get({4 * lanes}, getI8Type());
  auto splatBytes = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(
        *this, DenseElementsAttr::get(bytes, static_cast<int8_t>(value)));
  };
  // Four elements of each column with the four of k that they belong to.
  auto addQuad = [&](Value weights, int64_t place) {
    for (auto [r, sum] : llvm::enumerate(sums)) {
      Value four = vector::LoadOp::create(
          *this, VectorType::get({4}, getI8Type()), prepared.elements,
          ValueRange{add(row, r), add(first, place)});
      Value word = vector::ExtractOp::create(
          *this,
          vector::BitCastOp::create(*this, VectorType::get({1}, getI32Type()),
                                    four)
              .getResult(),
          int64_t(0));
      Value all = vector::BitCastOp::create(*this, bytes, broadcast(word));
      sum = dotProduct(weights, all, sum);
    }
  };
  for (int64_t word = 0; word < wordsOfGroup(); ++word) {
    Value weights = loadWords(panel, group, word, vector);
    if (encoding.bits == 8) {
      if (readsSigned(dot, encoding)) {
        weights = arith::XOrIOp::create(*this, weights, splatBytes(-128));
      }
      addQuad(weights, 4 * word);
      continue;
    }
    Value low = arith::AndIOp::create(*this, weights, splatBytes(15));
    addQuad(low, 4 * word);
    // Bytes cannot be shifted; words can, and bits of neighbours are dropped.
    Value words = vector::BitCastOp::create(*this, integers, weights);
    words = arith::ShRUIOp::create(*this, words, splatInteger(4));
    Value high = vector::BitCastOp::create(*this, bytes, words);
    high = arith::AndIOp::create(*this, high, splatBytes(15));
    addQuad(high, 4 * word + encoding.group / 2);
  }
}
