//===- FusionGroups.cpp - Which ops share a loop nest ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Transforms/FusionGroups.h"

#include "dialect/Inference.h"

using namespace mlir;
using namespace kvern;

static std::optional<FusionKind> getKind(Operation *op) {
  auto fusible = dyn_cast<FusionOpInterface>(op);
  return fusible ? std::optional(fusible.getFusionKind()) : std::nullopt;
}

bool kvern::isKernelOp(Operation *op) {
  if (isa<BufferLoadOp, BufferStoreOp, BufferStoreSliceOp>(op)) {
    return true;
  }
  std::optional<FusionKind> kind = getKind(op);
  return kind && *kind != FusionKind::View && !isa<WeightOp, ConstantOp>(op);
}

bool kvern::isInlinedConstant(Operation *op) {
  if (isa<ShapeToTensorOp>(op)) {
    return true;
  }
  auto constant = dyn_cast<ConstantOp>(op);
  if (!constant) {
    return false;
  }
  constexpr int64_t maxElements = 16;
  ElementsAttr value = constant.getValue();
  return value.isSplat() || (isa<DenseElementsAttr>(value) &&
                             value.getNumElements() <= maxElements);
}

static ArrayRef<DimAttr> getShape(Value value) {
  return cast<kvern::TensorType>(value.getType()).getShape();
}

/// A slice that reads a rectangle of its operand in place.
static bool isViewLikeSlice(Operation *op) {
  auto slice = dyn_cast<SliceOp>(op);
  return slice && slice.getBounds().empty() &&
         llvm::all_of(slice.getSteps(), [](int64_t step) { return step > 0; });
}

/// May stand in the loops of another op, evaluated where its result is needed.
static bool isElementwiseLike(Operation *op) {
  return getKind(op) == FusionKind::Elementwise || isViewLikeSlice(op);
}

/// Worth computing once only.
static bool isExpensive(Operation *op) {
  return !isViewLikeSlice(op) &&
         !isa<AbsOp, AddOp, BroadcastToOp, CastOp, EqualOp, GreaterOp,
              GreaterEqualOp, LogicalAndOp, LogicalNotOp, LogicalOrOp,
              LogicalXorOp, MaxOp, MinOp, MulOp, NegateOp, NotEqualOp,
              PermuteOp, RangeOp, ReluOp, SubOp, WhereOp>(op);
}

static bool isRoot(Operation *op) {
  std::optional<FusionKind> kind = getKind(op);
  return kind == FusionKind::Contraction || kind == FusionKind::Reduction ||
         kind == FusionKind::Norm ||
         (kind == FusionKind::Movement && !isViewLikeSlice(op));
}

/// Whether `user`, in a group, can read the elementwise `producer` from inside
/// its loops.
static bool acceptsProducer(Operation *user, Operation *producer) {
  Value value = producer->getResult(0);
  std::optional<FusionKind> kind = getKind(user);
  if (!kind || isViewLikeSlice(user)) {
    return false;
  }
  switch (*kind) {
  case FusionKind::Elementwise:
    // Broadcasting repeats the work.
    return !isExpensive(producer) ||
           getNumElements(user->getContext(), getShape(value)) ==
               getNumElements(user->getContext(), getShape(user->getResult(0)));
  case FusionKind::Reduction:
  case FusionKind::Norm:
    // Only what is reduced, not the rank-1 parameters.
    return llvm::all_of(user->getOpOperands(), [&](OpOperand &operand) {
      return operand.get() != value || operand.getOperandNumber() == 0;
    });
  case FusionKind::Movement:
    return isa<ConcatOp>(user) && !isViewLikeSlice(producer);
  default:
    return false;
  }
}

/// Whether everything in `group` is an elementwise op on the result of `root`,
/// element by element: an epilogue.
static bool isEpilogueOf(const FusionGroup &group, Operation *root) {
  if (group.root || isa<ConcatOp, GatherOp, SliceOp>(root)) {
    return false;
  }
  ArrayRef<DimAttr> shape = getShape(root->getResult(0));
  llvm::SmallPtrSet<Operation *, 8> dependent({root});
  for (Operation *op : group.ops) {
    bool depends = llvm::any_of(op->getOperands(), [&](Value operand) {
      return operand.getDefiningOp() &&
             dependent.contains(operand.getDefiningOp());
    });
    if (!depends) {
      continue;
    }
    if (getKind(op) != FusionKind::Elementwise || isa<PermuteOp>(op) ||
        getShape(op->getResult(0)) != shape) {
      return false;
    }
    dependent.insert(op);
  }
  // What feeds the epilogue from elsewhere is read element by element too.
  return getShape(group.getLast()->getResult(0)) == shape;
}

SmallVector<std::unique_ptr<FusionGroup>>
kvern::formFusionGroups(Block &block) {
  SmallVector<std::unique_ptr<FusionGroup>> groups;
  DenseMap<Operation *, FusionGroup *> groupOf;
  for (Operation &op : llvm::reverse(block)) {
    if (!isKernelOp(&op)) {
      continue;
    }
    if (isInlinedConstant(&op) && llvm::all_of(op.getUsers(), isKernelOp)) {
      continue;
    }
    // The one group of all users, if there is one.
    FusionGroup *target = nullptr;
    bool joins = op.getNumResults() == 1 && !op.use_empty() &&
                 (isElementwiseLike(&op) || isRoot(&op));
    for (Operation *user : op.getUsers()) {
      FusionGroup *group = groupOf.lookup(user);
      joins &= group && (!target || group == target);
      target = group;
    }
    if (joins) {
      if (isRoot(&op)) {
        joins = isEpilogueOf(*target, &op);
      } else {
        joins = llvm::all_of(op.getUsers(), [&](Operation *user) {
          return acceptsProducer(user, &op);
        });
      }
    }
    if (!joins) {
      groups.push_back(std::make_unique<FusionGroup>());
      target = groups.back().get();
    }
    if (isRoot(&op)) {
      target->root = &op;
    }
    target->ops.insert(target->ops.begin(), &op);
    groupOf[&op] = target;
  }
  std::reverse(groups.begin(), groups.end());
  return groups;
}
