// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which axes of a kernel's values have equal sizes.
#ifndef KVERN_LIB_CODEGEN_DIMCLASSES_H
#define KVERN_LIB_CODEGEN_DIMCLASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/SmallBitVector.h"

namespace kvern {

/// Classes of axes of equal size, from linalg operands, sizes of tensor.empty
/// and of slices, and copies into arguments. Valid while the ops that it was
/// built from exist.
class DimClasses {
public:
  explicit DimClasses(mlir::func::FuncOp function);

  /// Forgets all but the axes of arguments and of tensors read from them, and
  /// all sizes but index arguments and arithmetic, so that other ops may be
  /// erased.
  void keepOnlyArguments();

  /// Replaces `tensor.dim` and `memref.dim` in `function` by what is known:
  /// a constant, an index argument, or else an earlier value.
  void resolve(mlir::func::FuncOp function) const;

private:
  using Axis = std::pair<mlir::Value, int64_t>;

  void add(mlir::Operation *op);
  void addLinalg(mlir::Operation *op);
  void addSizes(mlir::Value value, llvm::ArrayRef<mlir::OpFoldResult> sizes,
                const llvm::SmallBitVector *dropped = nullptr);
  void unionAll(mlir::Value a, mlir::Value b);
  /// What the axis' size is known to be before `user`; null if nothing.
  mlir::OpFoldResult lookup(Axis axis, mlir::Operation *user,
                            mlir::DominanceInfo &dominance) const;
  /// The size that `op` reads of an axis that others were merged into.
  mlir::OpFoldResult product(mlir::Operation *op, int64_t dim,
                             mlir::OpBuilder &builder,
                             mlir::DominanceInfo &dominance) const;

  llvm::EquivalenceClasses<Axis> classes;
  llvm::DenseMap<Axis, llvm::SmallVector<mlir::OpFoldResult, 1>> sizes;
};

} // namespace kvern

#endif // KVERN_LIB_CODEGEN_DIMCLASSES_H
