// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sizes of the blocks that matrix products are computed in, by cost.
#ifndef KVERN_LIB_CODEGEN_PRODUCTBLOCKING_H
#define KVERN_LIB_CODEGEN_PRODUCTBLOCKING_H

#include "lib/Codegen/CpuTarget.h"

#include "mlir/IR/Types.h"

namespace kvern {

/// Sizes of register and cache blocks, in elements of the accumulator.
struct ProductBlocking {
  /// Elements of a vector register.
  int64_t lanes = 0;
  /// Vectors of a register tile's row, and rows of the largest register tile.
  int64_t vectors = 2;
  int64_t tileRows = 0;
  /// Vector registers of the machine.
  int64_t registers = 0;
  /// Bits of the smallest element that the machine loads masked, and that it
  /// stores masked without loss.
  int64_t maskedLoadBits = 0, maskedStoreBits = 0;
  /// Rows and columns of a block, and elements of the summed axis.
  int64_t blockRows = 0, blockColumns = 0, blockDepth = 0;

  /// Whether register tiles can read panels of so many columns.
  static bool canRead(const CpuTarget &target, int64_t elementBytes,
                      int64_t panel);
  /// The blocks for sums of elements of that size. `panel` is the width of
  /// panels that exist already and can be read, or 0.
  static ProductBlocking get(const CpuTarget &target, int64_t elementBytes,
                             int64_t panel = 0);

  /// Columns of a panel.
  int64_t panelColumns() const { return lanes * vectors; }
  /// Columns of one task of a product with few rows, which reads all of rhs:
  /// as many as make it worth starting, in groups of panels.
  int64_t streamedColumns(int64_t depth, const CpuTarget &target) const;
};

/// Up to so many rows a plain rhs is read where it lies rather than packed.
inline constexpr int64_t kFewPlainRows = 8;
/// Panels that a product with one row reads side by side: one stream of memory
/// is slower than several.
inline constexpr int64_t kPanelStreams = 4;

} // namespace kvern

#endif // KVERN_LIB_CODEGEN_PRODUCTBLOCKING_H
