// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sizes at the start of a kernel.
#ifndef KVERN_LIB_CODEGEN_ENTRYSIZES_H
#define KVERN_LIB_CODEGEN_ENTRYSIZES_H

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/IR/Builders.h"

namespace kvern {

/// Builds sizes at the start of a function out of its arguments and constants.
class EntrySizes {
public:
  /// `builder` stands in `entry`, before all uses of the sizes.
  EntrySizes(mlir::Block &entry, mlir::OpBuilder &builder)
      : entry(entry), builder(builder) {}

  /// `value` itself, computed in the entry block; null when it depends on more
  /// than arguments and constants.
  mlir::Value exact(mlir::Value value);

  /// At least `value`: a minimum is bounded by those of its operands that can
  /// be computed in the entry block. Null when there is no bound.
  mlir::Value upperBound(mlir::Value value);

private:
  mlir::Value sizeOf(mlir::Value memory, int64_t axis);
  mlir::Value minimum(mlir::Value a, mlir::Value b);
  mlir::Value boundMin(mlir::affine::AffineMinOp min);

  mlir::Block &entry;
  mlir::OpBuilder &builder;
  llvm::DenseMap<mlir::Value, mlir::Value> known;
};

} // namespace kvern

#endif // KVERN_LIB_CODEGEN_ENTRYSIZES_H
