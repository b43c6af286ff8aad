// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Stores of keys and values in pages, on buffers.
//
// For each sequence, and each of its tokens:
//   position = tokens in the cache + number of the token
//   with queries: result = rotated queries
//   if the table has a page for the position:
//     for each head: page[place, head] = rotated keys; and values
#include "lib/Codegen/LowerKVCache.h"

#include "lib/Codegen/LowerRope.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace kvern;

/// Tokens of a task.
static constexpr int64_t kTokens = 16;

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<ShapedType>(value.getType()).getShape();
}

namespace {
class StoreEmitter {
public:
  StoreEmitter(LoopKVStoreOp op, OpBuilder &builder, int64_t vectorBits)
      : op(op), b(op.getLoc(), builder,
                  getAccumulatorType(getElementTypeOrSelf(op.getK().getType())),
                  vectorBits),
        size(shapeOf(op.getK()).back()), pageSize(shapeOf(op.getBlocks())[3]) {}

  void emit();

private:
  /// Gives `length` elements from a column on.
  using Load = Rotation::Load;

  void emitToken(Rotation *rotation, Value batch, Value token, Value position);
  void emitQueries(Rotation &rotation, Value token);
  /// Stores a row of `side`, keys or values, at `place`.
  void storeHead(int64_t side, ArrayRef<Value> place, Value head, Load load);
  void storeQuantized(ArrayRef<Value> address, Load load);
  /// Zeros in the result for tokens of no sequence.
  void clear(Value from, Value to);

  LoopKVStoreOp op;
  RowBuilder b;
  const int64_t size, pageSize;
  /// The tokens that a row of the table has pages for.
  Value places;
  /// A rotated row, where it is read twice.
  Value row;
};
} // namespace

void StoreEmitter::emit() {
  Value tokens = b.sizeOf(op.getK(), 0);
  Value sequences = b.add(b.sizeOf(op.getOffsets(), 0), -1);
  places = b.mul(b.sizeOf(op.getTable(), 1), pageSize);
  Value blocks = b.div(b.add(tokens, kTokens - 1), kTokens);
  b.parallel({sequences, blocks}, [&](ValueRange ids) {
    Value batch = ids[0];
    Value from, to;
    std::tie(from, to) = b.loadSpan(op.getOffsets(), batch, tokens);
    Value first = b.add(from, b.mul(ids[1], kTokens));
    b.when(b.less(first, to), [&] {
      std::optional<Rotation> rotation;
      if (op.getFreqs()) {
        rotation.emplace(b, op.getFreqs(), op.getInterleaved(), size);
      }
      if (op.getScales()) {
        row = b.allocate(llvm::alignTo(size, b.lanes));
      }
      Value length = b.loadIndex(op.getLengths(), batch, places);
      b.loop(first, b.min(b.add(first, kTokens), to), 1, [&](Value token) {
        emitToken(rotation ? &*rotation : nullptr, batch, token,
                  b.add(length, b.sub(token, from)));
      });
    });
  });
  if (op.getQ()) {
    clear(b.index(0), b.loadIndex(op.getOffsets(), b.index(0), tokens));
    clear(b.loadIndex(op.getOffsets(), sequences, tokens), tokens);
  }
}

void StoreEmitter::clear(Value from, Value to) {
  b.loop(from, to, 1, [&](Value token) {
    b.loop(b.index(0), b.sizeOf(op.getQ(), 1), 1, [&](Value head) {
      b.forEachVector(size, [&](Value column, int64_t length) {
        b.storeRow(b.splat(0.0), op.getInit().front(), {token, head}, column,
                   length);
      });
    });
  });
}

