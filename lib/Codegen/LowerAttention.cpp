// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lowers attention and rotary positions on buffers to loops over vectors.
#include "lib/Codegen/AttentionBuilder.h"
#include "lib/Codegen/Kernel.h"
#include "lib/Codegen/LowerRope.h"
#include "lib/Codegen/Passes.h"

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

/// Few rows in chunks of keys, which run in parallel; then, row by row, the
/// chunks are combined in their order: with m the largest maximum, the result
/// is sum(2^(m_c - m) sums_c) / sum(2^(m_c - m) total_c).
static void emitChunks(AttentionBuilder &b) {
  const AttentionBlocking &blocking = b.blocking;
  Value batch = b.getSizes()[0], keys = b.getSizes()[2];
  Value chunks =
      b.max(b.div(b.add(keys, blocking.chunkKeys - 1), blocking.chunkKeys),
            b.index(1));
  Value kvHeads = b.index(b.heads / b.group);
  AttentionBuilder::Rows layout =
      b.describeRows(blocking.fewRows, blocking.streamedKeys);
  int64_t stateSize = layout.stateSize();
  Value states = b.mul(b.mul(b.mul(batch, kvHeads), chunks), stateSize);
  Value state = b.allocate(states);
  auto stateOf = [&](ValueRange ids, Value chunk) {
    Value place = b.add(b.mul(ids[0], kvHeads), ids[1]);
    return b.mul(b.add(b.mul(place, chunks), chunk), stateSize);
  };

  b.parallel({batch, kvHeads, chunks}, [&](ValueRange ids) {
    Sequence sequence = b.getSequence(ids[0], ids[1]);
    Value from = b.mul(ids[2], blocking.chunkKeys);
    Value withSinks = b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::eq,
                                                    ids[2], b.index(0));
    emitFewRows(
        b, sequence, from, b.add(from, blocking.chunkKeys),
        [&](const AttentionBuilder::Rows &) {
          return std::make_pair(state, stateOf(ids, ids[2]));
        },
        withSinks);
  });

  b.parallel({batch, kvHeads}, [&](ValueRange ids) {
    Sequence sequence = b.getSequence(ids[0], ids[1]);
    auto rowsOf = [&](Value chunk) {
      AttentionBuilder::Rows rows = layout;
      rows.state = state;
      rows.stateAt = stateOf(ids, chunk);
      return rows;
    };
    Value zero = b.index(0), one = b.index(1);
    b.loop(zero, b.countRows(sequence), 1, [&](Value row) {
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
      b.finishRow(sequence, row, carried, total);
    });
  });
}

/// The number of rows is tested at run time if it has to be.
static void emitBatched(AttentionBuilder &b) {
  Value batch = b.getSizes()[0], kvHeads = b.index(b.heads / b.group);
  Value count = b.mul(b.getSizes()[1], b.group);
  b.when(
      b.less(b.index(b.blocking.fewRows), count),
      [&] {
        int64_t size = b.blocking.blockRows;
        Value blocks = b.div(b.add(count, size - 1), size);
        b.parallel({batch, kvHeads, blocks}, [&](ValueRange ids) {
          Sequence sequence = b.getSequence(ids[0], ids[1]);
          emitRowBlock(b, sequence, b.mul(ids[2], size));
        });
      },
      [&] { emitChunks(b); });
}

static void emitRagged(AttentionBuilder &b) {
  Value offsets = b.op.getQOffsets();
  Value total = b.sizeOf(b.op.getQ(), 0);
  Value count = b.add(b.sizeOf(offsets, 0), -1);
  b.parallel({count, b.index(b.heads / b.group)}, [&](ValueRange ids) {
    Sequence sequence = b.getSequence(ids[0], ids[1]);
    Value rows = b.countRows(sequence);
    b.when(
        b.less(b.index(b.blocking.fewRows), rows),
        [&] {
          b.loop(b.index(0), rows, b.blocking.blockRows,
                 [&](Value first) { emitRowBlock(b, sequence, first); });
        },
        [&] {
          AttentionBuilder::Rows few = emitFewRows(
              b, sequence, b.index(0), sequence.keys,
              [&](const AttentionBuilder::Rows &rows) {
                return std::make_pair(b.allocate(b.index(rows.stateSize())),
                                      b.index(0));
              });
          b.loop(b.index(0), rows, 1,
                 [&](Value row) { b.finishRow(sequence, few, row); });
        });
  });
  // Rows of no sequence.
  auto bound = [&](Value at) -> Value {
    return b.getOffset(offsets, at, total);
  };
  auto clear = [&](Value from, Value to) {
    SmallVector<Value> none(llvm::divideCeil(b.valueDepth, b.lanes),
                            b.splat(0.0));
    b.loop(from, to, 1, [&](Value row) {
      b.loop(b.index(0), b.index(b.heads), 1,
             [&](Value head) { b.storeResult(none, {row, head}); });
    });
  };
  clear(b.index(0), bound(b.index(0)));
  clear(bound(count), total);
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
      if (isa<LoopAttentionOp, LoopRopeOp>(op)) {
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
      } else {
        AttentionBuilder b(cast<LoopAttentionOp>(op), builder,
                           {vectorBits, vectorRegisters});
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
