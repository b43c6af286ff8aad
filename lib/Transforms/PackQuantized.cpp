//===- PackQuantized.cpp - Quantized weights in panels --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/ops/Quant.h"
#include "lib/Transforms/Passes.h"

namespace kvern {
#define GEN_PASS_DEF_PACKQUANTIZED
#include "lib/Transforms/Passes.h.inc"
} // namespace kvern

using namespace mlir;
using namespace kvern;

namespace {

struct PackQuantized : kvern::impl::PackQuantizedBase<PackQuantized> {
  void runOnOperation() override {
    DenseMap<std::pair<Value, Attribute>, Value> packs;
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
  }
};

} // namespace
