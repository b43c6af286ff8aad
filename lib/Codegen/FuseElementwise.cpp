// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Fuses elementwise ops where no element is computed more often than before.
#include "lib/Codegen/Contraction.h"
#include "lib/Codegen/Convolution.h"
#include "lib/Codegen/Kernel.h"
#include "lib/Codegen/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace kvern {
#define GEN_PASS_DEF_FUSEELEMENTWISE
#include "lib/Codegen/Passes.h.inc"
} // namespace kvern

using namespace mlir;
using namespace kvern;

/// No computation: moves elements, or widens them.
static bool onlyMoves(linalg::GenericOp op) {
  return llvm::all_of(op.getBody()->without_terminator(), [](Operation &inner) {
    return isa<arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp>(inner);
  });
}

/// Cheap enough to compute once per use instead of once.
static bool isCheap(linalg::GenericOp op) {
  auto isCheapOp = [](Operation &inner) {
    return isa_and_present<arith::ArithDialect>(inner.getDialect()) &&
           !isa<arith::DivFOp, arith::DivSIOp, arith::DivUIOp, arith::RemFOp,
                arith::RemSIOp, arith::RemUIOp>(inner);
  };
  return llvm::all_of(op.getBody()->without_terminator(), isCheapOp) &&
         llvm::range_size(op.getBody()->getOperations()) <= 4;
}

static bool shouldFuse(OpOperand *operand) {
  auto producer = operand->get().getDefiningOp<linalg::GenericOp>();
  auto consumer = dyn_cast<linalg::GenericOp>(operand->getOwner());
  if (!producer || !consumer ||
      producer.getNumParallelLoops() != producer.getNumLoops()) {
    return false;
  }
  bool readsAnew = consumer.getMatchingIndexingMap(operand).getNumResults() <
                   consumer.getNumLoops();
  if (succeeded(matchContraction(consumer))) {
    // Computing it again for each m or n would cost more than the product.
    return onlyMoves(producer);
  }
  if (succeeded(matchConvolution(consumer))) {
    return false;
  }
  if (!producer->hasOneUse()) {
    return onlyMoves(producer) && !readsAnew;
  }
  return !readsAnew || isCheap(producer);
}

namespace {
/// An elementwise consumer of a contraction, or of what a reduction computes
/// besides, works in its output: `generic ins(%product) outs(%empty)` becomes
/// `generic outs(%product)`.
struct ComputeInPlace : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getNumParallelLoops() != op.getNumLoops() ||
        op.getNumDpsInits() != 1 ||
        !op.getDpsInits()[0].getDefiningOp<tensor::EmptyOp>()) {
      return rewriter.notifyMatchFailure(op, "not elementwise into new memory");
    }
    OpOperand *init = op.getDpsInitOperand(0);
    if (!op.getMatchingBlockArgument(init).use_empty()) {
      return rewriter.notifyMatchFailure(op, "reads its output");
    }
    for (OpOperand *input : op.getDpsInputOperands()) {
      Operation *producer = input->get().getDefiningOp();
      if (!producer || !input->get().hasOneUse() ||
          input->get().getType() != op.getResult(0).getType() ||
          op.getMatchingIndexingMap(input) != op.getMatchingIndexingMap(init) ||
          !isReduction(producer)) {
        continue;
      }
      replaceInput(op, input, rewriter);
      return success();
    }
    return rewriter.notifyMatchFailure(op, "no sum that only it reads");
  }

private:
  static bool isReduction(Operation *op) {
    auto generic = dyn_cast<linalg::GenericOp>(op);
    return generic && generic.getNumReductionLoops() != 0;
  }

  static void replaceInput(linalg::GenericOp op, OpOperand *input,
                           PatternRewriter &rewriter) {
    unsigned position = input->getOperandNumber();
    SmallVector<Value> inputs = op.getInputs();
    inputs.erase(inputs.begin() + position);
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    maps.erase(maps.begin() + position);
    Value product = input->get();
    auto fused = linalg::GenericOp::create(
        rewriter, op.getLoc(), op.getResultTypes(), inputs, ValueRange{product},
        maps, op.getIteratorTypesArray());
    Block *from = op.getBody();
    SmallVector<Type> types(from->getArgumentTypes());
    types.erase(types.begin() + position);
    Block *to = rewriter.createBlock(
        &fused.getRegion(), fused.getRegion().begin(), types,
        SmallVector<Location>(types.size(), op.getLoc()));
    SmallVector<Value> arguments(to->getArguments());
    arguments.insert(arguments.begin() + position, to->getArguments().back());
    rewriter.mergeBlocks(from, to, arguments);
    rewriter.replaceOp(op, fused.getResults());
  }
};

