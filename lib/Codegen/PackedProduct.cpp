// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Matrix products of many rows: packed blocks and register tiles.
//
// The scheme is that of Goto and van de Geijn, "Anatomy of High-Performance
// Matrix Multiplication" (ACM TOMS 34, 2008), with rows of lhs kept in order.
#include "lib/Codegen/ProductBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace kvern;

/// The register tile sums this many products between two tests of the loop;
/// both packed inputs are zero up to the next multiple.
static constexpr int64_t kUnroll = 4;

/// Packed rows are a cache line longer than a power of two, so that the rows of
/// a register tile lie in different cache sets.
static int64_t lhsStride(const ProductBlocking &blocking) {
  return blocking.blockDepth + std::max<int64_t>(blocking.lanes, 16);
}

/// A tile may read past the last row of a block, not use it.
int64_t kvern::packedLhsSize(const ProductBlocking &blocking) {
  return (blocking.blockRows + blocking.tileRows) * lhsStride(blocking);
}

static int64_t panelWidth(const ProductBlocking &blocking) {
  return blocking.lanes * blocking.vectors;
}

/// Rows of a packed panel: a block, and zeros.
static int64_t panelDepth(const ProductBlocking &blocking) {
  return blocking.blockDepth + std::max(blocking.lanes, kUnroll);
}

int64_t kvern::packedRhsSize(const ProductBlocking &blocking) {
  return llvm::alignTo(blocking.blockColumns, panelWidth(blocking)) *
         panelDepth(blocking);
}

static bool isMultiple(Value size, int64_t factor) {
  std::optional<int64_t> constant = getConstantIntValue(size);
  return constant && *constant % factor == 0;
}

namespace {
class PackedEmitter {
public:
  PackedEmitter(ProductBuilder &b, Value lhsMemory, Value rhsMemory)
      : b(b), lanes(b.blocking.lanes), vectors(b.blocking.vectors),
        lhsMemory(lhsMemory), rhsMemory(rhsMemory) {}

  void emit();

private:
  /// A part of an axis: where it starts and how long it is.
  struct Span {
    Value from, size;
  };
  void forEachBlock(Value size, int64_t block,
                    llvm::function_ref<void(Span)> body);

  void packLhs(Span rows, Span depth);
  void zeroLhs(Value from, Span depth, Value to);
  void packRhs(Span columns, Span depth);
  void packRhsByRows(Span columns, Span depth, Value panel, Value at);
  void packRhsTransposed(Span columns, Span depth, Value panel, Value at);
  void packRhsByElements(Span columns, Span depth, Value panel, Value at);
  SmallVector<Value> transpose(SmallVector<Value> rows);

  void emitTiles(Span rows, Span columns, Span depth);
  void emitTile(int64_t tileRows, Value row, Span rows, Value panel,
                Span columns, Span depth);
  void storeTile(int64_t tileRows, ArrayRef<Value> sums, Value row, Span rows,
                 Value panel, Span columns, Span depth);

  void store(Value value, Value memory, Value at) {
    if (isa<VectorType>(value.getType())) {
      vector::StoreOp::create(b, value, memory, at);
    } else {
      memref::StoreOp::create(b, value, memory, at);
    }
  }

  ProductBuilder &b;
  const int64_t lanes, vectors;
  Value lhsMemory, rhsMemory;
};
} // namespace

void PackedEmitter::forEachBlock(Value size, int64_t block,
                                 llvm::function_ref<void(Span)> body) {
  b.loop(b.index(0), size, block, [&](Value from) {
    body({from, b.min(b.sub(size, from), b.index(block))});
  });
}

void PackedEmitter::emit() {
  const ProductBlocking &blocking = b.blocking;
  forEachBlock(b.columns, blocking.blockColumns, [&](Span columns) {
    forEachBlock(b.depth, blocking.blockDepth, [&](Span depth) {
      packRhs(columns, depth);
      forEachBlock(b.rows, blocking.blockRows, [&](Span rows) {
        packLhs(rows, depth);
        emitTiles(rows, columns, depth);
      });
    });
  });
}

