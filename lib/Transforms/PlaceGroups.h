//===- PlaceGroups.h - An order in which groups are adjacent ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_LIB_TRANSFORMS_PLACEGROUPS_H
#define KVERN_LIB_TRANSFORMS_PLACEGROUPS_H

#include "lib/Transforms/FusionGroups.h"

namespace kvern {

/// Moves the ops of the block so that those of each group are adjacent and all
/// readers of its results follow. Checks, memory effects and what reads from
/// computed places keep their order. Nothing is moved if no group has shared
/// results.
///
/// If there is no such order, returns the shared ops of the groups in the way,
/// and moves nothing.
llvm::SmallVector<mlir::Operation *>
placeGroups(mlir::Block &block,
            llvm::ArrayRef<std::unique_ptr<FusionGroup>> groups);

} // namespace kvern

#endif // KVERN_LIB_TRANSFORMS_PLACEGROUPS_H
