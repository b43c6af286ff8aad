//===- Convolution.h - Convolutions ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_DIALECT_OPS_CONVOLUTION_H
#define KVERN_DIALECT_OPS_CONVOLUTION_H

#include "dialect/Kvern.h"

#define GET_OP_CLASSES
#include "dialect/ops/Convolution.h.inc"

namespace kvern {

/// Whether x and the result have their channels last, and the filter its
/// filters: the one layout that is lowered. Others are canonicalized to it.
bool isChannelsLast(llvm::StringRef inputLayout);
bool isFiltersLast(llvm::StringRef filterLayout);

/// The filter layout of `kvern.conv2d_transpose` that is lowered.
inline constexpr llvm::StringLiteral kReversedLayout = "reversed";

} // namespace kvern

#endif // KVERN_DIALECT_OPS_CONVOLUTION_H
