// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which ops of a kernel may share a loop nest, and along which loops.
#include "lib/Codegen/FusionGroup.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace kvern;

FusionGroup::FusionGroup(linalg::LinalgOp root,
                         llvm::function_ref<bool(Operation *)> isDone)
    : rootOp(root) {
  addProducers(isDone);
  dropCycles();
  followAxes();
}

/// A product's inputs are computed once, before it: its tiles read each of
/// their elements many times.
static bool mayFuse(OpOperand &operand) {
  Operation *producer = operand.get().getDefiningOp();
  auto consumer = dyn_cast<linalg::LinalgOp>(operand.getOwner());
  if (!producer || !consumer || !isa<linalg::LinalgOp>(producer) ||
      producer->getBlock() != consumer->getBlock()) {
    return false;
  }
  if (consumer.isDpsInit(&operand)) {
    return true;
  }
  return failed(matchContraction(consumer)) &&
         failed(matchConvolution(consumer)) &&
         consumer.getMatchingIndexingMap(&operand).isProjectedPermutation();
}

/// Products of the same rows by equal loops, whose tiles move together.
static bool areTwins(Contraction &a, Contraction &b) {
  return a.op.getInputs()[a.lhs] == b.op.getInputs()[b.lhs] && a.lhs == b.lhs &&
         a.op.getIndexingMaps() == b.op.getIndexingMaps() &&
         a.op.getIteratorTypes() == b.op.getIteratorTypes() &&
         a.op->getOperandTypes() == b.op->getOperandTypes();
}

void FusionGroup::addProducers(llvm::function_ref<bool(Operation *)> isDone) {
  bool hasTwin = false;
  if (auto match = matchContraction(rootOp); succeeded(match)) {
    product = *match;
  } else if (auto match = matchConvolution(rootOp); succeeded(match)) {
    windows = *match;
  }
  SmallVector<Operation *> worklist = {rootOp};
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val();
    for (OpOperand &operand : op->getOpOperands()) {
      Operation *producer = operand.get().getDefiningOp();
      if (!mayFuse(operand) || members.contains(producer) || isDone(producer)) {
        continue;
      }
      if (auto match = matchContraction(producer); succeeded(match)) {
        bool isTwin = product && !hasTwin && areTwins(*product, *match);
        if ((product && !isTwin) || windows) {
          continue;
        }
        hasTwin |= isTwin;
        if (!isTwin) {
          product = *match;
        }
      } else if (auto match = matchConvolution(producer); succeeded(match)) {
        if (product || windows) {
          continue;
        }
        windows = *match;
      }
      members.insert(producer);
      worklist.push_back(producer);
    }
  }
}

void FusionGroup::dropCycles() {
  bool changed = true;
  auto drop = [&](Operation *producer) {
    members.remove(producer);
    if (product && product->op == producer) {
      product.reset();
    }
    if (windows && windows->op == producer) {
      windows.reset();
    }
    changed = true;
  };
  while (changed) {
    changed = false;
    // What has to be computed before the loops.
    SetVector<Operation *> before;
    BackwardSliceOptions options;
    options.omitBlockArguments = true;
    options.inclusive = true;
    options.filter = [&](Operation *op) { return !contains(op); };
    auto addOperands = [&](Operation *member) {
      for (Value operand : member->getOperands()) {
        Operation *def = operand.getDefiningOp();
        if (def && !contains(def)) {
          (void)getBackwardSlice(def, &before, options);
        }
      }
    };
    addOperands(rootOp);
    llvm::for_each(members, addOperands);
    for (Operation *producer : llvm::to_vector(members)) {
      auto users = producer->getUsers();
      bool reachesRoot =
          llvm::any_of(users, [&](Operation *user) { return contains(user); });
      bool neededBefore = llvm::any_of(users, [&](Operation *user) {
        return !contains(user) && before.contains(user) &&
               !isa<tensor::DimOp>(user);
      });
      if (!reachesRoot || neededBefore) {
        drop(producer);
      }
    }
  }
}

void FusionGroup::followMember(linalg::LinalgOp member) {
  SmallVector<std::optional<unsigned>> &loops = memberLoops[member];
  loops.resize(member.getNumLoops());
  bool isProduct = succeeded(matchContraction(member)) ||
                   succeeded(matchConvolution(member));
  auto forEachAxis = [&](Value value, AffineMap map, auto callback) {
    for (auto [axis, expr] : llvm::enumerate(map.getResults())) {
      if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
        callback(Axis(value, static_cast<int64_t>(axis)),
                 loops[dim.getPosition()]);
      }
    }
  };
  auto fromAxis = [&](Axis axis, std::optional<unsigned> &loop) {
    auto it = axisLoops.find(axis);
    if (it != axisLoops.end() && !loop) {
      loop = it->second;
    }
  };
  auto toAxis = [&](Axis axis, std::optional<unsigned> &loop) {
    if (loop) {
      axisLoops.try_emplace(axis, *loop);
    }
  };

  // Through results to loops; through inputs, the reduced loops.
  for (auto [index, result] : llvm::enumerate(member->getResults())) {
    OpOperand *init = member.getDpsInitOperand(index);
    forEachAxis(result, member.getMatchingIndexingMap(init), fromAxis);
  }
  for (OpOperand &operand : member->getOpOperands()) {
    AffineMap map = member.getMatchingIndexingMap(&operand);
    if (!isProduct) {
      forEachAxis(operand.get(), map, fromAxis);
    }
  }
  for (OpOperand &operand : member->getOpOperands()) {
    // A product's rows and columns say nothing about its inputs' other uses.
    if (!isProduct || member.isDpsInit(&operand)) {
      forEachAxis(operand.get(), member.getMatchingIndexingMap(&operand),
                  toAxis);
    }
  }
  if (isProduct) {
    return;
  }
  for (auto [dim, kind] : llvm::enumerate(member.getIteratorTypesArray())) {
    if (kind == utils::IteratorType::reduction && loops[dim]) {
      reducedLoops.insert(*loops[dim]);
    }
  }
}

void FusionGroup::followAxes() {
  for (auto [index, result] : llvm::enumerate(rootOp->getResults())) {
    AffineMap map =
        rootOp.getMatchingIndexingMap(rootOp.getDpsInitOperand(index));
    for (auto [axis, expr] : llvm::enumerate(map.getResults())) {
      if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
        axisLoops[{result, static_cast<int64_t>(axis)}] = dim.getPosition();
      }
    }
  }
  // Consumers before producers.
  for (Operation &op : llvm::reverse(*rootOp->getBlock())) {
    if (contains(&op)) {
      followMember(cast<linalg::LinalgOp>(op));
    }
  }
}
