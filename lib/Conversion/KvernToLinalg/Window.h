//===- Window.h - Loops of windows that move over images --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Windows are loops over a padded copy of the operand, which is read at
// `place * stride + offset * dilation`. That windows fit has been checked
// before the kernel runs.
//
//===----------------------------------------------------------------------===//

#ifndef KVERN_LIB_CONVERSION_KVERNTOLINALG_WINDOW_H
#define KVERN_LIB_CONVERSION_KVERNTOLINALG_WINDOW_H

#include "lib/Conversion/KvernToLinalg/Generic.h"

#include "mlir/Dialect/Utils/StructuredOpsUtils.h"

namespace kvern {

/// The sizes of a tensor of the dialect.
llvm::ArrayRef<DimAttr> getDims(mlir::Value value);

/// `value` copied into `destination` at `offsets`, every `strides` elements;
/// `shape` is that of `value`.
mlir::Value insertEvery(LoopBuilder &loops, mlir::Value value,
                        mlir::Value destination, llvm::ArrayRef<DimAttr> shape,
                        llvm::ArrayRef<int64_t> offsets,
                        llvm::ArrayRef<int64_t> strides);

/// `value` of `shape` with elements of one value before and after it along the
/// spatial axes, which start at axis 1. Each element is written once.
mlir::Value padSpatial(LoopBuilder &loops, mlir::Value value,
                       llvm::ArrayRef<DimAttr> shape,
                       llvm::ArrayRef<int64_t> before,
                       llvm::ArrayRef<int64_t> after, mlir::TypedAttr padding);

/// Loops n, spatial places, channel, kernel offsets, and one more if there is
/// something to contract.
class WindowLoops {
public:
  WindowLoops(mlir::MLIRContext *context, int64_t rank)
      : context(context), rank(rank) {}

  mlir::MLIRContext *const context;
  /// Spatial axes.
  const int64_t rank;

  mlir::AffineExpr loop(int64_t i) const {
    return mlir::getAffineDimExpr(i, context);
  }
  mlir::AffineExpr channel() const { return loop(rank + 1); }
  mlir::AffineExpr offset(int64_t axis) const { return loop(rank + 2 + axis); }
  mlir::AffineExpr contracted() const { return loop(2 * rank + 2); }
  int64_t count(bool contracts) const { return 2 * rank + 2 + contracts; }

  mlir::AffineMap map(llvm::ArrayRef<mlir::AffineExpr> exprs,
                      bool contracts) const {
    return mlir::AffineMap::get(count(contracts), 0, exprs, context);
  }
  /// How the padded operand is read, at channel `channel`.
  mlir::AffineMap read(mlir::AffineExpr channel,
                       llvm::ArrayRef<int64_t> strides,
                       llvm::ArrayRef<int64_t> dilations, bool contracts) const;
  mlir::AffineMap result(bool contracts) const;
  llvm::SmallVector<mlir::utils::IteratorType> iterators(bool contracts) const;
};

/// The sum of products of `x` and `filter`, which the maps read, added to
/// `init`; by default to a tensor of zeros. `type` is that of the result of the
/// op.
mlir::Value convolve(LoopBuilder &loops, TensorType type, mlir::Value x,
                     mlir::Value filter, llvm::ArrayRef<mlir::AffineMap> maps,
                     const WindowLoops &window, bool contracts,
                     mlir::Value init = nullptr);
/// Adds the bias, which may be null, and rounds to the storage type.
mlir::Value finishConvolution(LoopBuilder &loops, mlir::Value sum,
                              mlir::Value bias, TensorType type);
/// The result when there is nothing to add up.
mlir::Value convolveNothing(LoopBuilder &loops, mlir::Value bias,
                            TensorType type);

} // namespace kvern

#endif // KVERN_LIB_CONVERSION_KVERNTOLINALG_WINDOW_H
