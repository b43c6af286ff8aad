// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Computes the ops of a kernel tile by tile in one loop nest.
//
// From the last op backwards, each op that is not yet in a nest becomes the
// root of one:
//   1. its group is found: see FusionGroup.h;
//   2. sizes: a loop that a reduction of the group runs along stays whole; rows
//      and columns of a product: see ProductTiles.h; other outer loops get 1;
//   3. the root is tiled;
//   4. the producers, last first, are computed where their tile is first read.
#include "lib/Codegen/DimClasses.h"
#include "lib/Codegen/FusionGroup.h"
#include "lib/Codegen/Kernel.h"
#include "lib/Codegen/Passes.h"
#include "lib/Codegen/ProductTiles.h"

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/TileUsingInterface.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace kvern {
#define GEN_PASS_DEF_TILEANDFUSE
#include "lib/Codegen/Passes.h.inc"
} // namespace kvern

using namespace mlir;
using namespace kvern;

namespace {
class Tiler {
public:
  Tiler(func::FuncOp function, const TileAndFuseOptions &options)
      : body(&function.getBody().front()), options(options),
        rewriter(function.getContext()) {}

  LogicalResult run() {
    while (linalg::LinalgOp root = findRoot()) {
      FusionGroup group(root, [&](Operation *op) { return done.contains(op); });
      done.insert(root);
      done.insert_range(group.producers());
      if (failed(tile(group))) {
        return failure();
      }
    }
    return success();
  }

private:
  linalg::LinalgOp findRoot() {
    for (Operation &op : llvm::reverse(*body)) {
      auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
      if (linalgOp && linalgOp.hasPureTensorSemantics() &&
          !isa<linalg::FillOp>(op) && !done.contains(&op)) {
        return linalgOp;
      }
    }
    return nullptr;
  }

  CpuTarget target() const {
    CpuTarget result;
    result.vectorBits = options.vectorBits;
    result.vectorRegisters = options.vectorRegisters;
    result.l1Bytes = options.l1Bytes;
    result.l2Bytes = options.l2Bytes;
    return result;
  }

  /// Tile sizes by root loop; zero leaves a loop whole.
  SmallVector<OpFoldResult> chooseSizes(FusionGroup &group);
  SmallVector<OpFoldResult> chooseProductSizes(FusionGroup &group);
  SmallVector<OpFoldResult> chooseConvolutionSizes(FusionGroup &group);

  LogicalResult tile(FusionGroup &group);
  /// Computes `producer` in the loops if that computes nothing twice.
  void fuse(linalg::LinalgOp producer, FusionGroup &group,
            ArrayRef<OpFoldResult> sizes,
            SmallVector<LoopLikeOpInterface> &loops);
  /// Replaces uses of a member outside of the group.
  void replaceResult(Value from, Value to, FusionGroup &group, Operation *loop);
  /// Sizes that tiling reads from results would keep the ops alive.
  void readSizesOfInits();

  Block *body;
  const TileAndFuseOptions &options;
  IRRewriter rewriter;
  DenseSet<Operation *> done;
};
} // namespace

SmallVector<OpFoldResult> Tiler::chooseProductSizes(FusionGroup &group) {
  linalg::LinalgOp root = group.root();
  Location loc = root.getLoc();
  SmallVector<OpFoldResult> sizes;
  for (utils::IteratorType kind : root.getIteratorTypesArray()) {
    bool parallel = kind == utils::IteratorType::parallel;
    sizes.push_back(rewriter.getIndexAttr(parallel ? 1 : 0));
  }
  Contraction &product = *group.contraction();
  auto rootLoop = [&](std::optional<unsigned> dim) -> int64_t {
    std::optional<unsigned> loop;
    if (dim) {
      loop = group.rootLoop(product.op, *dim);
    }
    return loop ? static_cast<int64_t>(*loop) : -1;
  };
  int64_t rows = rootLoop(product.m), columns = rootLoop(product.n);
  SmallVector<Range> domain =
      cast<TilingInterface>(root.getOperation()).getIterationDomain(rewriter);
  ProductTiles tiles(product, target());
  if (rows >= 0) {
    sizes[rows] = tiles.rows(rewriter, loc, domain[rows].size);
  }
  if (columns >= 0) {
    OpFoldResult height =
        rows >= 0 ? domain[rows].size : rewriter.getIndexAttr(1);
    sizes[columns] = tiles.columns(rewriter, loc, height);
  }
  return sizes;
}

