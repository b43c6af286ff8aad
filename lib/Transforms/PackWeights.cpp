//===- PackWeights.cpp - Products read weights in the order they need -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Inference.h"
#include "dialect/ops/Convolution.h"
#include "dialect/ops/Packed.h"
#include "lib/Transforms/FusionGroups.h"
#include "lib/Transforms/Passes.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

namespace kvern {
#define GEN_PASS_DEF_PACKWEIGHTS
#include "lib/Transforms/Passes.h.inc"
} // namespace kvern

using namespace mlir;
using namespace kvern;

namespace {

struct PackWeights : kvern::impl::PackWeightsBase<PackWeights> {
  using PackWeightsBase::PackWeightsBase;

  void runOnOperation() override {
    if (getOperation()->hasAttr("kvern.kernel") ||
        getOperation().isExternal()) {
      return;
    }
    // One pass object sees many functions.
    knownAtLoad.clear();
    packs.clear();
    SmallVector<MatmulOp> products;
    SmallVector<Operation *> convolutions;
    for (Operation &op : getOperation().getBody().front()) {
      // Operands come first, so this is known of them.
      if (isKnownAtLoad(&op)) {
        knownAtLoad.insert(&op);
      } else if (auto product = dyn_cast<MatmulOp>(op)) {
        products.push_back(product);
      } else if (isa<Conv2dOp, Conv3dOp>(op)) {
        convolutions.push_back(&op);
      }
    }
    for (MatmulOp product : products) {
      pack(product);
    }
    for (auto &entry : packs) {
      gatherFrom(entry.second.getDefiningOp<PackOp>());
    }
    for (Operation *op : convolutions) {
      if (auto image = dyn_cast<Conv2dOp>(op)) {
        packFilter(image);
      } else {
        packFilter(cast<Conv3dOp>(op));
      }
    }
  }

private:
  bool isKnownAtLoad(Operation *op) const {
    if (isa<WeightOp>(op)) {
      return true;
    }
    if (isa<ConstantOp>(op)) {
      return !isInlinedConstant(op);
    }
    auto isKnown = [&](Value operand) {
      return operand.getDefiningOp() &&
             knownAtLoad.contains(operand.getDefiningOp());
    };
    return isa<FusionOpInterface>(op) && isPure(op) &&
           op->getNumOperands() != 0 &&
           llvm::all_of(op->getOperands(), isKnown);
  }

  /// Columns of a panel. Sums are 32 bits wide for f16 and bf16.
  int64_t getPanel(Type elementType) const {
    int64_t bits = elementType.getIntOrFloatBitWidth();
    if (isa<FloatType>(elementType)) {
      bits = std::max<int64_t>(bits, 32);
    }
    return std::max<int64_t>(panelBits / bits, 1);
  }

  /// What a product multiplies: a matrix, or what it is stored as.
  struct Stored {
    Value matrix;
    bool transposed;
  };
  Stored findStored(MatmulOp product) const;
  void pack(MatmulOp product);
  void gatherFrom(PackOp pack);
  template <typename OpT> void packFilter(OpT op);

  DenseSet<Operation *> knownAtLoad;
  /// By matrix and whether it is stored transposed.
  llvm::MapVector<std::pair<Value, unsigned>, Value> packs;
};

} // namespace

/// Whether panels of that many columns are worth their padding.
static bool pays(int64_t columns, int64_t depth, int64_t panel) {
  constexpr int64_t kFewElements = 4096;
  int64_t padded = llvm::alignTo(columns, panel);
  return depth * columns >= kFewElements && (padded - columns) * 4 <= padded;
}

/// Whether a cast changes no value, and products widen just as well.
static bool isWidening(CastOp cast) {
  Type from =
      mlir::cast<kvern::TensorType>(cast.getX().getType()).getElementType();
  return cast.getDtype().isF32() && (from.isF16() || from.isBF16());
}

/// Behind one widening and transpositions. Without the former, the latter are
/// part of the product already.
PackWeights::Stored PackWeights::findStored(MatmulOp product) const {
  Stored plain{product.getRhs(), product.getTransposeRhs()};
  Stored stored = plain;
  bool widened = false;
  while (Operation *def = stored.matrix.getDefiningOp()) {
    auto permute = dyn_cast<PermuteOp>(def);
    auto cast = dyn_cast<CastOp>(def);
    if (permute && permute.getPermutation() == ArrayRef<int64_t>{1, 0}) {
      stored.transposed = !stored.transposed;
    } else if (cast && !widened && isWidening(cast)) {
      widened = true;
    } else {
      break;
    }
    stored.matrix = def->getOperand(0);
  }
  return widened ? stored : plain;
}

