//===- ArenaPlanner.h - Places values of a host program ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_LIB_TRANSFORMS_ARENAPLANNER_H
#define KVERN_LIB_TRANSFORMS_ARENAPLANNER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace kvern {

/// Symbol of the function that computes the size of a program's arena, as an
/// attribute of the program.
inline constexpr llvm::StringLiteral workspaceAttrName = "kvern.workspace";

/// Replaces each `memref.alloc` of a host program by a view of its arena, or,
/// where the size does not follow from the inputs, by memory of the run. Equal
/// sizes share memory only where they are the same value: run CSE before.
///
/// A program with an arena gets a companion `@workspace_<graph>(%frame) ->
/// i64`, which computes its bytes from the symbols alone.
void planArena(mlir::func::FuncOp program);

} // namespace kvern

#endif // KVERN_LIB_TRANSFORMS_ARENAPLANNER_H
