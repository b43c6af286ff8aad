// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Attention of few rows: keys and values are read once, as they are stored.
//
// For each block of keys:
//   scores: the dot products of up to four rows with several keys at a time,
//   one
//     register of sums each, which are then added up lane by lane together
//   weights = softmax of the scores
//   sums = factor * sums + weights * values, for up to four rows and as many
//     vectors of a value as there are registers for
#include "lib/Codegen/AttentionBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace kvern;

namespace {
class StreamEmitter {
public:
  StreamEmitter(AttentionBuilder &b, const Sequence &sequence,
                const AttentionBuilder::Rows &rows)
      : b(b), sequence(sequence), rows(rows), lanes(b.lanes),
        tileRows(std::min<int64_t>(4, lanes)) {
    whole = b.roundDown(rows.count, tileRows);
  }

  void emit(Value from, Value to);

private:
  void emitScores();
  void emitScoreTile(Value row, int64_t height, Value key);
  void emitWeights();
  void emitSums();
  void emitSumTile(Value row, int64_t height, int64_t column, int64_t vectors);
  /// Calls `body` for the tiles of rows, with their size.
  void forEachTile(llvm::function_ref<void(Value, int64_t)> body);

  AttentionBuilder &b;
  const Sequence &sequence;
  const AttentionBuilder::Rows &rows;
  const int64_t lanes, tileRows;
  /// Rows in large tiles.
  Value whole;
  /// The block of keys.
  Value firstKey, count;
};
} // namespace

void StreamEmitter::forEachTile(llvm::function_ref<void(Value, int64_t)> body) {
  b.loop(b.index(0), whole, tileRows, [&](Value row) { body(row, tileRows); });
  b.loop(whole, rows.count, 1, [&](Value row) { body(row, 1); });
}

void StreamEmitter::emit(Value from, Value to) {
  int64_t block = b.blocking.streamedKeys;
  b.loop(from, to, block, [&](Value key) {
    firstKey = key;
    count = b.min(b.sub(to, key), b.index(block));
    emitScores();
    emitWeights();
    emitSums();
  });
}

void StreamEmitter::emitScores() {
  b.loop(b.index(0), count, lanes, [&](Value group) {
    forEachTile([&](Value row, int64_t height) {
      b.loop(group, b.add(group, lanes), lanes / height,
             [&](Value key) { emitScoreTile(row, height, key); });
    });
  });
}

/// `height` rows with as many keys as give a register of scores.
void StreamEmitter::emitScoreTile(Value row, int64_t height, Value key) {
  int64_t width = lanes / height;
  Value last = b.add(count, -1);
  SmallVector<SmallVector<Value>> addresses;
  for (int64_t i = 0; i < width; ++i) {
    // Past the last key, the last one again: its scores are masked.
    Value place = b.min(b.add(key, i), last);
    addresses.push_back(sequence.k.address(b.add(firstKey, place)));
  }
  auto step = [&](Value column, int64_t length, ValueRange carried) {
    SmallVector<Value> sums(carried), queries;
    for (int64_t r = 0; r < height; ++r) {
      Value at = b.mul(b.add(row, r), rows.queryStride);
      queries.push_back(b.loadVector(rows.queries, b.add(at, column)));
    }
    for (int64_t i = 0; i < width; ++i) {
      Value loaded = b.loadRow(sequence.k.memory, addresses[i], column, length);
      for (int64_t r = 0; r < height; ++r) {
        Value &sum = sums[r * width + i];
        sum = b.multiplyAdd(queries[r], loaded, sum);
      }
    }
    return sums;
  };
  SmallVector<Value> sums(lanes, b.splat(0.0));
  int64_t even = b.depth - b.depth % lanes;
  sums = b.loop(b.index(0), b.index(even), lanes, sums,
                [&](Value column, ValueRange carried) {
                  return step(column, lanes, carried);
                });
  if (even != b.depth) {
    sums = step(b.index(even), b.depth - even, sums);
  }
  Value scores = b.sumEach(sums);
  for (int64_t r = 0; r < height; ++r) {
    Value part = scores;
    if (height != 1) {
      part = vector::ExtractStridedSliceOp::create(
          b, scores, ArrayRef<int64_t>{r * width}, ArrayRef<int64_t>{width},
          ArrayRef<int64_t>{1});
    }
    Value at = b.mul(b.add(row, r), rows.scoreStride);
    b.store(part, rows.scores, b.add(at, key));
  }
}

