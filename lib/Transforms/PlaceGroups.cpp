//===- PlaceGroups.cpp - An order in which groups are adjacent ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each group is a node of a graph, and so is each op outside of groups. Edges
// lead from what defines a value to what reads it, and along the chain of ops
// whose order counts. Nodes are taken in topological order, of those that are
// ready the one that came first.
//
//===----------------------------------------------------------------------===//

#include "lib/Transforms/PlaceGroups.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include <queue>

using namespace mlir;
using namespace kvern;

namespace {
struct Node {
  SmallVector<Operation *> ops;
  SmallVector<unsigned> next;
  unsigned waitsFor = 0;
};
} // namespace

/// Whether an op must not pass, or be passed by, another such op.
static bool isOrdered(Operation *op) {
  auto fusible = dyn_cast<FusionOpInterface>(op);
  // A check guards what is read from computed places after it.
  return !isPure(op) ||
         (fusible && fusible.getFusionKind() == FusionKind::Movement);
}

static void addEdges(std::vector<Node> &nodes,
                     const DenseMap<Operation *, unsigned> &nodeOf,
                     Block &block) {
  auto addEdge = [&](unsigned from, unsigned to) {
    if (from != to) {
      nodes[from].next.push_back(to);
      ++nodes[to].waitsFor;
    }
  };
  std::optional<unsigned> lastOrdered;
  for (Operation &op : block.without_terminator()) {
    unsigned node = nodeOf.lookup(&op);
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands()) {
        Operation *def = operand.getDefiningOp();
        if (def && def->getBlock() == &block) {
          addEdge(nodeOf.lookup(def), node);
        }
      }
    });
    if (isOrdered(&op)) {
      if (lastOrdered) {
        addEdge(*lastOrdered, node);
      }
      lastOrdered = node;
    }
  }
}

SmallVector<Operation *>
kvern::placeGroups(Block &block,
                   ArrayRef<std::unique_ptr<FusionGroup>> groups) {
  if (llvm::all_of(groups,
                   [](const auto &group) { return group->shared.empty(); })) {
    return {};
  }
  // In program order of the last ops.
  DenseMap<Operation *, const FusionGroup *> groupOf;
  for (const auto &group : groups) {
    for (Operation *op : group->ops) {
      groupOf[op] = group.get();
    }
  }
  std::vector<Node> nodes;
  DenseMap<Operation *, unsigned> nodeOf;
  for (Operation &op : block.without_terminator()) {
    const FusionGroup *group = groupOf.lookup(&op);
    if (group && group->getLast() != &op) {
      continue;
    }
    SmallVector<Operation *> ops(1, &op);
    if (group) {
      ops = group->ops;
    }
    for (Operation *member : ops) {
      nodeOf[member] = nodes.size();
    }
    nodes.push_back({std::move(ops), {}, 0});
  }
  addEdges(nodes, nodeOf, block);

  std::priority_queue<unsigned, std::vector<unsigned>, std::greater<>> ready;
  for (unsigned i = 0; i < nodes.size(); ++i) {
    if (nodes[i].waitsFor == 0) {
      ready.push(i);
    }
  }
  std::vector<unsigned> order;
  while (!ready.empty()) {
    unsigned node = ready.top();
    ready.pop();
    order.push_back(node);
    for (unsigned next : nodes[node].next) {
      if (--nodes[next].waitsFor == 0) {
        ready.push(next);
      }
    }
  }
  SmallVector<Operation *> misplaced;
  if (order.size() != nodes.size()) {
    // Those on the way; if there are none, all.
    for (bool all : {false, true}) {
      for (const auto &group : groups) {
        if (all || nodes[nodeOf.lookup(group->getLast())].waitsFor != 0) {
          llvm::append_range(misplaced, group->shared);
        }
      }
      if (!misplaced.empty()) {
        break;
      }
    }
    return misplaced;
  }
  for (unsigned node : order) {
    for (Operation *op : nodes[node].ops) {
      op->moveBefore(block.getTerminator());
    }
  }
  return {};
}
