// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rows of attention: where they are, what they see, how they begin and end.
#include "lib/Codegen/AttentionBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <limits>

using namespace mlir;
using namespace kvern;

AttentionBlocking::AttentionBlocking(const AttentionTarget &target) {
  // Two vectors wide: sums, one row of the packed operand, and a factor.
  smallTileRows = target.vectorRegisters >= 32 ? 4 : 2;
  tileRows = 3 * smallTileRows;
  // Queries, scores and sums of the rows, keys and values: with heads of 128
  // elements 270 KiB, or 200 with half the rows.
  blockRows = target.l2Bytes >= 512 * 1024 ? 96 : 48;
  blockKeys = 128;
  accumulators = target.vectorRegisters / 2;
}

static int64_t sizeFromEnd(Value value, int64_t axis) {
  ArrayRef<int64_t> shape = cast<ShapedType>(value.getType()).getShape();
  return shape[shape.size() - axis];
}

AttentionBuilder::AttentionBuilder(LoopAttentionOp op, OpBuilder &builder,
                                   const AttentionTarget &target)
    : RowBuilder(op.getLoc(), builder,
                 getAccumulatorType(getElementTypeOrSelf(op.getQ().getType())),
                 target.vectorBits),
      op(op), blocking(target), variant(*parseMaskVariant(op.getMaskVariant())),
      heads(sizeFromEnd(op.getQ(), 2)),
      group(op.getKvB() ? 1 : heads / sizeFromEnd(op.getK(), 2)),
      depth(sizeFromEnd(op.getQ(), 1)),
      valueDepth(sizeFromEnd(op.getInit(), 1)) {}

//===----------------------------------------------------------------------===//
// Sequences
//===----------------------------------------------------------------------===//

SmallVector<Value> AttentionBuilder::getSizes() {
  if (!op.getSizes().empty()) {
    return SmallVector<Value>(op.getSizes());
  }
  return {sizeOf(op.getQ(), 0), sizeOf(op.getQ(), 1), sizeOf(op.getK(), 1)};
}

Sequence AttentionBuilder::getSequence(Value batch) {
  Sequence result;
  result.batch = batch;
  if (!op.getQOffsets()) {
    result.queries = getSizes()[1];
    result.keys = getSizes()[2];
    auto rowsOf = [=](Value memory) {
      return RowSource{memory, /*scales=*/Value(),
                       [=](Value row, Value kvHead) -> SmallVector<Value> {
                         return {batch, row, kvHead};
                       }};
    };
    result.k = rowsOf(op.getK());
    result.v = rowsOf(op.getV());
    return result;
  }
  // The start of a sequence and its size.
  auto span = [&](Value offsets, Value rows) -> std::pair<Value, Value> {
    auto [from, to] = loadSpan(offsets, batch, sizeOf(rows, 0));
    return {from, sub(to, from)};
  };
  std::tie(result.firstQuery, result.queries) =
      span(op.getQOffsets(), op.getQ());
  if (op.getTable()) {
    Value places = countPlaces();
    Value length = loadIndex(op.getLengths(), batch, places);
    result.keys = min(add(length, result.queries), places);
    Value lastLayer = add(sizeOf(op.getK(), 2), -1);
    Value layer = loadIndex(op.getLayer(), {}, lastLayer);
    result.k = getPages(result, layer, 0);
    result.v = getPages(result, layer, 1);
    return result;
  }
  Value firstKey;
  std::tie(firstKey, result.keys) = span(op.getKOffsets(), op.getK());
  auto rowsOf = [=](Value memory) {
    return RowSource{memory, /*scales=*/Value(),
                     [=](Value row, Value kvHead) -> SmallVector<Value> {
                       return {add(firstKey, row), kvHead};
                     }};
  };
  result.k = rowsOf(op.getK());
  result.v = rowsOf(op.getV());
  return result;
}

int64_t AttentionBuilder::pageSize() {
  return cast<ShapedType>(op.getK().getType()).getShape()[3];
}

Value AttentionBuilder::countPlaces() {
  return mul(op.getSizes()[2], pageSize());
}

