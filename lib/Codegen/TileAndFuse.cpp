// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Computes the ops of a kernel tile by tile in one loop nest.
//
// From the last op backwards, each op that is not yet in a nest becomes the
// root of one:
//   1. group: the producers that may be computed inside the root's tile;
//   2. axes: which of the root's loops each axis of a value in the group
//   follows;
//   3. sizes: a loop that a reduction of the group runs over stays whole; rows
//      and columns of a product get cache-sized tiles; other outer loops get 1;
//   4. scf::tileConsumerAndFuseProducersUsingSCF with these sizes.
#include "lib/Codegen/Contraction.h"
#include "lib/Codegen/Kernel.h"
#include "lib/Codegen/Passes.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/TileUsingInterface.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace kvern {
#define GEN_PASS_DEF_TILEANDFUSE
#include "lib/Codegen/Passes.h.inc"
} // namespace kvern

using namespace mlir;
using namespace kvern;

namespace {
/// A root and what is computed with it.
struct Group {
  explicit Group(linalg::LinalgOp root) : root(root) {}

  linalg::LinalgOp root;
  /// Ops fused into the root's loops, without the root.
  llvm::SetVector<Operation *> producers;
  /// The matrix product among them, which may be the root.
  std::optional<Contraction> contraction;
  /// Root loop that an axis of a value follows.
  DenseMap<std::pair<Value, int64_t>, unsigned> axisLoops;
  /// Root loop that a loop of a member follows.
  DenseMap<Operation *, SmallVector<std::optional<unsigned>>> memberLoops;
  /// Root loops that a member reduces over.
  llvm::SmallDenseSet<unsigned> wholeLoops;

  bool contains(Operation *op) const {
    return op == root || producers.contains(op);
  }
};

class Tiler {
public:
  Tiler(func::FuncOp function, const TileAndFuseOptions &options)
      : function(function), options(options) {}

  LogicalResult run() {
    IRRewriter rewriter(function.getContext());
    while (linalg::LinalgOp root = findRoot()) {
      done.insert(root);
      Group group(root);
      addProducers(group);
      followAxes(group);
      for (Operation *producer : group.producers) {
        done.insert(producer);
      }
      if (failed(tile(group, rewriter))) {
        return failure();
      }
    }
    return success();
  }

private:
  linalg::LinalgOp findRoot() {
    for (Operation &op : llvm::reverse(function.getBody().front())) {
      auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
      if (linalgOp && linalgOp.hasPureTensorSemantics() &&
          !isa<linalg::FillOp>(op) && !done.contains(&op)) {
        return linalgOp;
      }
    }
    return nullptr;
  }

  /// 1. The closure of producers that can be fused.
  void addProducers(Group &group);
  bool mayFuse(OpOperand &operand);
  /// 2. Axes; producers in reverse order of definition.
  void followAxes(Group &group);
  void followMember(Group &group, linalg::LinalgOp member);
  /// 3. Tile sizes by root loop; zero leaves a loop whole.
  SmallVector<OpFoldResult> chooseSizes(Group &group, OpBuilder &builder);
  SmallVector<OpFoldResult> chooseProductSizes(Group &group,
                                               OpBuilder &builder);
  /// 4. Tiling.
  LogicalResult tile(Group &group, IRRewriter &rewriter);

  /// Sizes that tiling reads from results would keep the ops alive.
  void readSizesOfInits();

  func::FuncOp function;
  const TileAndFuseOptions &options;
  DenseSet<Operation *> done;
};
} // namespace

/// A product's inputs are computed once, before it: its tiles read each of
/// their elements many times.
bool Tiler::mayFuse(OpOperand &operand) {
  Operation *producer = operand.get().getDefiningOp();
  auto consumer = dyn_cast<linalg::LinalgOp>(operand.getOwner());
  if (!producer || !consumer || !isa<linalg::LinalgOp>(producer) ||
      done.contains(producer) || producer->getBlock() != consumer->getBlock()) {
    return false;
  }
  if (consumer.isDpsInit(&operand)) {
    return true;
  }
  return failed(matchContraction(consumer)) &&
         consumer.getMatchingIndexingMap(&operand).isProjectedPermutation();
}

