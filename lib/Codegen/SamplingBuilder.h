// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What sampling does with a row of logits: passes over all of it in registers.
#ifndef KVERN_LIB_CODEGEN_SAMPLINGBUILDER_H
#define KVERN_LIB_CODEGEN_SAMPLINGBUILDER_H

#include "dialect/ops/Sampling.h"
#include "lib/Codegen/RowBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace kvern {

/// Emits passes over a row of logits, and over the candidates that it becomes.
class SamplingBuilder : public RowBuilder {
public:
  /// The size of the vocabulary may be null, and is read from the logits then.
  SamplingBuilder(mlir::Location loc, mlir::OpBuilder &builder,
                  int64_t vectorBits, mlir::Value logits,
                  mlir::Value vocabulary);

  /// [rows, vocabulary].
  const mlir::Value logits, vocabulary;
  /// Registers, and elements, that a turn of a loop handles.
  static constexpr int64_t unroll = 4;
  const int64_t block;
  /// Elements that are summed in f32.
  const int64_t chunk;
  const mlir::VectorType integers, bits;

  // Integers of 64 bits, and f64.
  mlir::Value i64(int64_t value);
  mlir::Value asIndex(mlir::Value integer);
  mlir::Value asInteger(mlir::Value index);
  mlir::Value f64(double value);
  mlir::Value compare(mlir::arith::CmpFPredicate predicate, mlir::Value a,
                      mlir::Value b);
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value a,
                      mlir::Value b);
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);
  /// The larger of the registers' elements.
  mlir::Value largestOf(llvm::SmallVector<mlir::Value> registers);
  mlir::Value sumOf(llvm::SmallVector<mlir::Value> registers);
  /// `condition ? then : otherwise`, each emitted where it is needed.
  using Branch = llvm::function_ref<llvm::SmallVector<mlir::Value>()>;
  llvm::SmallVector<mlir::Value> choose(mlir::Value condition, Branch then,
                                        Branch otherwise);

  /// A turn: the first column, `unroll` registers of logits with minus infinity
  /// beyond the row, and what is carried.
  using Turn = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::Value, llvm::ArrayRef<mlir::Value>, mlir::ValueRange)>;
  /// Goes through the logits of a row from column `from`, a multiple of a
  /// block, to `to`; only the last call may end within a block.
  llvm::SmallVector<mlir::Value> foldBlocks(mlir::Value row, mlir::Value from,
                                            mlir::Value to,
                                            mlir::ValueRange init, Turn turn);
  /// Goes through all logits of a row.
  llvm::SmallVector<mlir::Value> foldRow(mlir::Value row, mlir::ValueRange init,
                                         Turn turn);

  /// The largest logit of a row, and the first place of it. The logit is NaN if
  /// there is a NaN; without a logit above minus infinity, that is the largest.
  struct Largest {
    mlir::Value logit, token;
  };
  Largest findLargest(mlir::Value row);

  /// Tokens that may be drawn, in order of their numbers. Up to the next
  /// multiple of a block, further ones have weight 0.
  struct Candidates {
    mlir::Value logits, weights, numbers;
  };
  /// Memory for all tokens of the row; `capacity` is what `getCapacity` gave
  /// outside parallel loops.
  mlir::Value getCapacity();
  Candidates allocateCandidates(mlir::Value capacity);
  /// All tokens, with weights `2^((logit - largest) * scale)`.
  void fill(const Candidates &all, mlir::Value row, mlir::Value largest,
            mlir::Value scale);

  /// How many of the first `count` candidates have a logit of `least` or more
  /// (i64), and the sum of their weights.
  struct Measure {
    mlir::Value count, mass;
  };
  Measure measure(const Candidates &all, mlir::Value count, mlir::Value least);
  /// The sum of the weights of candidates `from` to `to`, multiples of a block.
  mlir::Value sumWeights(const Candidates &all, mlir::Value from,
                         mlir::Value to);
  /// Keeps, of the first `count` candidates, those whose entry in `keys` is
  /// above `bound`, and the first `ties` (i64) of those where it is equal.
  /// Gives how many there are now.
  mlir::Value keep(const Candidates &all, mlir::Value count, mlir::Value keys,
                   mlir::Value bound, mlir::Value ties);

private:
  /// Some lane.
  mlir::Value any(mlir::Value mask);
};

/// Emit what `op` computes, before it, with registers of `vectorBits` bits.
void emitSampleTokens(LoopSampleTokensOp op, mlir::OpBuilder &builder,
                      int64_t vectorBits);
void emitFilterLogits(LoopFilterLogitsOp op, mlir::OpBuilder &builder,
                      int64_t vectorBits);

} // namespace kvern

#endif // KVERN_LIB_CODEGEN_SAMPLINGBUILDER_H
