//===- ConvolutionLayout.cpp - Channels last ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolutions are canonicalized to the one layout that is lowered.
//
//===----------------------------------------------------------------------===//

#include "dialect/ops/Convolution.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace kvern;

/// The permutation from channels first to channels last of `rank` axes: axis 1
/// moves to the end.
static SmallVector<int64_t> getChannelsToEnd(int64_t rank) {
  SmallVector<int64_t> permutation{0};
  llvm::append_range(permutation, llvm::seq<int64_t>(2, rank));
  permutation.push_back(1);
  return permutation;
}

/// Its inverse.
static SmallVector<int64_t> getChannelsToFront(int64_t rank) {
  SmallVector<int64_t> permutation{0, rank - 1};
  llvm::append_range(permutation, llvm::seq<int64_t>(1, rank - 1));
  return permutation;
}

namespace {

/// Channels and filters last, by permutations around the op.
template <typename OpT> struct PutChannelsLast : OpRewritePattern<OpT> {
  using OpRewritePattern<OpT>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpT op,
                                PatternRewriter &rewriter) const override {
    bool channelsLast = isChannelsLast(op.getInputLayout());
    bool filtersLast = isFiltersLast(op.getFilterLayout()) ||
                       op.getFilterLayout() == kReversedLayout;
    if (channelsLast && filtersLast) {
      return rewriter.notifyMatchFailure(op, "channels are last");
    }
    Location loc = op.getLoc();
    int64_t rank = cast<kvern::TensorType>(op.getType()).getRank();
    bool isVolume = rank == 5;
    NamedAttrList attributes(op->getAttrs());
    attributes.set(op.getInputLayoutAttrName(),
                   rewriter.getStringAttr(isVolume ? "NDHWC" : "NHWC"));
    if (!filtersLast) {
      attributes.set(op.getFilterLayoutAttrName(),
                     rewriter.getStringAttr(isVolume ? "QRSCF" : "RSCF"));
    } else {
      attributes.set(op.getFilterLayoutAttrName(), op.getFilterLayoutAttr());
    }
    SmallVector<Value> operands(op->getOperands());
    if (!channelsLast) {
      operands[0] =
          PermuteOp::create(rewriter, loc, operands[0], getChannelsToEnd(rank));
    }
    if (!filtersLast) {
      SmallVector<int64_t> permutation =
          llvm::to_vector(llvm::seq<int64_t>(2, rank));
      permutation.append({1, 0});
      operands[1] = PermuteOp::create(rewriter, loc, operands[1], permutation);
    }
    Value result = OpT::create(rewriter, loc, operands, attributes.getAttrs());
    if (!channelsLast) {
      result =
          PermuteOp::create(rewriter, loc, result, getChannelsToFront(rank));
    }
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// What follows a convolution element by element is computed with channels last
/// as well, so that it is part of the convolution's kernel and permutations of
/// the next one cancel out.
struct SinkPermute : OpInterfaceRewritePattern<FusionOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;
  LogicalResult matchAndRewrite(FusionOpInterface op,
                                PatternRewriter &rewriter) const override {
    if (!isa<AbsOp, AddOp, CastOp, DivOp, ErfOp, ExpOp, GeluOp, MaxOp, MinOp,
             MulOp, NegateOp, ReluOp, SigmoidOp, SiluOp, SqrtOp, SubOp, TanhOp>(
            op)) {
      return rewriter.notifyMatchFailure(op, "not element by element");
    }
    auto type = cast<kvern::TensorType>(op->getResult(0).getType());
    int64_t rank = type.getRank();
    // Null for what is still to be permuted.
    SmallVector<Value> operands;
    kvern::TensorType inner;
    for (Value operand : op->getOperands()) {
      auto shape = cast<kvern::TensorType>(operand.getType()).getShape();
      auto permute = operand.getDefiningOp<PermuteOp>();
      if (permute && rank >= 4 && shape == type.getShape() &&
          permute.getPermutation() == ArrayRef(getChannelsToFront(rank))) {
        inner = cast<kvern::TensorType>(permute.getX().getType());
        operands.push_back(permute.getX());
      } else if (isPerChannel(shape, rank) ||
                 (shape == type.getShape() && isPermutedAnyway(operand))) {
        operands.push_back({});
      } else {
        return rewriter.notifyMatchFailure(op, "an operand is not permuted");
      }
    }
    if (!inner) {
      return rewriter.notifyMatchFailure(op, "no operand is permuted");
    }
    IRMapping mapping;
    for (auto [operand, replacement] : llvm::zip(op->getOperands(), operands)) {
      if (!replacement) {
        replacement = putLast(rewriter, operand, rank);
      }
      mapping.map(operand, replacement);
    }
    Operation *moved = rewriter.clone(*op, mapping);
    moved->getResult(0).setType(type.withShape(inner.getShape()));
    rewriter.replaceOpWithNewOp<PermuteOp>(op, moved->getResult(0),
                                           getChannelsToFront(rank));
    return success();
  }

private:
  /// The channel axis of an operand, aligned at the last axis; below 0 when it
  /// has none.
  static int64_t getChannelAxis(ArrayRef<DimAttr> shape, int64_t rank) {
    return 1 - (rank - static_cast<int64_t>(shape.size()));
  }

  /// Whether all axes but that of the channels have size 1.
  static bool isPerChannel(ArrayRef<DimAttr> shape, int64_t rank) {
    int64_t channel = getChannelAxis(shape, rank);
    for (auto [axis, dim] : llvm::enumerate(shape)) {
      if (static_cast<int64_t>(axis) != channel && !dim.isStatic(1)) {
        return false;
      }
    }
    return true;
  }

  /// Whether a convolution reads the operand with its channels last.
  static bool isPermutedAnyway(Value operand) {
    int64_t rank = cast<kvern::TensorType>(operand.getType()).getRank();
    return rank >= 4 && llvm::any_of(operand.getUsers(), [&](Operation *user) {
             auto permute = dyn_cast<PermuteOp>(user);
             return permute && permute.getPermutation() ==
                                   ArrayRef(getChannelsToEnd(rank));
           });
  }

  /// The operand with its channels along the last axis.
  static Value putLast(PatternRewriter &rewriter, Value operand, int64_t rank) {
    auto shape = cast<kvern::TensorType>(operand.getType()).getShape();
    if (shape.empty()) {
      return operand;
    }
    if (!isPerChannel(shape, rank)) {
      return PermuteOp::create(rewriter, operand.getLoc(), operand,
                               getChannelsToEnd(rank));
    }
    int64_t channel = getChannelAxis(shape, rank);
    DimAttr size = channel < 0 ? DimAttr::getStatic(rewriter.getContext(), 1)
                               : shape[channel];
    return ReshapeOp::create(rewriter, operand.getLoc(), operand,
                             ShapeAttr::get(rewriter.getContext(), size));
  }
};

/// A filter of one element is a matrix that all pixels are multiplied by.
template <typename OpT> struct MultiplyPixels : OpRewritePattern<OpT> {
  using OpRewritePattern<OpT>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpT op,
                                PatternRewriter &rewriter) const override {
    auto type = cast<kvern::TensorType>(op.getType());
    auto filter = cast<kvern::TensorType>(op.getFilter().getType()).getShape();
    ArrayRef<DimAttr> kernel = filter.drop_back(2);
    auto isOne = [](auto value) { return value == 1; };
    auto isZero = [](int64_t value) { return value == 0; };
    if (!isChannelsLast(op.getInputLayout()) ||
        !isFiltersLast(op.getFilterLayout()) || op.getGroups() != 1 ||
        !llvm::all_of(kernel, [](DimAttr dim) { return dim.isStatic(1); }) ||
        !llvm::all_of(op.getStrides(), isOne) ||
        !llvm::all_of(op.getPaddings(), isZero)) {
      return rewriter.notifyMatchFailure(op, "reads neighbours of a pixel");
    }
    if (op.getBias() && isa<Float16Type, BFloat16Type>(type.getElementType())) {
      return rewriter.notifyMatchFailure(op, "would be rounded twice");
    }
    Location loc = op.getLoc();
    Value matrix =
        ReshapeOp::create(rewriter, loc, op.getFilter(),
                          ShapeAttr::get(op.getContext(), filter.take_back(2)));
    Value result = MatmulOp::create(rewriter, loc, op.getX(), matrix,
                                    /*transpose_rhs=*/false);
    if (op.getBias()) {
      result = AddOp::create(rewriter, loc, result, op.getBias());
    }
    rewriter.replaceOp(op, result);
    return success();
  }
};

} // namespace

