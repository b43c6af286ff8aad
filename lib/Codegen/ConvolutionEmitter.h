// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Code for one convolution on buffers.
#ifndef KVERN_LIB_CODEGEN_CONVOLUTIONEMITTER_H
#define KVERN_LIB_CODEGEN_CONVOLUTIONEMITTER_H

#include "lib/Codegen/Convolution.h"
#include "lib/Codegen/RowBuilder.h"

#include "llvm/Support/MathExtras.h"

namespace kvern {

/// Emits one convolution.
class ConvolutionEmitter {
public:
  ConvolutionEmitter(Convolution &convolution, mlir::OpBuilder &builder,
                     mlir::Type element, int64_t vectorBits,
                     ConvolutionBlocking blocking)
      : conv(convolution), op(convolution.op),
        b(op.getLoc(), builder, element, vectorBits), blocking(blocking),
        x(op.getInputs()[0]), filter(op.getInputs()[1]),
        out(op.getOutputs()[0]), maps(op.getIndexingMapsArray()),
        point(op.getNumLoops()), sizes(op.getNumLoops()) {}

  /// Fails, before it emits any loop, if there is no way to load vectors of
  /// filters.
  llvm::LogicalResult emit(bool overwrites);

private:
  /// The size of a loop of the op.
  mlir::Value sizeOf(unsigned dim);
  /// Indices of an operand at `point`.
  llvm::SmallVector<mlir::Value> address(unsigned operand);

  /// Makes kernel offsets along a row and channels one loop.
  void mergeChannels();
  bool readsPanels() const;

  void emitPanels(mlir::Value from, int64_t filters);
  void emitRows(llvm::ArrayRef<unsigned> loops, int64_t filters);
  void emitRow(int64_t filters);
  void emitTile(int64_t pixels, int64_t filters);
  llvm::SmallVector<mlir::Value> sum(llvm::ArrayRef<unsigned> loops,
                                     int64_t pixels, int64_t filters,
                                     mlir::ValueRange sums);
  llvm::SmallVector<mlir::Value> multiply(int64_t pixels, int64_t filters,
                                          mlir::ValueRange sums);
  void store(int64_t pixels, int64_t filters, mlir::ValueRange sums);

  mlir::Value loadVector(mlir::Value memory,
                         llvm::SmallVector<mlir::Value> indices,
                         int64_t length);
  mlir::Value extend(mlir::Value value);
  int64_t vectorsOf(int64_t filters) const {
    return llvm::divideCeil(filters, b.lanes);
  }
  int64_t lanesOf(int64_t filters, int64_t vector) const {
    return std::min(b.lanes, filters - vector * b.lanes);
  }

  Convolution &conv;
  mlir::linalg::GenericOp op;
  RowBuilder b;
  ConvolutionBlocking blocking;
  mlir::Value x, filter, out;
  llvm::SmallVector<mlir::AffineMap> maps;
  /// Indices and sizes of the loops.
  llvm::SmallVector<mlir::Value> point, sizes;
  /// The loops that are summed, the innermost last.
  llvm::SmallVector<unsigned> summed;
  bool overwrites = false;
};

} // namespace kvern

#endif // KVERN_LIB_CODEGEN_CONVOLUTIONEMITTER_H
