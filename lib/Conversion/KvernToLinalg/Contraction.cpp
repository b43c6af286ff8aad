//===- Contraction.cpp - Sums of products ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Conversion/KvernToLinalg/Generic.h"
#include "lib/Conversion/KvernToLinalg/KvernToLinalg.h"

using namespace mlir;
using namespace kvern;

namespace {

/// Loops: batch axes, m, n, k.
struct MatmulConversion : OpConversionPattern<MatmulOp> {
  using OpConversionPattern::OpConversionPattern;

  /// The map of an operand of `shape`, whose last axes are the loops `row` and
  /// `column`.
  static AffineMap getMap(OpBuilder &builder, ArrayRef<DimAttr> shape,
                          ArrayRef<DimAttr> result, int64_t row,
                          int64_t column) {
    SmallVector<AffineExpr> exprs;
    size_t shift = result.size() - shape.size();
    for (auto [axis, dim] : llvm::enumerate(shape.drop_back(2))) {
      bool repeats = dim.isStatic(1) && !result[axis + shift].isStatic(1);
      exprs.push_back(repeats ? builder.getAffineConstantExpr(0)
                              : builder.getAffineDimExpr(axis + shift));
    }
    exprs.push_back(builder.getAffineDimExpr(row));
    exprs.push_back(builder.getAffineDimExpr(column));
    return AffineMap::get(result.size() + 1, 0, exprs, builder.getContext());
  }

  LogicalResult
  matchAndRewrite(MatmulOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    LoopBuilder loops(rewriter, op);
    auto type = cast<kvern::TensorType>(op.getType());
    auto lhs = cast<kvern::TensorType>(op.getLhs().getType());
    auto rhs = cast<kvern::TensorType>(op.getRhs().getType());
    Type storage = getStorageType(type.getElementType());
    ArrayRef<DimAttr> shape = type.getShape();
    int64_t k = shape.size();
    int64_t n = k - 1;
    int64_t m = k - 2;
    bool transposed = op.getTransposeRhs();
    AffineMap lhsMap = getMap(rewriter, lhs.getShape(), shape, m, k);
    AffineMap rhsMap = transposed
                           ? getMap(rewriter, rhs.getShape(), shape, n, k)
                           : getMap(rewriter, rhs.getShape(), shape, k, n);
    if (isEmpty(lhs.getShape()) || isEmpty(rhs.getShape())) {
      TypedAttr zero = cast<TypedAttr>(rewriter.getZeroAttr(storage));
      rewriter.replaceOp(op, loops.fill(shape, zero));
      return success();
    }
    rewriter.replaceOp(op, loops.product(shape, type.getElementType(),
                                         {adaptor.getLhs(), lhsMap},
                                         {adaptor.getRhs(), rhsMap}));
    return success();
  }
};

} // namespace

void kvern::populateContractionPatterns(TypeConverter &converter,
                                        RewritePatternSet &patterns) {
  patterns.add<MatmulConversion>(converter, patterns.getContext());
}