void Tiler::addProducers(Group &group) {
  SmallVector<Operation *> worklist = {group.root};
  if (auto product = matchContraction(group.root); succeeded(product)) {
    group.contraction = *product;
  }
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val();
    for (OpOperand &operand : op->getOpOperands()) {
      Operation *producer = operand.get().getDefiningOp();
      if (!mayFuse(operand) || group.producers.contains(producer)) {
        continue;
      }
      auto product = matchContraction(producer);
      if (succeeded(product)) {
        if (group.contraction) {
          continue;
        }
        group.contraction = *product;
      }
      group.producers.insert(producer);
      worklist.push_back(producer);
    }
  }

  // A value that ops outside of the group read is given out by the loops, which
  // come after all that the group reads.
  bool changed = true;
  while (changed) {
    changed = false;
    SetVector<Operation *> needed;
    BackwardSliceOptions sliceOptions;
    sliceOptions.omitBlockArguments = true;
    sliceOptions.filter = [&](Operation *op) { return !group.contains(op); };
    auto addSlice = [&](Operation *member) {
      for (Value operand : member->getOperands()) {
        if (Operation *def = operand.getDefiningOp();
            def && !group.contains(def)) {
          (void)getBackwardSlice(def, &needed, sliceOptions);
          needed.insert(def);
        }
      }
    };
    addSlice(group.root);
    llvm::for_each(group.producers, addSlice);
    for (Operation *producer : llvm::to_vector(group.producers)) {
      if (llvm::any_of(producer->getUsers(), [&](Operation *user) {
            return !group.contains(user) && needed.contains(user);
          })) {
        group.producers.remove(producer);
        if (group.contraction && group.contraction->op == producer) {
          group.contraction.reset();
        }
        changed = true;
      }
    }
    // Only what still reaches the root through the group.
    for (Operation *producer : llvm::to_vector(group.producers)) {
      if (llvm::none_of(producer->getUsers(), [&](Operation *user) {
            return group.contains(user);
          })) {
        group.producers.remove(producer);
        changed = true;
      }
    }
  }
}

void Tiler::followMember(Group &group, linalg::LinalgOp member) {
  SmallVector<std::optional<unsigned>> &loops = group.memberLoops[member];
  loops.resize(member.getNumLoops());
  // From values to loops: results first, then inputs for reduction loops.
  auto read = [&](Value value, AffineMap map) {
    for (auto [axis, expr] : llvm::enumerate(map.getResults())) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      auto it = group.axisLoops.find({value, static_cast<int64_t>(axis)});
      if (dim && it != group.axisLoops.end() && !loops[dim.getPosition()]) {
        loops[dim.getPosition()] = it->second;
      }
    }
  };
  bool product = succeeded(matchContraction(member));
  for (auto [index, result] : llvm::enumerate(member->getResults())) {
    read(result,
         member.getMatchingIndexingMap(member.getDpsInitOperand(index)));
  }
  if (!product) {
    for (OpOperand *input : member.getDpsInputOperands()) {
      read(input->get(), member.getMatchingIndexingMap(input));
    }
  }
  // From loops to values.
  for (OpOperand &operand : member->getOpOperands()) {
    AffineMap map = member.getMatchingIndexingMap(&operand);
    for (auto [axis, expr] : llvm::enumerate(map.getResults())) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      if (dim && loops[dim.getPosition()] && !product) {
        group.axisLoops.try_emplace({operand.get(), static_cast<int64_t>(axis)},
                                    *loops[dim.getPosition()]);
      }
    }
  }
  if (product) {
    return;
  }
  for (auto [dim, kind] : llvm::enumerate(member.getIteratorTypesArray())) {
    if (kind == utils::IteratorType::reduction && loops[dim]) {
      group.wholeLoops.insert(*loops[dim]);
    }
  }
}

