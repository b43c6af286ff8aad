//===- Buffer.cpp - Memory changed in place -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Inference.h"

using namespace mlir;
using namespace kvern;

#define GET_OP_CLASSES
#include "dialect/ops/Buffer.cpp.inc"

void KvernDialect::registerBufferOps() {
  addOperations<
#define GET_OP_LIST
#include "dialect/ops/Buffer.cpp.inc"
      >();
}

LogicalResult BufferLoadOp::inferReturnTypes(MLIRContext *,
                                             std::optional<Location> location,
                                             Adaptor adaptor,
                                             SmallVectorImpl<Type> &results) {
  auto type = dyn_cast<BufferType>(adaptor.getBuffer().getType());
  // A verifier has reported it.
  if (!type) {
    return InferError(location, getOperationName())(
        "expected a buffer, but got ", adaptor.getBuffer().getType());
  }
  results.push_back(type.asTensor());
  return success();
}

/// `source` is what a load of `shape` of the buffer would give.
static LogicalResult verifyStore(Operation *op, BufferType destination,
                                 kvern::TensorType source,
                                 ArrayRef<DimAttr> shape) {
  SmallVector<Type, 1> expected;
  if (failed(addResult({op->getLoc(), op->getName().getStringRef()},
                       destination.asTensor(), shape, expected))) {
    return failure();
  }
  // buffer_store_c1, buffer_store_slice_c1
  if (source != expected.front()) {
    return op->emitOpError("expected a source of type ")
           << expected.front() << ", but got " << source;
  }
  return success();
}

LogicalResult BufferStoreOp::verify() {
  auto destination = cast<BufferType>(getDestination().getType());
  return verifyStore(*this, destination,
                     cast<kvern::TensorType>(getSource().getType()),
                     destination.getShape());
}

LogicalResult BufferStoreSliceOp::verify() {
  auto destination = cast<BufferType>(getDestination().getType());
  auto source = cast<kvern::TensorType>(getSource().getType());
  // The sizes of axes with run-time bounds are those of the source.
  SmallVector<Attribute> outDims;
  for (auto [i, bounds] : llvm::enumerate(llvm::zip(getStarts(), getStops()))) {
    auto [start, stop] = bounds;
    bool isRuntime = isa<UnitAttr>(start) || isa<UnitAttr>(stop);
    if (isRuntime && i < source.getShape().size()) {
      outDims.push_back(source.getShape()[i]);
    } else {
      outDims.push_back(UnitAttr::get(getContext()));
    }
  }
  auto shape =
      inferSliceShape({getLoc(), getOperationName()}, destination.getShape(),
                      getStarts(), getStops(), getSteps(),
                      ArrayAttr::get(getContext(), outDims), getBounds());
  if (failed(shape)) {
    return failure();
  }
  return verifyStore(*this, destination, source, *shape);
}
