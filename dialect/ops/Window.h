//===- Window.h - What convolutions and pools have in common ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_DIALECT_OPS_WINDOW_H
#define KVERN_DIALECT_OPS_WINDOW_H

#include "dialect/Inference.h"

namespace kvern {

/// The attributes that all windows have, for `rank` spatial axes.
struct Window {
  int64_t rank;
  llvm::ArrayRef<int64_t> strides, dilations, paddings;

  /// The elements from the first to the last of `k` elements, and both.
  int64_t getExtent(int64_t axis, int64_t k) const {
    return dilations[axis] * (k - 1) + 1;
  }
  int64_t before(int64_t axis) const { return paddings[2 * axis]; }
  int64_t after(int64_t axis) const { return paddings[2 * axis + 1]; }
};

template <typename OpT> Window getWindow(OpT op, int64_t rank) {
  return {rank, op.getStrides(), op.getDilations(), op.getPaddings()};
}

/// There are as many attributes as x, of `shape`, needs, and each in its range.
llvm::LogicalResult checkWindow(InferError error, const Window &window,
                                llvm::ArrayRef<DimAttr> shape);

/// The number of places of a window of `k` elements along one axis.
llvm::FailureOr<DimAttr> inferPositions(InferError error, const Window &window,
                                        int64_t axis, DimAttr size, int64_t k,
                                        bool ceilMode);

/// A condition on sizes: `least` is not above `size`. `subject` completes
/// "expected ...".
struct SizeCondition {
  DimAttr least, size;
  std::string subject;
};

/// What a convolution, a pool or a padding needs of sizes that have names. Null
/// sizes stand for overflow.
llvm::SmallVector<SizeCondition> getSizeConditions(mlir::Operation *op);

} // namespace kvern

#endif // KVERN_DIALECT_OPS_WINDOW_H