SmallVector<OpFoldResult> Tiler::chooseConvolutionSizes(FusionGroup &group) {
  Convolution &convolution = *group.convolution();
  SmallVector<OpFoldResult> sizes;
  for (utils::IteratorType kind : group.root().getIteratorTypesArray()) {
    bool parallel = kind == utils::IteratorType::parallel;
    sizes.push_back(rewriter.getIndexAttr(parallel ? 1 : 0));
  }
  for (auto [dim, size] :
       llvm::enumerate(getConvolutionTiles(convolution, target()))) {
    if (auto loop = group.rootLoop(convolution.op, dim)) {
      sizes[*loop] = rewriter.getIndexAttr(size);
    }
  }
  return sizes;
}

SmallVector<OpFoldResult> Tiler::chooseSizes(FusionGroup &group) {
  if (group.contraction()) {
    return chooseProductSizes(group);
  }
  if (group.convolution()) {
    return chooseConvolutionSizes(group);
  }
  linalg::LinalgOp root = group.root();
  AffineMap map = root.getMatchingIndexingMap(root.getDpsInitOperand(0));
  std::optional<unsigned> innermost;
  if (map.getNumResults() != 0) {
    if (auto dim = dyn_cast<AffineDimExpr>(map.getResults().back())) {
      innermost = dim.getPosition();
    }
  }
  SmallVector<OpFoldResult> sizes;
  for (auto [dim, kind] : llvm::enumerate(root.getIteratorTypesArray())) {
    int64_t size = 1;
    if (kind == utils::IteratorType::reduction || group.reducesAlong(dim)) {
      size = 0;
    } else if (dim == innermost && root.getNumReductionLoops() == 0) {
      size = options.strip;
    }
    sizes.push_back(rewriter.getIndexAttr(size));
  }
  return sizes;
}

void Tiler::readSizesOfInits() {
  body->walk([](tensor::DimOp op) {
    while (auto result = dyn_cast<OpResult>(op.getSource())) {
      auto producer = dyn_cast<linalg::LinalgOp>(result.getOwner());
      if (!producer) {
        break;
      }
      op.getSourceMutable().assign(
          producer.getDpsInits()[result.getResultNumber()]);
    }
  });
}

void Tiler::replaceResult(Value from, Value to, FusionGroup &group,
                          Operation *loop) {
  rewriter.replaceUsesWithIf(from, to, [&](OpOperand &use) {
    return !group.contains(use.getOwner()) &&
           !loop->isProperAncestor(use.getOwner());
  });
}

LogicalResult Tiler::tile(FusionGroup &group) {
  linalg::LinalgOp root = group.root();
  auto isFill = [](Operation *op) { return isa<linalg::FillOp>(op); };
  if (!group.contraction() && !group.convolution() &&
      llvm::all_of(group.producers(), isFill)) {
    return success();
  }
  rewriter.setInsertionPoint(root);
  SmallVector<OpFoldResult> sizes = chooseSizes(group);
  if (llvm::all_of(sizes, [](OpFoldResult size) {
        return getConstantIntValue(size) == 0;
      })) {
    return success();
  }
  scf::SCFTilingOptions tiling;
  tiling.setTileSizes(sizes);
  // No reduced axis is cut, so tiles can be computed in any order.
  tiling.setLoopType(scf::SCFTilingOptions::LoopType::ForallOp);
  FailureOr<scf::SCFTilingResult> tiled = scf::tileUsingSCF(
      rewriter, cast<TilingInterface>(root.getOperation()), tiling);
  if (failed(tiled)) {
    return root->emitError("cannot be tiled");
  }
  readSizesOfInits();
  SmallVector<LoopLikeOpInterface> loops = tiled->loops;
  for (auto [from, to] : llvm::zip(root->getResults(), tiled->replacements)) {
    replaceResult(from, to, group, loops.front());
  }

  SmallVector<Operation *> members(group.producers());
  llvm::sort(members,
             [](Operation *a, Operation *b) { return b->isBeforeInBlock(a); });
  for (Operation *member : members) {
    fuse(cast<linalg::LinalgOp>(member), group, sizes, loops);
  }
  members.insert(members.begin(), root);
  for (Operation *member : members) {
    if (member->use_empty()) {
      done.erase(member);
      rewriter.eraseOp(member);
    }
  }
  sortTopologically(body);
  return success();
}