static void eraseUnused(Value value) {
  while (Operation *def = value.getDefiningOp()) {
    if (!isa<CastOp, PermuteOp>(def) || !def->use_empty()) {
      return;
    }
    value = def->getOperand(0);
    def->erase();
  }
}

void PackWeights::pack(MatmulOp product) {
  auto [matrix, transposed] = findStored(product);
  auto type = cast<kvern::TensorType>(matrix.getType());
  Operation *def = matrix.getDefiningOp();
  if (!def || !knownAtLoad.contains(def) || type.getRank() != 2) {
    return;
  }
  std::optional<int64_t> columns =
      type.getShape()[transposed ? 0 : 1].getStaticValue();
  std::optional<int64_t> depth =
      type.getShape()[transposed ? 1 : 0].getStaticValue();
  int64_t panel = getPanel(type.getElementType());
  if (!columns || !depth || !pays(*columns, *depth, panel)) {
    return;
  }
  OpBuilder builder(product.getContext());
  Value &packed = packs[{matrix, transposed}];
  if (!packed) {
    builder.setInsertionPointAfter(def);
    packed = PackOp::create(builder, def->getLoc(), matrix, panel, transposed);
  }
  builder.setInsertionPoint(product);
  auto result = PackedMatmulOp::create(builder, product.getLoc(),
                                       product.getLhs(), packed, *columns);
  Value rhs = product.getRhs();
  product.replaceAllUsesWith(result.getResult());
  product.erase();
  eraseUnused(rhs);
}

/// Gathers of rows read the panels as well, if then nobody reads the matrix.
void PackWeights::gatherFrom(PackOp pack) {
  if (!pack.getTransposed()) {
    return;
  }
  SmallVector<GatherOp> gathers;
  for (OpOperand &use : pack.getX().getUses()) {
    auto gather = dyn_cast<GatherOp>(use.getOwner());
    if (isa<PackOp>(use.getOwner())) {
      continue;
    }
    if (!gather || use.getOperandNumber() != 0 || gather.getAxis() != 0) {
      return;
    }
    gathers.push_back(gather);
  }
  int64_t columns = *cast<kvern::TensorType>(pack.getX().getType())
                         .getShape()
                         .front()
                         .getStaticValue();
  for (GatherOp gather : gathers) {
    OpBuilder builder(gather);
    auto rows =
        PackedGatherOp::create(builder, gather.getLoc(), pack.getResult(),
                               gather.getIndices(), columns);
    gather.replaceAllUsesWith(rows.getResult());
    gather.erase();
  }
}

/// The filter as a matrix with one column a filter; its rows get their axes
/// back when it is packed.
template <typename OpT> void PackWeights::packFilter(OpT op) {
  Value filter = op.getFilter();
  auto type = cast<kvern::TensorType>(filter.getType());
  Operation *def = filter.getDefiningOp();
  if (!def || !knownAtLoad.contains(def) || op.getGroups() != 1 ||
      !isChannelsLast(op.getInputLayout()) ||
      !isFiltersLast(op.getFilterLayout())) {
    return;
  }
  MLIRContext *context = op.getContext();
  ArrayRef<DimAttr> shape = type.getShape();
  DimAttr rows = getNumElements(context, shape.drop_back());
  std::optional<int64_t> depth = rows ? rows.getStaticValue() : std::nullopt;
  std::optional<int64_t> filters = shape.back().getStaticValue();
  int64_t panel = getPanel(type.getElementType());
  if (!depth || !filters || !pays(*filters, *depth, panel)) {
    return;
  }
  OpBuilder builder(context);
  Value &packed = packs[{filter, false}];
  if (!packed) {
    builder.setInsertionPointAfter(def);
    Location loc = def->getLoc();
    Value matrix = ReshapeOp::create(
        builder, loc, filter, ShapeAttr::get(context, {rows, shape.back()}));
    packed = PackOp::create(builder, loc, matrix, panel, /*transposed=*/false);
    SmallVector<DimAttr> panels(shape.drop_back());
    auto dim = [&](int64_t size) { return DimAttr::getStatic(context, size); };
    panels.insert(panels.begin(), dim(llvm::divideCeil(*filters, panel)));
    panels.push_back(dim(panel));
    packed = ReshapeOp::create(builder, loc, packed,
                               ShapeAttr::get(context, panels));
  }
  builder.setInsertionPoint(op);
  auto result = PackedConvOp::create(
      builder, op.getLoc(), op.getX(), packed, op.getBias(), op.getStrides(),
      op.getDilations(), op.getPaddings(), *filters);
  op.replaceAllUsesWith(result.getResult());
  op.erase();
}
