//===- Contraction.cpp - Sums of products ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Inference.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace kvern;

#define GET_OP_CLASSES
#include "dialect/ops/Contraction.cpp.inc"

void KvernDialect::registerContractionOps() {
  addOperations<
#define GET_OP_LIST
#include "dialect/ops/Contraction.cpp.inc"
      >();
}

LogicalResult MatmulOp::inferReturnTypes(MLIRContext *,
                                         std::optional<Location> location,
                                         Adaptor adaptor,
                                         SmallVectorImpl<Type> &results) {
  InferError error(location, getOperationName());
  auto types = getUniformTypes(error, adaptor.getOperands());
  if (failed(types)) {
    return failure();
  }
  ArrayRef<DimAttr> lhs = types->front().getShape();
  ArrayRef<DimAttr> rhs = types->back().getShape();
  // matmul_c1
  if (lhs.size() < 2 || rhs.size() < 2) {
    return error("expected operands of rank 2 or more, but got ", toString(lhs),
                 " and ", toString(rhs));
  }
  bool transposed = adaptor.getTransposeRhs();
  DimAttr k = rhs[rhs.size() - (transposed ? 1 : 2)];
  DimAttr n = rhs[rhs.size() - (transposed ? 2 : 1)];
  // matmul_c2
  if (lhs.back() != k) {
    return error("expected the last size of lhs ", toString(lhs),
                 " to be the contracted size of rhs ", toString(rhs),
                 ", but got ", lhs.back().str(), " and ", k.str(),
                 (lhs.back().isStatic() && k.isStatic())
                     ? ""
                     : ", which are not provably equal; rebind one of them");
  }
  auto shape = broadcastShapes(error, lhs.drop_back(2), rhs.drop_back(2));
  if (failed(shape)) {
    return failure();
  }
  shape->push_back(lhs[lhs.size() - 2]);
  shape->push_back(n);
  return addResult(error, types->front(), *shape, results);
}

namespace {

/// matmul(x, permute(w)) that swaps the last two axes reads w as it is stored.
struct AbsorbTranspose : OpRewritePattern<MatmulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MatmulOp op,
                                PatternRewriter &rewriter) const override {
    auto permute = op.getRhs().getDefiningOp<PermuteOp>();
    if (!permute) {
      return rewriter.notifyMatchFailure(op, "rhs is not a permute");
    }
    ArrayRef<int64_t> permutation = permute.getPermutation();
    int64_t rank = permutation.size();
    for (int64_t i = 0; i < rank; ++i) {
      int64_t swapped = i == rank - 1 ? rank - 2 : i == rank - 2 ? rank - 1 : i;
      if (permutation[i] != swapped) {
        return rewriter.notifyMatchFailure(op, "not a swap of the last axes");
      }
    }
    rewriter.modifyOpInPlace(op, [&] {
      op.getRhsMutable().assign(permute.getX());
      op.setTransposeRhs(!op.getTransposeRhs());
    });
    return success();
  }
};

} // namespace

void MatmulOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                           MLIRContext *context) {
  patterns.add<AbsorbTranspose>(context);
}
