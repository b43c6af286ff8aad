// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The innermost loop of a linalg.generic on buffers, several elements a turn.
#ifndef KVERN_LIB_CODEGEN_VECTORLOOP_H
#define KVERN_LIB_CODEGEN_VECTORLOOP_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <optional>

namespace kvern {

/// Emits loop `dim` of a generic with vectors:
///   1. a loop over `unroll` vectors a turn, each with sums of its own;
///   2. a loop over single vectors;
///   3. the end, masked where the target masks for free.
/// What does not change along the loop is computed before it.
class VectorLoop {
public:
  /// `isCarried` says of each output whether the loop carries it: a reduction.
  /// Fails when an operand is not contiguous along the loop, an op of the body
  /// has no form on vectors, or a reduction may not be reordered.
  static mlir::FailureOr<VectorLoop> match(mlir::linalg::GenericOp op,
                                           unsigned dim,
                                           llvm::ArrayRef<bool> isCarried,
                                           int64_t vectorBits);

  /// Emits the turns from 0 to `size`. `indices` are those of the loops around,
  /// by dimension; `carried` has the values of the outputs that are carried,
  /// and gets the new ones. Returns the turn that is left to a loop over single
  /// elements, or null when none is.
  mlir::Value emit(mlir::OpBuilder &builder,
                   llvm::ArrayRef<mlir::Value> indices, mlir::Value size,
                   llvm::SmallVectorImpl<mlir::Value> &carried);

private:
  /// How partial results of a carried output are put together.
  struct Combiner {
    mlir::vector::CombiningKind kind;
    mlir::TypedAttr neutral;
    mlir::arith::FastMathFlagsAttr fastMath;
  };

  VectorLoop(mlir::linalg::GenericOp op, unsigned dim,
             llvm::ArrayRef<bool> isCarried)
      : op(op), dim(dim), isCarried(isCarried) {}

  /// A pair of outputs: the element that is better than all before it, and its
  /// index.
  struct Search {
    mlir::Value isBetter, element;
    mlir::BlockArgument best;
  };

  bool matchOperands();
  bool matchBody();
  bool matchLoad(mlir::memref::LoadOp load);
  bool matchSearch();
  bool matchCombiners();
  static std::optional<Combiner> matchCombiner(mlir::BlockArgument sum,
                                               mlir::Value result);
  void chooseShape(int64_t vectorBits);

  bool follows(mlir::OpOperand &operand) {
    return op.getMatchingIndexingMap(&operand).isFunctionOfDim(dim);
  }
  mlir::VectorType vectorOf(mlir::Type scalar) const {
    return mlir::VectorType::get({lanes}, scalar);
  }
  llvm::SmallVector<mlir::Value> address(mlir::ImplicitLocOpBuilder &b,
                                         mlir::OpOperand &operand,
                                         mlir::Value at);
  mlir::Value load(mlir::ImplicitLocOpBuilder &b, mlir::Value memory,
                   llvm::ArrayRef<mlir::Value> place, mlir::Value mask);
  mlir::Value widen(mlir::ImplicitLocOpBuilder &b, mlir::Value value);
  /// Computes what is equal in all turns.
  void emitUniform(mlir::ImplicitLocOpBuilder &b);
  /// One vector of turns from `at`; returns the carried outputs.
  llvm::SmallVector<mlir::Value> emitTurn(mlir::ImplicitLocOpBuilder &b,
                                          mlir::Value at, mlir::Value mask,
                                          llvm::ArrayRef<mlir::Value> sums);
  llvm::SmallVector<mlir::Value> emitTurns(mlir::ImplicitLocOpBuilder &b,
                                           mlir::Value from, mlir::Value to,
                                           int64_t vectors,
                                           llvm::ArrayRef<mlir::Value> sums);
  /// Partial results put together: of two searches, or of each sum.
  llvm::SmallVector<mlir::Value> combine(mlir::ImplicitLocOpBuilder &b,
                                         llvm::ArrayRef<mlir::Value> one,
                                         llvm::ArrayRef<mlir::Value> other);
  mlir::Value emitIsBetter(mlir::ImplicitLocOpBuilder &b, mlir::Value element,
                           mlir::Value best);
  /// The results of all lanes, and those so far, as scalars.
  void combineLanes(mlir::ImplicitLocOpBuilder &b,
                    llvm::ArrayRef<mlir::Value> sums,
                    llvm::SmallVectorImpl<mlir::Value> &carried);
  mlir::Value emitOp(mlir::ImplicitLocOpBuilder &b, mlir::Operation &inner,
                     mlir::IRMapping &values, mlir::Value at, mlir::Value mask);

  mlir::linalg::GenericOp op;
  unsigned dim;
  llvm::SmallVector<bool> isCarried;
  llvm::SmallVector<Combiner> combiners;
  /// Values of the body that are equal in all turns.
  llvm::DenseSet<mlir::Value> isUniform;
  int64_t lanes = 1, unroll = 1;
  bool masks = false;

  llvm::SmallVector<mlir::Value> indices;
  mlir::IRMapping uniform;
  std::optional<Search> search;
};

} // namespace kvern

#endif // KVERN_LIB_CODEGEN_VECTORLOOP_H
