//===- FusionGroups.h - Which ops share a loop nest ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_LIB_TRANSFORMS_FUSIONGROUPS_H
#define KVERN_LIB_TRANSFORMS_FUSIONGROUPS_H

#include "dialect/Kvern.h"

#include <memory>

namespace kvern {

/// Ops that become one kernel. Only the last one's results are used outside.
struct FusionGroup {
  /// In program order.
  llvm::SmallVector<mlir::Operation *> ops;
  /// The contraction, reduction, norm or movement in it; may be null.
  mlir::Operation *root = nullptr;

  mlir::Operation *getLast() const { return ops.back(); }
};

/// Whether an op is computed by a kernel; weights, views, checks, calls and
/// terminators are not.
bool isKernelOp(mlir::Operation *op);

/// Whether a constant is copied into every kernel that reads it rather than
/// passed to it.
bool isInlinedConstant(mlir::Operation *op);

/// Distributes the kernel ops of a block over groups, greedily from the end: an
/// op joins the group of its users when they are all in one group and the loop
/// structures agree. Groups come in program order of their last ops.
llvm::SmallVector<std::unique_ptr<FusionGroup>>
formFusionGroups(mlir::Block &block);

} // namespace kvern

#endif // KVERN_LIB_TRANSFORMS_FUSIONGROUPS_H
