//===- Packed.cpp - Packs and products with them --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/ops/Packed.h"

#include "lib/Conversion/KvernToLinalg/Indexing.h"
#include "lib/Conversion/KvernToLinalg/KvernToLinalg.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace kvern;

namespace {

/// Full panels are a transposition of the matrix with its columns split in two;
/// then come the columns that are left, and zeros beside them. The number of
/// panels that are not full, 0 or 1, is a loop of its own, since it may be
/// known only at run time.
struct PackConversion : OpConversionPattern<PackOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(PackOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    LoopBuilder loops(rewriter, op);
    auto source = cast<kvern::TensorType>(op.getX().getType());
    auto type = cast<kvern::TensorType>(op.getType());
    Type storage = getStorageType(type.getElementType());
    bool transposed = op.getTransposed();
    DimAttr panel = type.getShape()[2];
    DimAttr columns = source.getShape()[transposed ? 0 : 1];
    DimAttr full = DimAttr::combine(AffineExprKind::FloorDiv, columns, panel);
    DimAttr covered = full ? full * panel : DimAttr();
    DimAttr rest = covered ? columns - covered : DimAttr();
    DimAttr padding = rest ? panel - rest : DimAttr();
    DimAttr partial = full ? type.getShape()[0] - full : DimAttr();
    if (!padding || !partial) {
      return rewriter.notifyMatchFailure(op, "sizes cannot be expressed");
    }

    Value result = loops.empty(type.getShape(), storage);
    OpFoldResult zero = rewriter.getIndexAttr(0);
    OpFoldResult first = loops.size(full);
    if (!full.isStatic(0)) {
      result =
          loops.insert(getFullPanels(op, adaptor.getX(), full, loops), result,
                       {full, type.getShape()[1], panel}, {zero, zero, zero});
    }
    if (!rest.isStatic(0)) {
      result = loops.insert(
          getPartialPanel(op, adaptor.getX(), covered, rest, partial, loops),
          result, {partial, type.getShape()[1], rest}, {first, zero, zero});
      SmallVector<DimAttr> shape = {partial, type.getShape()[1], padding};
      TypedAttr none = cast<TypedAttr>(rewriter.getZeroAttr(storage));
      result = loops.insert(loops.fill(shape, none), result, shape,
                            {first, zero, loops.size(rest)});
    }
    rewriter.replaceOp(op, result);
    return success();
  }

private:
  /// The columns from `begin` on, `count` of them.
  static Value getColumns(PackOp op, Value x, DimAttr begin, DimAttr count,
                          LoopBuilder &loops) {
    auto source = cast<kvern::TensorType>(op.getX().getType());
    int64_t axis = op.getTransposed() ? 0 : 1;
    if (count == source.getShape()[axis]) {
      return x;
    }
    OpBuilder &b = loops.builder;
    SmallVector<OpFoldResult> offsets(2, b.getIndexAttr(0));
    SmallVector<OpFoldResult> strides(2, b.getIndexAttr(1));
    SmallVector<DimAttr> shape(source.getShape());
    shape[axis] = count;
    offsets[axis] = loops.size(begin);
    return tensor::ExtractSliceOp::create(
        b, loops.location,
        loops.getType(shape, getStorageType(source.getElementType())), x,
        offsets, loops.dims.getFoldResults(b, loops.location, shape), strides);
  }

  static Value getFullPanels(PackOp op, Value x, DimAttr count,
                             LoopBuilder &loops) {
    OpBuilder &b = loops.builder;
    auto type = cast<kvern::TensorType>(op.getType());
    Type storage = getStorageType(type.getElementType());
    DimAttr depth = type.getShape()[1];
    DimAttr panel = type.getShape()[2];
    DimAttr none = DimAttr::getStatic(op.getContext(), 0);
    Value covered = getColumns(op, x, none, count * panel, loops);
    SmallVector<DimAttr> split;
    SmallVector<ReassociationIndices> groups;
    SmallVector<AffineExpr> read;
    AffineExpr p, k, j;
    bindDims(op.getContext(), p, k, j);
    if (op.getTransposed()) {
      split = {count, panel, depth};
      groups = {{0, 1}, {2}};
      read = {p, j, k};
    } else {
      split = {depth, count, panel};
      groups = {{0}, {1, 2}};
      read = {k, p, j};
    }
    Value expanded = tensor::ExpandShapeOp::create(
        b, loops.location, loops.getType(split, storage), covered, groups,
        loops.dims.getFoldResults(b, loops.location, split));
    return copy(loops, {count, depth, panel}, storage,
                {expanded, AffineMap::get(3, 0, read, op.getContext())});
  }

