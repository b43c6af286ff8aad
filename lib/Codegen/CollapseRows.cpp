// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Merges the leading axes of a product with one matrix into its rows.
#include "lib/Codegen/Contraction.h"
#include "lib/Codegen/Kernel.h"
#include "lib/Codegen/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace kvern {
#define GEN_PASS_DEF_COLLAPSEROWS
#include "lib/Codegen/Passes.h.inc"
} // namespace kvern

using namespace mlir;
using namespace kvern;

using bufferization::MaterializeInDestinationOp;

namespace {
/// A product, its consumers and their other producers, with the loops of each
/// that are merged.
class CollapsibleChain {
public:
  /// Whether the axes [first, first + count) of `op`'s result can be merged,
  /// through all that follows.
  bool add(linalg::GenericOp op, ArrayRef<unsigned> dims) {
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    ReassociationIndices sequence(dims.begin(), dims.end());
    // Panels of a packed matrix do not move with the rows.
    if (FailureOr<Contraction> product = matchContraction(op);
        succeeded(product) && product->panel != 0) {
      AffineMap &panels = maps[product->rhs];
      if (llvm::any_of(dims, [&](unsigned dim) {
            return panels.isFunctionOfDim(dim);
          })) {
        return false;
      }
      maps.erase(&panels);
    }
    auto isPermutation = [](AffineMap map) {
      return map.isProjectedPermutation();
    };
    if (op->getNumResults() != 1 || !llvm::all_of(maps, isPermutation) ||
        !linalg::areDimSequencesPreserved(maps, sequence)) {
      return false;
    }
    for (unsigned i = 1; i < dims.size(); ++i) {
      if (dims[i] != dims[i - 1] + 1) {
        return false;
      }
    }
    AffineMap out = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
    MLIRContext *context = op.getContext();
    std::optional<unsigned> axis =
        out.getResultPosition(getAffineDimExpr(dims.front(), context));
    if (!axis) {
      return false;
    }
    if (!loops.insert({op, sequence}).second) {
      return loops.lookup(op) == sequence;
    }
    for (OpOperand *input : op.getDpsInputOperands()) {
      addProducer(input, sequence);
    }
    return llvm::all_of(op->getUses(), [&](OpOperand &use) {
      return addUse(use, *axis, dims.size());
    });
  }

  void collapse(IRRewriter &rewriter);

private:
  /// Collapses what computes an input for this op only, so that they can be
  /// fused; otherwise the input alone is collapsed.
  void addProducer(OpOperand *input, const ReassociationIndices &dims) {
    auto consumer = cast<linalg::GenericOp>(input->getOwner());
    auto producer = input->get().getDefiningOp<linalg::GenericOp>();
    AffineMap read = consumer.getMatchingIndexingMap(input);
    std::optional<unsigned> axis = read.getResultPosition(
        getAffineDimExpr(dims.front(), consumer.getContext()));
    if (!producer || !axis || !producer->hasOneUse() ||
        producer->getNumResults() != 1 || producer.hasIndexSemantics() ||
        producer.getNumParallelLoops() != producer.getNumLoops()) {
      return;
    }
    AffineMap written =
        producer.getMatchingIndexingMap(producer.getDpsInitOperand(0));
    ReassociationIndices sequence;
    for (AffineExpr expr : written.getResults().slice(*axis, dims.size())) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      if (!dim ||
          (!sequence.empty() && dim.getPosition() != sequence.back() + 1)) {
        return;
      }
      sequence.push_back(dim.getPosition());
    }
    SmallVector<AffineMap> maps = producer.getIndexingMapsArray();
    if (!llvm::all_of(
            maps, [](AffineMap map) { return map.isProjectedPermutation(); }) ||
        !linalg::areDimSequencesPreserved(maps, sequence)) {
      return;
    }
    if (loops.insert({producer, sequence}).second) {
      for (OpOperand *next : producer.getDpsInputOperands()) {
        addProducer(next, sequence);
      }
    }
  }

  bool addUse(OpOperand &use, unsigned axis, unsigned count) {
    if (auto store = dyn_cast<MaterializeInDestinationOp>(use.getOwner())) {
      auto type = dyn_cast<MemRefType>(store.getDest().getType());
      stores.push_back(store);
      return type && type.getLayout().isIdentity();
    }
    auto consumer = dyn_cast<linalg::GenericOp>(use.getOwner());
    if (!consumer || consumer.hasIndexSemantics() ||
        consumer.getNumParallelLoops() != consumer.getNumLoops() ||
        consumer.isDpsInit(&use)) {
      return false;
    }
    AffineMap map = consumer.getMatchingIndexingMap(&use);
    SmallVector<unsigned> dims;
    for (AffineExpr expr : map.getResults().slice(axis, count)) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      if (!dim) {
        return false;
      }
      dims.push_back(dim.getPosition());
    }
    return add(consumer, dims);
  }

  llvm::MapVector<Operation *, ReassociationIndices> loops;
  SmallVector<MaterializeInDestinationOp> stores;
};
} // namespace

/// Which axes of an operand become one, when loops `dims` do.
static SmallVector<ReassociationIndices> groupAxes(AffineMap map,
                                                   ArrayRef<int64_t> dims) {
  SmallVector<ReassociationIndices> groups;
  for (auto [axis, expr] : llvm::enumerate(map.getResults())) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (dim && llvm::is_contained(dims.drop_front(), dim.getPosition())) {
      groups.back().push_back(axis);
    } else {
      groups.push_back({static_cast<int64_t>(axis)});
    }
  }
  return groups;
}