void PackedEmitter::packLhs(Span rows, Span depth) {
  unsigned lhs = b.product.lhs;
  int64_t stride = lhsStride(b.blocking);
  bool contiguous = b.isContiguous(lhs, b.product.k);
  b.loop(b.index(0), rows.size, 1, [&](Value row) {
    Value from = b.add(rows.from, row);
    Value to = b.mul(row, stride);
    if (!contiguous) {
      b.loop(b.index(0), depth.size, 1, [&](Value k) {
        store(b.load(lhs, from, b.add(depth.from, k)), lhsMemory, b.add(to, k));
      });
      zeroLhs(depth.size, depth, to);
      return;
    }
    Value full = b.sub(depth.size, b.index(lanes - 1));
    b.loop(b.index(0), full, lanes, [&](Value k) {
      store(b.loadVector(lhs, from, b.add(depth.from, k)), lhsMemory,
            b.add(to, k));
    });
    Value done = arith::AndIOp::create(b, depth.size, b.index(-lanes));
    b.when(b.less(done, depth.size), [&] {
      store(b.loadVector(lhs, from, b.add(depth.from, done),
                         b.sub(depth.size, done)),
            lhsMemory, b.add(to, done));
    });
    if (lanes < kUnroll) {
      zeroLhs(b.roundUp(depth.size, lanes), depth, to);
    }
  });
}

void PackedEmitter::zeroLhs(Value from, Span depth, Value to) {
  Value zero =
      arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(b.element)));
  b.loop(from, b.roundUp(depth.size, kUnroll), 1,
         [&](Value k) { store(zero, lhsMemory, b.add(to, k)); });
}

void PackedEmitter::packRhs(Span columns, Span depth) {
  int64_t width = panelWidth(b.blocking);
  unsigned rhs = b.product.rhs;
  b.loop(b.index(0), columns.size, width, [&](Value panel) {
    // Panels follow each other at the full depth of a block.
    Value at = b.mul(panel, panelDepth(b.blocking));
    Value packed = depth.size;
    if (b.isContiguous(rhs, b.product.n)) {
      packRhsByRows(columns, depth, panel, at);
    } else if (b.isContiguous(rhs, b.product.k) && lanes <= 16) {
      packRhsTransposed(columns, depth, panel, at);
      packed = b.roundUp(depth.size, lanes);
    } else {
      packRhsByElements(columns, depth, panel, at);
    }
    b.loop(packed, b.roundUp(depth.size, kUnroll), 1, [&](Value k) {
      for (int64_t v = 0; v < vectors; ++v) {
        store(b.zeros(), rhsMemory,
              b.add(b.add(at, b.mul(k, width)), v * lanes));
      }
    });
  });
}

void PackedEmitter::packRhsByRows(Span columns, Span depth, Value panel,
                                  Value at) {
  int64_t width = panelWidth(b.blocking);
  unsigned rhs = b.product.rhs;
  auto copy = [&](bool full) {
    b.loop(b.index(0), depth.size, 1, [&](Value k) {
      for (int64_t v = 0; v < vectors; ++v) {
        Value column = b.add(panel, v * lanes);
        Value length = full ? Value() : b.sub(columns.size, column);
        store(b.loadVector(rhs, b.add(columns.from, column),
                           b.add(depth.from, k), length),
              rhsMemory, b.add(b.add(at, b.mul(k, width)), v * lanes));
      }
    });
  };
  Value end = b.add(panel, width);
  b.when(b.less(columns.size, end), [&] { copy(false); }, [&] { copy(true); });
}

