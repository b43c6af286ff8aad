// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The counter-based generator of random numbers, as arithmetic.
#include "lib/Support/Philox.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include <array>
#include <cmath>

using namespace mlir;

static constexpr int kRounds = 10;
static constexpr int64_t kMultipliers[] = {0xD2511F53, 0xCD9E8D57};
static constexpr int64_t kKeySteps[] = {0x9E3779B9, 0xBB67AE85};

Value kvern::emitPhilox(ImplicitLocOpBuilder &b, Value seed, Value position,
                        int64_t stream) {
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(b, b.getI64IntegerAttr(value));
  };
  // Words of 32 bits are kept in 64.
  Value word = constant(0xFFFFFFFF), width = constant(32);
  auto low = [&](Value x) -> Value {
    return arith::AndIOp::create(b, x, word);
  };
  auto high = [&](Value x) -> Value {
    return arith::ShRUIOp::create(b, x, width);
  };
  auto exclusiveOr = [&](Value x, Value y) -> Value {
    return arith::XOrIOp::create(b, x, y);
  };
  Value lowPosition = low(position), highPosition = high(position);
  Value lowSeed = low(seed), highSeed = high(seed);
  std::array<Value, 4> counter{lowPosition, highPosition, constant(stream),
                               constant(0)};
  std::array<Value, 2> key{lowSeed, highSeed};
  for (int round = 0; round < kRounds; ++round) {
    if (round != 0) {
      for (int i = 0; i < 2; ++i) {
        Value step = constant(kKeySteps[i]);
        Value sum = arith::AddIOp::create(b, key[i], step);
        key[i] = low(sum);
      }
    }
    std::array<Value, 2> products;
    for (int i = 0; i < 2; ++i) {
      Value factor = constant(kMultipliers[i]);
      products[i] = arith::MulIOp::create(b, counter[2 * i], factor);
    }
    Value first = exclusiveOr(high(products[1]), counter[1]);
    Value third = exclusiveOr(high(products[0]), counter[3]);
    Value second = low(products[1]);
    Value fourth = low(products[0]);
    Value mixedFirst = exclusiveOr(first, key[0]);
    Value mixedThird = exclusiveOr(third, key[1]);
    counter = {mixedFirst, second, mixedThird, fourth};
  }
  Value upper = arith::ShLIOp::create(b, counter[0], width);
  return arith::OrIOp::create(b, upper, counter[1]);
}

Value kvern::emitUniform(ImplicitLocOpBuilder &b, FloatType type, Value seed,
                         Value position, int64_t stream) {
  int64_t precision = type.getFPMantissaWidth();
  Value bits = emitPhilox(b, seed, position, stream);
  Value unused =
      arith::ConstantOp::create(b, b.getI64IntegerAttr(64 - precision));
  bits = arith::ShRUIOp::create(b, bits, unused);
  Value number = arith::UIToFPOp::create(b, type, bits);
  Value step = arith::ConstantOp::create(
      b, b.getFloatAttr(type, std::ldexp(1.0, -precision)));
  return arith::MulFOp::create(b, number, step);
}