/// A map that a reduction reads element by element is computed by the loop that
/// reduces it, also when others read it: `e = exp(x); s = sum(e)` becomes one
/// generic with the results e and s.
class MapsIntoReductions {
public:
  explicit MapsIntoReductions(RewriterBase &rewriter) : rewriter(rewriter) {}

  void run(func::FuncOp function) {
    SmallVector<linalg::GenericOp> reductions;
    function.walk([&](linalg::GenericOp op) {
      if (op.getNumReductionLoops() != 0 && failed(matchContraction(op))) {
        reductions.push_back(op);
      }
    });
    for (linalg::GenericOp op : reductions) {
      while (OpOperand *operand = findMap(op)) {
        op = fuse(operand);
      }
    }
  }

private:
  /// An operand that is computed by a loop over the same elements, and whose
  /// other readers come later.
  static OpOperand *findMap(linalg::GenericOp op) {
    for (OpOperand *operand : op.getDpsInputOperands()) {
      auto map = operand->get().getDefiningOp<linalg::GenericOp>();
      if (!map || map->hasOneUse() || map->getBlock() != op->getBlock() ||
          map.getNumParallelLoops() != map.getNumLoops() ||
          map->getNumResults() != 1 ||
          !op.getMatchingIndexingMap(operand).isPermutation() ||
          !linalg::areElementwiseOpsFusable(operand)) {
        continue;
      }
      if (llvm::all_of(map->getUsers(), [&](Operation *user) {
            return user == op || isa<tensor::DimOp>(user) ||
                   (user->getBlock() == op->getBlock() &&
                    op->isBeforeInBlock(user));
          })) {
        return operand;
      }
    }
    return nullptr;
  }

  linalg::GenericOp fuse(OpOperand *operand) {
    Operation *map = operand->get().getDefiningOp();
    Operation *reduction = operand->getOwner();
    rewriter.setInsertionPoint(reduction);
    auto fused = linalg::fuseElementwiseOps(rewriter, operand);
    for (auto [from, to] : fused->replacements) {
      rewriter.replaceUsesWithIf(from, to, [&](OpOperand &use) {
        return use.getOwner() != reduction &&
               !isa<tensor::DimOp>(use.getOwner());
      });
    }
    rewriter.eraseOp(reduction);
    if (map->use_empty()) {
      rewriter.eraseOp(map);
    }
    return cast<linalg::GenericOp>(fused->fusedOp);
  }

  RewriterBase &rewriter;
};

struct FuseElementwisePass
    : kvern::impl::FuseElementwiseBase<FuseElementwisePass> {
  void runOnOperation() override {
    if (!isKernel(getOperation())) {
      return;
    }
    MLIRContext *context = &getContext();
    IRRewriter rewriter(context);
    SmallVector<linalg::LinalgOp> named;
    getOperation().walk([&](linalg::LinalgOp op) {
      if (!isa<linalg::GenericOp, linalg::FillOp>(op)) {
        named.push_back(op);
      }
    });
    for (linalg::LinalgOp op : named) {
      rewriter.setInsertionPoint(op);
      (void)linalg::generalizeNamedOp(rewriter, op);
    }
    RewritePatternSet patterns(context);
    linalg::populateElementwiseOpsFusionPatterns(patterns, shouldFuse);
    affine::AffineApplyOp::getCanonicalizationPatterns(patterns, context);
    linalg::GenericOp::getCanonicalizationPatterns(patterns, context);
    tensor::EmptyOp::getCanonicalizationPatterns(patterns, context);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns)))) {
      return signalPassFailure();
    }
    MapsIntoReductions(rewriter).run(getOperation());
    // Afterwards: it hides the producer from elementwise fusion.
    RewritePatternSet inPlace(context);
    inPlace.add<ComputeInPlace>(context);
    if (failed(applyPatternsGreedily(getOperation(), std::move(inPlace)))) {
      return signalPassFailure();
    }
  }
};
} // namespace
