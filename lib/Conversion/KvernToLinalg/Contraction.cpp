//===- Contraction.cpp - Sums of products ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Conversion/KvernToLinalg/Generic.h"
#include "lib/Conversion/KvernToLinalg/KvernToLinalg.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace kvern;

using utils::IteratorType;

namespace {

/// Loops: batch axes, m, n, k. The accumulator is f32 for f16 and bf16, which a
/// second op rounds.
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
    Type compute = getComputeType(type.getElementType());
    ArrayRef<DimAttr> shape = type.getShape();
    int64_t k = shape.size();
    int64_t n = k - 1;
    int64_t m = k - 2;
    bool transposed = op.getTransposeRhs();
    SmallVector<AffineMap> maps{
        getMap(rewriter, lhs.getShape(), shape, m, k),
        transposed ? getMap(rewriter, rhs.getShape(), shape, n, k)
                   : getMap(rewriter, rhs.getShape(), shape, k, n),
        rewriter.getMultiDimIdentityMap(k + 1).dropResult(k)};
    SmallVector<IteratorType> iterators(k + 1, IteratorType::parallel);
    iterators[k] = IteratorType::reduction;
    if (isEmpty(lhs.getShape()) || isEmpty(rhs.getShape())) {
      TypedAttr zero = cast<TypedAttr>(rewriter.getZeroAttr(storage));
      rewriter.replaceOp(op, loops.fill(shape, zero));
      return success();
    }
    Value init =
        loops.fill(shape, cast<TypedAttr>(rewriter.getZeroAttr(compute)));
    auto product = linalg::GenericOp::create(
        rewriter, op.getLoc(), init.getType(), adaptor.getOperands(), init,
        maps, iterators,
        [&](OpBuilder &nested, Location loc, ValueRange arguments) {
          ImplicitLocOpBuilder b(loc, nested);
          Scalar s(b, type.getElementType());
          Value x = s.load(arguments[0]);
          Value y = s.load(arguments[1]);
          Value sum = s.accumulate(s.accumulateProduct(x, y), arguments[2]);
          linalg::YieldOp::create(nested, loc, sum);
        });
    Value result = product.getResult(0);
    if (storage != compute) {
      result = loops.elementwise(
          shape, storage, loops.all(result, k),
          [&](ImplicitLocOpBuilder &b, ValueRange values) {
            return Scalar(b, type.getElementType()).store(values[0]);
          });
    }
    rewriter.replaceOp(op, result);
    return success();
  }
};

} // namespace

void kvern::populateContractionPatterns(TypeConverter &converter,
                                        RewritePatternSet &patterns) {
  patterns.add<MatmulConversion>(converter, patterns.getContext());
}
