//===- Derived.h - Weights computed at load --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_DIALECT_OPS_DERIVED_H
#define KVERN_DIALECT_OPS_DERIVED_H

#include "dialect/Kvern.h"

#define GET_OP_CLASSES
#include "dialect/ops/Derived.h.inc"

namespace kvern {

/// The attribute of a function that is an initializer: a text that is the same
/// for initializers that do the same, in whatever module.
inline constexpr llvm::StringLiteral initializerAttrName = "kvern.initializer";
/// The attribute of an initializer of one operand that makes each block of its
/// result's first axis of that many rows of the operand, and of nothing else.
inline constexpr llvm::StringLiteral rowsAttrName = "kvern.rows";

} // namespace kvern

#endif // KVERN_DIALECT_OPS_DERIVED_H