void Tiler::followAxes(Group &group) {
  for (auto [index, result] : llvm::enumerate(group.root->getResults())) {
    AffineMap map =
        group.root.getMatchingIndexingMap(group.root.getDpsInitOperand(index));
    for (auto [axis, expr] : llvm::enumerate(map.getResults())) {
      if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
        group.axisLoops[{result, static_cast<int64_t>(axis)}] =
            dim.getPosition();
      }
    }
  }
  followMember(group, group.root);
  for (unsigned dim = 0, e = group.root.getNumLoops(); dim < e; ++dim) {
    group.memberLoops[group.root][dim] = dim;
  }
  for (Operation &op : llvm::reverse(*group.root->getBlock())) {
    if (group.producers.contains(&op)) {
      followMember(group, cast<linalg::LinalgOp>(op));
    }
  }
}

SmallVector<OpFoldResult> Tiler::chooseProductSizes(Group &group,
                                                    OpBuilder &builder) {
  linalg::LinalgOp root = group.root;
  Location loc = root.getLoc();
  SmallVector<OpFoldResult> sizes;
  for (utils::IteratorType kind : root.getIteratorTypesArray()) {
    bool parallel = kind == utils::IteratorType::parallel;
    sizes.push_back(builder.getIndexAttr(parallel ? 1 : 0));
  }
  Contraction &product = *group.contraction;
  auto rootLoop = [&](std::optional<unsigned> dim) -> int64_t {
    std::optional<unsigned> loop;
    if (dim) {
      loop = group.memberLoops[product.op][*dim];
    }
    return loop ? static_cast<int64_t>(*loop) : -1;
  };
  int64_t rows = rootLoop(product.m), columns = rootLoop(product.n);
  if (rows >= 0) {
    sizes[rows] = builder.getIndexAttr(options.rows);
  }
  if (columns >= 0) {
    sizes[columns] = builder.getIndexAttr(options.columns);
  }
  if (rows < 0 || columns < 0) {
    return sizes;
  }
  // Few rows: no packing, so long columns to stream through.
  SmallVector<Range> domain =
      cast<TilingInterface>(root.getOperation()).getIterationDomain(builder);
  OpFoldResult height = domain[rows].size;
  if (std::optional<int64_t> constant = getConstantIntValue(height)) {
    if (*constant <= options.fewRows) {
      sizes[columns] = builder.getIndexAttr(options.streamedColumns);
    }
    return sizes;
  }
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  Value few = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::ule,
      getValueOrCreateConstantIndexOp(builder, loc, height),
      constant(options.fewRows));
  sizes[columns] = arith::SelectOp::create(builder, loc, few,
                                           constant(options.streamedColumns),
                                           constant(options.columns))
                       .getResult();
  return sizes;
}

SmallVector<OpFoldResult> Tiler::chooseSizes(Group &group, OpBuilder &builder) {
  linalg::LinalgOp root = group.root;
  OpFoldResult whole = builder.getIndexAttr(0);
  OpFoldResult one = builder.getIndexAttr(1);
  SmallVector<OpFoldResult> sizes(root.getNumLoops(), whole);

  if (group.contraction) {
    return chooseProductSizes(group, builder);
  }

  AffineMap map = root.getMatchingIndexingMap(root.getDpsInitOperand(0));
  std::optional<unsigned> innermost;
  if (map.getNumResults() != 0) {
    if (auto dim =
            dyn_cast<AffineDimExpr>(map.getResult(map.getNumResults() - 1))) {
      innermost = dim.getPosition();
    }
  }
  for (auto [dim, kind] : llvm::enumerate(root.getIteratorTypesArray())) {
    if (kind == utils::IteratorType::reduction ||
        group.wholeLoops.contains(dim)) {
      continue;
    }
    if (dim != innermost) {
      sizes[dim] = one;
    } else {
      sizes[dim] = root.getNumReductionLoops() == 0
                       ? builder.getIndexAttr(options.strip)
                       : one;
    }
  }
  return sizes;
}

