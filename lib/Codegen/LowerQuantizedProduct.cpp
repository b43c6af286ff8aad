// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lowers products with packed quantized weights to loops over vectors.
//
//   for each block of rows:
//     prepare the activations of the block
//     for each run of panels of weights:
//       few rows, or rounded activations:
//         for each tile of rows: decode the weights while they are multiplied
//       many rows, exact:
//         for each panel: decode it once; for each tile of rows: multiply
#include "lib/Codegen/Kernel.h"
#include "lib/Codegen/Passes.h"
#include "lib/Codegen/QuantizedProduct.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace kvern {
#define GEN_PASS_DEF_LOWERQUANTIZEDPRODUCT
#include "lib/Codegen/Passes.h.inc"
} // namespace kvern

using namespace mlir;
using namespace kvern;

/// Panels that are read side by side when rows are few: several streams of
/// memory are faster than one.
static constexpr int64_t kStreams = 4;
/// Of memory, one cache line.
static constexpr int64_t kAlignment = 64;

namespace {
struct LowerQuantizedProductPass
    : kvern::impl::LowerQuantizedProductBase<LowerQuantizedProductPass> {
  using LowerQuantizedProductBase::LowerQuantizedProductBase;

  void runOnOperation() override {
    if (!isKernel(getOperation())) {
      return;
    }
    std::optional<IntegerDot> instructions = parseIntegerDot(dot.getValue());
    if (!instructions) {
      getOperation().emitError("expected none, maddubs, vnni or neon, but got ")
          << dot.getValue();
      return signalPassFailure();
    }
    SmallVector<LoopPackQuantizedOp> packs;
    getOperation().walk([&](LoopPackQuantizedOp op) { packs.push_back(op); });
    llvm::for_each(packs, emitQuantizedPack);
    SmallVector<LoopQuantizedProductOp> products;
    getOperation().walk(
        [&](LoopQuantizedProductOp op) { products.push_back(op); });
    for (LoopQuantizedProductOp op : products) {
      if (failed(lower(op, *instructions))) {
        return signalPassFailure();
      }
    }
  }

private:
  LogicalResult lower(LoopQuantizedProductOp op, IntegerDot instructions);
  /// `mayDecode`: the block has, or without `rows` may have, many rows that are
  /// to be exact.
  void emitBlock(QuantizedProductBuilder &b, Value first, Value count,
                 std::optional<int64_t> rows, bool mayDecode);
  void emitStreamed(QuantizedProductBuilder &b, Value first, Value count,
                    std::optional<int64_t> rows);
  void emitDecoded(QuantizedProductBuilder &b, Value first, Value count,
                   std::optional<int64_t> rows);
  Value allocate(MemRefType type);
};
} // namespace

Value LowerQuantizedProductPass::allocate(MemRefType type) {
  Block &entry = getOperation().getBody().front();
  OpBuilder atEntry = OpBuilder::atBlockBegin(&entry);
  return memref::AllocOp::create(atEntry, getOperation().getLoc(), type,
                                 atEntry.getI64IntegerAttr(kAlignment));
}

/// The leading axes merged into rows.
static FailureOr<Value> asMatrix(QuantizedProductBuilder &b, Value memory) {
  auto type = cast<MemRefType>(memory.getType());
  if (type.getRank() == 2) {
    if (!type.isLastDimUnitStride()) {
      return failure();
    }
    return memory;
  }
  SmallVector<ReassociationIndices> groups(2);
  for (int64_t axis = 0; axis < type.getRank() - 1; ++axis) {
    groups[0].push_back(axis);
  }
  groups[1] = {type.getRank() - 1};
  if (!memref::CollapseShapeOp::isGuaranteedCollapsible(type, groups)) {
    return failure();
  }
  return memref::CollapseShapeOp::create(b, memory, groups).getResult();
}

/// Calls `body` with the first of each tile of rows, its height, and whether it
/// may have rows past the last one: tiles of `tallest` while more than half of
/// one is left, then the smallest power of two that holds the rest.
static void forEachTile(QuantizedProductBuilder &b, Value count,
                        std::optional<int64_t> rows, int64_t tallest,
                        llvm::function_ref<void(Value, int64_t, bool)> body) {
  if (rows) {
    int64_t rest = *rows % tallest;
    b.loop(b.index(0), b.index(*rows - rest), tallest,
           [&](Value row) { body(row, tallest, /*isPartial=*/false); });
    if (rest) {
      int64_t height = llvm::PowerOf2Ceil(rest);
      body(b.index(*rows - rest), height, height != rest);
    }
    return;
  }
  Value most = arith::SubIOp::create(b, count, b.index(tallest / 2));
  most = arith::MaxSIOp::create(b, most, b.index(0));
  b.loop(b.index(0), most, tallest,
         [&](Value row) { body(row, tallest, /*isPartial=*/true); });
  Value done =
      arith::AndIOp::create(b, b.add(most, tallest - 1), b.index(-tallest));
  Value rest = arith::SubIOp::create(b, count, done);
  auto emitRest = [&](int64_t height, auto &self) -> void {
    auto otherwise = [&] { self(height / 2, self); };
    Value fits = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, rest,
                                       b.index(height / 2));
    b.when(
        fits, [&] { body(done, height, /*isPartial=*/height > 2); },
        height > 1 ? llvm::function_ref<void()>(otherwise) : nullptr);
  };
  if (tallest > 1) {
    emitRest(tallest / 2, emitRest);
  }
}

