// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rows of lhs that register tiles read.
#include "lib/Codegen/LhsRows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <numeric>

using namespace mlir;
using namespace kvern;

/// The first cache places what is this far apart in the same set.
static constexpr int64_t kCachePeriod = 4096;
/// Rows of a tile that may share a set.
static constexpr int64_t kSharedSets = 4;

LhsRows::LhsRows(ProductBuilder &b, int64_t rows, int64_t depth)
    : b(b),
      blockRows(std::min(rows, getConstantIntValue(b.rows).value_or(rows))),
      blockDepth(
          std::min(depth, getConstantIntValue(b.depth).value_or(depth))) {}

bool LhsRows::isReadable(ProductBuilder &b) {
  Value lhs = b.product.op->getOperand(b.product.lhs);
  return getElementTypeOrSelf(lhs.getType()) == b.element;
}

bool LhsRows::suitsCache(ProductBuilder &b) {
  unsigned lhs = b.product.lhs;
  if (!isReadable(b) || !b.isContiguous(lhs, b.product.k)) {
    return false;
  }
  if (!b.product.m) {
    return true;
  }
  // An unknown number of rows needs a pointer for each of a tile, which is more
  // than there are registers.
  if (!getConstantIntValue(b.rows)) {
    return false;
  }
  AffineMap map =
      b.product.op.getMatchingIndexingMap(&b.product.op->getOpOperand(lhs));
  std::optional<unsigned> axis = map.getResultPosition(
      getAffineDimExpr(*b.product.m, b.product.op.getContext()));
  auto type = cast<MemRefType>(b.product.op->getOperand(lhs).getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (!axis || failed(type.getStridesAndOffset(strides, offset)) ||
      ShapedType::isDynamic(strides[*axis])) {
    return false;
  }
  int64_t bytes = strides[*axis] * b.element.getIntOrFloatBitWidth() / 8;
  int64_t places = kCachePeriod / std::gcd(bytes, kCachePeriod);
  return b.blocking.tileRows <= kSharedSets * places;
}

/// A cache line longer than a power of two, so that the rows of a register tile
/// lie in different cache sets.
int64_t LhsRows::stride() const {
  return llvm::alignTo(blockDepth, kTileUnroll) +
         std::max<int64_t>(b.blocking.lanes, 16);
}

void LhsRows::readPacked(AllocateScratch allocate) {
  // A tile may read past the last row of a block, not use it.
  memory = allocate((blockRows + b.blocking.tileRows) * stride());
}

void LhsRows::select(Span newRows, Span newDepth) {
  rows = newRows;
  depth = newDepth;
  if (memory) {
    b.loop(b.index(0), rows.size, 1, [&](Value row) {
      packRow(b.add(rows.from, row), depth, b.mul(row, stride()));
    });
  }
}

Value LhsRows::load(Value first, int64_t offset, Value k, bool clamped) {
  if (memory) {
    Value at = b.add(b.mul(first, stride()), k);
    return memref::LoadOp::create(b, memory,
                                  ValueRange{b.add(at, offset * stride())});
  }
  Value row = b.add(first, offset);
  if (clamped) {
    row = b.min(row, b.sub(rows.size, b.index(1)));
  }
  return b.load(b.product.lhs, b.add(rows.from, row), b.add(depth.from, k));
}

void LhsRows::packRow(Value from, Span depth, Value to) {
  unsigned lhs = b.product.lhs;
  int64_t lanes = b.blocking.lanes;
  auto at = [&](Value k) { return b.add(to, k); };
  if (!b.isContiguous(lhs, b.product.k)) {
    b.loop(b.index(0), depth.size, 1, [&](Value k) {
      Value element = b.load(lhs, from, b.add(depth.from, k));
      memref::StoreOp::create(b, element, memory, ValueRange{at(k)});
    });
    zero(depth.size, depth, to);
    return;
  }
  Value full = b.roundDown(depth.size, lanes);
  b.loop(b.index(0), full, lanes, [&](Value k) {
    Value elements = b.loadVector(lhs, from, b.add(depth.from, k));
    vector::StoreOp::create(b, elements, memory, ValueRange{at(k)});
  });
  if (!isMultiple(depth.size, lanes)) {
    b.when(b.less(full, depth.size), [&] {
      Value elements = b.loadVector(lhs, from, b.add(depth.from, full),
                                    b.sub(depth.size, full));
      vector::StoreOp::create(b, elements, memory, ValueRange{at(full)});
    });
  }
  if (lanes < kTileUnroll) {
    zero(b.roundUp(depth.size, lanes), depth, to);
  }
}

void LhsRows::zero(Value from, Span depth, Value to) {
  Value zero =
      arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(b.element)));
  b.loop(from, b.roundUp(depth.size, kTileUnroll), 1, [&](Value k) {
    memref::StoreOp::create(b, zero, memory, ValueRange{b.add(to, k)});
  });
}
