// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lowers convolutions on buffers to loops over vectors.
#include "lib/Codegen/Contraction.h"
#include "lib/Codegen/ConvolutionEmitter.h"
#include "lib/Codegen/Kernel.h"
#include "lib/Codegen/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace kvern {
#define GEN_PASS_DEF_LOWERCONVOLUTION
#include "lib/Codegen/Passes.h.inc"
} // namespace kvern

using namespace mlir;
using namespace kvern;

namespace {
struct LowerConvolutionPass
    : kvern::impl::LowerConvolutionBase<LowerConvolutionPass> {
  using LowerConvolutionBase::LowerConvolutionBase;

  void runOnOperation() override {
    if (!isKernel(getOperation())) {
      return;
    }
    SmallVector<Convolution> convolutions;
    getOperation().walk([&](linalg::GenericOp op) {
      auto convolution = matchConvolution(op);
      if (op.hasPureBufferSemantics() && succeeded(convolution)) {
        convolutions.push_back(*convolution);
      }
    });
    for (Convolution &convolution : convolutions) {
      lower(convolution);
    }
  }

private:
  void lower(Convolution &convolution) {
    linalg::GenericOp op = convolution.op;
    Type element = getElementTypeOrSelf(op.getOutputs()[0].getType());
    if (!element.isF32() && !element.isF64()) {
      return;
    }
    CpuTarget target;
    target.vectorBits = vectorBits;
    target.vectorRegisters = vectorRegisters;
    OpBuilder builder(op);
    linalg::FillOp fill = findZeroFill(op);
    ConvolutionEmitter emitter(
        convolution, builder, element, vectorBits,
        ConvolutionBlocking::get(target, element.getIntOrFloatBitWidth() / 8));
    if (failed(emitter.emit(/*overwrites=*/fill != nullptr))) {
      return;
    }
    if (fill) {
      fill.erase();
    }
    op.erase();
  }
};
} // namespace
