// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rotary positions on buffers.
//
// For each token:
//   spread the row of the table to cosines and sines, one for each element, the
//     sines with the sign of what they multiply
//   for each head: result = x * cosine + partner(x) * sine
#include "lib/Codegen/LowerRope.h"

#include "lib/Codegen/RowBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace kvern;

/// Tokens of a task.
static constexpr int64_t kTokens = 16;

namespace {
class RopeEmitter {
public:
  RopeEmitter(LoopRopeOp op, OpBuilder &builder, int64_t vectorBits)
      : op(op), b(op.getLoc(), builder,
                  getAccumulatorType(getElementTypeOrSelf(op.getX().getType())),
                  vectorBits),
        lanes(b.lanes), half(sizeOfLast(op.getTable()) / 2),
        size(sizeOfLast(op.getX())),
        rank(cast<ShapedType>(op.getX().getType()).getRank()) {}

  void emit();

private:
  static int64_t sizeOfLast(Value value) {
    return cast<ShapedType>(value.getType()).getShape().back();
  }
  void emitToken(ArrayRef<Value> token);
  Value getPosition(ArrayRef<Value> token);
  void spreadTable(Value position);
  void rotateInterleaved(ArrayRef<Value> row);
  void rotateHalves(ArrayRef<Value> row);

  /// The lanes of `a` and `c` that `lane` names, `c` from `lanes` on.
  Value shuffle(Value a, Value c, llvm::function_ref<int64_t(int64_t)> lane) {
    SmallVector<int64_t> mask;
    for (int64_t l = 0; l < lanes; ++l) {
      mask.push_back(lane(l));
    }
    return vector::ShuffleOp::create(b, a, c, mask);
  }

  LoopRopeOp op;
  RowBuilder b;
  const int64_t lanes, half, size, rank;
  Value cosines, sines;
};
} // namespace

void RopeEmitter::emit() {
  SmallVector<Value> sizes;
  for (int64_t axis = 0; axis < rank - 2; ++axis) {
    sizes.push_back(b.sizeOf(op.getX(), axis));
  }
  auto emitTokens = [&](ValueRange ids) {
    cosines = b.allocate(2 * half + lanes);
    sines = b.allocate(2 * half + lanes);
    if (sizes.empty()) {
      emitToken({});
      return;
    }
    Value first = b.mul(ids.back(), kTokens);
    Value last = b.min(b.add(first, kTokens), sizes.back());
    b.loop(first, last, 1, [&](Value token) {
      SmallVector<Value> indices(ids.drop_back());
      indices.push_back(token);
      emitToken(indices);
    });
  };
  if (sizes.empty()) {
    emitTokens({});
    return;
  }
  SmallVector<Value> tasks = sizes;
  tasks.back() = b.div(b.add(sizes.back(), kTokens - 1), kTokens);
  b.parallel(tasks, emitTokens);
}

Value RopeEmitter::getPosition(ArrayRef<Value> token) {
  if (!op.getPositions()) {
    return token.back();
  }
  Value position = memref::LoadOp::create(b, op.getPositions(), token);
  position = arith::IndexCastOp::create(b, b.getIndexType(), position);
  Value fromEnd = b.add(position, b.sizeOf(op.getTable(), 0));
  Value negative = b.less(position, b.index(0));
  return arith::SelectOp::create(b, negative, fromEnd, position);
}

void RopeEmitter::spreadTable(Value position) {
  Value table = op.getTable();
  if (op.getInterleaved()) {
    SmallVector<Attribute> signs;
    for (int64_t l = 0; l < lanes; ++l) {
      signs.push_back(b.getFloatAttr(b.element, l % 2 == 0 ? -1.0 : 1.0));
    }
    Value sign =
        arith::ConstantOp::create(b, DenseElementsAttr::get(b.vector, signs));
    b.forEachVector(2 * half, [&](Value column, int64_t length) {
      Value pairs = b.loadRow(table, position, column, length);
      Value cosine = shuffle(pairs, pairs, [](int64_t l) { return l - l % 2; });
      Value sine =
          shuffle(pairs, pairs, [](int64_t l) { return l - l % 2 + 1; });
      b.store(cosine, cosines, column);
      b.store(b.multiply(sine, sign), sines, column);
    });
    return;
  }
  b.forEachVector(half, [&](Value column, int64_t length) {
    Value pair = b.mul(column, 2);
    int64_t rest = 2 * length - lanes;
    Value low = b.loadRow(table, position, pair, std::min(2 * length, lanes));
    Value high = rest > 0 ? b.loadRow(table, position, b.add(pair, lanes), rest)
                          : b.splat(0.0);
    b.store(shuffle(low, high, [](int64_t l) { return 2 * l; }), cosines,
            column);
    b.store(shuffle(low, high, [](int64_t l) { return 2 * l + 1; }), sines,
            column);
  });
}

void RopeEmitter::rotateInterleaved(ArrayRef<Value> row) {
  b.forEachVector(2 * half, [&](Value column, int64_t length) {
    Value x = b.loadRow(op.getX(), row, column, length);
    Value partner = shuffle(x, x, [](int64_t l) { return l ^ 1; });
    Value turned = b.multiply(partner, b.loadVector(sines, column));
    Value result = b.multiplyAdd(x, b.loadVector(cosines, column), turned);
    b.storeRow(result, op.getInit(), row, column, length);
  });
}

void RopeEmitter::rotateHalves(ArrayRef<Value> row) {
  b.forEachVector(half, [&](Value column, int64_t length) {
    Value second = b.add(column, half);
    Value x = b.loadRow(op.getX(), row, column, length);
    Value y = b.loadRow(op.getX(), row, second, length);
    Value cosine = b.loadVector(cosines, column);
    Value sine = b.loadVector(sines, column);
    Value first =
        arith::SubFOp::create(b, b.multiply(x, cosine), b.multiply(y, sine));
    b.storeRow(first, op.getInit(), row, column, length);
    b.storeRow(b.multiplyAdd(y, cosine, b.multiply(x, sine)), op.getInit(), row,
               second, length);
  });
}

void RopeEmitter::emitToken(ArrayRef<Value> token) {
  spreadTable(getPosition(token));
  b.loop(b.index(0), b.sizeOf(op.getX(), rank - 2), 1, [&](Value head) {
    SmallVector<Value> row(token);
    row.push_back(head);
    if (op.getInterleaved()) {
      rotateInterleaved(row);
    } else {
      rotateHalves(row);
    }
    b.forEachVector(size - 2 * half, [&](Value column, int64_t length) {
      Value at = b.add(column, 2 * half);
      b.storeRow(b.loadRow(op.getX(), row, at, length), op.getInit(), row, at,
                 length);
    });
  });
}

void kvern::emitRope(LoopRopeOp op, OpBuilder &builder, int64_t vectorBits) {
  RopeEmitter(op, builder, vectorBits).emit();
}
