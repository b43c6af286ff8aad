// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lowers matrix products on buffers to loops over vectors.
#include "lib/Codegen/Kernel.h"
#include "lib/Codegen/Passes.h"
#include "lib/Codegen/ProductBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

namespace kvern {
#define GEN_PASS_DEF_LOWERCONTRACTION
#include "lib/Codegen/Passes.h.inc"
} // namespace kvern

using namespace mlir;
using namespace kvern;

/// The fill with zero that a product adds to, if nothing reads it in between.
static linalg::FillOp findZeroFill(Contraction &product) {
  Value out = product.op.getOutputs()[0];
  for (Operation *op = product.op->getPrevNode(); op; op = op->getPrevNode()) {
    if (auto fill = dyn_cast<linalg::FillOp>(op);
        fill && fill.getOutputs()[0] == out) {
      Value value = fill.getInputs()[0];
      return matchPattern(value, m_AnyZeroFloat()) ||
                     matchPattern(value, m_Zero())
                 ? fill
                 : nullptr;
    }
    if (!isMemoryEffectFree(op)) {
      return nullptr;
    }
  }
  return nullptr;
}

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
  FailureOr<ProductBlocking> chooseBlocking(Type element);
  void lower(Contraction &product);
  void emitBatch(ProductBuilder &b, ArrayRef<unsigned> dims,
                 llvm::function_ref<void()> body);
  void emitPacked(ProductBuilder &b);
};
} // namespace

FailureOr<ProductBlocking> LowerContractionPass::chooseBlocking(Type element) {
  if (!element.isF32() && !element.isF64() && !element.isInteger(8) &&
      !element.isInteger(16) && !element.isInteger(32) &&
      !element.isInteger(64)) {
    return failure();
  }
  ProductBlocking blocking;
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  blocking.lanes = vectorBits / 8 / bytes;
  // AVX-512 masks everything for free, AVX2 loads of 4 bytes and more.
  constexpr int64_t kNever = 1024;
  blocking.maskedLoadBits = vectorBits >= 512   ? 8
                            : vectorBits >= 256 ? 32
                                                : kNever;
  blocking.maskedStoreBits = vectorBits >= 512 ? 8 : kNever;
  // Sums, one row of rhs and one factor fit the registers.
  blocking.tileRows = (vectorRegisters - 3) / blocking.vectors;
  blocking.tileRows -= blocking.tileRows % 2;
  blocking.blockRows = rows - rows % blocking.tileRows;
  blocking.blockColumns = columns;
  blocking.blockDepth = std::max(depth * 4 / bytes, blocking.lanes);
  return blocking;
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

void LowerContractionPass::emitPacked(ProductBuilder &b) {
  Block &entry = getOperation().getBody().front();
  OpBuilder atEntry = OpBuilder::atBlockBegin(&entry);
  auto allocate = [&](int64_t size) -> Value {
    return memref::AllocOp::create(atEntry, b.getLoc(),
                                   MemRefType::get({size}, b.element),
                                   b.getI64IntegerAttr(64));
  };
  emitPackedProduct(b, allocate(packedLhsSize(b.blocking)),
                    allocate(packedRhsSize(b.blocking)));
}

void LowerContractionPass::lower(Contraction &product) {
  Type element = getElementTypeOrSelf(product.op.getOutputs()[0].getType());
  FailureOr<ProductBlocking> blocking = chooseBlocking(element);
  if (failed(blocking)) {
    return;
  }
  OpBuilder builder(product.op);
  ProductBuilder b(product, builder, *blocking);
  if (!b.isContiguous(2, product.n)) {
    return;
  }
  if (linalg::FillOp fill = findZeroFill(product)) {
    // With nothing to sum, the fill is the result.
    Value empty =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, b.depth, b.index(0));
    b.when(empty, [&] { b.clone(*fill); });
    fill.erase();
    b.overwrites = true;
  }

  SmallVector<unsigned> dims(product.batch);
  llvm::append_range(dims, product.outer);
  llvm::sort(dims);
  std::optional<int64_t> rows = getConstantIntValue(b.rows);
  emitBatch(b, dims, [&] {
    if (!canStream(b) || (rows && *rows > fewRows)) {
      emitPacked(b);
    } else if (rows) {
      (void)emitStreamedProduct(b);
    } else {
      b.when(
          b.less(b.index(fewRows), b.rows), [&] { emitPacked(b); },
          [&] { (void)emitStreamedProduct(b); });
    }
  });
  product.op.erase();
}
