// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Matrix products of many rows: packed blocks and register tiles.
//
// The scheme is that of Goto and van de Geijn, "Anatomy of High-Performance
// Matrix Multiplication" (ACM TOMS 34, 2008), with rows of lhs kept in order.
#include "lib/Codegen/LhsRows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace kvern;

/// Elements of a packed panel's column: a block, and zeros.
static int64_t panelDepth(const ProductBlocking &blocking) {
  return blocking.blockDepth + std::max(blocking.lanes, kTileUnroll);
}

static int64_t packedRhsSize(const ProductBlocking &blocking) {
  return llvm::alignTo(blocking.blockColumns, blocking.panelColumns()) *
         panelDepth(blocking);
}

namespace {
class PackedEmitter {
public:
  PackedEmitter(ProductBuilder &b, AllocateScratch allocate)
      : b(b), lanes(b.blocking.lanes), vectors(b.blocking.vectors),
        width(b.blocking.panelColumns()),
        lhs(b, b.blocking.blockRows, b.blocking.blockDepth) {
    // Tiles read packed rows to the end of the last turn of their loop.
    bool packsRhs = !isSmallRhs();
    if (LhsRows::suitsCache(b) &&
        (!packsRhs || isMultiple(b.depth, kTileUnroll))) {
      lhs.readInPlace();
    } else {
      lhs.readPacked(allocate);
    }
    if (packsRhs) {
      rhsMemory = allocate(packedRhsSize(b.blocking));
    }
  }

  void emit();

private:
  /// Whether rhs is as good as packed: rows of vectors, and so few that all of
  /// them stay in the second cache.
  bool isSmallRhs() const {
    unsigned rhs = b.product.rhs;
    Value memory = b.product.op->getOperand(rhs);
    std::optional<int64_t> rows = getConstantIntValue(b.depth),
                           columns = getConstantIntValue(b.columns);
    return rows && columns && b.isContiguous(rhs, b.product.n) &&
           getElementTypeOrSelf(memory.getType()) == b.element &&
           (*columns % width == 0 || b.loadsMasked(rhs)) &&
           *rows * *columns <= b.blocking.blockRows * b.blocking.blockDepth;
  }
  void packRhs(Span columns, Span depth);
  void packRhsByRows(Span columns, Span depth, Value panel, Value at);
  void packRhsTransposed(Span columns, Span depth, Value panel, Value at);
  void packRhsByElements(Span columns, Span depth, Value panel, Value at);
  SmallVector<Value> transpose(SmallVector<Value> rows);

  void emitTiles(Span rows, Span columns, Span depth);

  void store(Value value, Value memory, Value at) {
    if (isa<VectorType>(value.getType())) {
      vector::StoreOp::create(b, value, memory, at);
    } else {
      memref::StoreOp::create(b, value, memory, at);
    }
  }

  ProductBuilder &b;
  const int64_t lanes, vectors, width;
  LhsRows lhs;
  /// Packed panels; null if rhs is read where it lies.
  Value rhsMemory;
};
} // namespace

void PackedEmitter::emit() {
  auto block = [&](int64_t size) { return b.index(size); };
  const ProductBlocking &sizes = b.blocking;
  forEachBlock(b, b.columns, block(sizes.blockColumns), [&](Span columns) {
    forEachBlock(b, b.depth, block(sizes.blockDepth), [&](Span depth) {
      if (rhsMemory) {
        packRhs(columns, depth);
      }
      forEachBlock(b, b.rows, block(sizes.blockRows), [&](Span rows) {
        lhs.select(rows, depth);
        emitTiles(rows, columns, depth);
      });
    });
  });
}

void PackedEmitter::packRhs(Span columns, Span depth) {
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
    b.loop(packed, b.roundUp(depth.size, kTileUnroll), 1, [&](Value k) {
      for (int64_t v = 0; v < vectors; ++v) {
        store(b.zeros(), rhsMemory,
              b.add(b.add(at, b.mul(k, width)), v * lanes));
      }
    });
  });
}

void PackedEmitter::packRhsByRows(Span columns, Span depth, Value panel,
                                  Value at) {
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
  b.loop(b.index(0), columns.size, width, [&](Value panel) {
    Value rhsAt = b.mul(panel, panelDepth(b.blocking));
    forEachRowTile(
        b, rows.size, [&](int64_t tileRows, Value row, bool uncertain) {
          TileShape shape{tileRows, 1, vectors,
                          chooseUnroll(tileRows * vectors),
                          /*padded=*/static_cast<bool>(rhsMemory)};
          auto left = [&](int64_t i, Value k) {
            return lhs.load(row, i, k,
                            /*clamped=*/uncertain && i == tileRows - 1);
          };
          auto right = [&](int64_t, int64_t v, Value k) -> Value {
            if (!rhsMemory) {
              Value column = b.add(panel, v * lanes);
              Value length = isMultiple(b.columns, width)
                                 ? Value()
                                 : b.sub(columns.size, column);
              return b.loadVector(b.product.rhs, b.add(columns.from, column),
                                  b.add(depth.from, k), length);
            }
            Value at = b.add(b.add(rhsAt, b.mul(k, width)), v * lanes);
            return vector::LoadOp::create(b, b.vector, rhsMemory, at);
          };
          TileOperands operands{left, right, nullptr};
          SmallVector<Value> sums =
              emitTileSums(b, shape, depth.size, operands);
          TileOutput output;
          output.row = b.add(rows.from, row);
          output.column = b.add(columns.from, panel);
          output.rowsLeft = uncertain ? b.sub(rows.size, row) : Value();
          output.columnsLeft = isMultiple(b.columns, width)
                                   ? Value()
                                   : b.sub(columns.size, panel);
          output.first =
              b.overwrites ? b.less(depth.from, b.index(1)) : Value();
          emitTileStore(b, shape, sums, output);
        });
  });
}

void kvern::emitPackedProduct(ProductBuilder &b, AllocateScratch allocate) {
  PackedEmitter(b, allocate).emit();
}
