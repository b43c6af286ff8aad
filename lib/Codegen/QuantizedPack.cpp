// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Brings blocks of quantized weights to the order in which products read them.
#include "lib/Codegen/QuantizedProduct.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace kvern;

void kvern::emitQuantizedPack(LoopPackQuantizedOp op) {
  OpBuilder builder(op);
  BlockEncoding encoding = *BlockEncoding::parse(op.getEncoding());
  QuantizedProductBuilder b(op.getLoc(), builder, encoding, /*exact=*/true,
                            /*vectorBits=*/128, IntegerDot::None);
  auto panels = cast<MemRefType>(op.getOut().getType());
  int64_t rows = cast<MemRefType>(op.getBlocks().getType()).getDimSize(0);
  bool isSigned = encoding.bits == 8 && !encoding.hasMinimum;

  // `size` adjacent bytes of a row, to `place` in the panel.
  auto move = [&](Value panel, Value group, Value row, Value exists, Value from,
                  int64_t inBlock, int64_t size, Value place, bool flips) {
    auto type = VectorType::get({size}, b.getI8Type());
    Value start = b.mul(group, encoding.blockBytes());
    Value bytes = vector::LoadOp::create(
        b, type, op.getBlocks(), ValueRange{from, b.add(start, inBlock)});
    if (flips) {
      Value sign = arith::ConstantOp::create(
          b, DenseElementsAttr::get(type, static_cast<int8_t>(-128)));
      bytes = arith::XOrIOp::create(b, bytes, sign);
    }
    if (exists) {
      Value zero = arith::ConstantOp::create(b, b.getZeroAttr(type));
      bytes = arith::SelectOp::create(b, exists, bytes, zero);
    }
    vector::StoreOp::create(
        b, bytes, op.getOut(),
        ValueRange{panel, group, b.add(b.mul(row, size), place)});
  };
  b.parallelLoop(b.getIndexAttr(panels.getDimSize(0)), 1, [&](Value panel) {
    b.loop(b.index(0), b.index(panels.getDimSize(1)), 1, [&](Value group) {
      b.loop(b.index(0), b.index(kQuantizedPanel), 1, [&](Value row) {
        Value n = b.add(b.mul(panel, kQuantizedPanel), row);
        Value exists;
        if (rows % kQuantizedPanel != 0) {
          exists = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, n,
                                         b.index(rows));
          n = arith::MinUIOp::create(b, n, b.index(rows - 1));
        }
        int64_t header = encoding.headerBytes();
        for (int64_t byte = 0; byte < header; byte += 2) {
          move(panel, group, row, exists, n, byte, 2,
               b.index(byte * kQuantizedPanel), /*flips=*/false);
        }
        for (int64_t byte = header; byte < encoding.blockBytes(); byte += 4) {
          move(panel, group, row, exists, n, byte, 4,
               b.index(byte * kQuantizedPanel), isSigned);
        }
      });
    });
  });
  op.erase();
}