void LowerQuantizedProductPass::emitStreamed(QuantizedProductBuilder &b,
                                             Value first, Value count,
                                             std::optional<int64_t> rows) {
  int64_t panels = cast<MemRefType>(b.panels.getType()).getDimSize(0);
  int64_t streams = std::min(kStreams, panels);
  // The last run starts where it fits: it may compute columns again.
  b.parallelLoop(b.getIndexAttr(panels), streams, [&](Value start) {
    Value panel =
        b.createOrFold<arith::MinUIOp>(start, b.index(panels - streams));
    int64_t tallest = b.digits == 3 ? tileRows / 2 : tileRows;
    auto emit = [&](Value row, int64_t height, bool isPartial) {
      b.rowEnd = isPartial ? b.add(first, count) : Value();
      // Sums of all panels at once only if they fit the registers.
      int64_t width = height == 1   ? streams
                      : height == 2 ? std::min<int64_t>(2, streams)
                                    : 1;
      b.loop(b.index(0), b.index(streams), width, [&](Value next) {
        Value fit =
            b.createOrFold<arith::MinUIOp>(next, b.index(streams - width));
        b.emitTile(height, width, row, b.add(first, row), b.add(panel, fit));
      });
    };
    forEachTile(b, count, rows, tallest, emit);
  });
}

void LowerQuantizedProductPass::emitDecoded(QuantizedProductBuilder &b,
                                            Value first, Value count,
                                            std::optional<int64_t> rows) {
  int64_t panels = cast<MemRefType>(b.panels.getType()).getDimSize(0);
  auto type = MemRefType::get({b.depth, kQuantizedPanel}, b.getF32Type());
  b.parallelLoop(b.getIndexAttr(panels), 1, [&](Value panel) {
    Value numbers =
        memref::AllocOp::create(b, type, b.getI64IntegerAttr(kAlignment));
    b.dequantizePanel(panel, numbers);
    auto emit = [&](Value row, int64_t height, bool isPartial) {
      b.rowEnd = isPartial ? b.add(first, count) : Value();
      b.emitNumberTile(height, numbers, row, b.add(first, row), panel);
    };
    forEachTile(b, count, rows, tileRows, emit);
  });
}

void LowerQuantizedProductPass::emitBlock(QuantizedProductBuilder &b,
                                          Value first, Value count,
                                          std::optional<int64_t> rows,
                                          bool mayDecode) {
  auto streamed = [&] {
    b.prepareRows(first, count, /*forTile=*/true);
    emitStreamed(b, first, count, rows);
  };
  auto decoded = [&] {
    b.prepareRows(first, count, /*forTile=*/false);
    emitDecoded(b, first, count, rows);
  };
  if (!mayDecode) {
    streamed();
  } else if (rows) {
    decoded();
  } else {
    Value isFew = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, count,
                                        b.index(decodedRows));
    b.when(isFew, streamed, decoded);
  }
}

LogicalResult LowerQuantizedProductPass::lower(LoopQuantizedProductOp op,
                                               IntegerDot instructions) {
  if (!isa<MemRefType>(op.getOut().getType())) {
    return op.emitOpError("expected memrefs, but got tensors");
  }
  OpBuilder builder(op);
  QuantizedProductBuilder b(
      op.getLoc(), builder, *BlockEncoding::parse(op.getEncoding()),
      op.getActivations() == "exact", vectorBits, instructions);
  FailureOr<Value> lhs = asMatrix(b, op.getLhs());
  FailureOr<Value> out = asMatrix(b, op.getOut());
  if (failed(lhs) || failed(out)) {
    return op.emitOpError("expected contiguous rows, but got ")
           << op.getLhs().getType() << " and " << op.getOut().getType();
  }
  b.lhs = *lhs;
  b.panels = op.getPanels();
  b.out = *out;
  auto lhsType = cast<MemRefType>(b.lhs.getType());
  b.depth = lhsType.getDimSize(1);
  b.columns = cast<MemRefType>(b.out.getType()).getDimSize(1);

  std::optional<int64_t> rows;
  if (!lhsType.isDynamicDim(0)) {
    rows = lhsType.getDimSize(0);
  }
  int64_t block = std::min(rows.value_or(blockRows), blockRows.getValue());
  bool isOneBlock = rows && *rows <= blockRows;
  bool mayDecode = b.exact && block >= decodedRows;
  // A tile may read rows past the last one.
  int64_t tiles = block < tileRows ? llvm::PowerOf2Ceil(block)
                                   : llvm::alignTo(block, tileRows);
  b.allocateRows(tiles, /*forTile=*/!mayDecode || !isOneBlock,
                 /*forNumberTile=*/mayDecode,
                 [&](MemRefType type) { return allocate(type); });
  if (isOneBlock) {
    emitBlock(b, b.index(0), b.index(*rows), rows, mayDecode);
  } else {
    Value all = memref::DimOp::create(b, b.lhs, 0);
    b.loop(b.index(0), all, block, [&](Value first) {
      Value left = arith::SubIOp::create(b, all, first);
      Value count = arith::MinUIOp::create(b, left, b.index(block));
      emitBlock(b, first, count, std::nullopt, mayDecode);
    });
  }
  op.erase();
  return success();
}