/// In log2(lanes) steps: step d exchanges the elements off the diagonal of the
/// 2 x 2 blocks of size d.
SmallVector<Value> PackedEmitter::transpose(SmallVector<Value> rows) {
  for (int64_t d = 1; d < lanes; d *= 2) {
    SmallVector<int64_t> upper, lower;
    for (int64_t l = 0; l < lanes; ++l) {
      bool first = (l & d) == 0;
      upper.push_back(first ? l : lanes + l - d);
      lower.push_back(first ? l + d : lanes + l);
    }
    for (int64_t i = 0; i < lanes; ++i) {
      if ((i & d) == 0) {
        Value a = rows[i], c = rows[i + d];
        rows[i] = vector::ShuffleOp::create(b, a, c, upper);
        rows[i + d] = vector::ShuffleOp::create(b, a, c, lower);
      }
    }
  }
  return rows;
}

void PackedEmitter::packRhsTransposed(Span columns, Span depth, Value panel,
                                      Value at) {
  int64_t width = panelWidth(b.blocking);
  unsigned rhs = b.product.rhs;
  Value last = b.sub(columns.size, b.index(1));
  b.loop(b.index(0), b.index(width), lanes, [&](Value offset) {
    // Past the last column, the last one again: what it yields is not stored.
    SmallVector<Value> sources;
    for (int64_t i = 0; i < lanes; ++i) {
      Value column = b.min(b.add(b.add(panel, offset), i), last);
      sources.push_back(b.add(columns.from, column));
    }
    auto copy = [&](Value k, Value length) {
      SmallVector<Value> rows;
      for (Value source : sources) {
        rows.push_back(b.loadVector(rhs, source, b.add(depth.from, k), length));
      }
      Value to = b.add(b.add(at, b.mul(k, width)), offset);
      for (auto [i, value] : llvm::enumerate(transpose(rows))) {
        store(value, rhsMemory, b.add(to, i * width));
      }
    };
    if (b.loadsMasked(rhs) && !isMultiple(b.depth, lanes)) {
      b.loop(b.index(0), depth.size, lanes,
             [&](Value k) { copy(k, b.sub(depth.size, k)); });
      return;
    }
    b.loop(b.index(0), b.sub(depth.size, b.index(lanes - 1)), lanes,
           [&](Value k) { copy(k, Value()); });
    Value done = arith::AndIOp::create(b, depth.size, b.index(-lanes));
    b.when(b.less(done, depth.size),
           [&] { copy(done, b.sub(depth.size, done)); });
  });
}

void PackedEmitter::packRhsByElements(Span columns, Span depth, Value panel,
                                      Value at) {
  int64_t width = panelWidth(b.blocking);
  Value end = b.min(columns.size, b.add(panel, width));
  b.loop(b.index(0), depth.size, 1, [&](Value k) {
    Value to = b.add(at, b.mul(k, width));
    for (int64_t v = 0; v < vectors; ++v) {
      store(b.zeros(), rhsMemory, b.add(to, v * lanes));
    }
    b.loop(panel, end, 1, [&](Value column) {
      store(b.load(b.product.rhs, b.add(columns.from, column),
                   b.add(depth.from, k)),
            rhsMemory, b.add(to, b.sub(column, panel)));
    });
  });
}

void PackedEmitter::emitTiles(Span rows, Span columns, Span depth) {
  int64_t tileRows = b.blocking.tileRows;
  b.loop(b.index(0), columns.size, panelWidth(b.blocking), [&](Value panel) {
    // Up to 4 rows that are left get a smaller tile; a larger one computes more
    // rows than it stores.
    constexpr int64_t kSmall = 4;
    Value done = b.mul(
        b.createOrFold<arith::DivUIOp>(rows.size, b.index(tileRows)), tileRows);
    Value small = b.less(b.sub(rows.size, done), b.index(kSmall + 1));
    Value end = b.createOrFold<arith::SelectOp>(small, done, rows.size);
    b.loop(b.index(0), end, tileRows, [&](Value row) {
      emitTile(tileRows, row, rows, panel, columns, depth);
    });
    b.when(b.less(end, rows.size),
           [&] { emitTile(kSmall, end, rows, panel, columns, depth); });
  });
}

