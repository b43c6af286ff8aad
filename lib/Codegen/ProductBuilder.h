// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the lowerings of matrix products share: addresses, vectors, arithmetic.
#ifndef KVERN_LIB_CODEGEN_PRODUCTBUILDER_H
#define KVERN_LIB_CODEGEN_PRODUCTBUILDER_H

#include "lib/Codegen/Contraction.h"
#include "lib/Codegen/KnownMultiples.h"
#include "lib/Codegen/LoopBuilder.h"
#include "lib/Codegen/ProductBlocking.h"

namespace kvern {

/// Emits code for one matrix product on buffers.
class ProductBuilder : public LoopBuilder {
public:
  ProductBuilder(Contraction &product, mlir::OpBuilder &builder,
                 const ProductBlocking &blocking);

  Contraction &product;
  const ProductBlocking blocking;
  /// Element type of the accumulator, and a register of it.
  mlir::Type element;
  mlir::VectorType vector;
  /// Rows, columns and the summed size.
  mlir::Value rows, columns, depth;
  /// Loop indices other than m, n and k.
  llvm::SmallVector<mlir::Value> point;
  /// The output counts as zero: the first partial sum is stored, not added.
  bool overwrites = false;

  /// The size of a loop; 1 without one.
  mlir::Value sizeOf(std::optional<unsigned> dim);

  mlir::Value equal(mlir::Value a, mlir::Value b);
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);
  mlir::Value boolean(bool value);
  /// Multiples are powers of two.
  mlir::Value roundUp(mlir::Value a, int64_t multiple);
  mlir::Value roundDown(mlir::Value a, int64_t multiple);
  mlir::Value zeros();

  /// Whether consecutive indices of loop `dim` are consecutive in memory.
  bool isContiguous(unsigned operand, std::optional<unsigned> dim);

  /// Vector `v` of row `k` of a panel of packed rhs, as accumulator elements.
  mlir::Value loadPanel(mlir::Value panel, mlir::Value k, int64_t v);
  /// Starts to read the line in which row `k` of a panel starts, and those of
  /// the rest of the row.
  void prefetchPanel(mlir::Value panel, mlir::Value k);

  bool loadsMasked(unsigned operand);
  bool storesMasked();

  /// An element, or `lanes` of them along the last axis, as accumulator
  /// elements. `length` lanes are read, the others are zero; all if null.
  mlir::Value load(unsigned operand, mlir::Value mn, mlir::Value k);
  mlir::Value loadVector(unsigned operand, mlir::Value mn, mlir::Value k,
                         mlir::Value length = nullptr);
  mlir::Value loadOut(mlir::Value m, mlir::Value n, bool vectors,
                      mlir::Value mask = nullptr);
  void storeOut(mlir::Value value, mlir::Value m, mlir::Value n,
                mlir::Value mask = nullptr);
  mlir::Value mask(mlir::Value length);

  mlir::Value splat(mlir::Value scalar);
  mlir::Value plus(mlir::Value a, mlir::Value b);
  /// a * b + sum, rounded once where the machine can.
  mlir::Value multiplyAdd(mlir::Value a, mlir::Value b, mlir::Value sum);
  /// The sum of a vector's elements.
  mlir::Value reduce(mlir::Value vector);

private:
  llvm::SmallVector<mlir::Value> address(unsigned operand, mlir::Value m,
                                         mlir::Value n, mlir::Value k);
  llvm::SmallVector<mlir::Value> inputAddress(unsigned operand, mlir::Value mn,
                                              mlir::Value k);
  mlir::Value extend(unsigned operand, mlir::Value value);
};

/// Allocates elements of the accumulator, for the time of the kernel.
using AllocateScratch = llvm::function_ref<mlir::Value(int64_t)>;

/// Emits the product with a plain rhs for many rows: packs blocks of both
/// inputs, so that a register tile reads them in order.
///
///   for each block of columns, of the summed axis:
///     pack rhs as [panel][k][vectors * lanes]
///     for each block of rows:
///       pack lhs as [row][k]
///       for each panel, for each register tile: sum over k, add to the output
void emitPackedProduct(ProductBuilder &b, AllocateScratch allocate);

/// Emits the product with rhs in panels: the same, without packing rhs. Up to 2
/// or 4 rows read several panels at once.
void emitPanelProduct(ProductBuilder &b, AllocateScratch allocate);

/// Emits the product for few rows, where reading rhs once is what it costs.
/// Fails when no input axis is contiguous the way that it needs.
mlir::LogicalResult emitStreamedProduct(ProductBuilder &b);
bool canStream(ProductBuilder &b);

} // namespace kvern

#endif // KVERN_LIB_CODEGEN_PRODUCTBUILDER_H
