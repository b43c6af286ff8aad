//===- PackWeights.cpp - Products read weights in the order they need -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Inference.h"
#include "dialect/ops/Packed.h"
#include "lib/Transforms/FusionGroups.h"
#include "lib/Transforms/Passes.h"

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
    SmallVector<MatmulOp> products;
    for (Operation &op : getOperation().getBody().front()) {
      // Operands come first, so this is known of them.
      if (isKnownAtLoad(&op)) {
        knownAtLoad.insert(&op);
      } else if (auto product = dyn_cast<MatmulOp>(op)) {
        products.push_back(product);
      }
    }
    for (MatmulOp product : products) {
      pack(product);
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

  void pack(MatmulOp product);

  DenseSet<Operation *> knownAtLoad;
  /// By matrix and whether it is stored transposed.
  DenseMap<std::pair<Value, unsigned>, Value> packs;
};

} // namespace

/// Whether panels of that many columns are worth their padding.
static bool pays(int64_t columns, int64_t depth, int64_t panel) {
  constexpr int64_t kFewElements = 4096;
  int64_t padded = llvm::alignTo(columns, panel);
  return depth * columns >= kFewElements && (padded - columns) * 4 <= padded;
}

void PackWeights::pack(MatmulOp product) {
  Value matrix = product.getRhs();
  auto type = cast<kvern::TensorType>(matrix.getType());
  Operation *def = matrix.getDefiningOp();
  if (!def || !knownAtLoad.contains(def) || type.getRank() != 2) {
    return;
  }
  bool transposed = product.getTransposeRhs();
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
  product.replaceAllUsesWith(result.getResult());
  product.erase();
}
