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

/// Few rows in chunks of keys, which run in parallel; then, head by head, the
/// chunks are combined in their order: with m the largest maximum, the result
/// is sum(2^(m_c - m) sums_c) / sum(2^(m_c - m) total_c).
static void emitChunks(AttentionBuilder &b) {
  const AttentionBlocking &blocking = b.blocking;
  SmallVector<Value> sizes = b.getSizes();
  Value chunks =
      b.max(b.div(b.add(sizes[2], blocking.chunkKeys - 1), blocking.chunkKeys),
            b.index(1));
  AttentionBuilder::Rows layout = b.describeRows(blocking.streamedKeys);
  Value rowCount = b.mul(sizes[1], b.group);
  Value stateSize = b.mul(rowCount, b.heads / b.group * layout.stateStride);
  // Nothing for many rows, which do not get here.
  Value many = b.less(b.index(blocking.fewRows), rowCount);
  Value states = b.mul(b.mul(sizes[0], chunks), stateSize);
  Value state =
      b.allocate(b.createOrFold<arith::SelectOp>(many, b.index(0), states));
  auto stateOf = [&](Value batch, Value chunk) {
    return b.mul(b.add(b.mul(batch, chunks), chunk), stateSize);
  };

  b.parallel({sizes[0], chunks}, [&](ValueRange ids) {
    Value from = b.mul(ids[1], blocking.chunkKeys);
    Value withSinks = b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::eq,
                                                    ids[1], b.index(0));
    emitFewRows(b, b.getSequence(ids[0]), from, b.add(from, blocking.chunkKeys),
                state, stateOf(ids[0], ids[1]), withSinks);
  });

  b.parallel({sizes[0], b.countHeads()}, [&](ValueRange ids) {
    Sequence sequence = b.getSequence(ids[0]);
    auto rowsOf = [&](Value chunk) {
      AttentionBuilder::Rows rows = layout;
      rows.base = b.mul(ids[1], rowCount);
      rows.state = state;
      rows.stateAt = stateOf(ids[0], chunk);
      return rows;
    };
    Value zero = b.index(0), one = b.index(1);
    b.loop(zero, rowCount, 1, [&](Value row) {
      auto maximumOf = [&](Value chunk) {
        return b.load(state, b.maximumAt(rowsOf(chunk), row));
      };
      Value largest =
          b.loop(one, chunks, 1, maximumOf(zero),
                 [&](Value chunk, ValueRange carried) -> SmallVector<Value> {
                   return {b.maximum(maximumOf(chunk), carried[0])};
                 })[0];
      Value shift = b.finiteOrZero(largest);
      int64_t vectors = layout.sumStride / b.lanes;
      SmallVector<Value> carried(vectors, b.splat(0.0));
      carried.push_back(b.constant(0.0));
      carried =
          b.loop(zero, chunks, 1, carried, [&](Value chunk, ValueRange before) {
            AttentionBuilder::Rows rows = rowsOf(chunk);
            Value weight = b.exp2(arith::SubFOp::create(
                b, b.load(state, b.maximumAt(rows, row)), shift));
            SmallVector<Value> next;
            for (int64_t v = 0; v < vectors; ++v) {
              Value at = b.add(b.sumAt(rows, row), v * b.lanes);
              next.push_back(b.multiplyAdd(b.splat(weight),
                                           b.loadVector(state, at), before[v]));
            }
            next.push_back(b.multiplyAdd(
                weight, b.load(state, b.totalAt(rows, row)), before.back()));
            return next;
          });
      Value total = carried.pop_back_val();
      b.finishRow(sequence, ids[1], row, carried, total);
    });
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

/// Sequences of few rows, all heads of each; then those of many, head by head.
static void emitRagged(AttentionBuilder &b) {
  Value offsets = b.op.getQOffsets();
  Value total = b.sizeOf(b.op.getQ(), 0);
  Value count = b.add(b.sizeOf(offsets, 0), -1);
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
        rows.base = b.mul(kvHead, rowCount);
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
  // Rows of no sequence.
  SmallVector<Value> none(llvm::divideCeil(b.valueDepth, b.lanes),
                          b.splat(0.0));
  auto clear = [&](Value from, Value to) {
    b.loop(from, to, 1, [&](Value row) {
      b.loop(b.index(0), b.index(b.heads), 1,
             [&](Value head) { b.storeResult(none, {row, head}); });
    });
  };
  clear(b.index(0), b.getOffset(offsets, b.index(0), total));
  clear(b.getOffset(offsets, count, total), total);
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
      for (Value operand : op->getOperands()) {
        auto type = dyn_cast<MemRefType>(operand.getType());
        if (operand.getType().isIndex()) {
          continue;
        }
        if (!type || !type.isLastDimUnitStride()) {
          op->emitOpError("expected memrefs whose last axis is contiguous, but "
                          "got ")
              << operand.getType();
          return signalPassFailure();
        }
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
        if (b.op.getQOffsets()) {
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
