// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tiles of a linalg.generic on buffers that threads may compute.
#include "lib/Codegen/ThreadTiles.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/TileUsingInterface.h"

using namespace mlir;
using namespace kvern;

/// Elements of a strip, and of one across which a reduction runs.
static constexpr int64_t kStrip = 4096;
static constexpr int64_t kReducedStrip = 256;
/// Elements up to which one thread is enough, whatever is done with them.
static constexpr int64_t kSmall = 2048;

static bool isWorthIt(linalg::GenericOp op) {
  if (op->getParentOfType<LoopLikeOpInterface>() ||
      !op.hasPureBufferSemantics() || op.getNumParallelLoops() == 0) {
    return false;
  }
  bool reads = llvm::any_of(op.getDpsInputs(), [](Value input) {
    return isa<MemRefType>(input.getType());
  });
  int64_t elements = 1;
  for (int64_t size : op.getStaticLoopRanges()) {
    if (ShapedType::isDynamic(size)) {
      return reads;
    }
    elements *= size;
  }
  return reads && elements > kSmall;
}

/// The loop along which `operand` is contiguous.
static std::optional<unsigned> innermost(linalg::GenericOp op,
                                         OpOperand *operand) {
  AffineMap map = op.getMatchingIndexingMap(operand);
  if (map.getNumResults() == 0) {
    return std::nullopt;
  }
  auto dim = dyn_cast<AffineDimExpr>(map.getResults().back());
  return dim ? std::optional(dim.getPosition()) : std::nullopt;
}

linalg::GenericOp kvern::tileForThreads(linalg::GenericOp op,
                                        RewriterBase &rewriter) {
  if (!isWorthIt(op)) {
    return op;
  }
  std::optional<unsigned> inner = innermost(op, op.getDpsInitOperand(0));
  int64_t strip = kStrip;
  if (op.getNumReductionLoops() != 0) {
    // Rows are reduced one by one, columns many at a time.
    bool columns =
        llvm::any_of(op.getDpsInputOperands(), [&](OpOperand *input) {
          return inner && innermost(op, input) == inner;
        });
    strip = columns ? kReducedStrip : 1;
  }
  SmallVector<OpFoldResult> sizes;
  for (auto [dim, kind] : llvm::enumerate(op.getIteratorTypesArray())) {
    int64_t size = kind == utils::IteratorType::reduction ? 0
                   : dim == inner                         ? strip
                                                          : 1;
    sizes.push_back(rewriter.getIndexAttr(size));
  }
  scf::SCFTilingOptions options;
  options.setTileSizes(sizes);
  options.setLoopType(scf::SCFTilingOptions::LoopType::ForallOp);
  rewriter.setInsertionPoint(op);
  FailureOr<scf::SCFTilingResult> tiled = scf::tileUsingSCF(
      rewriter, cast<TilingInterface>(op.getOperation()), options);
  if (failed(tiled) || tiled->tiledOps.size() != 1) {
    return op;
  }
  rewriter.eraseOp(op);
  return cast<linalg::GenericOp>(tiled->tiledOps.front());
}
