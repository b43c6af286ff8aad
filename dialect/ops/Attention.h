//===- Attention.h - Attention and rotary positions -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_DIALECT_OPS_ATTENTION_H
#define KVERN_DIALECT_OPS_ATTENTION_H

#include "dialect/Inference.h"

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

/// What all forms of attention demand of their mask; reports what is wrong.
llvm::LogicalResult checkMask(InferError error, llvm::StringRef variant,
                              int64_t window, const llvm::APFloat &softcap);
/// `sinks`, which may be null, against the heads of queries.
llvm::LogicalResult checkSinks(InferError error, mlir::Value sinks,
                               DimAttr heads);

/// The effects of an op with loops inside: memory that is read and, last, the
/// memory that is written.
void addLoopEffects(
    mlir::DestinationStyleOpInterface op,
    llvm::SmallVectorImpl<mlir::MemoryEffects::EffectInstance> &effects);

} // namespace kvern

#define GET_OP_CLASSES
#include "dialect/ops/Attention.h.inc"

#endif // KVERN_DIALECT_OPS_ATTENTION_H
