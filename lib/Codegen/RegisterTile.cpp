// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The innermost part of a matrix product: a tile of the output in registers.
#include "lib/Codegen/RegisterTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace kvern;

SmallVector<Value> kvern::emitTileSums(ProductBuilder &b, TileShape shape,
                                       Value depth,
                                       const TileOperands &operands) {
  int64_t width = shape.vectorsPerRow();
  auto step = [&](Value k, SmallVector<Value> &sums) {
    if (operands.prefetch) {
      operands.prefetch(k);
    }
    // Factors of few rows stay in registers while panels go by.
    SmallVector<Value> factors;
    auto factor = [&](int64_t row) -> Value {
      if (shape.panels == 1) {
        return b.splat(operands.left(row, k));
      }
      if (row == static_cast<int64_t>(factors.size())) {
        factors.push_back(b.splat(operands.left(row, k)));
      }
      return factors[row];
    };
    for (int64_t panel = 0; panel < shape.panels; ++panel) {
      SmallVector<Value> right;
      for (int64_t v = 0; v < shape.vectors; ++v) {
        right.push_back(operands.right(panel, v, k));
      }
      for (int64_t row = 0; row < shape.rows; ++row) {
        Value left = factor(row);
        for (int64_t v = 0; v < shape.vectors; ++v) {
          Value &sum = sums[row * width + panel * shape.vectors + v];
          sum = b.multiplyAdd(left, right[v], sum);
        }
      }
    }
  };
  auto loop = [&](Value from, Value to, int64_t unroll, ValueRange init) {
    return b.loop(from, to, unroll, init, [&](Value k, ValueRange carried) {
      SmallVector<Value> sums(carried);
      for (int64_t u = 0; u < unroll; ++u) {
        step(b.add(k, u), sums);
      }
      return sums;
    });
  };
  SmallVector<Value> sums(shape.rows * width, b.zeros());
  if (shape.padded || isMultiple(depth, shape.unroll)) {
    return loop(b.index(0), depth, shape.unroll, sums);
  }
  Value done = b.roundDown(depth, shape.unroll);
  sums = loop(b.index(0), done, shape.unroll, sums);
  return loop(done, depth, 1, sums);
}

void kvern::emitTileStore(ProductBuilder &b, TileShape shape,
                          ArrayRef<Value> sums, const TileOutput &output) {
  int64_t width = shape.vectorsPerRow(), lanes = b.blocking.lanes;
  auto storeRow = [&](int64_t row, ArrayRef<Value> masks,
                      ArrayRef<Value> oldMasks, bool adds) {
    Value m = b.add(output.row, row);
    for (int64_t j = 0; j < width; ++j) {
      Value n = b.add(output.column, j * lanes);
      Value sum = sums[row * width + j];
      if (adds) {
        sum = b.plus(b.loadOut(m, n, /*vectors=*/true, oldMasks[j]), sum);
      }
      b.storeOut(sum, m, n, masks[j]);
    }
  };
  auto storeRows = [&](ArrayRef<Value> masks, ArrayRef<Value> oldMasks,
                       bool adds) {
    for (int64_t row = 0; row < shape.rows; ++row) {
      if (output.rowsLeft && row == shape.rows - 1) {
        b.when(b.less(b.index(row), output.rowsLeft),
               [&] { storeRow(row, masks, oldMasks, adds); });
      } else {
        storeRow(row, masks, oldMasks, adds);
      }
    }
  };
  std::optional<int64_t> first =
      output.first ? getConstantIntValue(output.first) : 0;
  auto storeMasked = [&] {
    SmallVector<Value> masks, oldMasks;
    for (int64_t j = 0; j < width; ++j) {
      Value length = b.sub(output.columnsLeft, b.index(j * lanes));
      masks.push_back(b.mask(length));
      // Nothing is read where the output counts as zero.
      oldMasks.push_back(
          first ? masks.back()
                : b.mask(b.select(output.first, b.index(0), length)));
    }
    storeRows(masks, oldMasks, /*adds=*/!first || *first == 0);
  };
  auto storeWhole = [&] {
    SmallVector<Value> none(width);
    if (first) {
      storeRows(none, none, /*adds=*/*first == 0);
    } else {
      b.when(
          output.first, [&] { storeRows(none, none, /*adds=*/false); },
          [&] { storeRows(none, none, /*adds=*/true); });
    }
  };
  if (!output.columnsLeft) {
    storeWhole();
  } else if (b.storesMasked()) {
    storeMasked();
  } else {
    b.when(b.less(output.columnsLeft, b.index(width * lanes)), storeMasked,
           storeWhole);
  }
}

int64_t kvern::chooseUnroll(int64_t vectorsOfSums) {
  constexpr int64_t kBusy = 32;
  int64_t unroll = kTileUnroll;
  while (unroll > 1 && unroll * vectorsOfSums > kBusy) {
    unroll /= 2;
  }
  return unroll;
}

void kvern::forEachRowTile(
    ProductBuilder &b, Value rows,
    llvm::function_ref<void(int64_t, Value, bool)> body) {
  int64_t tile = b.blocking.tileRows;
  if (std::optional<int64_t> known = getConstantIntValue(rows)) {
    int64_t done = *known - *known % tile, left = *known - done;
    if (done > 0) {
      b.loop(b.index(0), b.index(done), tile,
             [&](Value row) { body(tile, row, /*uncertain=*/false); });
    }
    if (left > 0) {
      body(left + left % 2, b.index(done), /*uncertain=*/left % 2 != 0);
    }
    return;
  }
  Value tiles = b.createOrFold<arith::DivUIOp>(b.add(rows, 1), b.index(tile));
  Value done = b.mul(tiles, tile);
  b.loop(b.index(0), done, tile,
         [&](Value row) { body(tile, row, /*uncertain=*/true); });
  SmallVector<int64_t> cases;
  for (int64_t half = 1; half < tile / 2; ++half) {
    cases.push_back(half);
  }
  // By how many rows are left, of which there may be -1.
  Value halves =
      b.createOrFold<arith::DivUIOp>(b.sub(b.add(rows, 1), done), b.index(2));
  auto choice =
      scf::IndexSwitchOp::create(b, TypeRange(), halves, cases, cases.size());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&choice.getDefaultRegion().emplaceBlock());
  scf::YieldOp::create(b);
  for (auto [half, region] : llvm::zip(cases, choice.getCaseRegions())) {
    b.setInsertionPointToStart(&region.emplaceBlock());
    body(2 * half, done, /*uncertain=*/true);
    scf::YieldOp::create(b);
  }
}

void kvern::forEachBlock(ProductBuilder &b, Value size, Value block,
                         llvm::function_ref<void(Span)> body) {
  auto span = [&](Value from) {
    body({from, b.min(b.sub(size, from), block)});
  };
  std::optional<int64_t> all = getConstantIntValue(size),
                         most = getConstantIntValue(block);
  if (all && most && *all <= *most) {
    body({b.index(0), size});
  } else {
    b.loop(b.index(0), size, block, span);
  }
}
