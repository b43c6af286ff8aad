// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rotary positions on buffers.
#ifndef KVERN_LIB_CODEGEN_LOWERROPE_H
#define KVERN_LIB_CODEGEN_LOWERROPE_H

#include "dialect/ops/Attention.h"
#include "lib/Codegen/RowBuilder.h"

namespace kvern {

/// Rotates rows, the heads of a token, by the angles of its position.
class Rotation {
public:
  /// `table` is [rows, width]; rows have `size` elements. Allocates what a
  /// position needs.
  Rotation(RowBuilder &b, mlir::Value table, bool interleaved, int64_t size);

  /// Takes the cosines and sines of a row of the table.
  void setPosition(mlir::Value position);

  /// `length` elements from a column on, as `RowBuilder::loadRow` gives them.
  using Load = llvm::function_ref<mlir::Value(mlir::Value, int64_t)>;
  using Store = llvm::function_ref<void(mlir::Value, mlir::Value, int64_t)>;
  void rotate(Load load, Store store);

private:
  mlir::Value shuffle(mlir::Value a, mlir::Value c,
                      llvm::function_ref<int64_t(int64_t)> lane);
  void rotateInterleaved(Load load, Store store);
  void rotateHalves(Load load, Store store);

  RowBuilder &b;
  mlir::Value table;
  const bool interleaved;
  const int64_t size, half;
  /// One for each element that is rotated, or for each pair of halves.
  mlir::Value cosines, sines;
};

/// Emits what `op` computes, before it, with registers of `vectorBits` bits.
void emitRope(LoopRopeOp op, mlir::OpBuilder &builder, int64_t vectorBits);

} // namespace kvern

#endif // KVERN_LIB_CODEGEN_LOWERROPE_H
