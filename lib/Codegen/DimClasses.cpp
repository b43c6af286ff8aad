// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which axes of a kernel's values have equal sizes.
#include "lib/Codegen/DimClasses.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace kvern;

DimClasses::DimClasses(func::FuncOp function) {
  function.walk([&](Operation *op) { add(op); });
}

void DimClasses::add(Operation *op) {
  if (auto empty = dyn_cast<tensor::EmptyOp>(op)) {
    addSizes(empty.getResult(), empty.getMixedSizes());
  } else if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    llvm::SmallBitVector dropped = slice.getDroppedDims();
    addSizes(slice.getResult(), slice.getMixedSizes(), &dropped);
  } else if (auto slice = dyn_cast<tensor::InsertSliceOp>(op)) {
    llvm::SmallBitVector dropped = slice.getDroppedDims();
    addSizes(slice.getSource(), slice.getMixedSizes(), &dropped);
    unionAll(slice.getResult(), slice.getDest());
  } else if (auto slice = dyn_cast<tensor::ParallelInsertSliceOp>(op)) {
    llvm::SmallBitVector dropped = slice.getDroppedDims();
    addSizes(slice.getSource(), slice.getMixedSizes(), &dropped);
  } else if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    addSizes(expand.getResult(), expand.getMixedOutputShape());
  } else if (isa<linalg::LinalgOp>(op)) {
    addLinalg(op);
  } else if (auto store =
                 dyn_cast<bufferization::MaterializeInDestinationOp>(op)) {
    unionAll(store.getSource(), store.getDest());
  } else if (isa<bufferization::ToTensorOp, tensor::CastOp>(op)) {
    unionAll(op->getOperand(0), op->getResult(0));
  }
}

void DimClasses::unionAll(Value a, Value b) {
  auto type = dyn_cast<ShapedType>(a.getType());
  for (int64_t dim = 0, e = type ? type.getRank() : 0; dim < e; ++dim) {
    classes.unionSets(Axis(a, dim), Axis(b, dim));
  }
}

void DimClasses::addSizes(Value value, ArrayRef<OpFoldResult> mixed,
                          const llvm::SmallBitVector *dropped) {
  int64_t dim = 0;
  for (auto [index, size] : llvm::enumerate(mixed)) {
    if (dropped && dropped->test(index)) {
      continue;
    }
    Axis axis(value, dim++);
    if (isa<Value>(size)) {
      classes.insert(axis);
      sizes[axis].push_back(size);
    }
  }
}

void DimClasses::addLinalg(Operation *op) {
  auto linalgOp = cast<linalg::LinalgOp>(op);
  SmallVector<std::optional<Axis>> loops(linalgOp.getNumLoops());
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = linalgOp.getMatchingIndexingMap(&operand);
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
    unionAll(linalgOp.getDpsInits()[index], result);
  }
}

/// Size arithmetic before all loops, which outlives the ops that it was for.
static bool isPersistent(OpFoldResult size) {
  auto value = dyn_cast<Value>(size);
  if (!value || isa<BlockArgument>(value)) {
    return static_cast<bool>(value);
  }
  Operation *op = value.getDefiningOp();
  return isa<affine::AffineApplyOp>(op) ||
         isa<arith::ArithDialect>(op->getDialect());
}

void DimClasses::keepOnlyArguments() {
  llvm::EquivalenceClasses<Axis> keptClasses;
  DenseMap<Axis, SmallVector<OpFoldResult, 1>> keptSizes;
  for (auto *leader : classes) {
    if (!leader->isLeader()) {
      continue;
    }
    SmallVector<Axis> members;
    SmallVector<OpFoldResult, 1> known;
    for (Axis axis : classes.members(*leader)) {
      auto type = cast<ShapedType>(axis.first.getType());
      if (!type.isDynamicDim(axis.second)) {
        known.push_back(Builder(type.getContext())
                            .getIndexAttr(type.getDimSize(axis.second)));
      }
      for (OpFoldResult size : sizes.lookup(axis)) {
        if (isPersistent(size)) {
          known.push_back(size);
        }
      }
      Operation *op = axis.first.getDefiningOp();
      if (!op || isa<bufferization::ToTensorOp, tensor::CollapseShapeOp,
                     memref::CollapseShapeOp>(op)) {
        members.push_back(axis);
      }
    }
    for (Axis axis : members) {
      keptClasses.unionSets(members.front(), axis);
    }
    if (!members.empty()) {
      keptSizes[members.front()] = known;
    }
  }
  classes = std::move(keptClasses);
  sizes = std::move(keptSizes);
}

OpFoldResult DimClasses::lookup(Axis axis, Operation *user,
                                DominanceInfo &dominance) const {
  auto constantSize = [&](Axis member) -> OpFoldResult {
    auto type = cast<ShapedType>(member.first.getType());
    if (type.isDynamicDim(member.second)) {
      return {};
    }
    return Builder(user->getContext())
        .getIndexAttr(type.getDimSize(member.second));
  };
  if (OpFoldResult size = constantSize(axis)) {
    return size;
  }
  Value best;
  for (auto it = classes.findLeader(axis); it != classes.member_end(); ++it) {
    if (OpFoldResult size = constantSize(*it)) {
      return size;
    }
    for (OpFoldResult size : sizes.lookup(*it)) {
      auto value = dyn_cast<Value>(size);
      if (!value) {
        return size;
      }
      if (dominance.properlyDominates(value, user) &&
          (!best || (isa<BlockArgument>(value) && !isa<BlockArgument>(best)))) {
        best = value;
      }
    }
  }
  return best;
}

OpFoldResult DimClasses::product(Operation *op, int64_t dim, OpBuilder &builder,
                                 DominanceInfo &dominance) const {
  Operation *collapse = op->getOperand(0).getDefiningOp();
  ReassociationIndices axes;
  if (auto tensor = dyn_cast_if_present<tensor::CollapseShapeOp>(collapse)) {
    axes = tensor.getReassociationIndices()[dim];
  } else if (auto memref =
                 dyn_cast_if_present<memref::CollapseShapeOp>(collapse)) {
    axes = memref.getReassociationIndices()[dim];
  } else {
    return {};
  }
  SmallVector<Value> factors;
  for (int64_t axis : axes) {
    OpFoldResult size = lookup({collapse->getOperand(0), axis}, op, dominance);
    if (!size) {
      return {};
    }
    factors.push_back(
        getValueOrCreateConstantIndexOp(builder, op->getLoc(), size));
  }
  Value result = factors.front();
  for (Value factor : llvm::drop_begin(factors)) {
    result = arith::MulIOp::create(builder, op->getLoc(), result, factor);
  }
  return result;
}

void DimClasses::resolve(func::FuncOp function) const {
  DominanceInfo dominance(function);
  IRRewriter rewriter(function.getContext());
  function.walk([&](Operation *op) {
    if (!isa<tensor::DimOp, memref::DimOp>(op)) {
      return;
    }
    std::optional<int64_t> dim = getConstantIntValue(op->getOperand(1));
    if (!dim) {
      return;
    }
    rewriter.setInsertionPoint(op);
    OpFoldResult size = lookup({op->getOperand(0), *dim}, op, dominance);
    if (!size) {
      size = product(op, *dim, rewriter, dominance);
    }
    if (!size) {
      return;
    }
    rewriter.replaceOp(
        op, getValueOrCreateConstantIndexOp(rewriter, op->getLoc(), size));
  });
}
