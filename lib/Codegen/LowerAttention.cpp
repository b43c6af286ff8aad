// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lowers attention and rotary positions on buffers to loops over vectors.
#include "lib/Codegen/AttentionBuilder.h"
#include "lib/Codegen/Kernel.h"
#include "lib/Codegen/LowerKVCache.h"
#include "lib/Codegen/LowerRope.h"
#include "lib/Codegen/Passes.h"
#include "lib/Codegen/Schedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace kvern {
#define GEN_PASS_DEF_LOWERATTENTION
#include "lib/Codegen/Passes.h.inc"
} // namespace kvern

using namespace mlir;
using namespace kvern;

namespace {
/// The states of rows that are computed chunk by chunk of keys.
struct ChunkStates {
  AttentionBuilder &b;
  AttentionBuilder::Rows layout;
  Value memory;
  /// Elements of a sequence's rows in one chunk, and its chunks.
  Value size, chunks;

  Value stateOf(Value batch, Value chunk) const {
    return b.mul(b.add(b.mul(batch, chunks), chunk), size);
  }
};
} // namespace

/// Combines the first `used` chunks of a head of keys, in their order: with m
/// the largest maximum, the result is
/// sum(2^(m_c - m) sums_c) / sum(2^(m_c - m) total_c).
static void combineChunks(const ChunkStates &states, const Sequence &sequence,
                          Value kvHead, Value rowCount, Value used) {
  AttentionBuilder &b = states.b;
  auto rowsOf = [&](Value chunk) {
    AttentionBuilder::Rows rows = states.layout;
    rows.base = b.mul(kvHead, b.strideOfHeads(rowCount));
    rows.state = states.memory;
    rows.stateAt = states.stateOf(sequence.batch, chunk);
    return rows;
  };
  Value zero = b.index(0), one = b.index(1);
  b.loop(zero, rowCount, 1, [&](Value row) {
    auto maximumOf = [&](Value chunk) {
      return b.load(states.memory, b.maximumAt(rowsOf(chunk), row));
    };
    Value largest =
        b.loop(one, used, 1, maximumOf(zero),
               [&](Value chunk, ValueRange carried) -> SmallVector<Value> {
                 return {b.maximum(maximumOf(chunk), carried[0])};
               })[0];
    Value shift = b.finiteOrZero(largest);
    int64_t vectors = states.layout.sumStride / b.lanes;
    SmallVector<Value> carried(vectors, b.splat(0.0));
    carried.push_back(b.constant(0.0));
    carried =
        b.loop(zero, used, 1, carried, [&](Value chunk, ValueRange before) {
          AttentionBuilder::Rows rows = rowsOf(chunk);
          Value maximum = b.load(states.memory, b.maximumAt(rows, row));
          Value weight = b.exp2(arith::SubFOp::create(b, maximum, shift));
          SmallVector<Value> next;
          for (int64_t v = 0; v < vectors; ++v) {
            Value at = b.add(b.sumAt(rows, row), v * b.lanes);
            Value sums = b.loadVector(states.memory, at);
            next.push_back(b.multiplyAdd(b.splat(weight), sums, before[v]));
          }
          Value total = b.load(states.memory, b.totalAt(rows, row));
          next.push_back(b.multiplyAdd(weight, total, before.back()));
          return next;
        });
    Value total = carried.pop_back_val();
    b.finishRow(sequence, kvHead, row, carried, total);
  });
}

/// Few rows in chunks of keys, which run in parallel.
static void emitChunks(AttentionBuilder &b) {
  const AttentionBlocking &blocking = b.blocking;
  SmallVector<Value> sizes = b.getSizes();
  Value chunks =
      b.max(b.div(b.add(sizes[2], blocking.chunkKeys - 1), blocking.chunkKeys),
            b.index(1));
  AttentionBuilder::Rows layout = b.describeRows(blocking.streamedKeys);
  Value rowCount = b.mul(sizes[1], b.group);
  Value stateSize =
      b.mul(b.strideOfHeads(rowCount), b.heads / b.group * layout.stateStride);
  // Nothing for many rows, which do not get here.
  Value many = b.less(b.index(blocking.fewRows), rowCount);
  Value elements = b.mul(b.mul(sizes[0], chunks), stateSize);
  elements = b.createOrFold<arith::SelectOp>(many, b.index(0), elements);
  ChunkStates states{b, layout, b.allocate(elements), stateSize, chunks};

  b.parallel({sizes[0], chunks}, [&](ValueRange ids) {
    Value from = b.mul(ids[1], blocking.chunkKeys);
    Value withSinks = b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::eq,
                                                    ids[1], b.index(0));
    emitFewRows(b, b.getSequence(ids[0]), from, b.add(from, blocking.chunkKeys),
                states.memory, states.stateOf(ids[0], ids[1]), withSinks);
  });
  b.parallel({sizes[0], b.countHeads()}, [&](ValueRange ids) {
    combineChunks(states, b.getSequence(ids[0]), ids[1], rowCount, chunks);
  });
}