void StoreEmitter::emitToken(Rotation *rotation, Value batch, Value token,
                             Value position) {
  if (rotation) {
    Value last = b.add(b.sizeOf(op.getFreqs(), 0), -1);
    rotation->setPosition(b.min(position, last));
    emitQueries(*rotation, token);
  }
  b.when(b.less(position, places), [&] {
    auto lastOf = [&](int64_t axis) {
      return b.add(b.sizeOf(op.getBlocks(), axis), -1);
    };
    Value page = b.loadIndex(op.getTable(), {batch, b.div(position, pageSize)},
                             lastOf(0));
    Value layer = b.loadIndex(op.getLayer(), {}, lastOf(2));
    SmallVector<Value> place{page, layer, b.mod(position, pageSize)};
    b.loop(b.index(0), b.sizeOf(op.getK(), 1), 1, [&](Value head) {
      auto loadFrom = [&](Value memory) {
        return [&, memory](Value column, int64_t length) {
          return b.loadRow(memory, {token, head}, column, length);
        };
      };
      auto loadKey = loadFrom(op.getK());
      if (rotation && op.getScales()) {
        rotation->rotate(loadKey, [&](Value value, Value column, int64_t) {
          b.store(value, row, column);
        });
        storeHead(0, place, head, [&](Value column, int64_t length) {
          return b.loadRow(row, {}, column, length);
        });
      } else if (rotation) {
        SmallVector<Value> address{place[0], b.index(0), place[1], place[2],
                                   head};
        rotation->rotate(
            loadKey, [&](Value value, Value column, int64_t length) {
              b.storeRow(value, op.getBlocks(), address, column, length);
            });
      } else {
        storeHead(0, place, head, loadKey);
      }
      if (op.getV()) {
        storeHead(1, place, head, loadFrom(op.getV()));
      }
    });
  });
}

void StoreEmitter::emitQueries(Rotation &rotation, Value token) {
  b.loop(b.index(0), b.sizeOf(op.getQ(), 1), 1, [&](Value head) {
    rotation.rotate(
        [&](Value column, int64_t length) {
          return b.loadRow(op.getQ(), {token, head}, column, length);
        },
        [&](Value value, Value column, int64_t length) {
          b.storeRow(value, op.getInit().front(), {token, head}, column,
                     length);
        });
  });
}

void StoreEmitter::storeHead(int64_t side, ArrayRef<Value> place, Value head,
                             Load load) {
  SmallVector<Value> address{place[0], b.index(side), place[1], place[2], head};
  if (op.getScales()) {
    storeQuantized(address, load);
    return;
  }
  b.forEachVector(size, [&](Value column, int64_t length) {
    b.storeRow(load(column, length), op.getBlocks(), address, column, length);
  });
}

/// For each group: scale = largest / most, codes = x * (most / largest).
void StoreEmitter::storeQuantized(ArrayRef<Value> address, Load load) {
  Type code = op.getCacheType();
  double most = isa<IntegerType>(code) ? 127.0 : 448.0;
  int64_t groups = shapeOf(op.getScales()).back(), group = size / groups;
  for (int64_t g = 0; g < groups; ++g) {
    int64_t start = g * group;
    int64_t whole = group - group % b.lanes;
    auto sizeAt = [&](Value column, int64_t length, Value largest) {
      Value value = load(b.add(column, start), length);
      // A NaN makes the scale one.
      return arith::MaximumFOp::create(
                 b, largest, math::AbsFOp::create(b, value).getResult())
          .getResult();
    };
    Value largest =
        b.loop(b.index(0), b.index(whole), b.lanes, {b.splat(0.0)},
               [&](Value column, ValueRange carried) -> SmallVector<Value> {
                 return {sizeAt(column, b.lanes, carried[0])};
               })[0];
    if (whole != group) {
      largest = sizeAt(b.index(whole), group - whole, largest);
    }
    Value top = vector::ReductionOp::create(b, vector::CombiningKind::MAXIMUMF,
                                            largest);
    Value scale = b.multiply(top, b.constant(1.0 / most));
    SmallVector<Value> at(address);
    at.push_back(b.index(g));
    memref::StoreOp::create(b, scale, op.getScales(), at);
    Value zero = b.constant(0.0);
    Value isZero =
        arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, scale, zero);
    Value inverse = arith::DivFOp::create(b, b.constant(1.0), scale);
    Value factor =
        b.splat(arith::SelectOp::create(b, isZero, zero, inverse).getResult());
    b.forEachVector(group, [&](Value column, int64_t length) {
      Value from = b.add(column, start);
      b.storeCoded(b.multiply(load(from, length), factor), code, op.getBlocks(),
                   address, from, length);
    });
  }
}

void kvern::emitKVStore(LoopKVStoreOp op, OpBuilder &builder,
                        int64_t vectorBits) {
  StoreEmitter(op, builder, vectorBits).emit();
}
