// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products with packed quantized weights, as loops over vectors.
//
// With d and m the scale and minimum of a group, and q its elements as unsigned
// numbers, a group of a row of weights adds
//
//   sum over k of x[k] * (d * (q[k] - zero) + m)
//     = d * (sum over k of x[k] * q[k] - zero * X) + m * X
//
// to the result, where X is the sum of x[k] over the group. So elements are
// used as they are stored, and -zero * X is where the sum starts.
#include "lib/Codegen/QuantizedProduct.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace kvern;

/// Whether three products of bytes take less time than one of numbers.
static bool hasFastDigits(IntegerDot dot, const BlockEncoding &encoding) {
  switch (dot) {
  case IntegerDot::Vnni:
  case IntegerDot::Neon:
    return true;
  case IntegerDot::Maddubs:
    // Digits go to -128, which has no opposite for psignb.
    return encoding.bits == 4;
  case IntegerDot::None:
    return false;
  }
  llvm_unreachable("unknown instructions");
}

QuantizedProductBuilder::QuantizedProductBuilder(Location location,
                                                 OpBuilder &builder,
                                                 const BlockEncoding &encoding,
                                                 bool exact, int64_t vectorBits,
                                                 IntegerDot dot)
    : LoopBuilder(location, builder), encoding(encoding), exact(exact),
      lanes(std::min(vectorBits / 32, kQuantizedPanel)), dot(dot),
      digits(!exact                         ? 1
             : hasFastDigits(dot, encoding) ? 3
                                            : 0),
      floats(VectorType::get({lanes}, getF32Type())),
      integers(VectorType::get({lanes}, getI32Type())) {}

