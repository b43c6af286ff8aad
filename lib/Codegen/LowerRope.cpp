// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rotary positions on buffers.
//
// For each token:
//   spread the row of the table to cosines and sines, one for each element, the
//     sines with the sign of what they multiply
//   for each head: result = x * cosine + partner(x) * sine
#include "lib/Codegen/LowerRope.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace kvern;

/// Tokens of a task.
static constexpr int64_t kTokens = 16;

static int64_t sizeOfLast(Value value) {
  return cast<ShapedType>(value.getType()).getShape().back();
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

Rotation::Rotation(RowBuilder &b, Value table, bool interleaved, int64_t size)
    : b(b), table(table), interleaved(interleaved), size(size),
      half(sizeOfLast(table) / 2), cosines(b.allocate(2 * half + b.lanes)),
      sines(b.allocate(2 * half + b.lanes)) {}

/// The lanes of `a` and `c` that `lane` names, `c` from `lanes` on.
Value Rotation::shuffle(Value a, Value c,
                        llvm::function_ref<int64_t(int64_t)> lane) {
  SmallVector<int64_t> mask;
  for (int64_t l = 0; l < b.lanes; ++l) {
    mask.push_back(lane(l));
  }
  return vector::ShuffleOp::create(b, a, c, mask);
}

void Rotation::setPosition(Value position) {
  int64_t lanes = b.lanes;
  if (interleaved) {
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

void Rotation::rotateInterleaved(Load load, Store store) {
  b.forEachVector(2 * half, [&](Value column, int64_t length) {
    Value x = load(column, length);
    Value partner = shuffle(x, x, [](int64_t l) { return l ^ 1; });
    Value turned = b.multiply(partner, b.loadVector(sines, column));
    store(b.multiplyAdd(x, b.loadVector(cosines, column), turned), column,
          length);
  });
}

void Rotation::rotateHalves(Load load, Store store) {
  b.forEachVector(half, [&](Value column, int64_t length) {
    Value second = b.add(column, half);
    Value x = load(column, length);
    Value y = load(second, length);
    Value cosine = b.loadVector(cosines, column);
    Value sine = b.loadVector(sines, column);
    Value first =
        arith::SubFOp::create(b, b.multiply(x, cosine), b.multiply(y, sine));
    store(first, column, length);
    Value last = b.multiplyAdd(y, cosine, b.multiply(x, sine));
    store(last, second, length);
  });
}

void Rotation::rotate(Load load, Store store) {
  if (interleaved) {
    rotateInterleaved(load, store);
  } else {
    rotateHalves(load, store);
  }
  b.forEachVector(size - 2 * half, [&](Value column, int64_t length) {
    Value at = b.add(column, 2 * half);
    store(load(at, length), at, length);
  });
}

//===----------------------------------------------------------------------===//
// kvern.loop.rope
//===----------------------------------------------------------------------===//

static Value getPosition(RowBuilder &b, LoopRopeOp op, ArrayRef<Value> token) {
  if (!op.getPositions()) {
    return token.back();
  }
  Value position = memref::LoadOp::create(b, op.getPositions(), token);
  position = arith::IndexCastOp::create(b, b.getIndexType(), position);
  Value fromEnd = b.add(position, b.sizeOf(op.getTable(), 0));
  Value negative = b.less(position, b.index(0));
  return arith::SelectOp::create(b, negative, fromEnd, position);
}

static void emitToken(RowBuilder &b, Rotation &rotation, LoopRopeOp op,
                      ArrayRef<Value> token) {
  rotation.setPosition(getPosition(b, op, token));
  b.loop(b.index(0), b.sizeOf(op.getX(), token.size()), 1, [&](Value head) {
    SmallVector<Value> row(token);
    row.push_back(head);
    rotation.rotate(
        [&](Value column, int64_t length) {
          return b.loadRow(op.getX(), row, column, length);
        },
        [&](Value value, Value column, int64_t length) {
          b.storeRow(value, op.getInit(), row, column, length);
        });
  });
}

void kvern::emitRope(LoopRopeOp op, OpBuilder &builder, int64_t vectorBits) {
  Type element = getAccumulatorType(getElementTypeOrSelf(op.getX().getType()));
  RowBuilder b(op.getLoc(), builder, element, vectorBits);
  auto makeRotation = [&] {
    return Rotation(b, op.getTable(), op.getInterleaved(),
                    sizeOfLast(op.getX()));
  };
  SmallVector<Value> sizes;
  int64_t rank = cast<ShapedType>(op.getX().getType()).getRank();
  for (int64_t axis = 0; axis < rank - 2; ++axis) {
    sizes.push_back(b.sizeOf(op.getX(), axis));
  }
  if (sizes.empty()) {
    Rotation rotation = makeRotation();
    emitToken(b, rotation, op, {});
    return;
  }
  SmallVector<Value> tasks = sizes;
  tasks.back() = b.div(b.add(sizes.back(), kTokens - 1), kTokens);
  b.parallel(tasks, [&](ValueRange ids) {
    Rotation rotation = makeRotation();
    Value first = b.mul(ids.back(), kTokens);
    Value last = b.min(b.add(first, kTokens), sizes.back());
    b.loop(first, last, 1, [&](Value token) {
      SmallVector<Value> indices(ids.drop_back());
      indices.push_back(token);
      emitToken(b, rotation, op, indices);
    });
  });
}
