//===- InsertChecks.cpp - Makes run-time conditions explicit --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Inference.h"
#include "dialect/ops/Attention.h"
#include "dialect/ops/KVCache.h"
#include "dialect/ops/Window.h"
#include "lib/Support/DimNames.h"
#include "lib/Transforms/Passes.h"

namespace kvern {
#define GEN_PASS_DEF_INSERTCHECKS
#include "lib/Transforms/Passes.h.inc"
} // namespace kvern

using namespace mlir;
using namespace kvern;

/// Whether the value cannot be negative, given that no size is.
static bool isNonNegative(AffineExpr expr) {
  switch (expr.getKind()) {
  case AffineExprKind::Constant:
    return cast<AffineConstantExpr>(expr).getValue() >= 0;
  case AffineExprKind::SymbolId:
  case AffineExprKind::DimId:
    return true;
  default:
    break;
  }
  auto binary = cast<AffineBinaryOpExpr>(expr);
  return isNonNegative(binary.getLHS()) && isNonNegative(binary.getRHS());
}

namespace {

struct InsertChecks : kvern::impl::InsertChecksBase<InsertChecks> {
  void runOnOperation() override {
    if (getOperation()->hasAttr("kvern.kernel")) {
      return;
    }
    getOperation().walk([&](Operation *op) {
      if (auto gather = dyn_cast<GatherOp>(op)) {
        auto x = cast<kvern::TensorType>(gather.getX().getType());
        checkIndices(op, gather.getIndices(), x.getShape()[gather.getAxis()],
                     gather.getAxis());
      } else if (auto copy = dyn_cast<KVCopyPagesOp>(op)) {
        checkIndices(op, copy.getSourcePages(), countPages(copy.getSource()),
                     0);
        checkIndices(op, copy.getDestinationPages(),
                     countPages(copy.getDestination()), 0);
      } else if (auto cache = dyn_cast<PagedCacheOp>(op)) {
        // Then a number of a page can be bounded by that of the last one.
        nameCheckedOp(checkAtMost(op, DimAttr::getStatic(op->getContext(), 1),
                                  countPages(cache.getBlocks()),
                                  "the cache to have a page"),
                      op);
      } else if (auto rope = dyn_cast<RopeOp>(op)) {
        checkPositions(rope);
      } else if (auto slice = dyn_cast<SliceOp>(op)) {
        auto type = cast<kvern::TensorType>(slice.getX().getType());
        auto result = cast<kvern::TensorType>(slice.getType());
        checkBounds(op, type.getShape(), slice.getStarts(), slice.getStops(),
                    slice.getSteps(), result.getShape(), slice.getBounds());
      } else if (auto store = dyn_cast<BufferStoreSliceOp>(op)) {
        auto type = cast<BufferType>(store.getDestination().getType());
        auto source = cast<kvern::TensorType>(store.getSource().getType());
        checkBounds(op, type.getShape(), store.getStarts(), store.getStops(),
                    store.getSteps(), source.getShape(), store.getBounds());
      }
      for (const SizeCondition &condition : getSizeConditions(op)) {
        nameCheckedOp(
            checkAtMost(op, condition.least, condition.size, condition.subject),
            op);
      }
    });
  }

  static DimAttr countPages(Value buffer) {
    return cast<BufferType>(buffer.getType()).getShape()[0];
  }

  /// Lets messages begin with the op that asks for the check, which may be
  /// null; those of gathers do anyway.
  static void nameCheckedOp(Operation *check, Operation *op) {
    if (check && !isa<GatherOp>(op)) {
      check->setAttr(checkedOpAttrName, op->getName().getIdentifier());
    }
  }

