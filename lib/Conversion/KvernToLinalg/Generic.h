//===- Generic.h - linalg ops from sizes with names -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The loop structures that the families share: a loop over the elements of the
// result, and a loop that leaves out one axis.
//
//===----------------------------------------------------------------------===//

#ifndef KVERN_LIB_CONVERSION_KVERNTOLINALG_GENERIC_H
#define KVERN_LIB_CONVERSION_KVERNTOLINALG_GENERIC_H

#include "lib/Conversion/KvernToLinalg/Scalar.h"
#include "lib/Support/DimNames.h"

namespace kvern {

/// Whether a size is known to be 0. No loops are made over such a shape: tiling
/// and slices of MLIR do not expect them.
bool isEmpty(llvm::ArrayRef<DimAttr> shape);

/// Replaces an op whose results are all known to be empty; fails when there is
/// something to compute.
llvm::LogicalResult replaceEmpty(mlir::Operation *op,
                                 mlir::PatternRewriter &rewriter);

/// What a loop nest reads: `map` takes the loops to the axes of `value`.
struct LoopOperand {
  mlir::Value value;
  mlir::AffineMap map;
};

/// Builds the linalg and tensor ops that one op becomes, at that op.
class LoopBuilder {
public:
  LoopBuilder(mlir::OpBuilder &builder, mlir::Operation *op);

  /// The value of an element, from those of the operands.
  using Body = llvm::function_ref<mlir::Value(mlir::ImplicitLocOpBuilder &,
                                              mlir::ValueRange)>;

  mlir::OpBuilder &builder;
  const mlir::Location location;
  const DimValues dims;

  mlir::RankedTensorType getType(llvm::ArrayRef<DimAttr> shape,
                                 mlir::Type storageType);
  /// A tensor without values.
  mlir::Value empty(llvm::ArrayRef<DimAttr> shape, mlir::Type storageType);
  /// What a result of an op with loops inside is written to.
  mlir::Value emptyFor(mlir::Value result);
  /// A tensor of one value.
  mlir::Value fill(llvm::ArrayRef<DimAttr> shape, mlir::TypedAttr value);
  mlir::OpFoldResult size(DimAttr dim) {
    return dims.getFoldResult(builder, location, dim);
  }
  mlir::Value index(mlir::OpFoldResult value);

  /// `value` of shape `from` in a loop over `to`, aligned at the last axis:
  /// axes of size 1 are read at 0.
  LoopOperand broadcast(mlir::Value value, llvm::ArrayRef<DimAttr> from,
                        llvm::ArrayRef<DimAttr> to);
  /// `value`, which lacks `axis`, in a loop over `rank` axes.
  LoopOperand without(mlir::Value value, int64_t rank, int64_t axis);
  /// `value` of rank `rank`.
  LoopOperand all(mlir::Value value, int64_t rank);

  /// A parallel loop over `shape`. Operands of one repeated constant become
  /// constants of the body, and reshapes that only add or drop axes of size 1
  /// are read through.
  mlir::Value elementwise(llvm::ArrayRef<DimAttr> shape, mlir::Type storageType,
                          llvm::ArrayRef<LoopOperand> operands, Body body);
  /// A loop over `shape` whose result lacks `axis`; the last value that `body`
  /// gets is the accumulator, which starts at `init`.
  mlir::Value reduce(llvm::ArrayRef<DimAttr> shape, int64_t axis,
                     mlir::TypedAttr init, llvm::ArrayRef<LoopOperand> operands,
                     Body body);
  /// The sums of `lhs` times `rhs` along one more loop, after those over
  /// `shape`. The accumulator is f32 for f16 and bf16, which a second op
  /// rounds.
  mlir::Value product(llvm::ArrayRef<DimAttr> shape, mlir::Type elementType,
                      LoopOperand lhs, LoopOperand rhs);
  /// `source` written over the part of `destination` that the offsets and
  /// strides give; `shape` is that of `source`. With `axis`, the part has size
  /// 1 along it and `source` lacks it.
  mlir::Value insert(mlir::Value source, mlir::Value destination,
                     llvm::ArrayRef<DimAttr> shape,
                     llvm::ArrayRef<mlir::OpFoldResult> offsets,
                     std::optional<int64_t> axis = std::nullopt);

private:
  /// The operand as a constant of the body; null when it is not one.
  mlir::Value getSplat(mlir::Value value);
};

} // namespace kvern

#endif // KVERN_LIB_CONVERSION_KVERNTOLINALG_GENERIC_H
