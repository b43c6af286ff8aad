// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rows of lhs that register tiles read.
#ifndef KVERN_LIB_CODEGEN_LHSROWS_H
#define KVERN_LIB_CODEGEN_LHSROWS_H

#include "lib/Codegen/RegisterTile.h"

namespace kvern {

/// A block of lhs: where it lies, or packed as [row][k], widened to elements of
/// the accumulator, with a distance of rows that suits the cache.
class LhsRows {
public:
  /// Packed blocks have up to `rows` rows and `depth` elements of the summed
  /// axis, and are zero up to the next multiple of `kTileUnroll`.
  LhsRows(ProductBuilder &b, int64_t rows, int64_t depth);

  /// Whether the rows of a tile can be read where they lie, and do not contend
  /// for the same places of the first cache.
  static bool suitsCache(ProductBuilder &b);
  /// Whether they can be read where they lie, if slowly.
  static bool isReadable(ProductBuilder &b);

  /// Reads blocks where they lie from now on.
  void readInPlace() { memory = nullptr; }
  void readPacked(AllocateScratch allocate);

  /// Makes a block the current one.
  void select(Span rows, Span depth);
  /// Element `k` of the block's row `first + offset`. With `clamped`, a row
  /// after the last is read as the last.
  mlir::Value load(mlir::Value first, int64_t offset, mlir::Value k,
                   bool clamped);

private:
  void packRow(mlir::Value from, Span depth, mlir::Value to);
  void zero(mlir::Value from, Span depth, mlir::Value to);
  /// Distance of packed rows.
  int64_t stride() const;

  ProductBuilder &b;
  int64_t blockRows, blockDepth;
  /// Packed rows; null if they are read where they lie.
  mlir::Value memory;
  Span rows, depth;
};

} // namespace kvern

#endif // KVERN_LIB_CODEGEN_LHSROWS_H