/// The value that a slice in a loop is a slice of, before the loops.
static Value untiledSource(tensor::ExtractSliceOp slice) {
  Value source = slice.getSource();
  while (auto argument = dyn_cast<BlockArgument>(source)) {
    auto loop =
        dyn_cast<LoopLikeOpInterface>(argument.getOwner()->getParentOp());
    OpOperand *init = loop ? loop.getTiedLoopInit(argument) : nullptr;
    if (!init) {
      break;
    }
    source = init->get();
  }
  return source;
}

void Tiler::fuse(linalg::LinalgOp producer, FusionGroup &group,
                 ArrayRef<OpFoldResult> sizes,
                 SmallVector<LoopLikeOpInterface> &loops) {
  auto isTiled = [&](std::optional<unsigned> loop) {
    return loop && getConstantIntValue(sizes[*loop]) != 0;
  };
  ArrayRef<std::optional<unsigned>> followed = group.rootLoops(producer);
  auto isReadOutside = [&](Value result) {
    return llvm::any_of(result.getUsers(), [&](Operation *user) {
      return user->getBlock() == body && !group.contains(user) &&
             user != loops.front() && !isa<tensor::DimOp>(user);
    });
  };
  bool readOutside = llvm::any_of(producer->getResults(), isReadOutside);
  bool followsAll = true;
  for (unsigned dim = 0; dim < sizes.size(); ++dim) {
    followsAll &= !isTiled(dim) || llvm::is_contained(followed, dim);
  }
  bool repeats = readOutside ? !followsAll : llvm::none_of(followed, isTiled);
  if (repeats && !isa<linalg::FillOp>(producer)) {
    done.erase(producer);
    return;
  }

  // Equal slices become one.
  DominanceInfo dominance(loops.front());
  eliminateCommonSubExpressions(rewriter, dominance, loops.front());
  SmallVector<tensor::ExtractSliceOp> slices;
  loops.front()->walk([&](tensor::ExtractSliceOp slice) {
    if (untiledSource(slice).getDefiningOp() == producer) {
      slices.push_back(slice);
    }
  });
  // Those of an output that the loops fill first: they give up what filled it.
  std::stable_partition(slices.begin(), slices.end(),
                        [](tensor::ExtractSliceOp slice) {
                          return isa<BlockArgument>(slice.getSource());
                        });
  Operation *tile = nullptr;
  for (tensor::ExtractSliceOp slice : slices) {
    if (tile && producer->getNumResults() > 1) {
      // One tile has all results.
      auto result = cast<OpResult>(untiledSource(slice));
      Value replacement = tile->getResult(result.getResultNumber());
      if (replacement.getType() == slice.getType() &&
          tile->getBlock() == slice->getBlock()) {
        rewriter.replaceOp(slice, replacement);
        sortTopologically(tile->getBlock());
        continue;
      }
    }
    auto fused = scf::tileAndFuseProducerOfSlice(rewriter, slice, loops);
    if (!fused) {
      continue;
    }
    if (!fused->tiledOps.empty()) {
      tile = fused->tiledOps.front();
    }
    for (OpResult result : producer->getResults()) {
      if (!isReadOutside(result) || isa<linalg::FillOp>(producer)) {
        continue;
      }
      if (succeeded(scf::yieldReplacementForFusedProducer(
              rewriter, slice, *fused, loops, {result.getResultNumber()}))) {
        replaceResult(result, loops.front()->getResults().back(), group,
                      loops.front());
      }
    }
    if (slice->use_empty()) {
      rewriter.eraseOp(slice);
    }
  }
  readSizesOfInits();
}

namespace {
struct TileAndFusePass : kvern::impl::TileAndFuseBase<TileAndFusePass> {
  using TileAndFuseBase::TileAndFuseBase;

  void runOnOperation() override {
    if (!isKernel(getOperation())) {
      return;
    }
    DimClasses dims(getOperation());
    dims.keepOnlyArguments();
    TileAndFuseOptions options{vectorBits, vectorRegisters, l1Bytes, l2Bytes,
                               strip};
    if (failed(Tiler(getOperation(), options).run())) {
      return signalPassFailure();
    }
    readWholePanels(getOperation());
    readWholeFilterPanels(getOperation());
    dims.resolve(getOperation());
    // Temporaries of a tile's size.
    RewritePatternSet patterns(&getContext());
    tensor::populateFoldTensorEmptyPatterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns)))) {
      signalPassFailure();
    }
  }
};
} // namespace