/// Only what some query sees is read: the entries of other pages may hold
/// anything. One that is out of range counts as the last page.
RowSource AttentionBuilder::getPages(const Sequence &sequence, Value layer,
                                     int64_t side) {
  bool isLatent = cast<ShapedType>(op.getK().getType()).getShape()[1] == 1;
  int64_t pageSize = this->pageSize();
  Value kind = index(isLatent ? 0 : side);
  Value lastPage = add(sizeOf(op.getK(), 0), -1);
  Value first = visible(sequence, index(0)).from;
  Value batch = sequence.batch, table = op.getTable();
  auto pageOf = [=](Value row) {
    return loadIndex(table, {batch, div(row, pageSize)}, lastPage);
  };
  // The page of the block that code is emitted for, where a block is in one.
  auto pageOfBlock = std::make_shared<Value>();
  RowSource source{op.getK(), op.getScales(),
                   [=](Value row, Value kvHead) -> SmallVector<Value> {
                     Value seen = max(row, first);
                     Value page = *pageOfBlock ? *pageOfBlock : pageOf(seen);
                     return {page, kind, layer, mod(seen, pageSize), kvHead};
                   }};
  source.inBlock = [=](Value firstRow, int64_t size,
                       llvm::function_ref<void()> body) {
    if (pageSize % size == 0) {
      *pageOfBlock = pageOf(firstRow);
    }
    body();
    *pageOfBlock = Value();
  };
  return source;
}

void AttentionBuilder::inBlock(const Sequence &sequence, Value firstKey,
                               int64_t size, llvm::function_ref<void()> body) {
  sequence.k.inBlock(firstKey, size,
                     [&] { sequence.v.inBlock(firstKey, size, body); });
}

Value AttentionBuilder::loadFrom(const RowSource &source,
                                 ArrayRef<Value> address, Value column,
                                 int64_t length) {
  if (!source.scales) {
    return loadRow(source.memory, address, column, length);
  }
  Value row =
      loadCoded(source.memory, *op.getCacheType(), address, column, length);
  int64_t groups = sizeFromEnd(source.scales, 1);
  SmallVector<Value> at(address);
  at.push_back(div(column, depth / groups));
  Value scale = memref::LoadOp::create(*this, source.scales, at);
  return multiply(row, splat(scale));
}

Value AttentionBuilder::getHead(Value kvHead, Value row) {
  return add(mul(kvHead, group), mod(row, group));
}

SmallVector<Value> AttentionBuilder::rowAddress(const Sequence &sequence,
                                                Value kvHead, Value row) {
  Value query = div(row, group), head = getHead(kvHead, row);
  if (sequence.firstQuery) {
    return {add(sequence.firstQuery, query), head};
  }
  return {sequence.batch, query, head};
}

KeyRange AttentionBuilder::visible(const Sequence &sequence, Value query) {
  Value zero = index(0);
  if (variant == MaskVariant::Null) {
    return {zero, sequence.keys};
  }
  int64_t window = op.getWindow();
  Value position = add(query, sub(sequence.keys, sequence.queries));
  bool looksAhead = variant == MaskVariant::SlidingWindowNoncausal;
  Value to = max(add(position, looksAhead ? window : 1), zero);
  to = min(to, sequence.keys);
  switch (variant) {
  case MaskVariant::ChunkedCausal:
    return {roundDown(max(position, zero), window), to};
  case MaskVariant::SlidingWindowCausal:
  case MaskVariant::SlidingWindowNoncausal:
    return {max(add(position, 1 - window), zero), to};
  default:
    return {zero, to};
  }
}

