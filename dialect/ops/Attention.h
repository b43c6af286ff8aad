//===- Attention.h - Attention and rotary positions -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_DIALECT_OPS_ATTENTION_H
#define KVERN_DIALECT_OPS_ATTENTION_H

#include "dialect/Kvern.h"

#include "mlir/Interfaces/DestinationStyleOpInterface.h"

namespace kvern {

/// Which keys a query sees. Query i of `queries` stands at position
/// p = i + keys - queries; every variant is an interval of keys, whose ends do
/// not fall as p rises.
enum class MaskVariant {
  /// All keys.
  Null,
  /// k <= p.
  Causal,
  /// k <= p, k / window == p / window.
  ChunkedCausal,
  /// p - window < k <= p.
  SlidingWindowCausal,
  /// |p - k| < window.
  SlidingWindowNoncausal,
};

/// The variant of that name, as in the attribute `mask_variant`.
std::optional<MaskVariant> parseMaskVariant(llvm::StringRef name);

/// Whether the variant has a window.
inline bool hasWindow(MaskVariant variant) {
  return variant != MaskVariant::Null && variant != MaskVariant::Causal;
}

} // namespace kvern

#define GET_OP_CLASSES
#include "dialect/ops/Attention.h.inc"

#endif // KVERN_DIALECT_OPS_ATTENTION_H
