// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Recognizes convolutions among linalg.generic ops.
#include "lib/Codegen/Convolution.h"

#include "lib/Codegen/Contraction.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kvern;

/// The loop and the factor of `loop * factor` or of a loop alone.
static std::optional<std::pair<unsigned, int64_t>>
matchScaled(AffineExpr expr) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    return {{dim.getPosition(), 1}};
  }
  auto product = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!product || product.getKind() != AffineExprKind::Mul) {
    return std::nullopt;
  }
  auto dim = dyn_cast<AffineDimExpr>(product.getLHS());
  auto factor = dyn_cast<AffineConstantExpr>(product.getRHS());
  if (!dim || !factor || factor.getValue() < 1) {
    return std::nullopt;
  }
  return {{dim.getPosition(), factor.getValue()}};
}

/// Matches `y * stride + r * dilation`.
static std::optional<Convolution::Axis>
matchAxis(AffineExpr expr, unsigned position,
          ArrayRef<utils::IteratorType> kinds) {
  auto sum = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!sum || sum.getKind() != AffineExprKind::Add) {
    return std::nullopt;
  }
  auto first = matchScaled(sum.getLHS());
  auto second = matchScaled(sum.getRHS());
  if (!first || !second) {
    return std::nullopt;
  }
  if (kinds[first->first] == utils::IteratorType::reduction) {
    std::swap(first, second);
  }
  if (kinds[first->first] != utils::IteratorType::parallel ||
      kinds[second->first] != utils::IteratorType::reduction) {
    return std::nullopt;
  }
  return Convolution::Axis{first->first, second->first, position, first->second,
                           second->second};
}

/// Matches the channel that filter `f` sees: c, f, `f floordiv filters`, or
/// `f floordiv filters * channels + c`.
static bool matchChannel(AffineExpr expr, ArrayRef<utils::IteratorType> kinds,
                         Convolution &result) {
  auto sum = dyn_cast<AffineBinaryOpExpr>(expr);
  if (sum && sum.getKind() == AffineExprKind::Add) {
    auto channel = dyn_cast<AffineDimExpr>(sum.getRHS());
    if (!channel ||
        kinds[channel.getPosition()] != utils::IteratorType::reduction) {
      return false;
    }
    result.channel = channel.getPosition();
    auto scaled = dyn_cast<AffineBinaryOpExpr>(sum.getLHS());
    if (!scaled || scaled.getKind() != AffineExprKind::Mul ||
        !isa<AffineConstantExpr>(scaled.getRHS())) {
      return false;
    }
    expr = scaled.getLHS();
  }
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    if (kinds[dim.getPosition()] == utils::IteratorType::parallel) {
      result.groupFilters = 1;
      return dim.getPosition() == result.filter;
    }
    result.channel = dim.getPosition();
    return !sum;
  }
  auto group = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!group || group.getKind() != AffineExprKind::FloorDiv ||
      group.getLHS() != getAffineDimExpr(result.filter, expr.getContext())) {
    return false;
  }
  auto filters = dyn_cast<AffineConstantExpr>(group.getRHS());
  result.groupFilters = filters ? filters.getValue() : 0;
  return result.groupFilters >= 1;
}

FailureOr<Convolution> kvern::matchConvolution(Operation *op) {
  Convolution result;
  result.op = dyn_cast<linalg::GenericOp>(op);
  if (!result.op || result.op.getNumDpsInputs() != 2 ||
      result.op.getNumDpsInits() != 1 || result.op.getNumReductionLoops() < 2 ||
      !matchMultiplyAdd(result.op, result.extensions)) {
    return failure();
  }
  SmallVector<utils::IteratorType> kinds = result.op.getIteratorTypesArray();
  SmallVector<AffineMap> maps = result.op.getIndexingMapsArray();
  AffineMap x = maps[0], out = maps[2];
  if (!out.isProjectedPermutation() || out.getNumResults() < 2 ||
      x.getNumResults() != out.getNumResults() ||
      out.getNumResults() != result.op.getNumParallelLoops()) {
    return failure();
  }
  result.filter = out.getDimPosition(out.getNumResults() - 1);
  for (auto [position, expr] : llvm::enumerate(x.getResults().drop_back())) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr);
        dim && dim == out.getResult(position)) {
      result.batch.push_back(dim.getPosition());
      continue;
    }
    auto axis = matchAxis(expr, position, kinds);
    if (!axis || axis->result != out.getDimPosition(position)) {
      return failure();
    }
    result.spatial.push_back(*axis);
  }
  if (result.spatial.empty() ||
      !matchChannel(x.getResults().back(), kinds, result) ||
      result.op.getNumReductionLoops() !=
          result.spatial.size() + (result.channel ? 1 : 0)) {
    return failure();
  }
  return result;
}