void PackedEmitter::emitTile(int64_t tileRows, Value row, Span rows,
                             Value panel, Span columns, Span depth) {
  int64_t width = panelWidth(b.blocking);
  int64_t stride = lhsStride(b.blocking);
  Value lhsAt = b.mul(row, stride);
  Value rhsAt = b.mul(panel, panelDepth(b.blocking));
  SmallVector<Value> zeros(tileRows * vectors, b.zeros());
  SmallVector<Value> sums =
      b.loop(b.index(0), depth.size, kUnroll, zeros,
             [&](Value k0, ValueRange carried) {
               SmallVector<Value> sums(carried);
               for (int64_t u = 0; u < kUnroll; ++u) {
                 Value k = b.add(k0, u);
                 Value from = b.add(rhsAt, b.mul(k, width));
                 SmallVector<Value> right;
                 for (int64_t v = 0; v < vectors; ++v) {
                   right.push_back(vector::LoadOp::create(
                       b, b.vector, rhsMemory, b.add(from, v * lanes)));
                 }
                 Value left = b.add(lhsAt, k);
                 for (int64_t i = 0; i < tileRows; ++i) {
                   Value factor = b.splat(memref::LoadOp::create(
                       b, lhsMemory, ValueRange{b.add(left, i * stride)}));
                   for (int64_t v = 0; v < vectors; ++v) {
                     Value &sum = sums[i * vectors + v];
                     sum = b.multiplyAdd(factor, right[v], sum);
                   }
                 }
               }
               return sums;
             });
  storeTile(tileRows, sums, row, rows, panel, columns, depth);
}

void PackedEmitter::storeTile(int64_t tileRows, ArrayRef<Value> sums, Value row,
                              Span rows, Value panel, Span columns,
                              Span depth) {
  Value first = b.overwrites ? b.less(depth.from, b.index(1)) : Value();
  auto storeRows = [&](bool masked) {
    SmallVector<Value> masks(vectors), oldMasks(vectors);
    for (int64_t v = 0; v < vectors && masked; ++v) {
      Value length = b.sub(columns.size, b.add(panel, v * lanes));
      masks[v] = oldMasks[v] = b.mask(length);
      if (first) {
        oldMasks[v] =
            b.mask(arith::SelectOp::create(b, first, b.index(0), length));
      }
    }
    auto storeRow = [&](int64_t i, bool adds) {
      Value m = b.add(b.add(rows.from, row), i);
      for (int64_t v = 0; v < vectors; ++v) {
        Value n = b.add(b.add(columns.from, panel), v * lanes);
        Value sum = sums[i * vectors + v];
        if (adds) {
          sum = b.plus(b.loadOut(m, n, /*vectors=*/true, oldMasks[v]), sum);
        }
        b.storeOut(sum, m, n, masks[v]);
      }
    };
    for (int64_t i = 0; i < tileRows; ++i) {
      b.when(b.less(b.add(row, i), rows.size), [&] {
        if (masked || !first) {
          storeRow(i, /*adds=*/true);
        } else {
          b.when(
              first, [&] { storeRow(i, /*adds=*/false); },
              [&] { storeRow(i, /*adds=*/true); });
        }
      });
    }
  };
  bool full = isMultiple(b.columns, panelWidth(b.blocking));
  if (full || b.storesMasked()) {
    storeRows(/*masked=*/!full);
    return;
  }
  Value end = b.add(panel, panelWidth(b.blocking));
  b.when(
      b.less(columns.size, end), [&] { storeRows(/*masked=*/true); },
      [&] { storeRows(/*masked=*/false); });
}

void kvern::emitPackedProduct(ProductBuilder &b, Value lhsMemory,
                              Value rhsMemory) {
  PackedEmitter(b, lhsMemory, rhsMemory).emit();
}
