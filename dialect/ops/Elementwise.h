//===- Elementwise.h - Result-type rules of elementwise ops ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Named in the base classes of ops/Elementwise.td.
//
//===----------------------------------------------------------------------===//

#ifndef KVERN_DIALECT_OPS_ELEMENTWISE_H
#define KVERN_DIALECT_OPS_ELEMENTWISE_H

#include "dialect/Kvern.h"

namespace kvern {

using InferResults = llvm::SmallVectorImpl<mlir::Type>;

llvm::LogicalResult inferSameType(std::optional<mlir::Location> location,
                                  llvm::StringRef opName,
                                  mlir::ValueRange operands,
                                  InferResults &results);
llvm::LogicalResult inferPredicate(std::optional<mlir::Location> location,
                                   llvm::StringRef opName,
                                   mlir::ValueRange operands,
                                   InferResults &results);
llvm::LogicalResult inferBroadcast(std::optional<mlir::Location> location,
                                   llvm::StringRef opName,
                                   mlir::ValueRange operands,
                                   InferResults &results);
llvm::LogicalResult inferCompare(std::optional<mlir::Location> location,
                                 llvm::StringRef opName,
                                 mlir::ValueRange operands,
                                 InferResults &results);
llvm::LogicalResult inferWhere(std::optional<mlir::Location> location,
                               llvm::StringRef opName,
                               mlir::ValueRange operands,
                               InferResults &results);

} // namespace kvern

#endif // KVERN_DIALECT_OPS_ELEMENTWISE_H
