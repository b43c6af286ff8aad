// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Copies that change which axis is contiguous. With `a` the loop that walks the
// input element by element and `b` the one that walks the output:
//
//   for all other loops, for each run of b, in parallel:
//     for each cache line of a:
//       for each square of b within the run, of a within the line:
//         read rows of a, transpose in registers, write rows of b
//     by elements: what is left of a, and of b
//
// So each line of the input is read once, as a whole.
#include "lib/Codegen/TransposeLoop.h"

#include "lib/Codegen/RowBuilder.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace kvern;

/// Of the output's last axis, in a task.
static constexpr int64_t kRun = 64;
static constexpr int64_t kLineBits = 512;

/// The loop that walks an operand element by element.
static std::optional<unsigned> getContiguousLoop(linalg::GenericOp op,
                                                 OpOperand *operand) {
  auto type = dyn_cast<MemRefType>(operand->get().getType());
  AffineMap map = op.getMatchingIndexingMap(operand);
  if (!type || !type.isLastDimUnitStride() || !map.isPermutation() ||
      map.getNumResults() == 0) {
    return std::nullopt;
  }
  return map.getDimPosition(map.getNumResults() - 1);
}

static bool onlyCopies(linalg::GenericOp op) {
  Block *body = op.getBody();
  return op.getNumDpsInputs() == 1 && op.getNumDpsInits() == 1 &&
         op.getNumParallelLoops() == op.getNumLoops() &&
         llvm::hasSingleElement(*body) &&
         body->getTerminator()->getOperand(0) == body->getArgument(0);
}

namespace {
class TransposeEmitter : public RowBuilder {
public:
  TransposeEmitter(linalg::GenericOp op, unsigned a, unsigned b,
                   int64_t vectorBits, OpBuilder &builder)
      : RowBuilder(op.getLoc(), builder, getBits(op), vectorBits),
        input(op.getDpsInputOperand(0)), output(op.getDpsInitOperand(0)),
        op(op), a(a), b(b), point(op.getNumLoops()) {}

  static IntegerType getBits(linalg::GenericOp op) {
    Type type = getElementTypeOrSelf(op.getDpsInits()[0]);
    return IntegerType::get(op.getContext(), type.getIntOrFloatBitWidth());
  }

  void emit();

private:
  Value sizeOfLoop(unsigned dim) {
    AffineMap map = op.getMatchingIndexingMap(output);
    unsigned axis =
        *map.getResultPosition(mlir::getAffineDimExpr(dim, op.getContext()));
    return createOrFold<memref::DimOp>(output->get(), axis);
  }
  SmallVector<Value> address(OpOperand *operand, Value atA, Value atB) {
    SmallVector<Value> all(point), indices;
    all[a] = atA;
    all[b] = atB;
    AffineMap map = op.getMatchingIndexingMap(operand);
    for (unsigned axis = 0; axis < map.getNumResults(); ++axis) {
      indices.push_back(all[map.getDimPosition(axis)]);
    }
    return indices;
  }
  void emitRun(Value from, Value to);
  void emitSquare(Value atA, Value atB);
  void emitElements(Value fromA, Value toA, Value fromB, Value toB);

  OpOperand *input, *output;
  linalg::GenericOp op;
  unsigned a, b;
  SmallVector<Value> point;
};
} // namespace

void TransposeEmitter::emitSquare(Value atA, Value atB) {
  auto type = VectorType::get({lanes}, getElementTypeOrSelf(output->get()));
  SmallVector<Value> rows;
  for (int64_t i = 0; i < lanes; ++i) {
    Value row = vector::LoadOp::create(*this, type, input->get(),
                                       address(input, atA, add(atB, i)));
    rows.push_back(createOrFold<vector::BitCastOp>(vector, row));
  }
  for (auto [i, row] : llvm::enumerate(transpose(rows))) {
    vector::StoreOp::create(*this, createOrFold<vector::BitCastOp>(type, row),
                            output->get(), address(output, add(atA, i), atB));
  }
}

void TransposeEmitter::emitElements(Value fromA, Value toA, Value fromB,
                                    Value toB) {
  loop(fromA, toA, 1, [&](Value atA) {
    loop(fromB, toB, 1, [&](Value atB) {
      Value element =
          memref::LoadOp::create(*this, input->get(), address(input, atA, atB));
      memref::StoreOp::create(*this, element, output->get(),
                              address(output, atA, atB));
    });
  });
}

void TransposeEmitter::emitRun(Value from, Value to) {
  Value sizeA = sizeOfLoop(a);
  int64_t bits = element.getIntOrFloatBitWidth();
  int64_t line = std::max(kLineBits / bits, lanes);
  Value wholeA = roundDown(sizeA, line);
  Value wholeB = add(from, roundDown(sub(to, from), lanes));
  loop(index(0), wholeA, line, [&](Value atA) {
    loop(from, wholeB, lanes, [&](Value atB) {
      for (int64_t offset = 0; offset < line; offset += lanes) {
        emitSquare(add(atA, offset), atB);
      }
    });
  });
  emitElements(wholeA, sizeA, from, wholeB);
  emitElements(index(0), sizeA, wholeB, to);
}

void TransposeEmitter::emit() {
  SmallVector<unsigned> others;
  SmallVector<Value> sizes;
  for (unsigned dim = 0; dim < point.size(); ++dim) {
    if (dim != a && dim != b) {
      others.push_back(dim);
      sizes.push_back(sizeOfLoop(dim));
    }
  }
  Value sizeB = sizeOfLoop(b);
  sizes.push_back(div(add(sizeB, kRun - 1), kRun));
  parallel(sizes, [&](ValueRange ids) {
    for (auto [dim, id] : llvm::zip(others, ids)) {
      point[dim] = id;
    }
    Value from = mul(ids.back(), kRun);
    emitRun(from, min(add(from, kRun), sizeB));
  });
}

LogicalResult kvern::emitTranspose(linalg::GenericOp op, int64_t vectorBits,
                                   RewriterBase &rewriter) {
  if (!onlyCopies(op)) {
    return failure();
  }
  std::optional<unsigned> a = getContiguousLoop(op, op.getDpsInputOperand(0));
  std::optional<unsigned> b = getContiguousLoop(op, op.getDpsInitOperand(0));
  if (!a || !b || *a == *b) {
    return failure();
  }
  // Squares of at most 16 rows, or registers run out.
  Type element = getElementTypeOrSelf(op.getDpsInits()[0]);
  int64_t bits = element.getIntOrFloatBitWidth();
  int64_t lanes = std::min<int64_t>(vectorBits / bits, 16);
  if (bits < 8 || lanes < 2) {
    return failure();
  }
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  if ((!ShapedType::isDynamic(ranges[*a]) && ranges[*a] < lanes) ||
      (!ShapedType::isDynamic(ranges[*b]) && ranges[*b] < lanes)) {
    return failure();
  }
  rewriter.setInsertionPoint(op);
  TransposeEmitter(op, *a, *b, lanes * bits, rewriter).emit();
  rewriter.eraseOp(op);
  return success();
}
