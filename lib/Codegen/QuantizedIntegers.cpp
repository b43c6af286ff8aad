// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of bytes, of activations as integers and quantized weights.
#include "lib/Codegen/QuantizedProduct.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
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

/// Signed weights of 8 bits are the unsigned ones with the sign bit flipped.
static bool readsSigned(IntegerDot dot, const BlockEncoding &encoding) {
  return encoding.bits == 8 &&
         (dot == IntegerDot::Maddubs || dot == IntegerDot::Neon);
}

int64_t QuantizedProductBuilder::integerZero() const {
  return encoding.zero() - (readsSigned(dot, encoding) ? 128 : 0);
}

/// Adds to sum[lane] the products of the four bytes of each lane, or to
/// pairSum[2 * lane] those of two, which `addPairs` adds.
void QuantizedProductBuilder::addProducts(Value weights, Value activations,
                                          Value &sum, Value &pairSum) {
  auto call = [&](Type type, StringRef name, ValueRange arguments) -> Value {
    return LLVM::CallIntrinsicOp::create(*this, type, getStringAttr(name),
                                         arguments)
        .getResult(0);
  };
  auto bytes = cast<VectorType>(weights.getType());
  int64_t size = bytes.getNumElements();
  switch (dot) {
  case IntegerDot::Vnni:
    sum = call(integers, "llvm.x86.avx512.vpdpbusd." + std::to_string(8 * size),
               {sum, weights, activations});
    return;
  case IntegerDot::Neon:
    sum = call(integers, "llvm.aarch64.neon.sdot", {sum, weights, activations});
    return;
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
    pairSum = pairSum
                  ? arith::AddIOp::create(*this, pairSum, products).getResult()
                  : products;
    if (encoding.bits == 8) {
      addPairs(sum, pairSum);
    }
    return;
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
}

void QuantizedProductBuilder::addPairs(Value &sum, Value &pairSum) {
  if (!pairSum) {
    return;
  }
  Value ones = arith::ConstantOp::create(
      *this, DenseElementsAttr::get(cast<VectorType>(pairSum.getType()),
                                    static_cast<int16_t>(1)));
  Value wide = LLVM::CallIntrinsicOp::create(
                   *this, integers, getStringAttr("llvm.x86.avx2.pmadd.wd"),
                   ValueRange{pairSum, ones})
                   .getResult(0);
  sum = arith::AddIOp::create(*this, sum, wide);
  pairSum = nullptr;
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
  // Products of bytes with 4 bits: 8 sums of two of them do not exceed 16 bits.
  SmallVector<Value> pairSums(sums.size());
  constexpr int64_t kPairWords = 4;
  // Four elements of each column with the four of k that they belong to.
  auto addQuad = [&](Value weights, int64_t place) {
    for (auto [i, sum] : llvm::enumerate(sums)) {
      int64_t r = i / digits, digit = i % digits;
      Value four = vector::LoadOp::create(
          *this, VectorType::get({4}, getI8Type()), prepared.elements,
          ValueRange{index(digit), add(row, r), add(first, place)});
      Value word = vector::BitCastOp::create(
          *this, VectorType::get({1}, getI32Type()), four);
      word = vector::ExtractOp::create(*this, word, int64_t(0));
      Value all = vector::BitCastOp::create(*this, bytes, broadcast(word));
      addProducts(weights, all, sum, pairSums[i]);
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
    if ((word + 1) % kPairWords == 0) {
      for (auto [sum, pairSum] : llvm::zip(sums, pairSums)) {
        addPairs(sum, pairSum);
      }
    }
  }
}

Value QuantizedProductBuilder::combineDigits(ArrayRef<Value> sums) {
  Value total;
  for (Value sum : sums) {
    Value next = arith::SIToFPOp::create(*this, floats, sum);
    total = total ? multiplyAdd(total, splat(256), next) : next;
  }
  return total;
}
