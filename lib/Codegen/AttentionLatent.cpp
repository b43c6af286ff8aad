// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Attention whose keys and values are made of latent rows.
//
// For one sequence and one head, with the rows U, W of kv_b that are the
// head's:
//   weights = (U, W)^T
//   for each few rows (c, r) of the cache that a query sees:
//     keys = (U c, r), values = W c
//   for each block of queries: attention to those
#include "lib/Codegen/AttentionBuilder.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace kvern;

static int64_t sizeOfLast(Value value) {
  return cast<ShapedType>(value.getType()).getShape().back();
}

namespace {
class LatentEmitter {
public:
  LatentEmitter(AttentionBuilder &b, const Sequence &sequence, Value head,
                Value places)
      : b(b), sequence(sequence), head(head), lanes(b.lanes),
        tileRows(2 * b.blocking.smallTileRows), width(2 * b.lanes),
        latent(sizeOfLast(b.op.getKvB())),
        shared(sizeOfLast(b.op.getK()) - latent), own(b.depth - shared),
        made(own + b.valueDepth), columns(llvm::alignTo(made, width)),
        rowStride(llvm::alignTo(latent, lanes) + 16),
        weights(b.allocate(llvm::alignTo(latent, lanes) * columns)),
        rows(b.allocate(tileRows * rowStride)),
        results(b.allocate(tileRows * columns)),
        keys(allocateRows(places, b.depth)),
        values(allocateRows(places, b.valueDepth)),
        first(b.visible(sequence, b.index(0)).from) {}

  void emit();

private:
  Value allocateRows(Value count, int64_t size) {
    auto type = MemRefType::get({ShapedType::kDynamic, size}, b.element);
    return memref::AllocOp::create(b, type, ValueRange(count),
                                   b.getI64IntegerAttr(64));
  }
  void packWeights();
  /// Makes keys and values of up to `tileRows` rows, the first of them `key`.
  void project(Value key);
  void emitTile(Value column);

  AttentionBuilder &b;
  const Sequence &sequence;
  Value head;
  const int64_t lanes, tileRows, width;
  /// Elements of c and of r, and of a head's key without r.
  const int64_t latent, shared, own;
  /// Elements that are made of c, and the same in whole tiles.
  const int64_t made, columns;
  const int64_t rowStride;
  /// [latent][columns], [tileRows][rowStride], [tileRows][columns].
  Value weights, rows, results;
  Value keys, values;
  /// The first key that a query sees.
  Value first;
};
} // namespace

void LatentEmitter::packWeights() {
  Value start = b.mul(head, made);
  b.loop(b.index(0), b.index(columns), lanes, [&](Value column) {
    b.forEachVector(latent, [&](Value k, int64_t length) {
      SmallVector<Value> loaded;
      for (int64_t i = 0; i < lanes; ++i) {
        // Past the last row, the last one again: no one reads the result.
        Value row = b.min(b.add(column, i), b.index(made - 1));
        loaded.push_back(
            b.loadRow(b.op.getKvB(), b.add(start, row), k, length));
      }
      for (auto [i, turned] : llvm::enumerate(b.transpose(loaded))) {
        Value at = b.mul(b.add(k, static_cast<int64_t>(i)), columns);
        b.store(turned, weights, b.add(at, column));
      }
    });
  });
}

void LatentEmitter::emitTile(Value column) {
  SmallVector<Value> sums(2 * tileRows, b.splat(0.0));
  sums = b.loop(
      b.index(0), b.index(latent), 1, sums, [&](Value k, ValueRange carried) {
        SmallVector<Value> next(carried);
        Value at = b.add(b.mul(k, columns), column);
        Value left = b.loadVector(weights, at);
        Value right = b.loadVector(weights, b.add(at, lanes));
        for (int64_t r = 0; r < tileRows; ++r) {
          Value factor = b.splat(b.load(rows, b.add(k, r * rowStride)));
          next[2 * r] = b.multiplyAdd(factor, left, next[2 * r]);
          next[2 * r + 1] = b.multiplyAdd(factor, right, next[2 * r + 1]);
        }
        return next;
      });
  for (int64_t r = 0; r < tileRows; ++r) {
    Value at = b.add(column, r * columns);
    b.store(sums[2 * r], results, at);
    b.store(sums[2 * r + 1], results, b.add(at, lanes));
  }
}

void LatentEmitter::project(Value key) {
  Value last = b.add(sequence.keys, -1), none = b.index(0);
  auto source = [&](Value row) {
    return sequence.k.address(b.min(b.add(key, row), last), none);
  };
  b.loop(none, b.index(tileRows), 1, [&](Value row) {
    SmallVector<Value> address = source(row);
    Value at = b.mul(row, rowStride);
    b.forEachVector(latent, [&](Value column, int64_t length) {
      b.store(b.loadFrom(sequence.k, address, column, length), rows,
              b.add(at, column));
    });
  });
  b.loop(none, b.index(columns), width,
         [&](Value column) { emitTile(column); });
  Value count = b.min(b.sub(sequence.keys, key), b.index(tileRows));
  b.loop(none, count, 1, [&](Value row) {
    SmallVector<Value> address = source(row);
    Value to = b.add(key, row), at = b.mul(row, columns);
    auto copy = [&](Value memory, int64_t from, int64_t size) {
      b.forEachVector(size, [&](Value column, int64_t length) {
        Value place = b.add(b.add(at, column), from);
        b.storeRow(b.loadRow(results, {}, place, length), memory, to, column,
                   length);
      });
    };
    copy(keys, 0, own);
    copy(values, own, b.valueDepth);
    b.forEachVector(shared, [&](Value column, int64_t length) {
      Value part =
          b.loadFrom(sequence.k, address, b.add(column, latent), length);
      b.storeRow(part, keys, to, b.add(column, own), length);
    });
  });
}

void LatentEmitter::emit() {
  packWeights();
  b.loop(first, sequence.keys, tileRows, [&](Value key) { project(key); });
  auto rowsOf = [=](Value memory) {
    RowSource source;
    source.memory = memory;
    source.address = [=](Value row, Value) -> SmallVector<Value> {
      return {b.max(row, first)};
    };
    return source;
  };
  Sequence expanded = sequence;
  expanded.k = rowsOf(keys);
  expanded.v = rowsOf(values);
  b.loop(b.index(0), b.countRows(sequence), b.blocking.blockRows,
         [&](Value row) { emitRowBlock(b, expanded, head, row); });
}

void kvern::emitLatentRows(AttentionBuilder &b, const Sequence &sequence,
                           Value head, Value places) {
  LatentEmitter(b, sequence, head, places).emit();
}
