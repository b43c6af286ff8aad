// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Recognizes convolutions among linalg.generic ops.
#ifndef KVERN_LIB_CODEGEN_CONVOLUTION_H
#define KVERN_LIB_CODEGEN_CONVOLUTION_H

#include "lib/Codegen/CpuTarget.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include <optional>

namespace kvern {

/// `out[n, y, f] += x[n, y * stride + r * dilation, g(f) + c] * filter[...]`,
/// by the loop dimensions of the generic, with any number of spatial axes y.
struct Convolution {
  mlir::linalg::GenericOp op;

  struct Axis {
    /// Loops over the result and over the kernel.
    unsigned result, kernel;
    /// The axis of x, and how it is read.
    unsigned position;
    int64_t stride, dilation;
  };

  /// In x and the result only.
  llvm::SmallVector<unsigned> batch;
  llvm::SmallVector<Axis> spatial;
  /// Filters; channels that are summed, unless a filter sees one only.
  unsigned filter = 0;
  std::optional<unsigned> channel;
  /// Filters of a group; 0 when all see the same channels.
  int64_t groupFilters = 0;
  /// As of `Contraction`: of x and of the filter.
  llvm::StringRef extensions[2];

  /// Each filter sees the channel of its number.
  bool isDepthwise() const { return groupFilters == 1 && !channel; }
};

/// Matches a generic whose first input is a padded operand `[n, y...,
/// channels]` and whose output is `[n, y..., filters]`; the filter may be
/// stored in any way.
mlir::FailureOr<Convolution> matchConvolution(mlir::Operation *op);

/// Sizes of the tiles that are tasks of their own, by loop of the op; zero
/// leaves a loop whole. No tile cuts a group of filters.
llvm::SmallVector<int64_t> getConvolutionTiles(const Convolution &convolution,
                                               const CpuTarget &target);

/// Tiles that read a filter in panels, at `f mod P`, get slices of whole
/// panels.
void readWholeFilterPanels(mlir::func::FuncOp function);

/// Output pixels and vectors of filters of a register tile.
struct ConvolutionBlocking {
  int64_t lanes, vectors, pixels;

  static ConvolutionBlocking get(const CpuTarget &target, int64_t elementBytes);
};

} // namespace kvern

#endif // KVERN_LIB_CODEGEN_CONVOLUTION_H
