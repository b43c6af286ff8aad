// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the lowerings of matrix products share: addresses, vectors, arithmetic.
#ifndef KVERN_LIB_CODEGEN_PRODUCTBUILDER_H
#define KVERN_LIB_CODEGEN_PRODUCTBUILDER_H

#include "lib/Codegen/Contraction.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace kvern {

/// Sizes of register and cache blocks, in elements of the accumulator.
struct ProductBlocking {
  /// Elements of a vector register.
  int64_t lanes = 0;
  /// Vectors of a register tile's row, and rows of the largest register tile.
  int64_t vectors = 2;
  int64_t tileRows = 0;
  /// Bits of the smallest element that the machine loads masked, and that it
  /// stores masked without loss.
  int64_t maskedLoadBits = 0, maskedStoreBits = 0;
  /// Rows and columns of a packed block, and elements of the summed axis.
  int64_t blockRows = 0, blockColumns = 0, blockDepth = 0;
};

/// Emits code for one matrix product on buffers.
class ProductBuilder : public mlir::ImplicitLocOpBuilder {
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

  mlir::Value index(int64_t value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value add(mlir::Value a, int64_t b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, int64_t b);
  mlir::Value min(mlir::Value a, mlir::Value b);
  mlir::Value less(mlir::Value a, mlir::Value b);
  mlir::Value roundUp(mlir::Value a, int64_t multiple);
  mlir::Value zeros();

  using Loop = llvm::function_ref<void(mlir::Value)>;
  using SummingLoop = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::Value, mlir::ValueRange)>;
  void loop(mlir::Value from, mlir::Value to, int64_t step, Loop body);
  llvm::SmallVector<mlir::Value> loop(mlir::Value from, mlir::Value to,
                                      int64_t step, mlir::ValueRange init,
                                      SummingLoop body);
  void when(mlir::Value condition, llvm::function_ref<void()> then,
            llvm::function_ref<void()> otherwise = nullptr);

  /// Whether consecutive indices of loop `dim` are consecutive in memory.
  bool isContiguous(unsigned operand, std::optional<unsigned> dim);

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

/// Emits the product for many rows: packs blocks of both inputs, so that a
/// register tile reads them in order.
///
///   for each block of columns, of the summed axis:
///     pack rhs as [panel][k][vectors * lanes]
///     for each block of rows:
///       pack lhs as [row][k]
///       for each panel, for each register tile: sum over k, add to the output
///
/// `lhsMemory` and `rhsMemory` are one-dimensional, of `packedLhsSize` and
/// `packedRhsSize` elements.
void emitPackedProduct(ProductBuilder &b, mlir::Value lhsMemory,
                       mlir::Value rhsMemory);
int64_t packedLhsSize(const ProductBlocking &blocking);
int64_t packedRhsSize(const ProductBlocking &blocking);

/// Emits the product for few rows, where reading rhs once is what it costs.
/// Fails when no input axis is contiguous the way that it needs.
mlir::LogicalResult emitStreamedProduct(ProductBuilder &b);
bool canStream(ProductBuilder &b);

} // namespace kvern

#endif // KVERN_LIB_CODEGEN_PRODUCTBUILDER_H
