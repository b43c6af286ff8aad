// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Attention of many rows, as in T. Dao et al., "FlashAttention" (2022).
//
// For one block of rows of a sequence:
//   copy the queries
//   for each block of keys that one of them sees:
//     pack the keys as [panel][depth][two vectors of keys]
//     pack the values as [panel][key][two vectors of values]
//     scores = queries * keys, panel by panel, for rows that see the panel
//     weights = softmax of the scores
//     sums = factor * sums + weights * values, panel by panel
//   write sums / total
#include "lib/Codegen/AttentionBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace kvern;

/// Products that a register tile sums between two tests of its loop; both
/// packed operands are zero up to the next multiple.
static constexpr int64_t kUnroll = 4;

namespace {
class BlockEmitter {
public:
  BlockEmitter(AttentionBuilder &b, const Sequence &sequence, Value kvHead,
               Value first)
      : b(b), sequence(sequence), lanes(b.lanes), width(2 * b.lanes),
        paddedDepth(llvm::alignTo(b.depth, kUnroll)),
        keys(b.blocking.blockKeys) {
    int64_t count = b.blocking.blockRows;
    rows = b.allocateRows(count, keys);
    rows.state = b.allocate(count * rows.stateStride);
    rows.kvHead = kvHead;
    rows.first = first;
    rows.count = b.min(b.sub(b.countRows(sequence), first), b.index(count));
    packedKeys = b.allocate(keys * paddedDepth);
    packedValues = b.allocate(keys * rows.sumStride);
    whole = b.roundDown(rows.count, b.blocking.tileRows);
  }

  void emit();

private:
  void packKeys();
  void packValues();
  void emitScores();
  void emitWeights();
  void emitSums();

  /// Calls `body` for the register tiles of rows from `from` on, large ones
  /// first, with their size.
  void forEachTile(Value from, llvm::function_ref<void(Value, int64_t)> body);
  /// How many keys of the block the rows up to `last` see.
  Value countSeen(Value last);
  /// sums + a * b for a tile: `a` has `stride` elements a row, `b` has
  /// `vectors` vectors.
  SmallVector<Value> emitTile(SmallVector<Value> sums, int64_t tileRows,
                              int64_t vectors, Value a, Value aAt,
                              int64_t stride, Value bMemory, Value bAt,
                              Value size);

  AttentionBuilder &b;
  const Sequence &sequence;
  const int64_t lanes, width, paddedDepth, keys;
  AttentionBuilder::Rows rows;
  Value packedKeys, packedValues;
  /// Rows in large tiles.
  Value whole;
  /// The block of keys.
  Value firstKey, count;
};
} // namespace

void BlockEmitter::emit() {
  b.startRows(rows, sequence, b.blocking.smallTileRows);
  auto query = [&](Value row) { return b.div(row, b.group); };
  Value last = b.add(b.add(rows.first, rows.count), -1);
  Value from = b.visible(sequence, query(rows.first)).from;
  Value to = b.visible(sequence, query(last)).to;
  b.loop(b.roundDown(from, keys), to, keys, [&](Value key) {
    firstKey = key;
    count = b.min(b.sub(to, key), b.index(keys));
    b.inBlock(sequence, key, keys, [&] {
      packKeys();
      packValues();
    });
    emitScores();
    emitWeights();
    emitSums();
  });
  b.loop(b.index(0), rows.count, 1,
         [&](Value row) { b.finishRow(sequence, rows, row); });
}

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

void BlockEmitter::packKeys() {
  Value last = b.add(count, -1);
  b.loop(b.index(0), count, width, [&](Value panel) {
    b.loop(b.index(0), b.index(width), lanes, [&](Value offset) {
      // Past the last key, the last one again: its scores are masked.
      SmallVector<SmallVector<Value>> addresses;
      for (int64_t i = 0; i < lanes; ++i) {
        Value key = b.min(b.add(b.add(panel, offset), i), last);
        addresses.push_back(
            sequence.k.address(b.add(firstKey, key), rows.kvHead));
      }
      Value to = b.add(b.mul(panel, paddedDepth), offset);
      b.forEachVector(b.depth, [&](Value column, int64_t length) {
        SmallVector<Value> loaded;
        for (ArrayRef<Value> address : addresses) {
          loaded.push_back(b.loadFrom(sequence.k, address, column, length));
        }
        Value place = b.add(to, b.mul(column, width));
        int64_t used = std::min<int64_t>(llvm::alignTo(length, kUnroll), lanes);
        SmallVector<Value> turned = b.transpose(loaded);
        for (int64_t i = 0; i < used; ++i) {
          b.store(turned[i], packedKeys, b.add(place, i * width));
        }
      });
      b.loop(b.index(llvm::alignTo(b.depth, lanes)), b.index(paddedDepth), 1,
             [&](Value row) {
               b.store(b.splat(0.0), packedKeys, b.add(to, b.mul(row, width)));
             });
    });
  });
}

