//===- FusionGroups.h - Which ops share a loop nest ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_LIB_TRANSFORMS_FUSIONGROUPS_H
#define KVERN_LIB_TRANSFORMS_FUSIONGROUPS_H

#include "dialect/Kvern.h"

#include <memory>

namespace kvern {

/// Ops that become one kernel.
struct FusionGroup {
  /// In program order.
  llvm::SmallVector<mlir::Operation *> ops;
  /// The contraction, reduction, norm or movement in it; may be null. A second
  /// contraction of the same operand may be among the ops.
  mlir::Operation *root = nullptr;
  /// Ops before the last whose result is used outside as well.
  llvm::SmallVector<mlir::Operation *, 1> shared;

  mlir::Operation *getLast() const { return ops.back(); }
  /// The results of the last op and of the shared ones.
  llvm::SmallVector<mlir::Value> getResults() const;
};

/// Whether an op is computed by a kernel; weights, views, checks, calls and
/// terminators are not.
bool isKernelOp(mlir::Operation *op);

/// Whether a constant is copied into every kernel that reads it rather than
/// passed to it.
bool isInlinedConstant(mlir::Operation *op);

/// Whether what an op of a kernel reads here is such a constant.
bool isInlined(mlir::OpOperand &use);

/// Distributes the kernel ops of a block over groups, greedily from the end: an
/// op joins the group of its users when they are all in one group and the loop
/// structures agree. Besides,
///
/// - two products of one operand whose results meet element by element are in
///   one group, so that they are computed tile by tile together;
/// - a sum that is normalized, and read by others too, is computed by the norm.
///
/// Groups come in program order of their last ops. Ops of the block are moved
/// so that those of a group with shared results are adjacent.
llvm::SmallVector<std::unique_ptr<FusionGroup>>
formFusionGroups(mlir::Block &block);

} // namespace kvern

#endif // KVERN_LIB_TRANSFORMS_FUSIONGROUPS_H
