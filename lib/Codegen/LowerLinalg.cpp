// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lowers linalg ops on buffers to loops that LLVM can vectorize.
#include "lib/Codegen/Kernel.h"
#include "lib/Codegen/LoopEmitter.h"
#include "lib/Codegen/Passes.h"
#include "lib/Codegen/ThreadTiles.h"
#include "lib/Codegen/TransposeLoop.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"

namespace kvern {
#define GEN_PASS_DEF_LOWERLINALG
#include "lib/Codegen/Passes.h.inc"
} // namespace kvern

using namespace mlir;
using namespace kvern;

/// Loop `dim` and the one after it walk every operand as one loop would:
/// adjacent contiguous axes, or neither loop is used.
static bool collapses(linalg::GenericOp op, unsigned dim) {
  return llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    // MLIR's collapsing knows no constant results: an axis of size 1 read at 0.
    if (!llvm::all_of(map.getResults(), llvm::IsaPred<AffineDimExpr>)) {
      return false;
    }
    if (!map.isFunctionOfDim(dim) && !map.isFunctionOfDim(dim + 1)) {
      return true;
    }
    auto type = dyn_cast<MemRefType>(operand.get().getType());
    if (!type || !map.isProjectedPermutation()) {
      return false;
    }
    MLIRContext *context = op.getContext();
    auto first = map.getResultPosition(getAffineDimExpr(dim, context));
    auto second = map.getResultPosition(getAffineDimExpr(dim + 1, context));
    if (!first || !second || *second != *first + 1) {
      return false;
    }
    SmallVector<ReassociationIndices> groups;
    for (unsigned axis = 0; axis < map.getNumResults(); ++axis) {
      if (axis == *second) {
        groups.back().push_back(axis);
      } else {
        groups.push_back({axis});
      }
    }
    return memref::CollapseShapeOp::isGuaranteedCollapsible(type, groups);
  });
}

/// Merges loops that walk contiguous memory: long inner loops vectorize better.
static linalg::GenericOp collapseLoops(linalg::GenericOp op,
                                       RewriterBase &rewriter) {
  if (op.hasIndexSemantics()) {
    return op;
  }
  SmallVector<utils::IteratorType> kinds = op.getIteratorTypesArray();
  SmallVector<ReassociationIndices> groups;
  // A loop of one turn costs nothing, but merging it can hide a unit stride.
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  for (unsigned dim = 0; dim < op.getNumLoops(); ++dim) {
    if (dim != 0 && kinds[dim] == kinds[dim - 1] && ranges[dim] != 1 &&
        ranges[dim - 1] != 1 && collapses(op, dim - 1)) {
      groups.back().push_back(dim);
    } else {
      groups.push_back({dim});
    }
  }
  if (groups.size() == op.getNumLoops()) {
    return op;
  }
  FailureOr<linalg::CollapseResult> collapsed =
      linalg::collapseOpIterationDims(op, groups, rewriter);
  if (failed(collapsed)) {
    return op;
  }
  Operation *result = collapsed->collapsedOp;
  rewriter.eraseOp(op);
  return cast<linalg::GenericOp>(result);
}

/// Lets LLVM compute partial sums side by side.
static void allowReassociation(linalg::GenericOp op) {
  auto yield = cast<linalg::YieldOp>(op.getBody()->getTerminator());
  for (auto [index, value] : llvm::enumerate(yield.getOperands())) {
    Operation *combiner = value.getDefiningOp();
    Value acc = op.getRegionOutputArgs()[index];
    if (combiner && isa<arith::AddFOp, arith::MulFOp>(combiner) &&
        llvm::is_contained(combiner->getOperands(), acc)) {
      combiner->setAttr(
          "fastmath", arith::FastMathFlagsAttr::get(
                          op.getContext(), arith::FastMathFlags::reassoc |
                                               arith::FastMathFlags::contract));
    }
  }
}

namespace {
struct LowerLinalgPass : kvern::impl::LowerLinalgBase<LowerLinalgPass> {
  using LowerLinalgBase::LowerLinalgBase;

  void runOnOperation() override {
    if (!isKernel(getOperation())) {
      return;
    }
    IRRewriter rewriter(&getContext());
    SmallVector<memref::CopyOp> copies;
    getOperation().walk([&](memref::CopyOp op) { copies.push_back(op); });
    for (memref::CopyOp op : copies) {
      if (op.getSource() != op.getTarget()) {
        rewriter.setInsertionPoint(op);
        linalg::makeMemRefCopyOp(rewriter, op.getLoc(), op.getSource(),
                                 op.getTarget());
      }
      rewriter.eraseOp(op);
    }
    SmallVector<linalg::LinalgOp> ops;
    getOperation().walk([&](linalg::LinalgOp op) {
      if (op.hasPureBufferSemantics()) {
        ops.push_back(op);
      }
    });
    for (linalg::LinalgOp op : ops) {
      rewriter.setInsertionPoint(op);
      FailureOr<linalg::GenericOp> generic =
          linalg::generalizeNamedOp(rewriter, op);
      auto lowered = succeeded(generic)
                         ? *generic
                         : dyn_cast<linalg::GenericOp>(op.getOperation());
      if (!lowered) {
        if (failed(linalg::linalgOpToLoops(rewriter, op))) {
          op->emitError("cannot be lowered to loops");
          return signalPassFailure();
        }
        rewriter.eraseOp(op);
        continue;
      }
      allowReassociation(lowered);
      rewriter.setInsertionPoint(lowered);
      lowered = collapseLoops(lowered, rewriter);
      if (succeeded(emitTranspose(lowered, vectorBits, rewriter))) {
        continue;
      }
      lowered = tileForThreads(lowered, rewriter);
      emitLoops(lowered, vectorBits, rewriter);
    }
  }
};
} // namespace
