// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the lowerings of attention share: sequences, masks, softmax.
//
// For one sequence and one head of keys and values, the rows of the problem are
// the pairs (query, head of the group) in that order: row r is query
// r / group and head r mod group, so that each key is read once for the group.
#ifndef KVERN_LIB_CODEGEN_ATTENTIONBUILDER_H
#define KVERN_LIB_CODEGEN_ATTENTIONBUILDER_H

#include "dialect/ops/Attention.h"
#include "lib/Codegen/RowBuilder.h"

#include <limits>

namespace kvern {

/// Scores and their maxima are to base 2, with this factor.
inline constexpr double kLog2E = 1.44269504088896340736;
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// What of the machine the lowering depends on.
struct AttentionTarget {
  int64_t vectorBits = 256;
  int64_t vectorRegisters = 16;
  int64_t l2Bytes = 512 * 1024;
};

/// Sizes of register tiles and of blocks, in elements.
struct AttentionBlocking {
  explicit AttentionBlocking(const AttentionTarget &target);

  /// Rows of the large and of the small register tile; both are two vectors
  /// wide.
  int64_t tileRows, smallTileRows;
  /// Rows, and keys, of a block that is packed.
  int64_t blockRows, blockKeys;
  /// Accumulators of a tile where rows are few.
  int64_t accumulators;
  /// Rows of a head of keys up to which keys are streamed, not packed.
  int64_t fewRows = 16;
  /// Keys of a streamed block, and of a chunk that is a task of its own.
  int64_t streamedKeys = 64, chunkKeys = 256;
  /// The same where keys are in pages: there are chunks for the longest of all
  /// sequences.
  int64_t pagedKeys = 512;
};

/// Rows of keys or values that belong to one sequence. A source with other
/// addresses, such as pages, is another `address`.
struct RowSource {
  /// The last axis is the row's elements.
  mlir::Value memory;
  /// Their factors, with the same axes; may be null.
  mlir::Value scales;
  /// All indices but the last of a row, given its number and its head.
  std::function<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::Value)>
      address;
  /// Called in front of code for a block of rows from a multiple of its size
  /// on, with the first row and that size; what `address` gives within `body`
  /// is for rows of that block.
  std::function<void(mlir::Value, int64_t, llvm::function_ref<void()>)>
      inBlock =
          [](mlir::Value, int64_t, llvm::function_ref<void()> body) { body(); };
};

/// One sequence.
struct Sequence {
  mlir::Value batch;
  /// How many there are.
  mlir::Value queries, keys;
  RowSource k, v;
  /// Its first query in q and the result; null when they have a batch axis.
  mlir::Value firstQuery;
};

/// The keys that a query sees: from `from` to below `to`, within the sequence.
struct KeyRange {
  mlir::Value from, to;
};

/// Emits code for one attention on buffers.
class AttentionBuilder : public RowBuilder {
public:
  AttentionBuilder(LoopAttentionOp op, mlir::OpBuilder &builder,
                   const AttentionTarget &target);

  LoopAttentionOp op;
  const AttentionBlocking blocking;
  const MaskVariant variant;
  /// Query heads, those that share a head of keys, sizes of a row.
  const int64_t heads, group, depth, valueDepth;

  /// The sequence of `batch`, or with offsets the one of that number.
  Sequence getSequence(mlir::Value batch);
  /// Batch, queries and keys, where there are no offsets.
  llvm::SmallVector<mlir::Value> getSizes();
  /// `length` elements of a row of keys or values, as `loadRow` gives them.
  mlir::Value loadFrom(const RowSource &source,
                       llvm::ArrayRef<mlir::Value> address, mlir::Value column,
                       int64_t length);
  /// Tokens of a page, where keys are in pages.
  int64_t pageSize();
  /// The most keys that a sequence in pages can have.
  mlir::Value countPlaces();
  /// Rows of a sequence: its queries times the heads of a group.
  mlir::Value countRows(const Sequence &sequence) {
    return mul(sequence.queries, group);
  }
  mlir::Value countHeads() { return index(heads / group); }
  /// The query head of a row.
  mlir::Value getHead(mlir::Value kvHead, mlir::Value row);
  /// The indices, but the last, of a row in q or in the result.
  llvm::SmallVector<mlir::Value>
  rowAddress(const Sequence &sequence, mlir::Value kvHead, mlir::Value row);
  KeyRange visible(const Sequence &sequence, mlir::Value query);
  /// Emits `body` for a block of `size` keys that begins at a multiple of it.
  void inBlock(const Sequence &sequence, mlir::Value firstKey, int64_t size,
               llvm::function_ref<void()> body);
  /// A row such that no row before it sees key `key`.
  mlir::Value firstRowToSee(const Sequence &sequence, mlir::Value key);

