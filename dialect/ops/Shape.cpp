//===- Shape.cpp - The same elements in another shape ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Inference.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/Support/InterleavedRange.h"

using namespace mlir;
using namespace kvern;

#define GET_OP_CLASSES
#include "dialect/ops/Shape.cpp.inc"

void KvernDialect::registerShapeOps() {
  addOperations<
#define GET_OP_LIST
#include "dialect/ops/Shape.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Result types
//===----------------------------------------------------------------------===//

static LogicalResult checkNotNegative(InferError error, ShapeAttr shape) {
  for (DimAttr dim : shape.getDims()) {
    // shape_c1
    if (std::optional<int64_t> size = dim.getStaticValue(); size && *size < 0) {
      return error("expected sizes of 0 or more, but got ", shape.str());
    }
  }
  return success();
}

LogicalResult ReshapeOp::inferReturnTypes(MLIRContext *context,
                                          std::optional<Location> loc,
                                          Adaptor adaptor,
                                          SmallVectorImpl<Type> &results) {
  InferError error(loc, getOperationName());
  auto types = getTensorTypes(error, adaptor.getOperands());
  ShapeAttr shape = adaptor.getShape();
  if (failed(types) || failed(checkNotNegative(error, shape))) {
    return failure();
  }
  DimAttr from = getNumElements(context, types->front().getShape());
  DimAttr to = getNumElements(context, shape.getDims());
  // reshape_c1
  if (!from || !to) {
    return error("the number of elements overflows 64 bits");
  }
  // reshape_c2
  if (from != to) {
    return error("expected shape ", shape.str(),
                 " to have as many elements as ",
                 toString(types->front().getShape()), ", but got ", to.str(),
                 " and ", from.str(),
                 (from.isStatic() && to.isStatic())
                     ? ""
                     : ", which are not provably equal; rebind first");
  }
  return addResult(error, types->front(), shape.getDims(), results);
}

LogicalResult SqueezeOp::inferReturnTypes(MLIRContext *,
                                          std::optional<Location> loc,
                                          Adaptor adaptor,
                                          SmallVectorImpl<Type> &results) {
  InferError error(loc, getOperationName());
  auto types = getTensorTypes(error, adaptor.getOperands());
  int64_t axis = adaptor.getAxis();
  if (failed(types) ||
      failed(checkAxis(error, axis, types->front().getRank()))) {
    return failure();
  }
  SmallVector<DimAttr> shape(types->front().getShape());
  // squeeze_c1
  if (!shape[axis].isStatic(1)) {
    return error("expected size 1 at axis ", axis, " of ", toString(shape),
                 ", but got ", shape[axis].str());
  }
  shape.erase(shape.begin() + axis);
  return addResult(error, types->front(), shape, results);
}

LogicalResult UnsqueezeOp::inferReturnTypes(MLIRContext *context,
                                            std::optional<Location> loc,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &results) {
  InferError error(loc, getOperationName());
  auto types = getTensorTypes(error, adaptor.getOperands());
  int64_t axis = adaptor.getAxis();
  if (failed(types) ||
      failed(checkAxis(error, axis, types->front().getRank() + 1))) {
    return failure();
  }
  SmallVector<DimAttr> shape(types->front().getShape());
  shape.insert(shape.begin() + axis, DimAttr::getStatic(context, 1));
  return addResult(error, types->front(), shape, results);
}

LogicalResult RebindOp::inferReturnTypes(MLIRContext *,
                                         std::optional<Location> loc,
                                         Adaptor adaptor,
                                         SmallVectorImpl<Type> &results) {
  InferError error(loc, getOperationName());
  auto types = getTensorTypes(error, adaptor.getOperands());
  ShapeAttr shape = adaptor.getShape();
  if (failed(types) || failed(checkNotNegative(error, shape))) {
    return failure();
  }
  ArrayRef<DimAttr> from = types->front().getShape();
  // rebind_c1
  if (from.size() != shape.getDims().size()) {
    return error("expected a shape of rank ", from.size(), " for ",
                 toString(from), ", but got ", shape.str());
  }
  for (auto [axis, dims] :
       llvm::enumerate(llvm::zip_equal(from, shape.getDims()))) {
    auto [a, b] = dims;
    // rebind_c2
    if (a != b && a.isStatic() && b.isStatic()) {
      return error("expected sizes that can be equal at axis ", axis,
                   ", but got ", a.str(), " and ", b.str());
    }
  }
  return addResult(error, types->front(), shape.getDims(), results);
}

LogicalResult BroadcastToOp::inferReturnTypes(MLIRContext *,
                                              std::optional<Location> loc,
                                              Adaptor adaptor,
                                              SmallVectorImpl<Type> &results) {
  InferError error(loc, getOperationName());
  auto types = getTensorTypes(error, adaptor.getOperands());
  ShapeAttr shape = adaptor.getShape();
  if (failed(types) || failed(checkNotNegative(error, shape))) {
    return failure();
  }
  ArrayRef<DimAttr> from = types->front().getShape();
  ArrayRef<DimAttr> to = shape.getDims();
  bool matches = from.size() <= to.size() &&
                 llvm::all_of(llvm::zip_equal(from, to.take_back(from.size())),
                              [](auto dims) {
                                auto [a, b] = dims;
                                return a == b || a.isStatic(1);
                              });
  // broadcast_to_c1
  if (!matches) {
    return error("expected each size of ", toString(from),
                 " to be 1 or that of ", shape.str(),
                 ", aligned at the last axis");
  }
  return addResult(error, types->front(), to, results);
}

LogicalResult PermuteOp::inferReturnTypes(MLIRContext *,
                                          std::optional<Location> loc,
                                          Adaptor adaptor,
                                          SmallVectorImpl<Type> &results) {
  InferError error(loc, getOperationName());
  auto types = getTensorTypes(error, adaptor.getOperands());
  if (failed(types)) {
    return failure();
  }
  ArrayRef<DimAttr> from = types->front().getShape();
  ArrayRef<int64_t> permutation = adaptor.getPermutation();
  // permute_c1
  if (permutation.size() != from.size() || !isPermutationVector(permutation)) {
    return error("expected a permutation of ", from.size(), " axes, but got [",
                 llvm::interleaved(permutation), "]");
  }
  return addResult(error, types->front(), applyPermutation(from, permutation),
                   results);
}

LogicalResult ConcatOp::inferReturnTypes(MLIRContext *,
                                         std::optional<Location> loc,
                                         Adaptor adaptor,
                                         SmallVectorImpl<Type> &results) {
  InferError error(loc, getOperationName());
  // concat_c1
  if (adaptor.getInputs().empty()) {
    return error("expected at least one tensor, but got none");
  }
  auto types = getUniformTypes(error, adaptor.getOperands());
  int64_t axis = adaptor.getAxis();
  if (failed(types) ||
      failed(checkAxis(error, axis, types->front().getRank()))) {
    return failure();
  }
  SmallVector<DimAttr> shape(types->front().getShape());
  for (kvern::TensorType type : ArrayRef(*types).drop_front()) {
    // concat_c2
    if (type.getRank() != static_cast<int64_t>(shape.size())) {
      return error("expected tensors of one rank, but got ", toString(shape),
                   " and ", toString(type.getShape()));
    }
    for (auto [i, size] : llvm::enumerate(type.getShape())) {
      if (static_cast<int64_t>(i) == axis) {
        shape[i] = shape[i] + size;
        // concat_c3
        if (!shape[i]) {
          return error("the size of axis ", axis, " overflows 64 bits");
        }
      } else if (shape[i] != size) {
        // concat_c4
        return error("expected sizes to be equal except at axis ", axis,
                     ", but got ", shape[i].str(), " and ", size.str(),
                     " at axis ", i);
      }
    }
  }
  return addResult(error, types->front(), shape, results);
}

LogicalResult StackOp::inferReturnTypes(MLIRContext *context,
                                        std::optional<Location> loc,
                                        Adaptor adaptor,
                                        SmallVectorImpl<Type> &results) {
  InferError error(loc, getOperationName());
  // stack_c1
  if (adaptor.getInputs().empty()) {
    return error("expected at least one tensor, but got none");
  }
  auto types = getTensorTypes(error, adaptor.getOperands());
  int64_t axis = adaptor.getAxis();
  if (failed(types) ||
      failed(checkAxis(error, axis, types->front().getRank() + 1))) {
    return failure();
  }
  for (kvern::TensorType type : *types) {
    // stack_c2
    if (type != types->front()) {
      return error("expected tensors of one type, but got ", types->front(),
                   " and ", type);
    }
  }
  SmallVector<DimAttr> shape(types->front().getShape());
  shape.insert(shape.begin() + axis,
               DimAttr::getStatic(context, types->size()));
  return addResult(error, types->front(), shape, results);
}

LogicalResult SplitOp::inferReturnTypes(MLIRContext *context,
                                        std::optional<Location> loc,
                                        Adaptor adaptor,
                                        SmallVectorImpl<Type> &results) {
  InferError error(loc, getOperationName());
  auto types = getTensorTypes(error, adaptor.getOperands());
  int64_t axis = adaptor.getAxis();
  ShapeAttr sizes = adaptor.getSizes();
  if (failed(types) ||
      failed(checkAxis(error, axis, types->front().getRank())) ||
      failed(checkNotNegative(error, sizes))) {
    return failure();
  }
  DimAttr total = DimAttr::getStatic(context, 0);
  SmallVector<DimAttr> shape(types->front().getShape());
  DimAttr whole = shape[axis];
  for (DimAttr size : sizes.getDims()) {
    shape[axis] = size;
    if (failed(addResult(error, types->front(), shape, results))) {
      return failure();
    }
    total = total + size;
    // split_c1
    if (!total) {
      return error("the sizes overflow 64 bits");
    }
  }
  // split_c2
  if (total != whole) {
    return error("expected sizes that add up to ", whole.str(), " at axis ",
                 axis, ", but got ", sizes.str());
  }
  return success();
}

LogicalResult SliceOp::inferReturnTypes(MLIRContext *,
                                        std::optional<Location> loc,
                                        Adaptor adaptor,
                                        SmallVectorImpl<Type> &results) {
  InferError error(loc, getOperationName());
  auto types = getTensorTypes(error, adaptor.getOperands());
  if (failed(types)) {
    return failure();
  }
  auto shape = inferSliceShape(
      error, types->front().getShape(), adaptor.getStarts(), adaptor.getStops(),
      adaptor.getSteps(), adaptor.getOutDims(), adaptor.getBounds());
  if (failed(shape)) {
    return failure();
  }
  return addResult(error, types->front(), *shape, results);
}

LogicalResult
ShapeToTensorOp::inferReturnTypes(MLIRContext *context, std::optional<Location>,
                                  Adaptor adaptor,
                                  SmallVectorImpl<Type> &results) {
  DimAttr rank =
      DimAttr::getStatic(context, adaptor.getShape().getDims().size());
  results.push_back(kvern::TensorType::get(rank, IntegerType::get(context, 64),
                                           adaptor.getDevice()));
  return success();
}

//===----------------------------------------------------------------------===//
// Folding
//===----------------------------------------------------------------------===//

/// The operand when the op does not change its type.
template <typename OpT> static OpFoldResult foldIdentity(OpT op) {
  return op.getX().getType() == op.getType() ? OpFoldResult(op.getX())
                                             : OpFoldResult();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (OpFoldResult same = foldIdentity(*this)) {
    return same;
  }
  // Integer constants are shape arithmetic; others stay as they were written.
  auto elements = dyn_cast_or_null<DenseIntElementsAttr>(adaptor.getX());
  SmallVector<int64_t> shape;
  for (DimAttr dim : getShape().getDims()) {
    shape.push_back(dim.getStaticValue().value_or(ShapedType::kDynamic));
  }
  if (!elements || llvm::is_contained(shape, ShapedType::kDynamic)) {
    return {};
  }
  return elements.reshape(elements.getType().clone(shape));
}

OpFoldResult RebindOp::fold(FoldAdaptor) { return foldIdentity(*this); }
OpFoldResult BroadcastToOp::fold(FoldAdaptor) { return foldIdentity(*this); }

OpFoldResult PermuteOp::fold(FoldAdaptor) {
  return isIdentityPermutation(getPermutation()) ? OpFoldResult(getX())
                                                 : OpFoldResult();
}

/// Shape arithmetic: joins rank-1 integer constants.
OpFoldResult ConcatOp::fold(FoldAdaptor adaptor) {
  if (getInputs().size() == 1) {
    return getInputs().front();
  }
  SmallVector<APInt> values;
  Type elementType;
  for (Attribute input : adaptor.getInputs()) {
    auto elements = dyn_cast_or_null<DenseIntElementsAttr>(input);
    if (!elements || elements.getType().getRank() != 1 ||
        !isShapeArithmetic(elements)) {
      return {};
    }
    elementType = elements.getElementType();
    llvm::append_range(values, elements.getValues<APInt>());
  }
  return DenseElementsAttr::get(
      RankedTensorType::get(static_cast<int64_t>(values.size()), elementType),
      values);
}

/// The whole operand, or a part of a rank-1 integer constant.
OpFoldResult SliceOp::fold(FoldAdaptor adaptor) {
  auto type = cast<kvern::TensorType>(getX().getType());
  bool isWhole = type == getType();
  for (auto [axis, start] : llvm::enumerate(getStarts())) {
    auto dim = dyn_cast<DimAttr>(start);
    isWhole &= dim && dim.isStatic(0) && getSteps()[axis] == 1 &&
               getStops()[axis] == type.getShape()[axis];
  }
  if (isWhole) {
    return getX();
  }
  auto elements = dyn_cast_or_null<DenseIntElementsAttr>(adaptor.getX());
  if (!elements || elements.getType().getRank() != 1 || !getBounds().empty()) {
    return {};
  }
  auto start = cast<DimAttr>(getStarts()[0]).getStaticValue();
  auto count =
      cast<kvern::TensorType>(getType()).getShape()[0].getStaticValue();
  if (!start || !count || !isShapeArithmetic(elements)) {
    return {};
  }
  auto all = elements.getValues<APInt>();
  SmallVector<APInt> values;
  for (int64_t i = 0; i < *count; ++i) {
    values.push_back(all[*start + i * getSteps()[0]]);
  }
  return DenseElementsAttr::get(
      RankedTensorType::get(*count, elements.getElementType()), values);
}

OpFoldResult ShapeToTensorOp::fold(FoldAdaptor) {
  SmallVector<int64_t> values;
  for (DimAttr dim : getShape().getDims()) {
    std::optional<int64_t> size = dim.getStaticValue();
    if (!size) {
      return {};
    }
    values.push_back(*size);
  }
  return DenseElementsAttr::get(
      RankedTensorType::get(static_cast<int64_t>(values.size()),
                            IntegerType::get(getContext(), 64)),
      ArrayRef(values));
}

//===----------------------------------------------------------------------===//
// Canonical forms: squeeze and unsqueeze are reshapes, stack is a concat,
// split is slices.
//===----------------------------------------------------------------------===//

namespace {

template <typename OpT> struct ToReshape : OpRewritePattern<OpT> {
  using OpRewritePattern<OpT>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpT op,
                                PatternRewriter &rewriter) const override {
    auto type = cast<kvern::TensorType>(op.getType());
    rewriter.replaceOpWithNewOp<ReshapeOp>(
        op, type, op.getX(), ShapeAttr::get(op.getContext(), type.getShape()));
    return success();
  }
};

struct MergeReshapes : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getX().getDefiningOp<ReshapeOp>();
    if (!inner) {
      return rewriter.notifyMatchFailure(op, "operand is not a reshape");
    }
    rewriter.modifyOpInPlace(op,
                             [&] { op.getXMutable().assign(inner.getX()); });
    return success();
  }
};

