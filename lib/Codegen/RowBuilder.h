// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Code for rows of memory: addresses, loops, vectors, arithmetic.
#ifndef KVERN_LIB_CODEGEN_ROWBUILDER_H
#define KVERN_LIB_CODEGEN_ROWBUILDER_H

#include "lib/Codegen/LoopBuilder.h"

namespace kvern {

/// The type that elements are computed in: f32 for narrower floats.
mlir::Type getAccumulatorType(mlir::Type element);

/// Whether all that an op with loops inside reads and writes is memory whose
/// rows are contiguous, or an index; reports what is not.
llvm::LogicalResult checkContiguousRows(mlir::Operation *op);

/// Emits code that computes in registers of `vectorBits` bits of `element`.
class RowBuilder : public LoopBuilder {
public:
  RowBuilder(mlir::Location loc, mlir::OpBuilder &builder, mlir::Type element,
             int64_t vectorBits);

  /// The accumulator, elements of a register, and a register.
  const mlir::Type element;
  const int64_t lanes;
  const mlir::VectorType vector;

  /// Of values that are not negative.
  mlir::Value div(mlir::Value a, int64_t b);
  mlir::Value mod(mlir::Value a, int64_t b);
  /// Of values that are not negative; any multiple.
  mlir::Value roundDown(mlir::Value a, int64_t multiple);
  mlir::Value roundUp(mlir::Value a, int64_t multiple);
  mlir::Value sizeOf(mlir::Value memory, int64_t axis);

  /// A loop whose turns may run at the same time.
  void parallel(llvm::ArrayRef<mlir::Value> sizes,
                llvm::function_ref<void(mlir::ValueRange)> body);

  // Temporaries: one-dimensional memory of accumulator elements.
  mlir::Value allocate(mlir::Value size);
  mlir::Value allocate(int64_t size) { return allocate(index(size)); }
  mlir::Value load(mlir::Value memory, mlir::Value at);
  mlir::Value loadVector(mlir::Value memory, mlir::Value at);
  void store(mlir::Value value, mlir::Value memory, mlir::Value at);

  // Operands: `length` elements of a row, extended to the accumulator's type
  // and with zeros to a register; a register truncated to the result's type.
  mlir::Value loadRow(mlir::Value memory, llvm::ArrayRef<mlir::Value> indices,
                      mlir::Value column, int64_t length);
  void storeRow(mlir::Value value, mlir::Value memory,
                llvm::ArrayRef<mlir::Value> indices, mlir::Value column,
                int64_t length);
  /// The same for memory of 8-bit codes: integers, or floats of type `code`.
  mlir::Value loadCoded(mlir::Value memory, mlir::Type code,
                        llvm::ArrayRef<mlir::Value> indices, mlir::Value column,
                        int64_t length);
  /// The codes nearest to `value`, ties to even, which are bounded by the
  /// largest. `value` has `lanes` elements.
  void storeCoded(mlir::Value value, mlir::Type code, mlir::Value memory,
                  llvm::ArrayRef<mlir::Value> indices, mlir::Value column,
                  int64_t length);
  /// An integer of 32 or 64 bits, at most `most`, which a negative one counts
  /// as.
  mlir::Value loadIndex(mlir::Value memory, llvm::ArrayRef<mlir::Value> indices,
                        mlir::Value most);
  /// Rows from offset `number` to below the next one, of `total` rows; whatever
  /// the offsets are, both are within them and in this order.
  std::pair<mlir::Value, mlir::Value>
  loadSpan(mlir::Value offsets, mlir::Value number, mlir::Value total);
  /// A scalar operand, extended.
  mlir::Value loadElement(mlir::Value memory,
                          llvm::ArrayRef<mlir::Value> indices);
  /// Calls `body` for each register of a row of `size` elements: its column and
  /// how many elements there are.
  void forEachVector(int64_t size,
                     llvm::function_ref<void(mlir::Value, int64_t)> body);

  // Arithmetic on accumulators and registers.
  mlir::Value constant(double value);
  mlir::Value splat(mlir::Value scalar);
  mlir::Value splat(double value) { return splat(constant(value)); }
  mlir::Value multiplyAdd(mlir::Value a, mlir::Value b, mlir::Value sum);
  mlir::Value multiply(mlir::Value a, mlir::Value b);
  mlir::Value plus(mlir::Value a, mlir::Value b);
  mlir::Value maximum(mlir::Value a, mlir::Value b);
  /// 2^x of a scalar or register, for x <= 0, minus infinity among it. Within 2
  /// units in the last place where the result is above 2^-125, else 0.
  mlir::Value exp2(mlir::Value x);
  /// The registers with rows and columns exchanged.
  llvm::SmallVector<mlir::Value> transpose(llvm::SmallVector<mlir::Value> rows);
  /// One register of the sums of `lanes` registers, in their order.
  mlir::Value sumEach(llvm::SmallVector<mlir::Value> registers);

protected:
  /// `length` elements of a row as they are stored, in a register whose other
  /// elements are 0.
  mlir::Value loadStored(mlir::Value memory,
                         llvm::ArrayRef<mlir::Value> indices,
                         mlir::Value column, int64_t length);
  void storeStored(mlir::Value value, mlir::Value memory,
                   llvm::ArrayRef<mlir::Value> indices, mlir::Value column,
                   int64_t length);
  /// An operand's element or vector as accumulator elements.
  mlir::Value extend(mlir::Value value);
};

} // namespace kvern

#endif // KVERN_LIB_CODEGEN_ROWBUILDER_H
