// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Replaces sizes read from tensors by the index arguments they are equal to.
#include "lib/Codegen/Kernel.h"
#include "lib/Codegen/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "llvm/ADT/EquivalenceClasses.h"

namespace kvern {
#define GEN_PASS_DEF_RESOLVEDIMS
#include "lib/Codegen/Passes.h.inc"
} // namespace kvern

using namespace mlir;
using namespace kvern;

namespace {
/// Axes of shaped values, in classes of equal size.
class DimClasses {
public:
  void add(Operation *op) {
    if (auto empty = dyn_cast<tensor::EmptyOp>(op)) {
      addSizes(empty.getResult(), empty.getMixedSizes());
    } else if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
      addSlice(slice.getResult(), slice.getMixedSizes(),
               slice.getDroppedDims());
    } else if (auto slice = dyn_cast<tensor::InsertSliceOp>(op)) {
      addSlice(slice.getSource(), slice.getMixedSizes(),
               slice.getDroppedDims());
      unionAll(slice.getResult(), slice.getDest());
    } else if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
      addSizes(expand.getResult(), expand.getMixedOutputShape());
    } else if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
      addLinalg(linalgOp);
    } else if (auto store =
                   dyn_cast<bufferization::MaterializeInDestinationOp>(op)) {
      unionAll(store.getSource(), store.getDest());
    } else if (isa<bufferization::ToTensorOp, tensor::CastOp>(op)) {
      unionAll(op->getOperand(0), op->getResult(0));
    }
  }

  /// What is known of the size, preferring constants to arguments to others;
  /// null if nothing that is defined before `user`.
  OpFoldResult lookup(Value value, int64_t dim, Operation *user,
                      DominanceInfo &dominance) const {
    auto type = dyn_cast<ShapedType>(value.getType());
    if (type && type.hasRank() && !type.isDynamicDim(dim)) {
      return Builder(user->getContext()).getIndexAttr(type.getDimSize(dim));
    }
    auto leader = classes.findLeader({value, dim});
    Value best;
    for (; leader != classes.member_end(); ++leader) {
      auto [member, memberDim] = *leader;
      auto memberType = cast<ShapedType>(member.getType());
      if (!memberType.isDynamicDim(memberDim)) {
        return Builder(user->getContext())
            .getIndexAttr(memberType.getDimSize(memberDim));
      }
      for (Value size : sizes.lookup(*leader)) {
        if (!dominance.properlyDominates(size, user)) {
          continue;
        }
        if (!best || (isa<BlockArgument>(size) && !isa<BlockArgument>(best))) {
          best = size;
        }
      }
    }
    return best;
  }

private:
  using Axis = std::pair<Value, int64_t>;

  void unionAxes(Value a, int64_t dimA, Value b, int64_t dimB) {
    classes.unionSets(Axis(a, dimA), Axis(b, dimB));
  }

  void unionAll(Value a, Value b) {
    auto type = dyn_cast<ShapedType>(a.getType());
    for (int64_t dim = 0, e = type ? type.getRank() : 0; dim < e; ++dim) {
      unionAxes(a, dim, b, dim);
    }
  }

  void addSize(Value value, int64_t dim, OpFoldResult size) {
    if (auto known = dyn_cast<Value>(size)) {
      classes.insert(Axis(value, dim));
      sizes[Axis(value, dim)].push_back(known);
    }
  }

  void addSizes(Value value, ArrayRef<OpFoldResult> mixed) {
    for (auto [dim, size] : llvm::enumerate(mixed)) {
      addSize(value, static_cast<int64_t>(dim), size);
    }
  }

  void addSlice(Value value, ArrayRef<OpFoldResult> mixed,
                const llvm::SmallBitVector &dropped) {
    int64_t dim = 0;
    for (auto [index, size] : llvm::enumerate(mixed)) {
      if (!dropped.test(index)) {
        addSize(value, dim++, size);
      }
    }
  }

  void addLinalg(linalg::LinalgOp op) {
    SmallVector<std::optional<Axis>> loops(op.getNumLoops());
    for (OpOperand &operand : op->getOpOperands()) {
      if (!isa<ShapedType>(operand.get().getType())) {
        continue;
      }
      AffineMap map = op.getMatchingIndexingMap(&operand);
      for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
        auto loop = dyn_cast<AffineDimExpr>(expr);
        if (!loop) {
          continue;
        }
        Axis axis(operand.get(), static_cast<int64_t>(dim));
        std::optional<Axis> &known = loops[loop.getPosition()];
        if (known) {
          classes.unionSets(*known, axis);
        } else {
          known = axis;
        }
      }
    }
    for (auto [index, result] : llvm::enumerate(op->getResults())) {
      unionAll(op.getDpsInits()[index], result);
    }
  }

  llvm::EquivalenceClasses<Axis> classes;
  DenseMap<Axis, SmallVector<Value, 1>> sizes;
};

struct ResolveDimsPass : kvern::impl::ResolveDimsBase<ResolveDimsPass> {
  void runOnOperation() override {
    if (!isKernel(getOperation())) {
      return;
    }
    DimClasses classes;
    getOperation().walk([&](Operation *op) { classes.add(op); });
    DominanceInfo dominance(getOperation());
    IRRewriter rewriter(&getContext());
    getOperation().walk([&](Operation *op) {
      if (!isa<tensor::DimOp, memref::DimOp>(op)) {
        return;
      }
      std::optional<int64_t> dim = getConstantIntValue(op->getOperand(1));
      if (!dim) {
        return;
      }
      OpFoldResult size =
          classes.lookup(op->getOperand(0), *dim, op, dominance);
      if (!size) {
        return;
      }
      rewriter.setInsertionPoint(op);
      rewriter.replaceOp(
          op, getValueOrCreateConstantIndexOp(rewriter, op->getLoc(), size));
    });
  }
};
} // namespace