Value AttentionBuilder::firstRowToSee(const Sequence &sequence, Value key) {
  Value zero = index(0);
  if (variant == MaskVariant::Null) {
    return zero;
  }
  Value query = sub(key, sub(sequence.keys, sequence.queries));
  if (variant == MaskVariant::SlidingWindowNoncausal) {
    query = add(query, 1 - static_cast<int64_t>(op.getWindow()));
  }
  return mul(max(query, zero), group);
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

AttentionBuilder::Rows AttentionBuilder::describeRows(int64_t keys) {
  // A line more than a power of two keeps rows in different cache sets.
  Rows rows;
  rows.queryStride = llvm::alignTo(depth, scorePadding()) + 16;
  rows.scoreStride = keys + 16;
  rows.sumStride = llvm::alignTo(valueDepth, lanes);
  rows.stateStride = llvm::alignTo(rows.sumStride, 16) + 16;
  rows.base = rows.stateAt = index(0);
  return rows;
}

AttentionBuilder::Rows AttentionBuilder::allocateRows(int64_t count,
                                                      int64_t keys) {
  Rows rows = describeRows(keys);
  rows.queries = allocate(count * rows.queryStride);
  rows.scores = allocate(count * rows.scoreStride);
  rows.factor = allocate(count);
  return rows;
}

Value AttentionBuilder::queryAt(const Rows &rows, Value row) {
  return mul(add(rows.base, row), rows.queryStride);
}
Value AttentionBuilder::scoreAt(const Rows &rows, Value row) {
  return mul(add(rows.base, row), rows.scoreStride);
}
Value AttentionBuilder::factorAt(const Rows &rows, Value row) {
  return add(rows.base, row);
}
Value AttentionBuilder::sumAt(const Rows &rows, Value row) {
  return add(rows.stateAt, mul(add(rows.base, row), rows.stateStride));
}
Value AttentionBuilder::maximumAt(const Rows &rows, Value row) {
  return add(sumAt(rows, row), rows.sumStride);
}
Value AttentionBuilder::totalAt(const Rows &rows, Value row) {
  return add(sumAt(rows, row), rows.sumStride + 1);
}

void AttentionBuilder::startRows(const Rows &rows, const Sequence &sequence,
                                 int64_t padding, Value withSinks) {
  double softcap = op.getSoftcap().convertToDouble();
  double scale = op.getScale().convertToDouble();
  Value factor = splat(softcap != 0.0 ? scale / softcap : scale * kLog2E);
  Value zero = splat(0.0);
  Value lowest = constant(-kInfinity), none = constant(0.0);
  loop(index(0), rows.count, 1, [&](Value row) {
    Value source = add(rows.first, row);
    SmallVector<Value> address = rowAddress(sequence, rows.kvHead, source);
    Value at = queryAt(rows, row);
    forEachVector(depth, [&](Value column, int64_t length) {
      Value query = loadRow(op.getQ(), address, column, length);
      store(multiply(query, factor), rows.queries, add(at, column));
    });
    loop(index(llvm::alignTo(depth, lanes)), index(rows.queryStride - 16),
         lanes,
         [&](Value column) { store(zero, rows.queries, add(at, column)); });
    loop(index(0), index(rows.sumStride), lanes, [&](Value column) {
      store(zero, rows.state, add(sumAt(rows, row), column));
    });
    Value maximum = lowest, total = none;
    if (op.getSinks()) {
      Value sink = loadElement(op.getSinks(), getHead(rows.kvHead, source));
      maximum = multiply(sink, constant(kLog2E));
      total = constant(1.0);
      if (withSinks) {
        maximum = arith::SelectOp::create(*this, withSinks, maximum, lowest);
        total = arith::SelectOp::create(*this, withSinks, total, none);
      }
    }
    store(maximum, rows.state, maximumAt(rows, row));
    store(total, rows.state, totalAt(rows, row));
  });
  // What rows beyond yield is not used, but computed.
  loop(rows.count, roundUp(rows.count, padding), 1, [&](Value row) {
    loop(index(0), index(rows.queryStride - 16), lanes, [&](Value column) {
      store(zero, rows.queries, add(queryAt(rows, row), column));
    });
    loop(index(0), index(rows.sumStride), lanes, [&](Value column) {
      store(zero, rows.state, add(sumAt(rows, row), column));
    });
    store(none, rows.factor, factorAt(rows, row));
  });
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

void AttentionBuilder::storeResult(ArrayRef<Value> values,
                                   ArrayRef<Value> address) {
  for (auto [i, value] : llvm::enumerate(values)) {
    int64_t column = i * lanes;
    storeRow(value, op.getInit(), address, index(column),
             std::min(lanes, valueDepth - column));
  }
}

void AttentionBuilder::finishRow(const Sequence &sequence, Value kvHead,
                                 Value row, ArrayRef<Value> sums, Value total) {
  Value zero = constant(0.0);
  Value nothing =
      arith::CmpFOp::create(*this, arith::CmpFPredicate::OEQ, total, zero);
  Value inverse = arith::DivFOp::create(*this, constant(1.0), total);
  inverse = splat(arith::SelectOp::create(*this, nothing, zero, inverse));
  SmallVector<Value> values;
  for (Value sum : sums) {
    values.push_back(multiply(sum, inverse));
  }
  storeResult(values, rowAddress(sequence, kvHead, row));
}

void AttentionBuilder::finishRow(const Sequence &sequence, const Rows &rows,
                                 Value row) {
  SmallVector<Value> sums;
  for (int64_t column = 0; column < valueDepth; column += lanes) {
    sums.push_back(loadVector(rows.state, add(sumAt(rows, row), column)));
  }
  finishRow(sequence, rows.kvHead, add(rows.first, row), sums,
            load(rows.state, totalAt(rows, row)));
}
