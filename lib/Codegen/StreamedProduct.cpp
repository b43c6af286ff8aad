// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Matrix products of few rows: rhs is read once, in order.
//
// rhs as [n, k]: dot products of a few rows of lhs with a few of rhs at a time.
// rhs as [k, n]: a few rows of rhs at a time, scaled and added to the output.
#include "lib/Codegen/ProductBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace kvern;

/// Rows of rhs that are read side by side: several streams of memory are
/// faster than one.
static constexpr int64_t kStreams = 4;
/// Rows of lhs that share a pass.
static constexpr int64_t kSharedRows = 4;

static bool isDot(ProductBuilder &b) {
  return b.isContiguous(b.product.rhs, b.product.k) &&
         b.isContiguous(b.product.lhs, b.product.k);
}

bool kvern::canStream(ProductBuilder &b) {
  return isDot(b) || b.isContiguous(b.product.rhs, b.product.n);
}

/// Calls `body` for groups of up to `kSharedRows` rows, with the first row and
/// how many rows it has to compute: `kSharedRows`, or 1.
static void forEachRowGroup(ProductBuilder &b,
                            llvm::function_ref<void(Value, int64_t)> body) {
  b.loop(b.index(0), b.rows, kSharedRows, [&](Value row) {
    b.when(
        b.less(b.index(1), b.sub(b.rows, row)), [&] { body(row, kSharedRows); },
        [&] { body(row, 1); });
  });
}

/// Dot products of rows [row, row + count) with columns [column, column +
/// kStreams); past the ends, the last ones again, and nothing is stored.
static void emitDots(ProductBuilder &b, Value row, int64_t count,
                     Value column) {
  int64_t lanes = b.blocking.lanes;
  SmallVector<Value> left, right;
  for (int64_t i = 0; i < count; ++i) {
    left.push_back(b.min(b.add(row, i), b.sub(b.rows, b.index(1))));
  }
  for (int64_t j = 0; j < kStreams; ++j) {
    right.push_back(b.min(b.add(column, j), b.sub(b.columns, b.index(1))));
  }
  auto step = [&](Value k, Value length, ValueRange carried) {
    SmallVector<Value> sums(carried);
    SmallVector<Value> columns;
    for (Value n : right) {
      columns.push_back(b.loadVector(b.product.rhs, n, k, length));
    }
    for (int64_t i = 0; i < count; ++i) {
      Value factor = b.loadVector(b.product.lhs, left[i], k, length);
      for (int64_t j = 0; j < kStreams; ++j) {
        Value &sum = sums[i * kStreams + j];
        sum = b.multiplyAdd(factor, columns[j], sum);
      }
    }
    return sums;
  };

  SmallVector<Value> sums(count * kStreams, b.zeros());
  Value full = b.sub(b.depth, b.index(lanes - 1));
  sums =
      b.loop(b.index(0), full, lanes, sums, [&](Value k, ValueRange carried) {
        return step(k, Value(), carried);
      });
  // The rest of the summed axis: a loop of at most one turn.
  Value done = arith::AndIOp::create(b, b.depth, b.index(-lanes));
  sums = b.loop(done, b.depth, lanes, sums, [&](Value k, ValueRange carried) {
    return step(k, b.sub(b.depth, k), carried);
  });

  for (int64_t i = 0; i < count; ++i) {
    for (int64_t j = 0; j < kStreams; ++j) {
      Value m = b.add(row, i), n = b.add(column, j);
      Value sum = b.reduce(sums[i * kStreams + j]);
      Value inside =
          arith::AndIOp::create(b, b.less(m, b.rows), b.less(n, b.columns));
      b.when(inside, [&] {
        Value old = b.overwrites ? Value() : b.loadOut(m, n, /*vectors=*/false);
        b.storeOut(old ? b.plus(old, sum) : sum, m, n);
      });
    }
  }
}

/// Adds lhs[rows, k ..] * rhs[k .., :] for `count` rows and `depth` rows of
/// rhs.
static void emitRowUpdate(ProductBuilder &b, Value row, int64_t count, Value k,
                          int64_t depth) {
  int64_t lanes = b.blocking.lanes;
  SmallVector<Value> factors;
  Value lastRow = b.sub(b.rows, b.index(1));
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t u = 0; u < depth; ++u) {
      Value factor =
          b.load(b.product.lhs, b.min(b.add(row, i), lastRow), b.add(k, u));
      factors.push_back(b.splat(factor));
    }
  }
  auto update = [&](Value n, Value length) {
    Value mask = length ? b.mask(length) : Value();
    SmallVector<Value> right;
    for (int64_t u = 0; u < depth; ++u) {
      right.push_back(b.loadVector(b.product.rhs, n, b.add(k, u), length));
    }
    for (int64_t i = 0; i < count; ++i) {
      Value m = b.add(row, i);
      auto updateRow = [&] {
        Value sum = b.loadOut(m, n, /*vectors=*/true, mask);
        for (int64_t u = 0; u < depth; ++u) {
          sum = b.multiplyAdd(factors[i * depth + u], right[u], sum);
        }
        b.storeOut(sum, m, n, mask);
      };
      if (i == 0) {
        updateRow();
      } else {
        b.when(b.less(m, b.rows), updateRow);
      }
    }
  };
  Value full = b.sub(b.columns, b.index(lanes - 1));
  b.loop(b.index(0), full, lanes, [&](Value n) { update(n, Value()); });
  Value done = arith::AndIOp::create(b, b.columns, b.index(-lanes));
  b.when(b.less(done, b.columns),
         [&] { update(done, b.sub(b.columns, done)); });
}

LogicalResult kvern::emitStreamedProduct(ProductBuilder &b) {
  if (isDot(b)) {
    b.loop(b.index(0), b.columns, kStreams, [&](Value column) {
      forEachRowGroup(b, [&](Value row, int64_t count) {
        emitDots(b, row, count, column);
      });
    });
    return success();
  }
  if (!b.isContiguous(b.product.rhs, b.product.n)) {
    return failure();
  }
  int64_t lanes = b.blocking.lanes;
  if (b.overwrites) {
    b.loop(b.index(0), b.rows, 1, [&](Value m) {
      b.loop(b.index(0), b.columns, lanes, [&](Value n) {
        b.storeOut(b.zeros(), m, n, b.mask(b.sub(b.columns, n)));
      });
    });
  }
  Value full = b.sub(b.depth, b.index(kStreams - 1));
  b.loop(b.index(0), full, kStreams, [&](Value k) {
    forEachRowGroup(b, [&](Value row, int64_t count) {
      emitRowUpdate(b, row, count, k, kStreams);
    });
  });
  Value done = arith::AndIOp::create(b, b.depth, b.index(-kStreams));
  b.loop(done, b.depth, 1, [&](Value k) {
    forEachRowGroup(b, [&](Value row, int64_t count) {
      emitRowUpdate(b, row, count, k, 1);
    });
  });
  return success();
}
