//===- QuantBlocks.cpp - Numbers in blocks of bytes -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Conversion/KvernToLinalg/QuantBlocks.h"

#include "dialect/ops/Quant.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace kvern;

static Value constant(ImplicitLocOpBuilder &b, int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

static Value divide(ImplicitLocOpBuilder &b, Value x, int64_t y) {
  return arith::DivUIOp::create(b, x, constant(b, y));
}

static Value remainder(ImplicitLocOpBuilder &b, Value x, int64_t y) {
  return arith::RemUIOp::create(b, x, constant(b, y));
}

/// x * scale + shift
static Value scaled(ImplicitLocOpBuilder &b, Value x, int64_t scale,
                    int64_t shift) {
  Value product = arith::MulIOp::create(b, x, constant(b, scale));
  return arith::AddIOp::create(b, product, constant(b, shift));
}

/// The f16 that starts at `place`, as f32.
static Value readHalf(ImplicitLocOpBuilder &b, ByteReader read, Value place) {
  Type word = b.getI16Type();
  Value low = arith::ExtUIOp::create(b, word, read(place));
  Value high = arith::ExtUIOp::create(b, word, read(scaled(b, place, 1, 1)));
  Value eight = arith::ConstantOp::create(b, b.getI16IntegerAttr(8));
  Value bits = arith::OrIOp::create(
      b, low, arith::ShLIOp::create(b, high, eight).getResult());
  Value half = arith::BitcastOp::create(b, b.getF16Type(), bits);
  return arith::ExtFOp::create(b, b.getF32Type(), half);
}

/// d * (q - zero) + m
static Value readGrouped(ImplicitLocOpBuilder &b, const BlockEncoding &encoding,
                         ByteReader read, Value k) {
  int64_t header = encoding.headerBytes();
  Value start =
      scaled(b, divide(b, k, encoding.group), encoding.blockBytes(), 0);
  Value inGroup = remainder(b, k, encoding.group);
  auto readBits = [&](Value place) -> Value {
    Value sum = arith::AddIOp::create(b, start, place);
    return read(scaled(b, sum, 1, header));
  };
  Value q;
  if (encoding.bits == 8) {
    Value byte = readBits(inGroup);
    q = encoding.hasMinimum
            ? arith::ExtUIOp::create(b, b.getI32Type(), byte).getResult()
            : arith::ExtSIOp::create(b, b.getI32Type(), byte).getResult();
  } else {
    int64_t half = encoding.group / 2;
    Value byte = readBits(remainder(b, inGroup, half));
    Value isHigh = arith::CmpIOp::create(b, arith::CmpIPredicate::uge, inGroup,
                                         constant(b, half));
    auto number = [&](int8_t value) -> Value {
      return arith::ConstantOp::create(b, b.getI8IntegerAttr(value));
    };
    Value high = arith::ShRUIOp::create(b, byte, number(4));
    Value low = arith::AndIOp::create(b, byte, number(15));
    Value bits = arith::SelectOp::create(b, isHigh, high, low);
    q = arith::ExtUIOp::create(b, b.getI32Type(), bits);
    if (int64_t zero = encoding.zero()) {
      q = arith::SubIOp::create(
          b, q,
          arith::ConstantOp::create(b, b.getI32IntegerAttr(zero)).getResult());
    }
  }
  Value value = arith::SIToFPOp::create(b, b.getF32Type(), q);
  value = arith::MulFOp::create(b, value, readHalf(b, read, start));
  if (encoding.hasMinimum) {
    Value minimum = readHalf(b, read, scaled(b, start, 1, 2));
    value = arith::AddFOp::create(b, value, minimum);
  }
  return value;
}

//===----------------------------------------------------------------------===//
// Blocks of 256, with scales of scales
//===----------------------------------------------------------------------===//

namespace {

/// Reads one block that starts at `start`.
struct BlockReader {
  ImplicitLocOpBuilder &b;
  ByteReader read;
  Value start;

  Value number(int64_t value) {
    return arith::ConstantOp::create(b, b.getI32IntegerAttr(value));
  }
  /// Byte `place` of the block, without sign.
  Value byte(Value place) {
    Value all = arith::AddIOp::create(b, start, place);
    return arith::ExtUIOp::create(b, b.getI32Type(), read(all));
  }
  Value half(int64_t place) {
    return readHalf(b, read, scaled(b, start, 1, place));
  }
  /// (x >> shift) & mask
  Value bits(Value x, Value shift, int64_t mask) {
    Value moved = arith::ShRUIOp::create(b, x, shift);
    return arith::AndIOp::create(b, moved, number(mask));
  }
  Value shifted(Value x, int64_t left) {
    return arith::ShLIOp::create(b, x, number(left));
  }
  Value either(Value x, Value y) { return arith::OrIOp::create(b, x, y); }
  Value integer(Value index) {
    return arith::IndexCastOp::create(b, b.getI32Type(), index);
  }
  Value toFloat(Value x) {
    return arith::SIToFPOp::create(b, b.getF32Type(), x);
  }
};

} // namespace

/// Q4_K: d, dmin, 12 bytes of eight scales and minima of 6 bits, 128 of
/// elements of 4 bits: (d * scale) * q - dmin * minimum. The first four scales
/// and minima are the low 6 bits of bytes 0 to 3 and 4 to 7; the other four
/// have their low halves in bytes 8 to 11 and the rest on top of those.
static Value readQ4K(BlockReader r, Value place) {
  ImplicitLocOpBuilder &b = r.b;
  Value part = divide(b, place, 32);
  Value inPart = remainder(b, place, 32);
  Value first = remainder(b, part, 4);
  Value isLate =
      arith::CmpIOp::create(b, arith::CmpIPredicate::uge, part, constant(b, 4));
  Value a = r.byte(scaled(b, first, 1, 4));
  Value c = r.byte(scaled(b, first, 1, 8));
  Value e = r.byte(scaled(b, first, 1, 12));
  auto choose = [&](Value early, Value lowHalf) -> Value {
    Value top = r.shifted(r.bits(early, r.number(6), 3), 4);
    return arith::SelectOp::create(b, isLate, r.either(lowHalf, top),
                                   r.bits(early, r.number(0), 63));
  };
  Value scale = choose(a, r.bits(e, r.number(0), 15));
  Value minimum = choose(c, r.bits(e, r.number(4), 15));
  Value row = scaled(b, divide(b, part, 2), 32, 16);
  Value at = arith::AddIOp::create(b, row, inPart);
  Value shift = r.integer(scaled(b, remainder(b, part, 2), 4, 0));
  Value q = r.toFloat(r.bits(r.byte(at), shift, 15));
  Value d = arith::MulFOp::create(b, r.half(0), r.toFloat(scale));
  Value m = arith::MulFOp::create(b, r.half(2), r.toFloat(minimum));
  return arith::SubFOp::create(b, arith::MulFOp::create(b, d, q), m);
}

/// Q6_K: low 4 bits of the elements in 128 bytes, their high 2 in 64, 16 signed
/// scales, d: (d * scale) * (q - 32).
static Value readQ6K(BlockReader r, Value place) {
  ImplicitLocOpBuilder &b = r.b;
  Value side = divide(b, place, 128);
  Value inSide = remainder(b, place, 128);
  auto bits = [&](int64_t from, int64_t bytes, int64_t width, int64_t mask) {
    Value at = arith::AddIOp::create(b, scaled(b, side, bytes, from),
                                     remainder(b, inSide, bytes));
    Value shift = r.integer(scaled(b, divide(b, inSide, bytes), width, 0));
    return r.bits(r.byte(at), shift, mask);
  };
  Value q = r.either(bits(0, 64, 4, 15), r.shifted(bits(128, 32, 2, 3), 4));
  q = arith::SubIOp::create(b, q, r.number(32));
  Value scale = r.byte(scaled(b, divide(b, place, 16), 1, 192));
  // The byte has a sign.
  scale = arith::ShRSIOp::create(b, r.shifted(scale, 24), r.number(24));
  Value d = arith::MulFOp::create(b, r.half(208), r.toFloat(scale));
  return arith::MulFOp::create(b, d, r.toFloat(q));
}

Value kvern::readElement(ImplicitLocOpBuilder &b, StringRef encoding,
                         ByteReader read, Value k) {
  if (auto grouped = BlockEncoding::parse(encoding)) {
    return readGrouped(b, *grouped, read, k);
  }
  BlockSize size = *BlockSize::parse(encoding);
  BlockReader reader{b, read,
                     scaled(b, divide(b, k, size.elements), size.bytes, 0)};
  Value place = remainder(b, k, size.elements);
  return encoding == "q4_k" ? readQ4K(reader, place) : readQ6K(reader, place);
}

Value kvern::readPackedElement(ImplicitLocOpBuilder &b, StringRef name,
                               Value panels, Value row, Value k) {
  BlockEncoding encoding = *BlockEncoding::parse(name);
  int64_t header = encoding.headerBytes();
  Value panel = divide(b, row, kQuantizedPanel);
  Value inPanel = remainder(b, row, kQuantizedPanel);
  auto sum = [&](Value x, Value y) -> Value {
    return arith::AddIOp::create(b, x, y);
  };
  // Two bytes of each row of the panel at a time, then four: byte `place` lies
  // `unit * row + place mod unit` after what comes before its unit.
  auto offset = [&](Value place, int64_t unit, int64_t from) {
    Value first = scaled(b, divide(b, place, unit), unit * kQuantizedPanel,
                         from * kQuantizedPanel);
    return sum(sum(first, scaled(b, inPanel, unit, 0)),
               remainder(b, place, unit));
  };
  auto read = [&](Value place) -> Value {
    Value group = divide(b, place, encoding.blockBytes());
    Value inBlock = remainder(b, place, encoding.blockBytes());
    Value isHeader = arith::CmpIOp::create(b, arith::CmpIPredicate::ult,
                                           inBlock, constant(b, header));
    Value ofHeader = offset(inBlock, 2, 0);
    Value inBits = arith::SubIOp::create(b, inBlock, constant(b, header));
    Value ofBits = offset(inBits, 4, header);
    Value at = arith::SelectOp::create(b, isHeader, ofHeader, ofBits);
    Value byte =
        tensor::ExtractOp::create(b, panels, ValueRange{panel, group, at});
    if (encoding.bits != 8 || encoding.hasMinimum) {
      return byte;
    }
    Value sign = arith::ConstantOp::create(b, b.getI8IntegerAttr(-128));
    Value flipped = arith::XOrIOp::create(b, byte, sign);
    return arith::SelectOp::create(b, isHeader, byte, flipped);
  };
  return readGrouped(b, encoding, read, k);
}
