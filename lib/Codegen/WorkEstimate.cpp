// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How much a loop body has to do.
#include "lib/Codegen/WorkEstimate.h"

#include "lib/Codegen/EntrySizes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace kvern;

/// Caches are slower than arithmetic.
static constexpr int64_t kMemoryWeight = 4;
/// Turns of a loop of which nothing is known.
static constexpr int64_t kUnknownTurns = 64;

namespace {
class Estimator {
public:
  Estimator(EntrySizes &sizes, OpBuilder &builder)
      : sizes(sizes), builder(builder) {}

  /// Null stands for nothing.
  Value block(Block &block) {
    int64_t single = 0;
    Value total;
    for (Operation &op : block) {
      if (op.getNumRegions() == 0) {
        single += elements(op);
      } else if (Value inner = regions(op)) {
        total = total ? add(total, inner) : inner;
      }
    }
    if (single == 0) {
      return total;
    }
    Value constant = arith::ConstantIndexOp::create(
        builder, builder.getUnknownLoc(), single);
    return total ? add(total, constant) : constant;
  }

private:
  static int64_t elements(Operation &op) {
    auto isMemory = [](Value operand) {
      return isa<MemRefType>(operand.getType());
    };
    int64_t weight =
        llvm::any_of(op.getOperands(), isMemory) ? kMemoryWeight : 1;
    for (Type type : op.getResultTypes()) {
      if (auto vector = dyn_cast<VectorType>(type)) {
        return weight * vector.getNumElements();
      }
      if (isa<FloatType>(type)) {
        return weight;
      }
    }
    // Integers are counted where they are stored: others may be addresses.
    if (op.getNumResults() == 0 && weight == kMemoryWeight) {
      auto vector = dyn_cast<VectorType>(op.getOperand(0).getType());
      return weight * (vector ? vector.getNumElements() : 1);
    }
    return 0;
  }

  /// A loop, or the sum of a choice's branches.
  Value regions(Operation &op) {
    Value total;
    for (Region &region : op.getRegions()) {
      for (Block &inner : region) {
        if (Value work = block(inner)) {
          total = total ? add(total, work) : work;
        }
      }
    }
    if (!total) {
      return total;
    }
    auto loop = dyn_cast<LoopLikeOpInterface>(op);
    if (!loop) {
      return total;
    }
    std::optional<SmallVector<OpFoldResult>> from = loop.getLoopLowerBounds();
    std::optional<SmallVector<OpFoldResult>> to = loop.getLoopUpperBounds();
    std::optional<SmallVector<OpFoldResult>> step = loop.getLoopSteps();
    if (!from || !to || !step) {
      return multiply(total, index(kUnknownTurns));
    }
    for (auto [lower, upper, by] : llvm::zip(*from, *to, *step)) {
      total = multiply(total, turns(lower, upper, by));
    }
    return total;
  }

  Value turns(OpFoldResult lower, OpFoldResult upper, OpFoldResult step) {
    Value to = bound(upper);
    if (!to) {
      return index(kUnknownTurns);
    }
    if (std::optional<int64_t> from = getConstantIntValue(lower);
        from && *from != 0) {
      to = builder.createOrFold<arith::SubIOp>(to.getLoc(), to, index(*from));
    }
    if (getConstantIntValue(step) == 1) {
      return to;
    }
    Value by = getConstantIntValue(step) ? bound(step)
                                         : sizes.exact(dyn_cast<Value>(step));
    if (!by) {
      return to;
    }
    Value bias = builder.createOrFold<arith::SubIOp>(to.getLoc(), by, index(1));
    return builder.createOrFold<arith::DivUIOp>(to.getLoc(), add(to, bias), by);
  }

  Value bound(OpFoldResult size) {
    if (std::optional<int64_t> constant = getConstantIntValue(size)) {
      return index(*constant);
    }
    return sizes.upperBound(cast<Value>(size));
  }

  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(builder, builder.getUnknownLoc(),
                                          value);
  }
  Value add(Value a, Value b) {
    return builder.createOrFold<arith::AddIOp>(a.getLoc(), a, b);
  }
  Value multiply(Value a, Value b) {
    return builder.createOrFold<arith::MulIOp>(a.getLoc(), a, b);
  }

  EntrySizes &sizes;
  OpBuilder &builder;
};
} // namespace

Value kvern::estimateWork(Block &body, EntrySizes &sizes, OpBuilder &builder) {
  if (Value work = Estimator(sizes, builder).block(body)) {
    return work;
  }
  return arith::ConstantIndexOp::create(builder, builder.getUnknownLoc(), 1);
}
