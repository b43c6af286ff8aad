// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Attention of few rows: keys and values are read once, as they are stored.
//
// For each block of keys:
//   for each group of keys, as many as a register has lanes, and each head:
//     scores: the dot products of up to four rows with several keys at a time,
//     a register of sums each, which are then added up lane by lane together
//   weights = softmax of the scores, sums = factor * sums
//   for each group of keys and each head:
//     sums = sums + weights * values, for up to four rows and as many vectors
//     of a value as there are registers for
// Heads are inside, so that keys and values are read in the order they lie in.
#include "lib/Codegen/AttentionBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace kvern;

using Rows = AttentionBuilder::Rows;

namespace {
class StreamEmitter {
public:
  StreamEmitter(AttentionBuilder &b, const Sequence &sequence, Value state,
                Value stateAt)
      : b(b), sequence(sequence), lanes(b.lanes),
        tileRows(std::min<int64_t>(4, lanes)),
        all(b.allocateRows(b.heads / b.group * b.blocking.fewRows,
                           b.blocking.streamedKeys)) {
    all.state = state;
    all.stateAt = stateAt;
    all.first = b.index(0);
    all.count = b.countRows(sequence);
    // Three rows are computed as four.
    whole = b.roundDown(b.add(all.count, 1), tileRows);
  }

  void emit(Value from, Value to, Value withSinks);

private:
  SmallVector<Value> getAddressAhead(const RowSource &source, const Rows &rows,
                                     Value key);
  void prefetch(Value memory, ArrayRef<Value> address, Value column);
  void emitScores(const Rows &rows, Value group);
  void emitScoreTile(const Rows &rows, Value row, int64_t height, Value key);
  void emitWeights(const Rows &rows);
  void rescale(const Rows &rows, Value row);
  void emitSums(const Rows &rows, Value group);
  void emitSumTile(const Rows &rows, Value row, int64_t height, int64_t column,
                   int64_t vectors, Value group);

  void forEachHead(llvm::function_ref<void(const Rows &)> body);
  /// Calls `body` for the tiles of rows of a head, with their size.
  void forEachTile(llvm::function_ref<void(Value, int64_t)> body);

  AttentionBuilder &b;
  const Sequence &sequence;
  const int64_t lanes, tileRows;
  /// The rows of all heads, one after the other.
  Rows all;
  /// Rows of a head in large tiles, the last of which may be one of padding.
  Value whole;
  /// The block of keys.
  Value firstKey, count;
};
} // namespace

void StreamEmitter::forEachHead(llvm::function_ref<void(const Rows &)> body) {
  b.loop(b.index(0), b.countHeads(), 1, [&](Value kvHead) {
    Rows rows = all;
    rows.kvHead = kvHead;
    rows.base = b.mul(kvHead, b.strideOfHeads(all.count));
    body(rows);
  });
}

void StreamEmitter::forEachTile(llvm::function_ref<void(Value, int64_t)> body) {
  b.loop(b.index(0), whole, tileRows, [&](Value row) { body(row, tileRows); });
  Value pairs =
      b.add(whole, b.roundDown(b.max(b.sub(all.count, whole), b.index(0)), 2));
  b.loop(whole, pairs, 2, [&](Value row) { body(row, 2); });
  b.loop(pairs, all.count, 1, [&](Value row) { body(row, 1); });
}

void StreamEmitter::emit(Value from, Value to, Value withSinks) {
  forEachHead([&](const Rows &rows) {
    b.startRows(rows, sequence, /*padding=*/4, withSinks);
  });
  int64_t block = b.blocking.streamedKeys;
  b.loop(b.roundDown(from, block), to, block, [&](Value key) {
    firstKey = key;
    count = b.min(b.sub(to, key), b.index(block));
    b.inBlock(sequence, key, block, [&] {
      b.loop(b.index(0), count, lanes, [&](Value group) {
        forEachHead([&](const Rows &rows) { emitScores(rows, group); });
      });
      forEachHead([&](const Rows &rows) { emitWeights(rows); });
      b.loop(b.index(0), count, lanes, [&](Value group) {
        forEachHead([&](const Rows &rows) { emitSums(rows, group); });
      });
    });
  });
}

void StreamEmitter::emitScores(const Rows &rows, Value group) {
  forEachTile([&](Value row, int64_t height) {
    b.loop(group, b.add(group, lanes), lanes / height,
           [&](Value key) { emitScoreTile(rows, row, height, key); });
  });
}

/// The row that is read a head later: key `key` of the next head, or, after the
/// last one, of the first head in the next group of keys. Where rows share
/// keys, arithmetic keeps the machine from looking so far ahead itself.
SmallVector<Value> StreamEmitter::getAddressAhead(const RowSource &source,
                                                  const Rows &rows, Value key) {
  Value next = b.add(rows.kvHead, 1);
  Value more = b.less(next, b.countHeads());
  Value head = b.createOrFold<arith::SelectOp>(more, next, b.index(0));
  Value later = b.createOrFold<arith::SelectOp>(more, key, b.add(key, lanes));
  Value place = b.min(later, b.add(count, -1));
  return source.address(b.add(firstKey, place), head);
}