struct MergePermutes : OpRewritePattern<PermuteOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(PermuteOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getX().getDefiningOp<PermuteOp>();
    if (!inner) {
      return rewriter.notifyMatchFailure(op, "operand is not a permute");
    }
    SmallVector<int64_t> merged =
        applyPermutation(inner.getPermutation(), op.getPermutation());
    rewriter.replaceOpWithNewOp<PermuteOp>(
        op, op.getType(), inner.getX(), rewriter.getDenseI64ArrayAttr(merged));
    return success();
  }
};

/// A permute that moves only axes of size 1 is a reshape.
struct PermuteToReshape : OpRewritePattern<PermuteOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(PermuteOp op,
                                PatternRewriter &rewriter) const override {
    auto from = cast<kvern::TensorType>(op.getX().getType());
    int64_t last = -1;
    for (int64_t axis : op.getPermutation()) {
      if (from.getShape()[axis].isStatic(1)) {
        continue;
      }
      if (axis < last) {
        return rewriter.notifyMatchFailure(op, "moves elements");
      }
      last = axis;
    }
    auto type = cast<kvern::TensorType>(op.getType());
    rewriter.replaceOpWithNewOp<ReshapeOp>(
        op, type, op.getX(), ShapeAttr::get(op.getContext(), type.getShape()));
    return success();
  }
};