void BlockEmitter::packValues() {
  // Columns of the panel that may be half as wide, which is the last.
  int64_t whole = rows.sumStride - rows.sumStride % width;
  auto place = [&](Value key, int64_t column) {
    int64_t panelWidth = column < whole ? width : lanes;
    int64_t panel = column - column % width;
    return b.add(b.mul(key, panelWidth), panel * keys + column - panel);
  };
  b.loop(b.index(0), count, 1, [&](Value key) {
    SmallVector<Value> address =
        sequence.v.address(b.add(firstKey, key), rows.kvHead);
    for (int64_t column = 0; column < b.valueDepth; column += lanes) {
      b.store(b.loadFrom(sequence.v, address, b.index(column),
                         std::min(lanes, b.valueDepth - column)),
              packedValues, place(key, column));
    }
  });
  b.loop(count, b.roundUp(count, kUnroll), 1, [&](Value key) {
    for (int64_t column = 0; column < b.valueDepth; column += lanes) {
      b.store(b.splat(0.0), packedValues, place(key, column));
    }
  });
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

void BlockEmitter::forEachTile(Value from,
                               llvm::function_ref<void(Value, int64_t)> body) {
  int64_t large = b.blocking.tileRows, small = b.blocking.smallTileRows;
  b.loop(b.roundDown(from, large), whole, large,
         [&](Value row) { body(row, large); });
  b.loop(b.max(b.roundDown(from, small), whole), rows.count, small,
         [&](Value row) { body(row, small); });
}

Value BlockEmitter::countSeen(Value last) {
  if (b.variant == MaskVariant::Null) {
    return count;
  }
  last = b.min(last, b.add(rows.count, -1));
  Value query = b.div(b.add(rows.first, last), b.group);
  Value seen = b.sub(b.visible(sequence, query).to, firstKey);
  return b.max(b.min(seen, count), b.index(0));
}

SmallVector<Value> BlockEmitter::emitTile(SmallVector<Value> sums,
                                          int64_t tileRows, int64_t vectors,
                                          Value a, Value aAt, int64_t stride,
                                          Value bMemory, Value bAt,
                                          Value size) {
  return b.loop(
      b.index(0), size, kUnroll, sums, [&](Value k, ValueRange carried) {
        SmallVector<Value> next(carried);
        for (int64_t u = 0; u < kUnroll; ++u) {
          Value step = b.add(k, u);
          SmallVector<Value> columns;
          for (int64_t v = 0; v < vectors; ++v) {
            columns.push_back(b.loadVector(
                bMemory,
                b.add(b.add(bAt, b.mul(step, vectors * lanes)), v * lanes)));
          }
          for (int64_t i = 0; i < tileRows; ++i) {
            Value factor =
                b.splat(b.load(a, b.add(b.add(aAt, step), i * stride)));
            for (int64_t v = 0; v < vectors; ++v) {
              Value &sum = next[i * vectors + v];
              sum = b.multiplyAdd(factor, columns[v], sum);
            }
          }
        }
        return next;
      });
}

void BlockEmitter::emitScores() {
  b.loop(b.index(0), count, width, [&](Value panel) {
    Value row = b.firstRowToSee(sequence, b.add(firstKey, panel));
    row = b.max(b.sub(row, rows.first), b.index(0));
    forEachTile(row, [&](Value row, int64_t tileRows) {
      SmallVector<Value> sums(2 * tileRows, b.splat(0.0));
      sums = emitTile(sums, tileRows, 2, rows.queries, b.queryAt(rows, row),
                      rows.queryStride, packedKeys, b.mul(panel, paddedDepth),
                      b.index(paddedDepth));
      Value at = b.add(b.scoreAt(rows, row), panel);
      for (auto [i, sum] : llvm::enumerate(sums)) {
        b.store(sum, rows.scores,
                b.add(at, i / 2 * rows.scoreStride + i % 2 * lanes));
      }
    });
  });
}

void BlockEmitter::emitWeights() {
  forEachTile(b.index(0), [&](Value row, int64_t tileRows) {
    Value last = b.add(row, tileRows - 1);
    Value seen = countSeen(last);
    auto softmax = [&](bool plain) {
      b.loop(row, b.min(b.add(row, tileRows), rows.count), 1, [&](Value row) {
        b.softmaxRow(rows, sequence, row, firstKey, seen, plain);
      });
    };
    Value plain = b.isPlain(rows, sequence, row, last, firstKey, seen);
    if (!plain) {
      softmax(false);
    } else {
      b.when(plain, [&] { softmax(true); }, [&] { softmax(false); });
    }
  });
}

void BlockEmitter::emitSums() {
  auto emitPanels = [&](Value from, Value to, int64_t vectors) {
    int64_t panelWidth = vectors * lanes;
    b.loop(from, to, panelWidth, [&](Value panel) {
      forEachTile(b.index(0), [&](Value row, int64_t tileRows) {
        Value seen = countSeen(b.add(row, tileRows - 1));
        Value at = b.add(b.sumAt(rows, row), panel);
        SmallVector<Value> sums, places;
        for (int64_t i = 0; i < tileRows; ++i) {
          Value factor =
              b.splat(b.load(rows.factor, b.factorAt(rows, b.add(row, i))));
          for (int64_t v = 0; v < vectors; ++v) {
            places.push_back(b.add(at, i * rows.stateStride + v * lanes));
            sums.push_back(
                b.multiply(factor, b.loadVector(rows.state, places.back())));
          }
        }
        sums = emitTile(sums, tileRows, vectors, rows.scores,
                        b.scoreAt(rows, row), rows.scoreStride, packedValues,
                        b.mul(panel, keys), b.roundUp(seen, kUnroll));
        for (auto [sum, place] : llvm::zip(sums, places)) {
          b.store(sum, rows.state, place);
        }
      });
    });
  };
  int64_t whole = rows.sumStride - rows.sumStride % width;
  emitPanels(b.index(0), b.index(whole), 2);
  if (whole != rows.sumStride) {
    emitPanels(b.index(whole), b.index(rows.sumStride), 1);
  }
}

void kvern::emitRowBlock(AttentionBuilder &b, const Sequence &sequence,
                         Value kvHead, Value first) {
  BlockEmitter(b, sequence, kvHead, first).emit();
}