void StreamEmitter::emitWeights() {
  b.loop(b.index(0), rows.count, 1, [&](Value row) {
    auto softmax = [&](bool plain) {
      b.softmaxRow(rows, sequence, row, firstKey, count, plain);
    };
    Value plain = b.isPlain(rows, sequence, row, row, firstKey, count);
    if (!plain) {
      softmax(false);
    } else {
      b.when(plain, [&] { softmax(true); }, [&] { softmax(false); });
    }
  });
}

void StreamEmitter::emitSums() {
  int64_t vectors = rows.sumStride / lanes;
  forEachTile([&](Value row, int64_t height) {
    int64_t most = b.blocking.accumulators / height;
    for (int64_t first = 0; first < vectors; first += most) {
      emitSumTile(row, height, first * lanes, std::min(most, vectors - first));
    }
  });
}

void StreamEmitter::emitSumTile(Value row, int64_t height, int64_t column,
                                int64_t vectors) {
  SmallVector<Value> sums, places;
  for (int64_t r = 0; r < height; ++r) {
    Value at = b.add(b.sumAt(rows, b.add(row, r)), column);
    Value factor = b.splat(b.load(rows.factor, b.add(row, r)));
    for (int64_t v = 0; v < vectors; ++v) {
      places.push_back(b.add(at, v * lanes));
      sums.push_back(
          b.multiply(factor, b.loadVector(rows.state, places.back())));
    }
  }
  sums = b.loop(b.index(0), count, 1, sums, [&](Value key, ValueRange carried) {
    SmallVector<Value> next(carried), loaded;
    SmallVector<Value> address = sequence.v.address(b.add(firstKey, key));
    for (int64_t v = 0; v < vectors; ++v) {
      int64_t from = column + v * lanes;
      loaded.push_back(b.loadRow(sequence.v.memory, address, b.index(from),
                                 std::min(lanes, b.valueDepth - from)));
    }
    for (int64_t r = 0; r < height; ++r) {
      Value at = b.mul(b.add(row, r), rows.scoreStride);
      Value weight = b.splat(b.load(rows.scores, b.add(at, key)));
      for (int64_t v = 0; v < vectors; ++v) {
        Value &sum = next[r * vectors + v];
        sum = b.multiplyAdd(weight, loaded[v], sum);
      }
    }
    return next;
  });
  for (auto [sum, place] : llvm::zip(sums, places)) {
    b.store(sum, rows.state, place);
  }
}

AttentionBuilder::Rows kvern::emitFewRows(
    AttentionBuilder &b, const Sequence &sequence, Value from, Value to,
    llvm::function_ref<std::pair<Value, Value>(const AttentionBuilder::Rows &)>
        getState,
    Value withSinks) {
  AttentionBuilder::Rows rows =
      b.allocateRows(b.blocking.fewRows, b.blocking.streamedKeys);
  rows.first = b.index(0);
  rows.count = b.countRows(sequence);
  std::tie(rows.state, rows.stateAt) = getState(rows);
  b.startRows(rows, sequence, /*padding=*/1, withSinks);
  Value last = b.div(b.add(rows.count, -1), b.group);
  from = b.max(from, b.visible(sequence, b.index(0)).from);
  to = b.min(to, b.visible(sequence, last).to);
  StreamEmitter(b, sequence, rows).emit(from, to);
  return rows;
}
