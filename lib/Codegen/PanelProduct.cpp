// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Matrix products with a rhs that lies in panels: it is read in place.
//
// A few rows: all of lhs is used at once, and several panels are read side by
// side, each from start to end. More rows:
//
//   for each block of the summed axis, of rows:
//     pack lhs, unless its rows lie well
//     for each panel:
//       widen it, if that is slow
//       for each register tile: sum over k while the next part of rhs is on its
//       way; add to the output
#include "lib/Codegen/LhsRows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace kvern;

/// Rows up to which several panels are read at once, if registers suffice.
static constexpr int64_t kMostStreamedRows = 4;
/// Bytes between a prefetch and the use, in a panel that is read once.
static constexpr int64_t kAheadBytes = 4096;

namespace {
class PanelEmitter {
public:
  PanelEmitter(ProductBuilder &b, AllocateScratch allocate)
      : b(b), allocate(allocate), width(b.blocking.panelColumns()),
        panels(b.createOrFold<arith::DivUIOp>(b.add(b.columns, width - 1),
                                              b.index(width))) {}

  void emit();

private:
  void emitFewRows();
  /// Rows in [rows - 1, rows], or exactly `rows`.
  void emitStreams(LhsRows &lhs, int64_t rows, bool exact);
  void emitBlocks();
  /// A row of a panel.
  struct PanelRow {
    Value panel, k;
  };
  PanelRow rowAfter(Value panel, Span depth);
  void emitPanel(LhsRows &lhs, Value panel, Span rows, Span depth,
                 PanelRow next);
  void widenPanel(Value panel, Span depth);

  int64_t streams(int64_t rows) const;
  /// One panel alone is read better in blocks.
  int64_t streamedRows() const {
    return streams(kMostStreamedRows) > 1 ? kMostStreamedRows : 2;
  }
  int64_t aheadRows() const {
    Type type = b.product.op->getOperand(b.product.rhs).getType();
    return kAheadBytes * 8 /
           (width * getElementTypeOrSelf(type).getIntOrFloatBitWidth());
  }
  ProductBuilder &b;
  AllocateScratch allocate;
  const int64_t width;
  Value panels;
  /// The part of a panel that is being multiplied, as elements of the
  /// accumulator; null if it is widened whenever it is read.
  Value widened;
};
} // namespace

/// Panels side by side that the registers hold sums of.
int64_t PanelEmitter::streams(int64_t rows) const {
  int64_t vectors = b.blocking.vectors;
  int64_t most = (b.blocking.registers - rows - vectors) / (rows * vectors);
  int64_t count = kPanelStreams;
  while (count > std::max<int64_t>(most, 1)) {
    count /= 2;
  }
  return count;
}

void PanelEmitter::emit() {
  std::optional<int64_t> rows = getConstantIntValue(b.rows);
  bool canStream =
      LhsRows::isReadable(b) || getConstantIntValue(b.depth).has_value();
  if (!canStream || (rows && *rows > streamedRows())) {
    emitBlocks();
  } else if (rows) {
    emitFewRows();
  } else {
    b.when(
        b.less(b.rows, b.index(streamedRows() + 1)), [&] { emitFewRows(); },
        [&] { emitBlocks(); });
  }
}

void PanelEmitter::emitFewRows() {
  std::optional<int64_t> depth = getConstantIntValue(b.depth);
  LhsRows lhs(b, streamedRows(), depth.value_or(0));
  LhsRows::isReadable(b) ? lhs.readInPlace() : lhs.readPacked(allocate);
  lhs.select({b.index(0), b.rows}, {b.index(0), b.depth});
  if (std::optional<int64_t> rows = getConstantIntValue(b.rows)) {
    if (*rows > 0) {
      emitStreams(lhs, *rows, /*exact=*/true);
    }
    return;
  }
  auto choice = scf::IndexSwitchOp::create(
      b, TypeRange(), b.rows, ArrayRef<int64_t>{1, 2}, /*caseRegions=*/2);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&choice.getDefaultRegion().emplaceBlock());
  if (streamedRows() > 2) {
    b.when(b.less(b.index(0), b.rows),
           [&] { emitStreams(lhs, streamedRows(), /*exact=*/false); });
  }
  scf::YieldOp::create(b);
  for (auto [index, region] : llvm::enumerate(choice.getCaseRegions())) {
    b.setInsertionPointToStart(&region.emplaceBlock());
    emitStreams(lhs, index + 1, /*exact=*/true);
    scf::YieldOp::create(b);
  }
}

