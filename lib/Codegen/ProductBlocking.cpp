// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sizes of the blocks that matrix products are computed in, by cost.
//
// For each element of the summed axis a register tile of r rows and v vectors
// takes r * v multiply-adds, v loads of rhs and r of lhs. So:
//   1. r and v are the most that the registers hold: the loads then cost less
//      than the multiply-adds;
//   2. the depth of a block is the most for which the tile's rows of lhs stay
//   in
//      half of the first cache; the panel of rhs, which each tile reads again,
//      shares it, unless the second cache can feed it (`kSecondCacheBytes`);
//   3. the rows of a block of lhs take three eighths of the second cache; its
//      part of the output a quarter; the rest is for panels on their way.
#include "lib/Codegen/ProductBlocking.h"

#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace kvern;

/// Bytes a cycle that a core reads from its second cache while it computes.
static constexpr int64_t kSecondCacheBytes = 10;
/// Multiply-adds of vectors that a core starts in a cycle.
static constexpr int64_t kMultiplyAdds = 2;

bool ProductBlocking::canRead(const CpuTarget &target, int64_t elementBytes,
                              int64_t panel) {
  int64_t lanes = target.lanes(elementBytes);
  // Two rows of sums, one of rhs and a factor.
  return panel > 0 && panel % lanes == 0 &&
         3 * (panel / lanes) + 1 <= target.vectorRegisters;
}

ProductBlocking ProductBlocking::get(const CpuTarget &target,
                                     int64_t elementBytes, int64_t panel) {
  ProductBlocking blocking;
  blocking.lanes = target.lanes(elementBytes);
  blocking.vectors = panel ? panel / blocking.lanes : target.tileVectors();
  blocking.registers = target.vectorRegisters;
  // AVX-512 masks everything for free, AVX2 loads of 4 bytes and more.
  constexpr int64_t kNever = 1024;
  blocking.maskedLoadBits = target.vectorBits >= 512   ? 8
                            : target.vectorBits >= 256 ? 32
                                                       : kNever;
  blocking.maskedStoreBits = target.vectorBits >= 512 ? 8 : kNever;

  // Sums, one row of rhs and one factor fit the registers.
  int64_t rows =
      (target.vectorRegisters - 1 - blocking.vectors) / blocking.vectors;
  blocking.tileRows = std::max<int64_t>(rows - rows % 2, 2);

  int64_t panelBytes = blocking.panelColumns() * elementBytes;
  int64_t tileCycles = blocking.tileRows * blocking.vectors / kMultiplyAdds;
  bool fromSecondCache = panelBytes <= kSecondCacheBytes * tileCycles;
  int64_t depth =
      std::min(target.l1Bytes / 2 / (blocking.tileRows * elementBytes),
               target.l1Bytes / (fromSecondCache ? 1 : 2) / panelBytes);
  blocking.blockDepth =
      std::max<int64_t>(llvm::bit_floor(static_cast<uint64_t>(depth)), 64);

  auto multiple = [](int64_t value, int64_t factor) {
    return std::max(value - value % factor, factor);
  };
  blocking.blockRows =
      multiple(target.l2Bytes * 3 / 8 / (blocking.blockDepth * elementBytes),
               blocking.tileRows);
  blocking.blockColumns =
      multiple(target.l2Bytes / 4 / (blocking.blockRows * elementBytes),
               blocking.panelColumns());
  return blocking;
}

int64_t ProductBlocking::streamedColumns(int64_t depth,
                                         const CpuTarget &target) const {
  int64_t group = panelColumns() * kPanelStreams;
  int64_t bytes = std::max<int64_t>(depth, 1) * (target.vectorBits / 8 / lanes);
  return std::max(target.l2Bytes / bytes / group, int64_t(1)) * group;
}
