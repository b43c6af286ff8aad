// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sizes of the tiles of a matrix product on tensors.
#include "lib/Codegen/ProductTiles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kvern;

static int64_t elementBytes(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isIntOrFloat()
             ? llvm::divideCeil(element.getIntOrFloatBitWidth(), 8)
             : 8;
}

/// The most units up to `most` that divide `all` units evenly, if they are not
/// far fewer; `most` otherwise.
static int64_t evenPart(int64_t all, int64_t most) {
  for (int64_t part = most; part > most / 2; --part) {
    if (all % part == 0) {
      return part;
    }
  }
  return most;
}

ProductTiles::ProductTiles(Contraction &product, const CpuTarget &target) {
  int64_t bytes = elementBytes(product.op.getOutputs()[0].getType());
  bool inPanels = ProductBlocking::canRead(target, bytes, product.panel);
  blocking = ProductBlocking::get(target, bytes, inPanels ? product.panel : 0);
  int64_t depth = product.op.getStaticLoopRanges()[product.k];
  fewRows = inPanels ? blocking.tileRows : kFewPlainRows;
  // Without panels, the columns of rhs are read one by one, or its rows, which
  // stream the better the longer they are. Short ones leave tiles to threads.
  AffineMap rhs =
      product.op.getMatchingIndexingMap(&product.op->getOpOperand(product.rhs));
  bool byColumns =
      rhs.getNumResults() != 0 &&
      rhs.getResults().back() == getAffineDimExpr(product.k, rhs.getContext());
  wideColumns = inPanels
                    ? blocking.streamedColumns(
                          ShapedType::isDynamic(depth) ? 1024 : depth, target)
                    : target.l1Bytes / (byColumns ? 32 : 2) / bytes;
  if (product.panel != 0 && !inPanels) {
    blocking.blockColumns = wideColumns = product.panel;
  }
  int64_t columns =
      product.n ? product.op.getStaticLoopRanges()[*product.n] : 1;
  int64_t panel = blocking.panelColumns();
  if (inPanels && !ShapedType::isDynamic(columns)) {
    // Each tile packs its rows of lhs: wide ones, if enough of them are left.
    constexpr int64_t kEnoughTiles = 8;
    int64_t most = columns / kEnoughTiles;
    blocking.blockColumns = std::clamp(
        most - most % panel, blocking.blockColumns, 2 * blocking.blockColumns);
  }
  if (!ShapedType::isDynamic(columns) && columns % panel == 0) {
    blocking.blockColumns =
        evenPart(columns / panel, blocking.blockColumns / panel) * panel;
    wideColumns = evenPart(columns / panel, wideColumns / panel) * panel;
  }
}

OpFoldResult ProductTiles::rows(OpBuilder &builder, Location loc,
                                OpFoldResult rows) const {
  int64_t most = blocking.blockRows, tile = blocking.tileRows;
  if (std::optional<int64_t> constant = getConstantIntValue(rows)) {
    int64_t blocks = std::max<int64_t>(llvm::divideCeil(*constant, most), 1);
    int64_t even = llvm::alignTo(llvm::divideCeil(*constant, blocks), tile);
    return builder.getIndexAttr(std::max(even, tile));
  }
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  Value size = getValueOrCreateConstantIndexOp(builder, loc, rows);
  auto divideUp = [&](Value a, Value b) -> Value {
    Value bumped = arith::AddIOp::create(
        builder, loc, a, arith::SubIOp::create(builder, loc, b, constant(1)));
    return arith::DivUIOp::create(builder, loc, bumped, b);
  };
  auto atLeastOne = [&](Value a) -> Value {
    return arith::MaxUIOp::create(builder, loc, a, constant(1));
  };
  Value blocks = atLeastOne(divideUp(size, constant(most)));
  Value tiles = atLeastOne(divideUp(divideUp(size, blocks), constant(tile)));
  return arith::MulIOp::create(builder, loc, tiles, constant(tile)).getResult();
}

OpFoldResult ProductTiles::columns(OpBuilder &builder, Location loc,
                                   OpFoldResult rows) const {
  if (std::optional<int64_t> constant = getConstantIntValue(rows)) {
    return builder.getIndexAttr(*constant <= fewRows ? wideColumns
                                                     : blocking.blockColumns);
  }
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  Value few = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::ule,
      getValueOrCreateConstantIndexOp(builder, loc, rows), constant(fewRows));
  return arith::SelectOp::create(builder, loc, few, constant(wideColumns),
                                 constant(blocking.blockColumns))
      .getResult();
}

void kvern::readWholePanels(func::FuncOp function) {
  function.walk([](linalg::GenericOp op) {
    FailureOr<Contraction> product = matchContraction(op);
    if (failed(product) || product->panel == 0) {
      return;
    }
    OpOperand &rhs = op->getOpOperand(product->rhs);
    auto slice = rhs.get().getDefiningOp<tensor::ExtractSliceOp>();
    if (!slice) {
      return;
    }
    OpBuilder builder(slice);
    SmallVector<OpFoldResult> offsets = slice.getMixedOffsets(),
                              sizes = slice.getMixedSizes();
    offsets.back() = builder.getIndexAttr(0);
    sizes.back() = builder.getIndexAttr(product->panel);
    rhs.set(tensor::ExtractSliceOp::create(builder, slice.getLoc(),
                                           slice.getSource(), offsets, sizes,
                                           slice.getMixedStrides()));
  });
}