/// The map when loops `dims`, which are adjacent, are one.
static AffineMap mergeDims(AffineMap map, ArrayRef<int64_t> dims) {
  MLIRContext *context = map.getContext();
  unsigned merged = dims.size() - 1;
  SmallVector<AffineExpr> loops, results;
  for (int64_t dim = 0, e = map.getNumDims(); dim < e; ++dim) {
    loops.push_back(getAffineDimExpr(
        dim < dims.front() ? dim : std::max(dim - merged, dims.front()),
        context));
  }
  for (AffineExpr expr : map.getResults()) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim || !llvm::is_contained(dims.drop_front(), dim.getPosition())) {
      results.push_back(expr.replaceDims(loops));
    }
  }
  return AffineMap::get(map.getNumDims() - merged, 0, results, context);
}

/// What upstream's collapsing does, which only takes permutations: a product
/// with panels computes on merged operands, and its result is split again.
static Value collapsePanelProduct(linalg::GenericOp op, ArrayRef<int64_t> dims,
                                  IRRewriter &rewriter) {
  Location loc = op.getLoc();
  SmallVector<Value> operands;
  SmallVector<AffineMap> maps;
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    Value value = operand.get();
    if (map.isFunctionOfDim(dims.front())) {
      value = tensor::CollapseShapeOp::create(rewriter, loc, value,
                                              groupAxes(map, dims));
    }
    operands.push_back(value);
    maps.push_back(mergeDims(map, dims));
  }
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  iterators.erase(iterators.begin() + dims.front() + 1,
                  iterators.begin() + dims.back() + 1);
  Value init = operands.pop_back_val();
  auto merged = linalg::GenericOp::create(rewriter, loc, init.getType(),
                                          operands, init, maps, iterators);
  rewriter.inlineRegionBefore(op.getRegion(), merged.getRegion(),
                              merged.getRegion().begin());
  Value old = op.getDpsInits()[0];
  return tensor::ExpandShapeOp::create(
      rewriter, loc, old.getType(), merged.getResult(0),
      groupAxes(op.getMatchingIndexingMap(op.getDpsInitOperand(0)), dims),
      tensor::getMixedSizes(rewriter, loc, old));
}

void CollapsibleChain::collapse(IRRewriter &rewriter) {
  SmallVector<std::pair<Operation *, ReassociationIndices>> ops(loops.begin(),
                                                                loops.end());
  llvm::sort(
      ops, [](auto &a, auto &b) { return a.first->isBeforeInBlock(b.first); });
  for (auto &[op, dims] : ops) {
    auto generic = cast<linalg::GenericOp>(op);
    SmallVector<ReassociationIndices> groups;
    for (int64_t dim = 0, e = generic.getNumLoops(); dim < e; ++dim) {
      if (dim > dims.front() && dim <= dims.back()) {
        groups.back().push_back(dim);
      } else {
        groups.push_back({dim});
      }
    }
    rewriter.setInsertionPoint(op);
    if (FailureOr<Contraction> product = matchContraction(op);
        succeeded(product) && product->panel != 0) {
      rewriter.replaceOp(op, collapsePanelProduct(generic, dims, rewriter));
      continue;
    }
    FailureOr<linalg::CollapseResult> collapsed =
        linalg::collapseOpIterationDims(generic, groups, rewriter);
    if (succeeded(collapsed)) {
      rewriter.replaceOp(op, collapsed->results);
    }
  }
  for (MaterializeInDestinationOp store : stores) {
    auto expand = store.getSource().getDefiningOp<tensor::ExpandShapeOp>();
    if (!expand) {
      continue;
    }
    rewriter.setInsertionPoint(store);
    Value dest = memref::CollapseShapeOp::create(
        rewriter, store.getLoc(), store.getDest(),
        expand.getReassociationIndices());
    MaterializeInDestinationOp::create(rewriter, store.getLoc(), Type(),
                                       expand.getSrc(), dest,
                                       /*restrict=*/true, /*writable=*/true);
    rewriter.eraseOp(store);
  }
}

/// The loops from the first outer one to m, if they are adjacent everywhere.
static SmallVector<unsigned> rowDims(Contraction &product) {
  if (!product.m || product.outer.empty()) {
    return {};
  }
  SmallVector<unsigned> dims(product.outer);
  dims.push_back(*product.m);
  AffineMap lhs =
      product.op.getMatchingIndexingMap(&product.op->getOpOperand(product.lhs));
  bool inLhs = llvm::all_of(
      dims, [&](unsigned dim) { return lhs.isFunctionOfDim(dim); });
  return inLhs ? dims : SmallVector<unsigned>();
}

namespace {
struct CollapseRowsPass : kvern::impl::CollapseRowsBase<CollapseRowsPass> {
  void runOnOperation() override {
    if (!isKernel(getOperation())) {
      return;
    }
    SmallVector<Operation *> ops;
    getOperation().walk([&](linalg::GenericOp op) { ops.push_back(op); });
    IRRewriter rewriter(&getContext());
    // Last first: what a product's chain replaces is not a product.
    for (Operation *op : llvm::reverse(ops)) {
      auto product = matchContraction(op);
      if (failed(product)) {
        continue;
      }
      SmallVector<unsigned> dims = rowDims(*product);
      CollapsibleChain chain;
      if (!dims.empty() && chain.add(product->op, dims)) {
        chain.collapse(rewriter);
      }
    }
    RewritePatternSet patterns(&getContext());
    tensor::populateFoldTensorEmptyPatterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns)))) {
      signalPassFailure();
    }
  }
};
} // namespace