static void noteSchedule(const AttentionBuilder &b) {
  const AttentionBlocking &blocking = b.blocking;
  kvern::noteSchedule(b.op,
                      "attention in blocks of " + Twine(blocking.blockRows) +
                          " rows and " + Twine(blocking.blockKeys) +
                          " keys, packed; up to " + Twine(blocking.fewRows) +
                          " rows in chunks of " + Twine(blocking.chunkKeys) +
                          " keys, streamed");
}

/// The number of rows is tested at run time if it has to be.
static void emitBatched(AttentionBuilder &b) {
  SmallVector<Value> sizes = b.getSizes();
  Value rows = b.mul(sizes[1], b.group);
  b.when(
      b.less(b.index(b.blocking.fewRows), rows),
      [&] {
        int64_t size = b.blocking.blockRows;
        Value blocks = b.div(b.add(rows, size - 1), size);
        b.parallel({sizes[0], b.countHeads(), blocks}, [&](ValueRange ids) {
          emitRowBlock(b, b.getSequence(ids[0]), ids[1], b.mul(ids[2], size));
        });
      },
      [&] { emitChunks(b); });
}

/// Zeros for rows of no sequence.
static void clearOthers(AttentionBuilder &b) {
  Value offsets = b.op.getQOffsets();
  Value total = b.sizeOf(b.op.getQ(), 0);
  Value count = b.add(b.sizeOf(offsets, 0), -1);
  SmallVector<Value> none(llvm::divideCeil(b.valueDepth, b.lanes),
                          b.splat(0.0));
  auto clear = [&](Value from, Value to) {
    b.loop(from, to, 1, [&](Value row) {
      b.loop(b.index(0), b.index(b.heads), 1,
             [&](Value head) { b.storeResult(none, {row, head}); });
    });
  };
  clear(b.index(0), b.loadIndex(offsets, b.index(0), total));
  clear(b.loadIndex(offsets, count, total), total);
}

/// Sequences of few rows, all heads of each; then those of many, head by head.
static void emitRagged(AttentionBuilder &b) {
  Value count = b.add(b.sizeOf(b.op.getQOffsets(), 0), -1);
  Value few = b.index(b.blocking.fewRows), many = b.add(few, 1);
  b.parallel({count}, [&](ValueRange ids) {
    Sequence sequence = b.getSequence(ids[0]);
    Value rowCount = b.countRows(sequence);
    AttentionBuilder::Rows rows = b.describeRows(b.blocking.streamedKeys);
    rows.state =
        b.allocate(b.heads / b.group * b.blocking.fewRows * rows.stateStride);
    rows.first = b.index(0);
    b.when(b.less(rowCount, many), [&] {
      emitFewRows(b, sequence, b.index(0), sequence.keys, rows.state,
                  b.index(0));
      b.loop(b.index(0), b.countHeads(), 1, [&](Value kvHead) {
        rows.kvHead = kvHead;
        rows.base = b.mul(kvHead, b.strideOfHeads(rowCount));
        b.loop(b.index(0), rowCount, 1,
               [&](Value row) { b.finishRow(sequence, rows, row); });
      });
    });
  });
  b.parallel({count, b.countHeads()}, [&](ValueRange ids) {
    Sequence sequence = b.getSequence(ids[0]);
    Value rowCount = b.countRows(sequence);
    b.when(b.less(few, rowCount), [&] {
      b.loop(b.index(0), rowCount, b.blocking.blockRows,
             [&](Value first) { emitRowBlock(b, sequence, ids[1], first); });
    });
  });
  clearOthers(b);
}

/// The most rows that a head of keys has in one sequence.
static Value getMostRows(AttentionBuilder &b, Value sequences) {
  Value offsets = b.op.getQOffsets(), total = b.sizeOf(b.op.getQ(), 0);
  Value most =
      b.loop(b.index(0), sequences, 1, b.index(0),
             [&](Value batch, ValueRange carried) -> SmallVector<Value> {
               auto [from, to] = b.loadSpan(offsets, batch, total);
               return {b.max(carried[0], b.sub(to, from))};
             })[0];
  return b.mul(most, b.group);
}