struct StackToConcat : OpRewritePattern<StackOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(StackOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<Value> inputs;
    for (Value input : op.getInputs()) {
      inputs.push_back(
          UnsqueezeOp::create(rewriter, op.getLoc(), input, op.getAxisAttr()));
    }
    rewriter.replaceOpWithNewOp<ConcatOp>(op, op.getType(), inputs,
                                          op.getAxisAttr());
    return success();
  }
};

struct SplitToSlices : OpRewritePattern<SplitOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SplitOp op,
                                PatternRewriter &rewriter) const override {
    MLIRContext *context = op.getContext();
    auto type = cast<kvern::TensorType>(op.getX().getType());
    int64_t axis = op.getAxis();
    DimAttr zero = DimAttr::getStatic(context, 0);
    SmallVector<Attribute> starts(type.getRank(), zero);
    SmallVector<Attribute> stops(llvm::map_range(
        type.getShape(), [](DimAttr dim) -> Attribute { return dim; }));
    SmallVector<Attribute> outDims(type.getRank(), UnitAttr::get(context));
    SmallVector<int64_t> steps(type.getRank(), 1);
    SmallVector<Value> parts;
    DimAttr offset = zero;
    for (auto [result, size] :
         llvm::zip_equal(op.getResults(), op.getSizes().getDims())) {
      starts[axis] = offset;
      offset = offset + size;
      if (!offset) {
        return rewriter.notifyMatchFailure(op, "sizes overflow");
      }
      stops[axis] = offset;
      parts.push_back(SliceOp::create(
          rewriter, op.getLoc(), result.getType(), op.getX(), ValueRange(),
          rewriter.getArrayAttr(starts), rewriter.getArrayAttr(stops),
          rewriter.getDenseI64ArrayAttr(steps),
          rewriter.getArrayAttr(outDims)));
    }
    rewriter.replaceOp(op, parts);
    return success();
  }
};

} // namespace

void ReshapeOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                            MLIRContext *context) {
  patterns.add<MergeReshapes>(context);
}
void SqueezeOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                            MLIRContext *context) {
  patterns.add<ToReshape<SqueezeOp>>(context);
}
void UnsqueezeOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                              MLIRContext *context) {
  patterns.add<ToReshape<UnsqueezeOp>>(context);
}
void PermuteOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                            MLIRContext *context) {
  patterns.add<MergePermutes, PermuteToReshape>(context);
}
void StackOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                          MLIRContext *context) {
  patterns.add<StackToConcat>(context);
}
void SplitOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                          MLIRContext *context) {
  patterns.add<SplitToSlices>(context);
}
