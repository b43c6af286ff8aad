//===- FusionGroups.cpp - Which ops share a loop nest ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Transforms/FusionGroups.h"

#include "lib/Transforms/PlaceGroups.h"

#include "dialect/Inference.h"
#include "dialect/ops/KVCache.h"

using namespace mlir;
using namespace kvern;

static std::optional<FusionKind> getKind(Operation *op) {
  auto fusible = dyn_cast<FusionOpInterface>(op);
  return fusible ? std::optional(fusible.getFusionKind()) : std::nullopt;
}

bool kvern::isKernelOp(Operation *op) {
  if (isa<BufferLoadOp, BufferStoreOp, BufferStoreSliceOp, PagedCacheOp,
          KVCopyPagesOp>(op)) {
    return true;
  }
  std::optional<FusionKind> kind = getKind(op);
  return kind && *kind != FusionKind::View && !isa<WeightOp, ConstantOp>(op);
}

bool kvern::isInlined(OpOperand &use) {
  Operation *def = use.get().getDefiningOp();
  // The layers of a model share their kernels.
  auto isLayer = [&] {
    return isCacheOp(use.getOwner()) &&
           cast<kvern::TensorType>(use.get().getType()).getShape().empty();
  };
  return def && isInlinedConstant(def) && !isLayer();
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

/// Two products of the same rows by equal loops.
static bool areTwins(Operation *a, Operation *b) {
  return getKind(a) == FusionKind::Contraction &&
         a->getName() == b->getName() && a->getOperand(0) == b->getOperand(0) &&
         a->getOperandTypes() == b->getOperandTypes() &&
         a->getResultTypes() == b->getResultTypes() &&
         a->getAttrDictionary() == b->getAttrDictionary();
}

static bool hasTwins(const FusionGroup &group) {
  return llvm::any_of(group.ops, [&](Operation *op) {
    return op != group.root && areTwins(op, group.root);
  });
}

/// Whether everything in `group` is an elementwise op on the result of `root`,
/// element by element: an epilogue.
static bool isEpilogueOf(const FusionGroup &group, Operation *root) {
  if (isa<ConcatOp, GatherOp, SliceOp>(root) || isCacheOp(root)) {
    return false;
  }
  if (group.root && (!areTwins(group.root, root) || hasTwins(group))) {
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

/// The group whose norm (or softmax) takes the result of `op`, which others
/// read too: it computes both. Null when the result is an epilogue rather.
static FusionGroup *
findNormOf(Operation *op, const DenseMap<Operation *, FusionGroup *> &groupOf) {
  if (getKind(op) != FusionKind::Elementwise || isa<PermuteOp>(op) ||
      op->getNumResults() != 1 || op->hasOneUse()) {
    return nullptr;
  }
  ArrayRef<DimAttr> shape = getShape(op->getResult(0));
  for (Value operand : op->getOperands()) {
    Operation *def = operand.getDefiningOp();
    if (def && getKind(def) == FusionKind::Contraction && def->hasOneUse() &&
        getShape(operand) == shape) {
      return nullptr;
    }
  }
  FusionGroup *found = nullptr;
  for (OpOperand &use : op->getUses()) {
    Operation *user = use.getOwner();
    std::optional<FusionKind> kind = getKind(user);
    bool isNorm =
        kind == FusionKind::Norm || isa<SoftmaxOp, LogsoftmaxOp>(user);
    if (!isNorm || use.getOperandNumber() != 0) {
      continue;
    }
    FusionGroup *group = groupOf.lookup(user);
    if (!group || found) {
      return nullptr;
    }
    found = group;
  }
  return found;
}

SmallVector<Value> FusionGroup::getResults() const {
  SmallVector<Value> results(getLast()->getResults());
  for (Operation *op : shared) {
    results.push_back(op->getResult(0));
  }
  return results;
}

using Groups = SmallVector<std::unique_ptr<FusionGroup>>;

/// The ops in `alone` share no result.
static Groups formGroups(Block &block, const DenseSet<Operation *> &alone) {
  Groups groups;
  DenseMap<Operation *, FusionGroup *> groupOf;
  for (Operation &op : llvm::reverse(block)) {
    if (!isKernelOp(&op)) {
      continue;
    }
    if (isInlinedConstant(&op) && llvm::all_of(op.getUsers(), isKernelOp)) {
      continue;
    }
    if (isa<PagedCacheOp>(op)) {
      // With the op on it; there is a copy for each.
      if (FusionGroup *group = groupOf.lookup(*op.user_begin())) {
        group->ops.insert(group->ops.begin(), &op);
        groupOf[&op] = group;
      }
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
    if (!joins && !alone.contains(&op)) {
      if (FusionGroup *norm = findNormOf(&op, groupOf)) {
        target = norm;
        target->shared.push_back(&op);
        joins = true;
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

Groups kvern::formFusionGroups(Block &block) {
  DenseSet<Operation *> alone;
  while (true) {
    Groups groups = formGroups(block, alone);
    SmallVector<Operation *> misplaced = placeGroups(block, groups);
    if (misplaced.empty()) {
      return groups;
    }
    alone.insert_range(misplaced);
  }
}