  /// Temporaries of `count` rows of a head, the first of which is row `first`
  /// of the sequence and row `base` of the memory.
  struct Rows {
    mlir::Value kvHead, first, count, base;
    /// The queries, scaled; scores, then weights.
    mlir::Value queries, scores;
    int64_t queryStride, scoreStride;
    /// From `stateAt` on, for each row: weighted sums, the maximum of the
    /// scores, and the sum of the weights.
    mlir::Value state, stateAt;
    int64_t sumStride, stateStride;
    /// What is due to the sums so far.
    mlir::Value factor;
  };
  /// The sizes, without memory.
  Rows describeRows(int64_t keys);
  /// Without `state`, which may be part of other memory.
  Rows allocateRows(int64_t rows, int64_t keys);
  /// Copies the queries, and starts their sums; rows up to the next multiple of
  /// `padding` are zero. Sinks count where `withSinks` holds, or is null.
  void startRows(const Rows &rows, const Sequence &sequence, int64_t padding,
                 mlir::Value withSinks = nullptr);
  mlir::Value queryAt(const Rows &rows, mlir::Value row);
  mlir::Value scoreAt(const Rows &rows, mlir::Value row);
  mlir::Value factorAt(const Rows &rows, mlir::Value row);
  mlir::Value sumAt(const Rows &rows, mlir::Value row);
  mlir::Value maximumAt(const Rows &rows, mlir::Value row);
  mlir::Value totalAt(const Rows &rows, mlir::Value row);

  /// How far apart the rows of two heads of keys are where all heads are
  /// computed together.
  mlir::Value strideOfHeads(mlir::Value rowCount) {
    return roundUp(rowCount, 4);
  }
  /// Scores are computed and turned into weights up to a multiple of this.
  int64_t scorePadding() const { return std::max<int64_t>(lanes, 4); }
  /// Whether rows `first` to `last` see all of these keys and nothing else is
  /// done to scores; null when that is never so.
  mlir::Value isPlain(const Rows &rows, const Sequence &sequence,
                      mlir::Value first, mlir::Value last, mlir::Value firstKey,
                      mlir::Value count);
  /// Turns the scores of a row against `count` keys from `firstKey` on into
  /// weights, padded with 0, and brings maximum, total and factor up to date.
  void softmaxRow(const Rows &rows, const Sequence &sequence, mlir::Value row,
                  mlir::Value firstKey, mlir::Value count, bool plain);
  /// `maximum`, or 0 while it is minus infinity.
  mlir::Value finiteOrZero(mlir::Value maximum);
  /// Writes `sums`, the registers of a row, over `total`; 0 over 0 is 0.
  void finishRow(const Sequence &sequence, mlir::Value kvHead, mlir::Value row,
                 llvm::ArrayRef<mlir::Value> sums, mlir::Value total);
  /// The same with what is in memory; `row` counts from `rows.first`.
  void finishRow(const Sequence &sequence, const Rows &rows, mlir::Value row);
  void storeResult(llvm::ArrayRef<mlir::Value> values,
                   llvm::ArrayRef<mlir::Value> address);

private:
  /// Keys, or values, of a sequence in pages.
  RowSource getPages(const Sequence &sequence, mlir::Value layer, int64_t side);
  mlir::Value addMask(mlir::Value scores, const Sequence &sequence,
                      mlir::Value head, mlir::Value query, mlir::Value key,
                      mlir::Value length);
};

/// Emits the computation for many rows of a head: takes `blockRows` rows from
/// `first` on, and packs keys and values block by block.
void emitRowBlock(AttentionBuilder &b, const Sequence &sequence,
                  mlir::Value kvHead, mlir::Value first);

/// Emits the computation for all rows of a sequence of latent rows and one head
/// of queries: makes its keys and values first. `places` bounds how many.
void emitLatentRows(AttentionBuilder &b, const Sequence &sequence,
                    mlir::Value head, mlir::Value places);

/// Emits the computation for few rows, up to `fewRows` a head, of all heads,
/// where reading keys and values is what it costs: keys from `from` to `to`,
/// without the division by the total. The state is in `state` from `stateAt`
/// on, head by head.
void emitFewRows(AttentionBuilder &b, const Sequence &sequence,
                 mlir::Value from, mlir::Value to, mlir::Value state,
                 mlir::Value stateAt, mlir::Value withSinks = nullptr);

} // namespace kvern

#endif // KVERN_LIB_CODEGEN_ATTENTIONBUILDER_H
