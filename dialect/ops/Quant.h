//===- Quant.h - Products with quantized weights ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_DIALECT_OPS_QUANT_H
#define KVERN_DIALECT_OPS_QUANT_H

#include "dialect/Kvern.h"

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"

namespace kvern {

/// How a row of weights is stored: blocks of `group` elements, each the f16
/// scale `d`, the f16 minimum `m` if there is one, and the elements' bits `q`.
/// An element is `d * (q - zero) + m`. Elements of 4 bits are unsigned, the
/// first half of the group in the low halves of the bytes, the second in the
/// high ones. Elements of 8 bits are signed without a minimum, else unsigned.
struct BlockEncoding {
  int64_t bits = 8;
  int64_t group = 32;
  bool hasMinimum = false;

  /// `q8_0`, `q4_0`, `q4_1` (the formats of GGUF), or `int<bits>_g<group>`
  /// with 4 or 8 bits and groups of 32, 64 or 128, and `_min` with a minimum.
  static std::optional<BlockEncoding> parse(llvm::StringRef name);

  /// Bytes of a block, and of its scale and minimum.
  int64_t blockBytes() const { return headerBytes() + group * bits / 8; }
  int64_t headerBytes() const { return hasMinimum ? 4 : 2; }
  /// What is subtracted from the unsigned form of an element, in which the sign
  /// bit of signed ones is flipped.
  int64_t zero() const { return hasMinimum ? 0 : bits == 8 ? 128 : 8; }
};

/// A block of an encoding that can be turned to numbers: those above, and
/// `q4_k` and `q6_k` of GGUF.
struct BlockSize {
  int64_t elements, bytes;

  static std::optional<BlockSize> parse(llvm::StringRef name);
};

/// Rows of weights whose blocks lie side by side after `kvern.pack_quantized`.
inline constexpr int64_t kQuantizedPanel = 16;

} // namespace kvern

#define GET_OP_CLASSES
#include "dialect/ops/Quant.h.inc"

#endif // KVERN_DIALECT_OPS_QUANT_H
