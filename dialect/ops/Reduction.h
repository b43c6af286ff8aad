//===- Reduction.h - Result-type rules of reductions -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Named in the base class of ops/Reduction.td.
//
//===----------------------------------------------------------------------===//

#ifndef KVERN_DIALECT_OPS_REDUCTION_H
#define KVERN_DIALECT_OPS_REDUCTION_H

#include "dialect/Kvern.h"

namespace kvern {

/// The axis stays with size 1.
llvm::LogicalResult inferReduction(std::optional<mlir::Location> location,
                                   llvm::StringRef opName, mlir::Value x,
                                   int64_t axis,
                                   llvm::SmallVectorImpl<mlir::Type> &results);
/// As `inferReduction`, with `i64` elements.
llvm::LogicalResult
inferArgReduction(std::optional<mlir::Location> location,
                  llvm::StringRef opName, mlir::Value x, int64_t axis,
                  llvm::SmallVectorImpl<mlir::Type> &results);
llvm::LogicalResult inferSameShape(std::optional<mlir::Location> location,
                                   llvm::StringRef opName, mlir::Value x,
                                   int64_t axis,
                                   llvm::SmallVectorImpl<mlir::Type> &results);

} // namespace kvern

#endif // KVERN_DIALECT_OPS_REDUCTION_H
