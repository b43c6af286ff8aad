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
// So each line of the input is read once, as a whole. Where both are contiguous
// along one short loop, what lies along it is copied as a block, and `a` and
// `b` are the loops around it:
//
//   for all other loops, for each run of a, in parallel:
//     for each b, for each a of the run: copy a block
#include "lib/Codegen/TransposeLoop.h"

#include "lib/Codegen/RowBuilder.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace kvern;

/// Of the output's last axis, in a task.
static constexpr int64_t kRun = 64;
static constexpr int64_t kLineBits = 512;
/// In a task, of the longest blocks that are copied by registers.
static constexpr int64_t kBlocks = 16;
static constexpr int64_t kBlockBits = 4096;

/// The loop that walks an operand element by element, or the one around it.
static std::optional<unsigned> getContiguousLoop(linalg::GenericOp op,
                                                 OpOperand *operand,
                                                 unsigned around = 0) {
  auto type = dyn_cast<MemRefType>(operand->get().getType());
  AffineMap map = op.getMatchingIndexingMap(operand);
  if (!type || !type.isLastDimUnitStride() || !map.isPermutation() ||
      map.getNumResults() <= around) {
    return std::nullopt;
  }
  return map.getDimPosition(map.getNumResults() - 1 - around);
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
  /// Copies blocks of `size` elements along `inner`.
  void emitBlocks(unsigned inner, int64_t size);

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
  /// A parallel loop over runs of `dim` and over all loops but those inside.
  void forEachRun(unsigned dim, ArrayRef<unsigned> inside, int64_t length,
                  llvm::function_ref<void(Value, Value)> body);
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

void TransposeEmitter::forEachRun(unsigned dim, ArrayRef<unsigned> inside,
                                  int64_t length,
                                  llvm::function_ref<void(Value, Value)> body) {
  SmallVector<unsigned> others;
  SmallVector<Value> sizes;
  for (unsigned other = 0; other < point.size(); ++other) {
    if (other != dim && !llvm::is_contained(inside, other)) {
      others.push_back(other);
      sizes.push_back(sizeOfLoop(other));
    }
  }
  Value size = sizeOfLoop(dim);
  sizes.push_back(div(add(size, length - 1), length));
  parallel(sizes, [&](ValueRange ids) {
    for (auto [other, id] : llvm::zip(others, ids)) {
      point[other] = id;
    }
    Value from = mul(ids.back(), length);
    body(from, min(add(from, length), size));
  });
}

void TransposeEmitter::emit() {
  forEachRun(b, {a}, kRun, [&](Value from, Value to) { emitRun(from, to); });
}

void TransposeEmitter::emitBlocks(unsigned inner, int64_t size) {
  auto type = VectorType::get({lanes}, getElementTypeOrSelf(output->get()));
  forEachRun(a, {b, inner}, kBlocks, [&](Value from, Value to) {
    loop(index(0), sizeOfLoop(b), 1, [&](Value atB) {
      loop(from, to, 1, [&](Value atA) {
        for (int64_t offset = 0; offset < size; offset += lanes) {
          point[inner] = index(offset);
          Value part = vector::LoadOp::create(*this, type, input->get(),
                                              address(input, atA, atB));
          vector::StoreOp::create(*this, part, output->get(),
                                  address(output, atA, atB));
        }
      });
    });
  });
}

LogicalResult kvern::emitTranspose(linalg::GenericOp op, int64_t vectorBits,
                                   RewriterBase &rewriter) {
  if (!onlyCopies(op)) {
    return failure();
  }
  OpOperand *input = op.getDpsInputOperand(0);
  OpOperand *output = op.getDpsInitOperand(0);
  std::optional<unsigned> a = getContiguousLoop(op, input);
  std::optional<unsigned> b = getContiguousLoop(op, output);
  if (!a || !b) {
    return failure();
  }
  int64_t bits =
      getElementTypeOrSelf(output->get().getType()).getIntOrFloatBitWidth();
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  rewriter.setInsertionPoint(op);
  if (*a == *b) {
    int64_t size = ranges[*a];
    int64_t lanes = vectorBits / bits;
    std::optional<unsigned> aroundA = getContiguousLoop(op, input, 1);
    std::optional<unsigned> aroundB = getContiguousLoop(op, output, 1);
    if (!aroundA || !aroundB || *aroundA == *aroundB || bits < 8 ||
        ShapedType::isDynamic(size) || size % lanes != 0 ||
        size * bits > kBlockBits) {
      return failure();
    }
    TransposeEmitter(op, *aroundA, *aroundB, vectorBits, rewriter)
        .emitBlocks(*a, size);
    rewriter.eraseOp(op);
    return success();
  }
  // Squares of at most 16 rows, or registers run out.
  int64_t lanes = std::min<int64_t>(vectorBits / bits, 16);
  auto isShort = [&](unsigned dim) {
    return !ShapedType::isDynamic(ranges[dim]) && ranges[dim] < lanes;
  };
  if (bits < 8 || lanes < 2 || isShort(*a) || isShort(*b)) {
    return failure();
  }
  TransposeEmitter(op, *a, *b, lanes * bits, rewriter).emit();
  rewriter.eraseOp(op);
  return success();
}
