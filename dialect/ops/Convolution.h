//===- Convolution.h - Windows that move over images -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_DIALECT_OPS_CONVOLUTION_H
#define KVERN_DIALECT_OPS_CONVOLUTION_H

#include "dialect/Kvern.h"

#define GET_OP_CLASSES
#include "dialect/ops/Convolution.h.inc"

namespace kvern {

/// A condition on sizes: `least` is not above `size`. `subject` completes
/// "expected ...".
struct SizeCondition {
  DimAttr least, size;
  std::string subject;
};

/// What an op of this family needs of sizes that have names. Null sizes stand
/// for overflow.
llvm::SmallVector<SizeCondition> getSizeConditions(mlir::Operation *op);

/// Whether x and the result have their channels last, and the filter its
/// filters: the one layout that is lowered. Others are canonicalized to it.
bool isChannelsLast(llvm::StringRef inputLayout);
bool isFiltersLast(llvm::StringRef filterLayout);

/// The filter layout of `kvern.conv2d_transpose` that is lowered.
inline constexpr llvm::StringLiteral kReversedLayout = "reversed";

} // namespace kvern

#endif // KVERN_DIALECT_OPS_CONVOLUTION_H
