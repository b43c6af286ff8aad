// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Recognizes matrix products among linalg.generic ops.
#ifndef KVERN_LIB_CODEGEN_CONTRACTION_H
#define KVERN_LIB_CODEGEN_CONTRACTION_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include <optional>

namespace kvern {

/// `out[batch, outer, m, n] += lhs[batch, outer, m, k] * rhs[batch, n, k]`,
/// by the loop dimensions of the generic. Operand axes may be in any order, and
/// lhs is the second input where that makes n the later of m and n in the
/// output. A product with a vector has no m.
struct Contraction {
  mlir::linalg::GenericOp op;
  /// In all three operands.
  llvm::SmallVector<unsigned> batch;
  /// In the output and at most one input, beside m and n.
  llvm::SmallVector<unsigned> outer;
  std::optional<unsigned> m, n;
  unsigned k = 0;
  /// Operand numbers.
  unsigned lhs = 0, rhs = 1;
  /// Columns of a panel of packed rhs, which is then read at
  /// `[..., n floordiv panel, k, n mod panel]` and has zeros after the last
  /// column; 0 for a plain matrix.
  int64_t panel = 0;
  /// How an input element becomes an element of the accumulator: an arith
  /// extension op's name, or empty when the types are equal. By operand number.
  llvm::StringRef extensions[2];
};

/// Matches a generic with one reduction dimension whose body is
/// `acc + ext(lhs) * ext(rhs)`; m and n are the last dimensions of the output
/// that only one input has. Axes may be read at index 0 only. One input may be
/// a packed rhs: only n, the last axis of the output, is read in panels.
mlir::FailureOr<Contraction> matchContraction(mlir::Operation *op);

/// Matches the body `yield acc + ext(lhs) * ext(rhs)` and nothing else of an op
/// with two inputs and one output; the extensions, or empty names, go to
/// `names`.
bool matchMultiplyAdd(mlir::linalg::GenericOp op, llvm::StringRef names[2]);

/// The fill with zero that an op on buffers adds to, if nothing reads it in
/// between; null otherwise.
mlir::linalg::FillOp findZeroFill(mlir::linalg::GenericOp op);

} // namespace kvern

#endif // KVERN_LIB_CODEGEN_CONTRACTION_H
