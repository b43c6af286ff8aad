// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lowers sampling, penalties and counts of tokens on buffers to loops.
#include "lib/Codegen/Kernel.h"
#include "lib/Codegen/Passes.h"
#include "lib/Codegen/SamplingBuilder.h"
#include "lib/Codegen/Schedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace kvern {
#define GEN_PASS_DEF_LOWERSAMPLING
#include "lib/Codegen/Passes.h.inc"
} // namespace kvern

using namespace mlir;
using namespace kvern;

namespace {
/// Emits loops over entries of tokens and counts.
class CountsEmitter {
public:
  CountsEmitter(Location loc, OpBuilder &builder, int64_t vectorBits,
                Value data, Value offsets)
      : b(loc, builder, builder.getF32Type(), vectorBits), data(data),
        offsets(offsets) {}

  void applyPenalties(LoopApplyPenaltiesOp op);
  void countTokens(LoopCountTokensOp op);

private:
  Value load(Value memory, ArrayRef<Value> at) {
    return memref::LoadOp::create(b, memory, at);
  }
  /// An offset, at most the number of entries.
  Value getOffset(Value row) {
    return b.loadIndex(offsets, row, b.sizeOf(data, 0));
  }
  Value getToken(Value entry) {
    Value token = load(data, {entry, b.index(0)});
    return arith::IndexCastOp::create(b, b.getIndexType(), token);
  }
  Value lower(Value logit, Value count, LoopApplyPenaltiesOp op, Value row);
  void copyRow(Value from, Value to, Value row);

  RowBuilder b;
  Value data, offsets;
};
} // namespace

void CountsEmitter::copyRow(Value from, Value to, Value row) {
  Value size = b.sizeOf(from, 1);
  Value whole = b.roundDown(size, b.lanes);
  b.loop(b.index(0), whole, b.lanes, [&](Value column) {
    Value logits = b.loadRow(from, {row}, column, b.lanes);
    b.storeRow(logits, to, {row}, column, b.lanes);
  });
  b.loop(whole, size, 1, [&](Value column) {
    Value logit = load(from, {row, column});
    memref::StoreOp::create(b, logit, to, ValueRange{row, column});
  });
}

Value CountsEmitter::lower(Value logit, Value count, LoopApplyPenaltiesOp op,
                           Value row) {
  Value repetition = load(op.getRepetition(), row);
  Value frequency = load(op.getFrequency(), row);
  Value presence = load(op.getPresence(), row);
  Value isAbove = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, logit,
                                        b.constant(0.0));
  Value divided = arith::DivFOp::create(b, logit, repetition);
  Value multiplied = b.multiply(logit, repetition);
  Value result = arith::SelectOp::create(b, isAbove, divided, multiplied);
  Value times = arith::SIToFPOp::create(b, b.element, count);
  Value sum = b.plus(b.multiply(frequency, times), presence);
  return arith::SubFOp::create(b, result, sum);
}

void CountsEmitter::applyPenalties(LoopApplyPenaltiesOp op) {
  Value logits = op.getLogits(), result = op.getInits().front();
  Value none = arith::ConstantOp::create(b, b.getI32IntegerAttr(0));
  b.parallel({b.sizeOf(logits, 0)}, [&](ValueRange ids) {
    Value row = ids[0];
    copyRow(logits, result, row);
    Value last = getOffset(b.add(row, 1));
    b.loop(getOffset(row), last, 1, [&](Value entry) {
      Value token = getToken(entry);
      Value count = load(data, {entry, b.index(1)});
      // One comparison, as negative numbers are the largest without a sign.
      Value isToken = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, token,
                                            b.sizeOf(logits, 1));
      Value occurred =
          arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, count, none);
      b.when(arith::AndIOp::create(b, isToken, occurred), [&] {
        Value lowered = lower(load(result, {row, token}), count, op, row);
        memref::StoreOp::create(b, lowered, result, ValueRange{row, token});
      });
    });
  });
}