/// Blocks of rows of all sequences that have many, in parallel. Task t is the
/// t-th of them; there are at most (rows of all) / block + sequences.
static void emitPagedBlocks(AttentionBuilder &b, ArrayRef<Value> sizes) {
  Value few = b.index(b.blocking.fewRows), zero = b.index(0);
  int64_t size = b.blocking.blockRows;
  auto countBlocks = [&](Value rows) {
    return b.div(b.add(rows, size - 1), size);
  };
  Value tasks = b.add(countBlocks(b.mul(sizes[1], b.group)), sizes[0]);
  b.parallel({b.countHeads(), tasks}, [&](ValueRange ids) {
    Value offsets = b.op.getQOffsets(), total = b.sizeOf(b.op.getQ(), 0);
    // Blocks still to go, the sequence that has the block, and which it is.
    SmallVector<Value> found = b.loop(
        zero, sizes[0], 1, {ids[1], sizes[0], zero},
        [&](Value batch, ValueRange carried) -> SmallVector<Value> {
          auto [from, to] = b.loadSpan(offsets, batch, total);
          Value rows = b.mul(b.sub(to, from), b.group);
          Value own = b.createOrFold<arith::SelectOp>(b.less(few, rows),
                                                      countBlocks(rows), zero);
          Value open = b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::eq,
                                                     carried[1], sizes[0]);
          Value hit = arith::AndIOp::create(b, open, b.less(carried[0], own));
          Value left = b.max(b.sub(carried[0], own), zero);
          return {left, b.createOrFold<arith::SelectOp>(hit, batch, carried[1]),
                  b.createOrFold<arith::SelectOp>(hit, carried[0], carried[2])};
        });
    b.when(b.less(found[1], sizes[0]), [&] {
      emitRowBlock(b, b.getSequence(found[1]), ids[0], b.mul(found[2], size));
    });
  });
}

/// Sequences of few rows: chunks of keys in parallel, as many for each as the
/// longest can have.
static void emitPagedChunks(AttentionBuilder &b, ArrayRef<Value> sizes) {
  const AttentionBlocking &blocking = b.blocking;
  int64_t size = blocking.pagedKeys;
  auto countChunks = [&](Value keys) {
    return b.max(b.div(b.add(keys, size - 1), size), b.index(1));
  };
  AttentionBuilder::Rows layout = b.describeRows(blocking.streamedKeys);
  Value chunks = countChunks(b.countPlaces());
  Value stateSize =
      b.index(b.heads / b.group * blocking.fewRows * layout.stateStride);
  Value memory = b.allocate(b.mul(b.mul(sizes[0], chunks), stateSize));
  ChunkStates states{b, layout, memory, stateSize, chunks};
  Value many = b.index(blocking.fewRows + 1);

  b.parallel({sizes[0], chunks}, [&](ValueRange ids) {
    Sequence sequence = b.getSequence(ids[0]);
    Value used = countChunks(sequence.keys);
    Value isFew = b.less(b.countRows(sequence), many);
    Value isUsed = b.less(ids[1], used);
    b.when(arith::AndIOp::create(b, isFew, isUsed), [&] {
      Value from = b.mul(ids[1], size);
      Value withSinks = b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::eq,
                                                      ids[1], b.index(0));
      emitFewRows(b, sequence, from, b.add(from, size), memory,
                  states.stateOf(ids[0], ids[1]), withSinks);
    });
  });
  b.parallel({sizes[0], b.countHeads()}, [&](ValueRange ids) {
    Sequence sequence = b.getSequence(ids[0]);
    Value rowCount = b.countRows(sequence);
    b.when(b.less(rowCount, many), [&] {
      combineChunks(states, sequence, ids[1], rowCount,
                    countChunks(sequence.keys));
    });
  });
}

/// Keys and values are made of latent rows, for each sequence and head.
static void emitLatent(AttentionBuilder &b) {
  Value places = b.countPlaces();
  b.parallel({b.op.getSizes()[0], b.countHeads()}, [&](ValueRange ids) {
    Sequence sequence = b.getSequence(ids[0]);
    b.when(b.less(b.index(0), sequence.queries),
           [&] { emitLatentRows(b, sequence, ids[1], places); });
  });
  clearOthers(b);
}

/// A batch may have sequences of few rows, of many, or both.
static void emitPaged(AttentionBuilder &b) {
  SmallVector<Value> sizes(b.op.getSizes());
  emitPagedChunks(b, sizes);
  Value most = getMostRows(b, sizes[0]);
  b.when(b.less(b.index(b.blocking.fewRows), most),
         [&] { emitPagedBlocks(b, sizes); });
  clearOthers(b);
}

namespace {
struct LowerAttentionPass
    : kvern::impl::LowerAttentionBase<LowerAttentionPass> {
  using LowerAttentionBase::LowerAttentionBase;

  void runOnOperation() override {
    if (!isKernel(getOperation())) {
      return;
    }
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa<LoopAttentionOp, LoopRopeOp, LoopKVStoreOp>(op)) {
        ops.push_back(op);
      }
    });
    for (Operation *op : ops) {
      if (failed(checkContiguousRows(op))) {
        return signalPassFailure();
      }
      OpBuilder builder(op);
      if (auto rope = dyn_cast<LoopRopeOp>(op)) {
        emitRope(rope, builder, vectorBits);
      } else if (auto store = dyn_cast<LoopKVStoreOp>(op)) {
        emitKVStore(store, builder, vectorBits);
      } else {
        AttentionBuilder b(cast<LoopAttentionOp>(op), builder,
                           {vectorBits, vectorRegisters, l2Bytes});
        noteSchedule(b);
        if (b.op.getKvB()) {
          emitLatent(b);
        } else if (b.op.getTable()) {
          emitPaged(b);
        } else if (b.op.getQOffsets()) {
          emitRagged(b);
        } else {
          emitBatched(b);
        }
      }
      op->erase();
    }
  }
};
} // namespace