ConvolutionBlocking ConvolutionBlocking::get(const CpuTarget &target,
                                             int64_t elementBytes) {
  int64_t vectors = target.tileVectors();
  // Sums, a row of the filter, and one pixel.
  int64_t pixels = (target.vectorRegisters - 1 - vectors) / vectors;
  return {target.lanes(elementBytes), vectors, pixels};
}

/// Pixels of a task: enough for the filter to come from memory once for many of
/// them.
static constexpr int64_t kTaskPixels = 128;

SmallVector<int64_t> kvern::getConvolutionTiles(const Convolution &convolution,
                                                const CpuTarget &target) {
  linalg::GenericOp op = convolution.op;
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  SmallVector<int64_t> sizes(op.getNumLoops(), 0);
  for (unsigned dim : convolution.batch) {
    sizes[dim] = 1;
  }
  for (const Convolution::Axis &axis : convolution.spatial) {
    sizes[axis.result] = 1;
  }
  Type element = getElementTypeOrSelf(op.getOutputs()[0].getType());
  int64_t bytes = llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
  auto blocking = ConvolutionBlocking::get(target, bytes);

  // Whole rows of pixels, if they are not long; as many as make a task.
  int64_t width = ranges[convolution.spatial.back().result];
  int64_t longest = 2 * kTaskPixels - 2 * kTaskPixels % blocking.pixels;
  bool isLong = ShapedType::isDynamic(width) || width > longest;
  sizes[convolution.spatial.back().result] = isLong ? longest : 0;
  if (convolution.spatial.size() > 1) {
    unsigned row = convolution.spatial[convolution.spatial.size() - 2].result;
    int64_t rows = ShapedType::isDynamic(width) ? 4
                   : isLong ? 1
                            : llvm::divideCeil(kTaskPixels, width);
    sizes[row] = rows;
  }

  // As many panels of filters as stay in half of the second cache.
  int64_t filters = ranges[convolution.filter];
  int64_t panel = blocking.lanes * blocking.vectors;
  if (convolution.groupFilters == 0 && !ShapedType::isDynamic(filters) &&
      filters % panel == 0) {
    int64_t depth = 1;
    for (auto [dim, kind] : llvm::enumerate(op.getIteratorTypesArray())) {
      bool isStatic = !ShapedType::isDynamic(ranges[dim]);
      if (kind == utils::IteratorType::reduction && isStatic) {
        depth *= ranges[dim];
      }
    }
    int64_t panels = filters / panel;
    int64_t most = std::max<int64_t>(
        target.l2Bytes / 2 / (std::max<int64_t>(depth, 1) * panel * bytes), 1);
    while (panels % most != 0) {
      --most;
    }
    sizes[convolution.filter] = most == panels ? 0 : most * panel;
  }
  return sizes;
}

void kvern::readWholeFilterPanels(func::FuncOp function) {
  function.walk([](linalg::GenericOp op) {
    if (failed(matchConvolution(op))) {
      return;
    }
    OpOperand &filter = op->getOpOperand(1);
    auto slice = filter.get().getDefiningOp<tensor::ExtractSliceOp>();
    auto lane = dyn_cast<AffineBinaryOpExpr>(
        op.getMatchingIndexingMap(&filter).getResults().back());
    if (!slice || !lane || lane.getKind() != AffineExprKind::Mod) {
      return;
    }
    OpBuilder builder(slice);
    SmallVector<OpFoldResult> offsets = slice.getMixedOffsets(),
                              sizes = slice.getMixedSizes();
    offsets.back() = builder.getIndexAttr(0);
    sizes.back() = builder.getIndexAttr(
        cast<AffineConstantExpr>(lane.getRHS()).getValue());
    filter.set(tensor::ExtractSliceOp::create(builder, slice.getLoc(),
                                              slice.getSource(), offsets, sizes,
                                              slice.getMixedStrides()));
  });
}