int64_t QuantizedProductBuilder::blockElements() const {
  int64_t block = 128;
  while (depth % block != 0 || block % encoding.group != 0) {
    block -= encoding.group;
  }
  return block;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value QuantizedProductBuilder::splat(double value) {
  return arith::ConstantOp::create(
      *this, DenseElementsAttr::get(floats, static_cast<float>(value)));
}
Value QuantizedProductBuilder::splatInteger(int64_t value) {
  return arith::ConstantOp::create(
      *this, DenseElementsAttr::get(integers, static_cast<int32_t>(value)));
}
Value QuantizedProductBuilder::broadcast(Value scalar) {
  auto type = VectorType::get({lanes}, scalar.getType());
  return vector::BroadcastOp::create(*this, type, scalar);
}
Value QuantizedProductBuilder::multiplyAdd(Value a, Value b, Value sum) {
  return vector::FMAOp::create(*this, a, b, sum);
}

Value QuantizedProductBuilder::loadSplat(Value memory, ValueRange indices) {
  return broadcast(memref::LoadOp::create(*this, memory, indices));
}

void QuantizedProductBuilder::parallelLoop(
    OpFoldResult to, int64_t step, llvm::function_ref<void(Value)> body) {
  scf::ForallOp::create(*this, {getIndexAttr(0)}, {to}, {getIndexAttr(step)},
                        /*outputs=*/ValueRange(), /*mapping=*/std::nullopt,
                        [&](OpBuilder &nested, Location, ValueRange indices) {
                          InsertionGuard guard(*this);
                          setInsertionPointToEnd(nested.getInsertionBlock());
                          body(indices.front());
                          scf::InParallelOp::create(*this);
                        });
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

Value QuantizedProductBuilder::loadHalves(Value panel, Value group,
                                          int64_t which, int64_t vector) {
  int64_t place = 2 * (which * kQuantizedPanel + vector * lanes);
  auto bytes = VectorType::get({2 * lanes}, getI8Type());
  Value loaded = vector::LoadOp::create(*this, bytes, panels,
                                        ValueRange{panel, group, index(place)});
  auto halves = VectorType::get({lanes}, getF16Type());
  Value numbers = vector::BitCastOp::create(*this, halves, loaded);
  return arith::ExtFOp::create(*this, floats, numbers);
}

Value QuantizedProductBuilder::loadWords(Value panel, Value group, int64_t word,
                                         int64_t vector) {
  int64_t place = kQuantizedPanel * (encoding.headerBytes() + 4 * word) +
                  4 * vector * lanes;
  auto bytes = VectorType::get({4 * lanes}, getI8Type());
  return vector::LoadOp::create(*this, bytes, panels,
                                ValueRange{panel, group, index(place)});
}

SmallVector<int64_t> QuantizedProductBuilder::placesOfWord(int64_t word) const {
  SmallVector<int64_t> places;
  for (int64_t byte = 4 * word; byte < 4 * word + 4; ++byte) {
    places.push_back(byte);
    if (encoding.bits == 4) {
      places.push_back(byte + encoding.group / 2);
    }
  }
  return places;
}

void QuantizedProductBuilder::dequantizePanel(Value panel, Value numbers) {
  loop(index(0), index(groups()), 1, [&](Value group) {
    Value first = mul(group, encoding.group);
    for (int64_t v = 0; v < panelVectors(); ++v) {
      Value scale = loadHalves(panel, group, 0, v);
      Value minimum =
          encoding.hasMinimum ? loadHalves(panel, group, 1, v) : Value();
      for (int64_t word = 0; word < wordsOfGroup(); ++word) {
        Value words = vector::BitCastOp::create(
            *this, integers, loadWords(panel, group, word, v));
        Value mask = splatInteger((1 << encoding.bits) - 1);
        for (auto [i, place] : llvm::enumerate(placesOfWord(word))) {
          Value q = arith::ShRUIOp::create(*this, words,
                                           splatInteger(i * encoding.bits));
          q = arith::AndIOp::create(*this, q, mask);
          if (int64_t zero = encoding.zero()) {
            q = arith::SubIOp::create(*this, q, splatInteger(zero));
          }
          Value x = arith::SIToFPOp::create(*this, floats, q);
          x = arith::MulFOp::create(*this, x, scale);
          if (minimum) {
            x = arith::AddFOp::create(*this, x, minimum);
          }
          vector::StoreOp::create(
              *this, x, numbers,
              ValueRange{add(first, place), index(v * lanes)});
        }
      }
    }
  });
}

void QuantizedProductBuilder::addNumbers(RowSums &sums, Value panel,
                                         Value group, int64_t vector,
                                         Value row) {
  // Two sums for each row when there are few, so that additions overlap.
  int64_t rows = sums.size();
  bool split = rows <= 2;
  RowSums odd(split ? rows : 0, splat(0));
  Value first = mul(group, encoding.group);
  int64_t bits = encoding.bits, perWord = 32 / bits;
  for (int64_t word = 0; word < wordsOfGroup(); ++word) {
    Value words = vector::BitCastOp::create(
        *this, integers, loadWords(panel, group, word, vector));
    for (auto [i, place] : llvm::enumerate(placesOfWord(word))) {
      // An element stays where it is in the word: a power of two that the
      // activation is divided by. The last one would be negative there.
      bool last = static_cast<int64_t>(i) == perWord - 1;
      Value q =
          last ? arith::ShRUIOp::create(*this, words, splatInteger(32 - bits))
                     .getResult()
               : arith::AndIOp::create(
                     *this, words,
                     splatInteger(((int64_t(1) << bits) - 1) << (i * bits)))
                     .getResult();
      Value x = arith::SIToFPOp::create(*this, floats, q);
      for (int64_t r = 0; r < rows; ++r) {
        Value activation = loadSplat(
            prepared.elements, {index(0), add(row, r), add(first, place)});
        Value &sum = split && i % 2 ? odd[r] : sums[r];
        sum = multiplyAdd(x, activation, sum);
      }
    }
  }
  for (int64_t r = 0; split && r < rows; ++r) {
    sums[r] = arith::AddFOp::create(*this, sums[r], odd[r]);
  }
}