/// To the second level: rows of many heads meet in few sets of the first.
void StreamEmitter::prefetch(Value memory, ArrayRef<Value> address,
                             Value column) {
  SmallVector<Value> at(address);
  at.push_back(column);
  memref::PrefetchOp::create(b, memory, at, /*isWrite=*/false,
                             /*localityHint=*/2, /*isDataCache=*/true);
}

/// `height` rows with as many keys as give a register of scores.
void StreamEmitter::emitScoreTile(const Rows &rows, Value row, int64_t height,
                                  Value key) {
  int64_t width = lanes / height;
  Value last = b.add(count, -1);
  SmallVector<SmallVector<Value>> addresses, ahead;
  for (int64_t i = 0; i < width; ++i) {
    if (height != 1) {
      ahead.push_back(getAddressAhead(sequence.k, rows, b.add(key, i)));
    }
    // Past the last key, the last one again: its scores are masked.
    Value place = b.min(b.add(key, i), last);
    addresses.push_back(
        sequence.k.address(b.add(firstKey, place), rows.kvHead));
  }
  auto step = [&](Value column, int64_t length, ValueRange carried) {
    SmallVector<Value> sums(carried), queries;
    for (int64_t r = 0; r < height; ++r) {
      Value at = b.queryAt(rows, b.add(row, r));
      queries.push_back(b.loadVector(rows.queries, b.add(at, column)));
    }
    for (int64_t i = 0; i < width; ++i) {
      Value loaded = b.loadFrom(sequence.k, addresses[i], column, length);
      if (height != 1) {
        prefetch(sequence.k.memory, ahead[i], column);
      }
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
    b.store(part, rows.scores, b.add(b.scoreAt(rows, b.add(row, r)), key));
  }
}

void StreamEmitter::emitWeights(const Rows &rows) {
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
    rescale(rows, row);
  });
}

/// The sums are in memory; most blocks do not raise the maximum.
void StreamEmitter::rescale(const Rows &rows, Value row) {
  Value factor = b.load(rows.factor, b.factorAt(rows, row));
  Value changes = arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, factor,
                                        b.constant(1.0));
  b.when(changes, [&] {
    Value by = b.splat(factor);
    b.loop(b.index(0), b.index(rows.sumStride), lanes, [&](Value column) {
      Value at = b.add(b.sumAt(rows, row), column);
      b.store(b.multiply(b.loadVector(rows.state, at), by), rows.state, at);
    });
  });
}

void StreamEmitter::emitSums(const Rows &rows, Value group) {
  int64_t vectors = rows.sumStride / lanes;
  forEachTile([&](Value row, int64_t height) {
    int64_t most = b.blocking.accumulators / height;
    for (int64_t first = 0; first < vectors; first += most) {
      emitSumTile(rows, row, height, first * lanes,
                  std::min(most, vectors - first), group);
    }
  });
}

void StreamEmitter::emitSumTile(const Rows &rows, Value row, int64_t height,
                                int64_t column, int64_t vectors, Value group) {
  SmallVector<Value> sums, places;
  for (int64_t r = 0; r < height; ++r) {
    Value at = b.add(b.sumAt(rows, b.add(row, r)), column);
    for (int64_t v = 0; v < vectors; ++v) {
      places.push_back(b.add(at, v * lanes));
      sums.push_back(b.loadVector(rows.state, places.back()));
    }
  }
  Value end = b.min(b.add(group, lanes), count);
  sums = b.loop(group, end, 1, sums, [&](Value key, ValueRange carried) {
    SmallVector<Value> next(carried), loaded, ahead;
    SmallVector<Value> address =
        sequence.v.address(b.add(firstKey, key), rows.kvHead);
    if (height != 1) {
      ahead = getAddressAhead(sequence.v, rows, key);
    }
    for (int64_t v = 0; v < vectors; ++v) {
      int64_t from = column + v * lanes;
      loaded.push_back(b.loadFrom(sequence.v, address, b.index(from),
                                  std::min(lanes, b.valueDepth - from)));
      if (height != 1) {
        prefetch(sequence.v.memory, ahead, b.index(from));
      }
    }
    for (int64_t r = 0; r < height; ++r) {
      Value at = b.scoreAt(rows, b.add(row, r));
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

void kvern::emitFewRows(AttentionBuilder &b, const Sequence &sequence,
                        Value from, Value to, Value state, Value stateAt,
                        Value withSinks) {
  Value last = b.div(b.add(b.countRows(sequence), -1), b.group);
  from = b.max(from, b.visible(sequence, b.index(0)).from);
  to = b.min(to, b.visible(sequence, last).to);
  StreamEmitter(b, sequence, state, stateAt).emit(from, to, withSinks);
}