  /// That each index is from -`size` to below `size`.
  void checkIndices(Operation *op, Value indices, DimAttr size, int64_t axis) {
    OpBuilder builder(op);
    Location loc = op->getLoc();
    MLIRContext *context = op->getContext();
    auto type = cast<kvern::TensorType>(indices.getType());
    DimAttr count = getNumElements(context, type.getShape());
    if (!count) {
      op->emitOpError("the number of indices overflows 64 bits");
      return signalPassFailure();
    }
    // One axis, so that one reduction sees all of them.
    Value flat = ReshapeOp::create(builder, loc, indices,
                                   ShapeAttr::get(context, count));
    Type i64 = builder.getI64Type();
    if (type.getElementType() != i64) {
      flat = CastOp::create(builder, loc, flat, i64);
    }
    Value lowest = ReduceMinOp::create(builder, loc, flat, 0);
    Value highest = ReduceMaxOp::create(builder, loc, flat, 0);
    nameCheckedOp(
        CheckIndicesOp::create(builder, loc, lowest, highest, size, axis), op);
  }

  void checkPositions(RopeOp op) {
    auto x = cast<kvern::TensorType>(op.getX().getType());
    auto table = cast<kvern::TensorType>(op.getTable().getType());
    if (Value positions = op.getPositions()) {
      checkIndices(op, positions, table.getShape()[0], 0);
      return;
    }
    nameCheckedOp(checkAtMost(op, x.getShape().take_back(3).front(),
                              table.getShape()[0],
                              "the table to have a row for each position"),
                  op);
  }

  /// Null where there is nothing to check.
  CheckSizesOp checkAtMost(Operation *op, DimAttr lhs, DimAttr rhs,
                           const Twine &subject) {
    if (!lhs || !rhs) {
      op->emitOpError("expected ") << subject << ", but that overflows 64 bits";
      signalPassFailure();
      return {};
    }
    DimAttr difference = rhs - lhs;
    if (difference && isNonNegative(difference.getExpr())) {
      return {};
    }
    OpBuilder builder(op);
    return CheckSizesOp::create(builder, op->getLoc(), lhs, rhs,
                                /*at_most=*/true,
                                builder.getStringAttr(subject));
  }

  void checkBounds(Operation *op, ArrayRef<DimAttr> sizes, ArrayAttr starts,
                   ArrayAttr stops, ArrayRef<int64_t> steps,
                   ArrayRef<DimAttr> counts, ValueRange bounds) {
    OpBuilder builder(op);
    DimAttr zero = DimAttr::getStatic(op->getContext(), 0);
    size_t nextStart = 0;
    size_t nextStop = llvm::count_if(starts, llvm::IsaPred<UnitAttr>);
    for (size_t axis = 0; axis < sizes.size(); ++axis) {
      auto start = dyn_cast<DimAttr>(starts[axis]);
      auto stop = dyn_cast<DimAttr>(stops[axis]);
      if (!start || !stop) {
        SmallVector<Value> own;
        if (!start) {
          own.push_back(bounds[nextStart++]);
        }
        if (!stop) {
          own.push_back(bounds[nextStop++]);
        }
        CheckSliceOp::create(builder, op->getLoc(), own, sizes[axis],
                             starts[axis], stops[axis], steps[axis],
                             counts[axis], axis);
        continue;
      }
      // A size that has been named is bound or checked.
      DimAttr size = getSliceSize(start, stop, steps[axis]);
      if (size != counts[axis]) {
        CheckSliceOp::create(builder, op->getLoc(), ValueRange(), sizes[axis],
                             start, stop, steps[axis], counts[axis], axis);
      }
      if (size.isStatic(0)) {
        continue;
      }
      std::string slice = "the slice of axis " + std::to_string(axis) + " to ";
      if (steps[axis] > 0) {
        checkAtMost(op, zero, start, slice + "start at 0 or later");
        checkAtMost(op, start, stop, slice + "start before it stops");
        checkAtMost(op, stop, sizes[axis], slice + "stop within the axis");
      } else {
        checkAtMost(op, start + 1, sizes[axis],
                    slice + "start within the axis");
        checkAtMost(op, stop, start, slice + "start after it stops");
        checkAtMost(op, zero, stop + 1, slice + "stop at 0 or later");
      }
    }
  }
};

} // namespace