void CountsEmitter::countTokens(LoopCountTokensOp op) {
  Value result = op.getInits().front();
  Value zero = b.index(0), one = b.index(1), entries = b.sizeOf(data, 0);
  b.loop(zero, entries, 1, [&](Value entry) {
    for (Value part : {zero, one}) {
      Value number = load(data, {entry, part});
      memref::StoreOp::create(b, number, result, ValueRange{entry, part});
    }
  });
  Value noCount = arith::ConstantOp::create(b, b.getI32IntegerAttr(0));
  Value oneMore = arith::ConstantOp::create(b, b.getI32IntegerAttr(1));
  b.loop(zero, b.sizeOf(op.getTokens(), 0), 1, [&](Value row) {
    Value token = load(op.getTokens(), row);
    token = arith::IndexCastOp::create(b, b.getIndexType(), token);
    Value last = getOffset(b.add(row, 1));
    // The first entry of the token, else the first free one, else the end.
    SmallVector<Value> places =
        b.loop(getOffset(row), last, 1, {entries, entries},
               [&](Value entry, ValueRange before) -> SmallVector<Value> {
                 Value own = getToken(entry);
                 Value same = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                                    own, token);
                 Value free = b.less(own, zero);
                 Value place = b.min(before[0], entry);
                 Value gap = b.min(before[1], entry);
                 return {arith::SelectOp::create(b, same, place, before[0]),
                         arith::SelectOp::create(b, free, gap, before[1])};
               });
    Value known = b.less(places[0], entries);
    Value place = arith::SelectOp::create(b, known, places[0], places[1]);
    Value isPlace = b.less(place, entries);
    // Data holds 31 bits of a token.
    Value isToken = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, token,
                                          b.index(int64_t{1} << 31));
    b.when(arith::AndIOp::create(b, isPlace, isToken), [&] {
      Value before = load(result, {place, one});
      Value count = arith::SelectOp::create(b, known, before, noCount);
      count = arith::AddIOp::create(b, count, oneMore);
      Value number = arith::IndexCastOp::create(b, b.getI32Type(), token);
      memref::StoreOp::create(b, number, result, ValueRange{place, zero});
      memref::StoreOp::create(b, count, result, ValueRange{place, one});
    });
  });
}

namespace {
struct LowerSamplingPass : kvern::impl::LowerSamplingBase<LowerSamplingPass> {
  using LowerSamplingBase::LowerSamplingBase;

  void runOnOperation() override {
    if (!isKernel(getOperation())) {
      return;
    }
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa<LoopSampleTokensOp, LoopFilterLogitsOp, LoopApplyPenaltiesOp,
              LoopCountTokensOp>(op)) {
        ops.push_back(op);
      }
    });
    for (Operation *op : ops) {
      if (failed(checkContiguousRows(op))) {
        return signalPassFailure();
      }
      lower(op);
      op->erase();
    }
  }

  void lower(Operation *op) {
    OpBuilder builder(op);
    if (auto sample = dyn_cast<LoopSampleTokensOp>(op)) {
      emitSampleTokens(sample, builder, vectorBits);
      noteSchedule(op, "rows in parallel; bisection instead of sorting");
    } else if (auto filter = dyn_cast<LoopFilterLogitsOp>(op)) {
      emitFilterLogits(filter, builder, vectorBits);
    } else if (auto penalties = dyn_cast<LoopApplyPenaltiesOp>(op)) {
      CountsEmitter(op->getLoc(), builder, vectorBits, penalties.getData(),
                    penalties.getOffsets())
          .applyPenalties(penalties);
    } else {
      auto counts = cast<LoopCountTokensOp>(op);
      CountsEmitter(op->getLoc(), builder, vectorBits, counts.getData(),
                    counts.getOffsets())
          .countTokens(counts);
    }
  }
};
} // namespace
