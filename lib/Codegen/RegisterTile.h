// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The innermost part of a matrix product: a tile of the output in registers.
#ifndef KVERN_LIB_CODEGEN_REGISTERTILE_H
#define KVERN_LIB_CODEGEN_REGISTERTILE_H

#include "lib/Codegen/ProductBuilder.h"

namespace kvern {

/// A part of an axis: where it starts and how long it is.
struct Span {
  mlir::Value from, size;
};

/// The most elements of the summed axis in a turn of a tile's loop.
inline constexpr int64_t kTileUnroll = 4;

/// Rows and columns of the output that are summed in registers.
struct TileShape {
  int64_t rows;
  /// Panels side by side, and vectors of each.
  int64_t panels, vectors;
  /// Elements of the summed axis between two tests of the loop.
  int64_t unroll;
  /// Both operands are zero up to the next multiple of `unroll`.
  bool padded = false;

  int64_t vectorsPerRow() const { return panels * vectors; }
};

/// What a register tile multiplies, as emitted for element `k` of the block.
struct TileOperands {
  /// Element k of row `row` of lhs, as an element of the accumulator.
  llvm::function_ref<mlir::Value(int64_t row, mlir::Value k)> left;
  /// Vector `vector` of row k of panel `panel` of rhs.
  llvm::function_ref<mlir::Value(int64_t panel, int64_t vector, mlir::Value k)>
      right;
  /// Called once for each k before the loads, to prefetch; may be empty.
  llvm::function_ref<void(mlir::Value k)> prefetch;
};

/// Sums over k in [0, depth): vectorsPerRow() vectors for each row in turn.
llvm::SmallVector<mlir::Value> emitTileSums(ProductBuilder &b, TileShape shape,
                                            mlir::Value depth,
                                            const TileOperands &operands);

/// Where the sums of a tile go.
struct TileOutput {
  /// The first row and column of the tile in the output.
  mlir::Value row, column;
  /// Rows and columns that are left there; null if the tile is known to fit.
  /// It has at most one row too many, which it does not store.
  mlir::Value rowsLeft, columnsLeft;
  /// Whether the output counts as zero; null if it never does.
  mlir::Value first;
};

/// Adds sums of a tile to the output.
void emitTileStore(ProductBuilder &b, TileShape shape,
                   llvm::ArrayRef<mlir::Value> sums, const TileOutput &output);

/// How often a tile's loop repeats its body, a power of two: as often as keeps
/// the machine busy between two tests.
int64_t chooseUnroll(int64_t vectorsOfSums);

/// Calls `body` for register tiles that cover `rows` rows: tiles of
/// `blocking.tileRows`, then at most one of an even number of rows. A tile may
/// have one row more than there are, if it is `uncertain`.
void forEachRowTile(
    ProductBuilder &b, mlir::Value rows,
    llvm::function_ref<void(int64_t tileRows, mlir::Value row, bool uncertain)>
        body);

/// Calls `body` for blocks of up to `block` elements.
void forEachBlock(ProductBuilder &b, mlir::Value size, mlir::Value block,
                  llvm::function_ref<void(Span)> body);

} // namespace kvern

#endif // KVERN_LIB_CODEGEN_REGISTERTILE_H
