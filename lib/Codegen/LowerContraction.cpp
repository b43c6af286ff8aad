// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lowers matrix products on buffers to loops over vectors.
#include "lib/Codegen/Kernel.h"
#include "lib/Codegen/Passes.h"
#include "lib/Codegen/ProductBuilder.h"
#include "lib/Codegen/Schedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace kvern {
#define GEN_PASS_DEF_LOWERCONTRACTION
#include "lib/Codegen/Passes.h.inc"
} // namespace kvern

using namespace mlir;
using namespace kvern;

namespace {
struct LowerContractionPass
    : kvern::impl::LowerContractionBase<LowerContractionPass> {
  using LowerContractionBase::LowerContractionBase;

  void runOnOperation() override {
    if (!isKernel(getOperation())) {
      return;
    }
    SmallVector<Contraction> products;
    getOperation().walk([&](linalg::GenericOp op) {
      auto product = matchContraction(op);
      if (op.hasPureBufferSemantics() && succeeded(product)) {
        products.push_back(*product);
      }
    });
    for (Contraction &product : products) {
      lower(product);
    }
  }

private:
  FailureOr<ProductBlocking> chooseBlocking(Contraction &product);
  void lower(Contraction &product);
  void emitBatch(ProductBuilder &b, ArrayRef<unsigned> dims,
                 llvm::function_ref<void()> body);
  void emit(ProductBuilder &b);
};
} // namespace

FailureOr<ProductBlocking>
LowerContractionPass::chooseBlocking(Contraction &product) {
  Type element = getElementTypeOrSelf(product.op.getOutputs()[0].getType());
  if (!element.isF32() && !element.isF64() && !element.isInteger(8) &&
      !element.isInteger(16) && !element.isInteger(32) &&
      !element.isInteger(64)) {
    return failure();
  }
  CpuTarget target;
  target.vectorBits = vectorBits;
  target.vectorRegisters = vectorRegisters;
  target.l1Bytes = l1Bytes;
  target.l2Bytes = l2Bytes;
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  if (product.panel != 0 &&
      !ProductBlocking::canRead(target, bytes, product.panel)) {
    return failure();
  }
  return ProductBlocking::get(target, bytes, product.panel);
}

/// Loops over the dimensions other than m, n and k.
void LowerContractionPass::emitBatch(ProductBuilder &b, ArrayRef<unsigned> dims,
                                     llvm::function_ref<void()> body) {
  if (dims.empty()) {
    body();
    return;
  }
  unsigned dim = dims.front();
  Value size = b.sizeOf(dim);
  b.loop(b.index(0), size, 1, [&](Value i) {
    b.point[dim] = i;
    emitBatch(b, dims.drop_front(), body);
  });
}

/// Memory for packing: that of the kernel, or of one thread of it.
static Value allocateScratch(ProductBuilder &b, int64_t size) {
  Block &block = scratchBlock(b.product.op);
  OpBuilder atStart = OpBuilder::atBlockBegin(&block);
  return memref::AllocOp::create(atStart, b.getLoc(),
                                 MemRefType::get({size}, b.element),
                                 b.getI64IntegerAttr(64));
}

static void noteSchedule(const ProductBuilder &b) {
  const ProductBlocking &blocking = b.blocking;
  auto times = [](int64_t x, int64_t y) {
    return Twine(x).str() + "x" + Twine(y).str();
  };
  std::string text = b.product.panel != 0
                         ? "weights packed by " + Twine(b.product.panel).str()
                         : "both sides packed by block";
  kvern::noteSchedule(b.product.op,
                      "product: " + text + ", register tiles " +
                          times(blocking.tileRows, blocking.panelColumns()) +
                          ", blocks " +
                          times(blocking.blockRows, blocking.blockColumns) +
                          "x" + Twine(blocking.blockDepth));
}

void LowerContractionPass::emit(ProductBuilder &b) {
  auto allocate = [&](int64_t size) { return allocateScratch(b, size); };
  if (b.product.panel != 0) {
    emitPanelProduct(b, allocate);
    return;
  }
  std::optional<int64_t> rows = getConstantIntValue(b.rows);
  if (!canStream(b) || (rows && *rows > kFewPlainRows)) {
    emitPackedProduct(b, allocate);
  } else if (rows) {
    (void)emitStreamedProduct(b);
  } else {
    b.when(
        b.less(b.index(kFewPlainRows), b.rows),
        [&] { emitPackedProduct(b, allocate); },
        [&] { (void)emitStreamedProduct(b); });
  }
}

void LowerContractionPass::lower(Contraction &product) {
  FailureOr<ProductBlocking> blocking = chooseBlocking(product);
  if (failed(blocking)) {
    return;
  }
  OpBuilder builder(product.op);
  ProductBuilder b(product, builder, *blocking);
  auto rhs = cast<MemRefType>(product.op->getOperand(product.rhs).getType());
  if (!b.isContiguous(2, product.n) ||
      (product.panel != 0 && !rhs.isLastDimUnitStride())) {
    return;
  }
  if (linalg::FillOp fill = findZeroFill(product.op)) {
    // With nothing to sum, the fill is the result.
    if (std::optional<int64_t> depth = getConstantIntValue(b.depth);
        !depth || *depth == 0) {
      b.when(b.equal(b.depth, b.index(0)), [&] { b.clone(*fill); });
    }
    fill.erase();
    b.overwrites = true;
  }

  noteSchedule(b);
  SmallVector<unsigned> dims(product.batch);
  llvm::append_range(dims, product.outer);
  llvm::sort(dims);
  emitBatch(b, dims, [&] { emit(b); });
  product.op.erase();
}