  static Value getPartialPanel(PackOp op, Value x, DimAttr begin, DimAttr count,
                               DimAttr partial, LoopBuilder &loops) {
    auto type = cast<kvern::TensorType>(op.getType());
    AffineExpr p, k, j;
    bindDims(op.getContext(), p, k, j);
    SmallVector<AffineExpr> read = {k, j};
    if (op.getTransposed()) {
      read = {j, k};
    }
    return copy(loops, {partial, type.getShape()[1], count},
                getStorageType(type.getElementType()),
                {getColumns(op, x, begin, count, loops),
                 AffineMap::get(3, 0, read, op.getContext())});
  }

  static Value copy(LoopBuilder &loops, ArrayRef<DimAttr> shape, Type storage,
                    LoopOperand operand) {
    return loops.elementwise(
        shape, storage, operand,
        [](ImplicitLocOpBuilder &, ValueRange values) { return values[0]; });
  }
};

/// Loops: batch axes, m, n, k. Column n lies in panel n floordiv P.
struct PackedMatmulConversion : OpConversionPattern<PackedMatmulOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(PackedMatmulOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    LoopBuilder loops(rewriter, op);
    auto type = cast<kvern::TensorType>(op.getType());
    auto panels = cast<kvern::TensorType>(op.getPanels().getType());
    ArrayRef<DimAttr> shape = type.getShape();
    if (isEmpty(shape)) {
      rewriter.replaceOp(
          op, loops.empty(shape, getStorageType(type.getElementType())));
      return success();
    }
    MLIRContext *context = op.getContext();
    int64_t rank = shape.size();
    int64_t width = *panels.getShape()[2].getStaticValue();
    AffineExpr n = rewriter.getAffineDimExpr(rank - 1);
    AffineExpr k = rewriter.getAffineDimExpr(rank);
    SmallVector<AffineExpr> row;
    for (int64_t axis = 0; axis < rank - 1; ++axis) {
      row.push_back(rewriter.getAffineDimExpr(axis));
    }
    row.push_back(k);
    AffineMap read =
        AffineMap::get(rank + 1, 0, {n.floorDiv(width), k, n % width}, context);
    rewriter.replaceOp(
        op, loops.product(
                shape, type.getElementType(),
                {adaptor.getLhs(), AffineMap::get(rank + 1, 0, row, context)},
                {adaptor.getPanels(), read}));
    return success();
  }
};

/// Column c lies in panel c floordiv P.
struct PackedGatherConversion : OpConversionPattern<PackedGatherOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(PackedGatherOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    LoopBuilder loops(rewriter, op);
    auto type = cast<kvern::TensorType>(op.getType());
    auto panels = cast<kvern::TensorType>(op.getPanels().getType());
    auto indices = cast<kvern::TensorType>(op.getIndices().getType());
    Value size = loops.index(rewriter.getIndexAttr(op.getColumns()));
    Value width = loops.index(
        rewriter.getIndexAttr(*panels.getShape()[2].getStaticValue()));
    Value result = pickByIndex(
        loops, type.getShape(), getStorageType(type.getElementType()),
        adaptor.getIndices(), indices, /*axis=*/0, size,
        [&](ImplicitLocOpBuilder &b, Value column) -> Value {
          Value panel = arith::DivUIOp::create(b, column, width);
          Value k = linalg::IndexOp::create(b, indices.getRank());
          Value place = arith::RemUIOp::create(b, column, width);
          return tensor::ExtractOp::create(b, adaptor.getPanels(),
                                           ValueRange{panel, k, place});
        });
    rewriter.replaceOp(op, result);
    return success();
  }
};

} // namespace

void kvern::populatePackedPatterns(TypeConverter &converter,
                                   RewritePatternSet &patterns) {
  patterns.add<PackConversion, PackedGatherConversion, PackedMatmulConversion>(
      converter, patterns.getContext());
}
