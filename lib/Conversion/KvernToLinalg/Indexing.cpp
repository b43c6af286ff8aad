//===- Indexing.cpp - Elements by index -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Conversion/KvernToLinalg/Indexing.h"

#include "lib/Conversion/KvernToLinalg/KvernToLinalg.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace kvern;

Value kvern::pickByIndex(LoopBuilder &loops, ArrayRef<DimAttr> shape,
                         Type storage, Value indices,
                         kvern::TensorType indexType, int64_t axis, Value size,
                         PickElement pick) {
  bool isUnsigned = indexType.getElementType().isUnsignedInteger();
  LoopOperand index{indices, loops.builder.getMultiDimIdentityMap(shape.size())
                                 .getSliceMap(axis, indexType.getRank())};
  return loops.elementwise(
      shape, storage, index,
      [&](ImplicitLocOpBuilder &b, ValueRange values) -> Value {
        if (isUnsigned) {
          return pick(
              b, arith::IndexCastUIOp::create(b, b.getIndexType(), values[0]));
        }
        Value place =
            arith::IndexCastOp::create(b, b.getIndexType(), values[0]);
        Value zero = arith::ConstantIndexOp::create(b, 0);
        Value isNegative =
            arith::CmpIOp::create(b, arith::CmpIPredicate::slt, place, zero);
        Value fromEnd = arith::AddIOp::create(b, place, size);
        return pick(b, arith::SelectOp::create(b, isNegative, fromEnd, place));
      });
}

namespace {

/// A loop over the result that reads the index and, through it, the operand.
struct GatherConversion : OpConversionPattern<GatherOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(GatherOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    LoopBuilder loops(rewriter, op);
    auto x = cast<kvern::TensorType>(op.getX().getType());
    auto indices = cast<kvern::TensorType>(op.getIndices().getType());
    auto type = cast<kvern::TensorType>(op.getType());
    int64_t axis = op.getAxis();
    int64_t indexRank = indices.getRank();
    Value size = loops.index(loops.size(x.getShape()[axis]));
    Value result = pickByIndex(
        loops, type.getShape(), getStorageType(type.getElementType()),
        adaptor.getIndices(), indices, axis, size,
        [&](ImplicitLocOpBuilder &b, Value place) -> Value {
          SmallVector<Value> places;
          for (int64_t i = 0; i < x.getRank(); ++i) {
            int64_t loop = i < axis ? i : i + indexRank - 1;
            places.push_back(
                i == axis ? place
                          : linalg::IndexOp::create(b, loop).getResult());
          }
          return tensor::ExtractOp::create(b, adaptor.getX(), places);
        });
    rewriter.replaceOp(op, result);
    return success();
  }
};

} // namespace

void kvern::populateIndexingPatterns(TypeConverter &converter,
                                     RewritePatternSet &patterns) {
  patterns.add<GatherConversion>(converter, patterns.getContext());
}