void Conv2dOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                           MLIRContext *context) {
  patterns
      .add<PutChannelsLast<Conv2dOp>, MultiplyPixels<Conv2dOp>, SinkPermute>(
          context);
}

void Conv3dOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                           MLIRContext *context) {
  patterns.add<PutChannelsLast<Conv3dOp>, MultiplyPixels<Conv3dOp>>(context);
}

namespace {

/// The filter in the order in which a convolution of stride 1 reads it.
struct ReverseFilter : OpRewritePattern<Conv2dTransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(Conv2dTransposeOp op,
                                PatternRewriter &rewriter) const override {
    if (!isFiltersLast(op.getFilterLayout())) {
      return rewriter.notifyMatchFailure(op, "filters are not last");
    }
    auto shape = cast<kvern::TensorType>(op.getFilter().getType()).getShape();
    MLIRContext *context = op.getContext();
    SmallVector<Attribute> starts, stops;
    SmallVector<int64_t> steps{-1, -1, 1, 1};
    for (auto [dim, step] : llvm::zip(shape, steps)) {
      DimAttr before = DimAttr::getStatic(context, step < 0 ? -1 : 0);
      starts.push_back(step < 0 ? dim + -1 : before);
      stops.push_back(step < 0 ? before : dim);
    }
    SmallVector<Attribute> inferred(4, rewriter.getUnitAttr());
    Location loc = op.getLoc();
    Value reversed = SliceOp::create(
        rewriter, loc, op.getFilter(), ValueRange(),
        rewriter.getArrayAttr(starts), rewriter.getArrayAttr(stops), steps,
        rewriter.getArrayAttr(inferred));
    Value filter = PermuteOp::create(rewriter, loc, reversed,
                                     ArrayRef<int64_t>{0, 1, 3, 2});
    rewriter.modifyOpInPlace(op, [&] {
      op.getFilterMutable().assign(filter);
      op.setFilterLayout(kReversedLayout);
    });
    return success();
  }
};

} // namespace

void Conv2dTransposeOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                                    MLIRContext *context) {
  patterns.add<PutChannelsLast<Conv2dTransposeOp>, ReverseFilter>(context);
}