void PanelEmitter::emitStreams(LhsRows &lhs, int64_t rows, bool exact) {
  int64_t count = streams(rows), vectors = b.blocking.vectors;
  // Past the last panel, the last one again, and nothing is stored.
  bool whole =
      isMultiple(panels, count) || isMultiple(b.columns, width * count);
  Value last = b.sub(panels, b.index(1));
  b.loop(b.index(0), panels, count, [&](Value first) {
    SmallVector<Value> group;
    for (int64_t i = 0; i < count; ++i) {
      Value panel = b.add(first, i);
      group.push_back(whole || i == 0 ? panel : b.min(panel, last));
    }
    TileShape shape{rows, count, vectors, chooseUnroll(rows * count * vectors)};
    auto left = [&](int64_t row, Value k) {
      return lhs.load(b.index(0), row, k,
                      /*clamped=*/!exact && row == rows - 1);
    };
    auto right = [&](int64_t panel, int64_t v, Value k) {
      return b.loadPanel(group[panel], k, v);
    };
    auto prefetch = [&](Value k) {
      b.prefetchPanel(first, b.add(k, aheadRows()));
    };
    TileOperands operands{left, right, nullptr};
    if (count == 1) {
      operands.prefetch = prefetch;
    }
    SmallVector<Value> sums = emitTileSums(b, shape, b.depth, operands);
    TileOutput output;
    output.row = b.index(0);
    output.column = b.mul(first, width);
    output.rowsLeft = exact ? Value() : b.rows;
    if (!whole || !isMultiple(b.columns, width)) {
      output.columnsLeft = b.sub(b.columns, output.column);
    }
    output.first = b.overwrites ? b.boolean(true) : Value();
    emitTileStore(b, shape, sums, output);
  });
}

/// What is read after this part of `panel`: the same rows of the next panel; at
/// the end the next rows of the first one, or all of the panel that follows.
PanelEmitter::PanelRow PanelEmitter::rowAfter(Value panel, Span depth) {
  Value following = b.add(panel, 1), end = b.add(depth.from, depth.size);
  Value isLast = b.equal(following, panels);
  Value lastDepth = b.equal(end, b.depth);
  Value wrapped = b.select(lastDepth, following, b.index(0));
  Value wrappedFrom = b.select(lastDepth, b.index(0), end);
  return {b.select(isLast, wrapped, following),
          b.select(isLast, wrappedFrom, depth.from)};
}

/// Whether widening an element costs as much as several products: f16 takes a
/// slow conversion, bf16 a shift.
static bool isSlowToWiden(ProductBuilder &b) {
  Value rhs = b.product.op->getOperand(b.product.rhs);
  return getElementTypeOrSelf(rhs.getType()).isF16();
}

void PanelEmitter::widenPanel(Value panel, Span depth) {
  b.loop(b.index(0), depth.size, 1, [&](Value k) {
    for (int64_t v = 0; v < b.blocking.vectors; ++v) {
      Value vector = b.loadPanel(panel, b.add(depth.from, k), v);
      Value at = b.add(b.mul(k, width), v * b.blocking.lanes);
      vector::StoreOp::create(b, vector, widened, at);
    }
  });
}

void PanelEmitter::emitBlocks() {
  const ProductBlocking &blocking = b.blocking;
  if (isSlowToWiden(b)) {
    widened = allocate(blocking.blockDepth * width);
  }
  LhsRows lhs(b, blocking.blockRows, blocking.blockDepth);
  Value block = b.index(blocking.blockDepth);
  // With one tile of rows each panel is read once, from start to end.
  Value once;
  if (LhsRows::suitsCache(b)) {
    lhs.readInPlace();
  } else {
    lhs.readPacked(allocate);
  }
  if (LhsRows::suitsCache(b) && !widened) {
    once = b.less(b.rows, b.index(blocking.tileRows + 1));
    block = b.select(once, b.depth, block);
  }
  forEachBlock(b, b.depth, block, [&](Span depth) {
    forEachBlock(b, b.rows, b.index(blocking.blockRows), [&](Span rows) {
      lhs.select(rows, depth);
      b.loop(b.index(0), panels, 1, [&](Value panel) {
        PanelRow next = rowAfter(panel, depth);
        if (once) {
          next.panel = b.select(once, panel, next.panel);
          next.k = b.select(once, b.index(aheadRows()), next.k);
        }
        if (widened) {
          widenPanel(panel, depth);
        }
        emitPanel(lhs, panel, rows, depth, next);
      });
    });
  });
}

void PanelEmitter::emitPanel(LhsRows &lhs, Value panel, Span rows, Span depth,
                             PanelRow next) {
  forEachRowTile(
      b, rows.size, [&](int64_t tileRows, Value row, bool uncertain) {
        int64_t vectors = b.blocking.vectors;
        TileShape shape{tileRows, 1, vectors, chooseUnroll(tileRows * vectors)};
        auto left = [&](int64_t i, Value k) {
          return lhs.load(row, i, k,
                          /*clamped=*/uncertain && i == tileRows - 1);
        };
        auto right = [&](int64_t, int64_t v, Value k) {
          return b.loadPanel(panel, b.add(depth.from, k), v);
        };
        auto prefetch = [&](Value k) {
          b.prefetchPanel(next.panel, b.add(next.k, k));
        };
        TileOperands operands{left, right, prefetch};
        SmallVector<Value> sums = emitTileSums(b, shape, depth.size, operands);
        TileOutput output;
        output.row = b.add(rows.from, row);
        output.column = b.mul(panel, width);
        output.rowsLeft = uncertain ? b.sub(rows.size, row) : Value();
        if (!isMultiple(b.columns, width)) {
          output.columnsLeft = b.sub(b.columns, output.column);
        }
        output.first = b.overwrites ? b.less(depth.from, b.index(1)) : Value();
        emitTileStore(b, shape, sums, output);
      });
}

void kvern::emitPanelProduct(ProductBuilder &b, AllocateScratch allocate) {
  PanelEmitter(b, allocate).emit();
}