void Tiler::readSizesOfInits() {
  function.walk([](tensor::DimOp op) {
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

LogicalResult Tiler::tile(Group &group, IRRewriter &rewriter) {
  linalg::LinalgOp root = group.root;
  auto onlyFills = [](Operation *op) { return isa<linalg::FillOp>(op); };
  if (!group.contraction && llvm::all_of(group.producers, onlyFills)) {
    return success();
  }
  rewriter.setInsertionPoint(root);
  SmallVector<OpFoldResult> sizes = chooseSizes(group, rewriter);
  if (llvm::all_of(sizes, [](OpFoldResult size) {
        return getConstantIntValue(size) == 0;
      })) {
    return success();
  }
  auto isTiled = [&](std::optional<unsigned> loop) {
    return loop && getConstantIntValue(sizes[*loop]) != 0;
  };
  auto followsAllTiledLoops = [&](Operation *member) {
    auto &loops = group.memberLoops[member];
    for (unsigned dim = 0; dim < sizes.size(); ++dim) {
      if (isTiled(dim) && !llvm::is_contained(loops, dim)) {
        return false;
      }
    }
    return true;
  };

  scf::SCFTilingOptions tiling;
  tiling.setTileSizes(sizes);
  scf::SCFTileAndFuseOptions fusing;
  fusing.setTilingOptions(tiling);
  fusing.setFusionControlFn(
      [&](tensor::ExtractSliceOp, OpResult producer, bool isDestination)
          -> std::optional<scf::SCFTileAndFuseOptions::ControlFnResult> {
        Operation *op = producer.getOwner();
        if (!group.producers.contains(op)) {
          return std::nullopt;
        }
        scf::SCFTileAndFuseOptions::ControlFnResult result;
        if (isDestination && isa<linalg::FillOp>(op)) {
          return result;
        }
        // Each tile would compute the same elements again.
        if (llvm::none_of(group.memberLoops[op], isTiled)) {
          return std::nullopt;
        }
        bool readOutside =
            llvm::any_of(producer.getUsers(), [&](Operation *user) {
              return user->getBlock() == root->getBlock() &&
                     !group.contains(user) && !isa<tensor::DimOp>(user);
            });
        if (readOutside && !followsAllTiledLoops(op)) {
          return std::nullopt;
        }
        result.yieldProducerReplacement = readOutside;
        return result;
      });
  FailureOr<scf::SCFTileAndFuseResult> tiled =
      scf::tileConsumerAndFuseProducersUsingSCF(
          rewriter, cast<TilingInterface>(root.getOperation()), fusing);
  if (failed(tiled)) {
    return root->emitError("cannot be tiled");
  }
  // What was left outside is a root of its own.
  for (Operation *producer : group.producers) {
    if (!tiled->fusedProducers.contains(producer)) {
      done.erase(producer);
    }
  }
  readSizesOfInits();
  for (auto [from, to] : tiled->replacements) {
    rewriter.replaceUsesWithIf(from, to, [&](OpOperand &use) {
      return !group.contains(use.getOwner()) &&
             !tiled->loops.front()->isProperAncestor(use.getOwner());
    });
  }
  // Consumers first.
  SmallVector<Operation *> replaced = {root};
  llvm::append_range(replaced, tiled->fusedProducers);
  llvm::sort(replaced,
             [](Operation *a, Operation *b) { return b->isBeforeInBlock(a); });
  for (Operation *op : replaced) {
    if (op->use_empty()) {
      done.erase(op);
      rewriter.eraseOp(op);
    }
  }
  sortTopologically(&function.getBody().front());
  return success();
}

namespace {
struct TileAndFusePass : kvern::impl::TileAndFuseBase<TileAndFusePass> {
  using TileAndFuseBase::TileAndFuseBase;

  void runOnOperation() override {
    if (!isKernel(getOperation())) {
      return;
    }
    TileAndFuseOptions options{rows, columns, streamedColumns, fewRows, strip};
    if (failed(Tiler(getOperation(), options).run())) {
      return signalPassFailure();
    }
    // Temporaries of a tile's size.
    RewritePatternSet patterns(&getContext());
    tensor::populateFoldTensorEmptyPatterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns)))) {
      signalPassFailure();
    }
  }
};
} // namespace
