//===- PackQuantized.cpp - Quantized weights in panels --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/ops/Quant.h"
#include "lib/Transforms/Passes.h"

#include "llvm/ADT/MapVector.h"

namespace kvern {
#define GEN_PASS_DEF_PACKQUANTIZED
#include "lib/Transforms/Passes.h.inc"
} // namespace kvern

using namespace mlir;
using namespace kvern;

namespace {

struct PackQuantized : kvern::impl::PackQuantizedBase<PackQuantized> {
  void runOnOperation() override {
    llvm::MapVector<std::pair<Value, Attribute>, Value> packs;
    getOperation().walk([&](QuantizedMatmulOp op) {
      Operation *weight = op.getBlocks().getDefiningOp();
      if (!weight || !isa<WeightOp, ConstantOp>(weight)) {
        return;
      }
      auto shape = cast<kvern::TensorType>(op.getBlocks().getType()).getShape();
      auto rows = shape.front().getStaticValue();
      auto bytes = shape.back().getStaticValue();
      if (!rows || *rows == 0 || *bytes == 0) {
        return;
      }
      Value &panels = packs[{op.getBlocks(), op.getEncodingAttr()}];
      if (!panels) {
        OpBuilder atWeight(weight->getContext());
        atWeight.setInsertionPointAfter(weight);
        panels = PackQuantizedOp::create(atWeight, op.getLoc(), op.getBlocks(),
                                         op.getEncodingAttr());
      }
      OpBuilder builder(op);
      auto product = PackedQuantizedMatmulOp::create(
          builder, op.getLoc(), op.getLhs(), panels, op.getEncodingAttr(),
          op.getActivationsAttr(), builder.getI64IntegerAttr(*rows));
      op.replaceAllUsesWith(product.getResult());
      op.erase();
    });
    for (auto &entry : packs) {
      gatherFrom(entry.second.getDefiningOp<PackQuantizedOp>());
    }
  }

private:
  /// Gathers read the panels as well, if then nobody reads the blocks.
  void gatherFrom(PackQuantizedOp pack);
};

} // namespace

/// Whether all that is read is numbers of that encoding.
static bool isDequantized(GatherOp gather, Attribute encoding) {
  return gather.getAxis() == 0 &&
         llvm::all_of(gather->getUsers(), [&](Operation *user) {
           auto numbers = dyn_cast<DequantizeOp>(user);
           return numbers && numbers.getEncodingAttr() == encoding;
         });
}

void PackQuantized::gatherFrom(PackQuantizedOp pack) {
  Value blocks = pack.getBlocks();
  SmallVector<GatherOp> gathers;
  for (OpOperand &use : blocks.getUses()) {
    auto gather = dyn_cast<GatherOp>(use.getOwner());
    if (use.getOwner() == pack) {
      continue;
    }
    if (!gather || use.getOperandNumber() != 0 ||
        !isDequantized(gather, pack.getEncodingAttr())) {
      return;
    }
    gathers.push_back(gather);
  }
  int64_t rows = *cast<kvern::TensorType>(blocks.getType())
                      .getShape()
                      .front()
                      .getStaticValue();
  for (GatherOp gather : gathers) {
    OpBuilder builder(gather);
    auto numbers = PackedQuantizedGatherOp::create(
        builder, gather.getLoc(), pack.getResult(), gather.getIndices(),
        pack.getEncodingAttr(), builder.getI64IntegerAttr(rows));
    for (Operation *user : llvm::make_early_inc_range(gather->getUsers())) {
      user->getResult(0).replaceAllUsesWith(numbers.getResult());
      user->erase();
    }
    gather.erase();
  }
}
