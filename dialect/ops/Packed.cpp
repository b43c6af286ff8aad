//===- Packed.cpp - Products with packed operands -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/ops/Packed.h"

#include "dialect/Inference.h"

using namespace mlir;
using namespace kvern;

#define GET_OP_CLASSES
#include "dialect/ops/Packed.cpp.inc"

void KvernDialect::registerPackedOps() {
  addOperations<
#define GET_OP_LIST
#include "dialect/ops/Packed.cpp.inc"
      >();
}

/// The sizes, when all of them are numbers of 1 or more.
static FailureOr<SmallVector<int64_t>> getSizes(ArrayRef<DimAttr> shape) {
  SmallVector<int64_t> sizes;
  for (DimAttr dim : shape) {
    std::optional<int64_t> size = dim.getStaticValue();
    if (!size || *size < 1) {
      return failure();
    }
    sizes.push_back(*size);
  }
  return sizes;
}

LogicalResult PackOp::inferReturnTypes(MLIRContext *context,
                                       std::optional<Location> location,
                                       Adaptor adaptor,
                                       SmallVectorImpl<Type> &results) {
  InferError error(location, getOperationName());
  auto types = getTensorTypes(error, adaptor.getOperands());
  if (failed(types)) {
    return failure();
  }
  ArrayRef<DimAttr> shape = types->front().getShape();
  // pack_c1
  if (shape.size() != 2 || shape[0].isStatic(0) || shape[1].isStatic(0)) {
    return error("expected a matrix of sizes of 1 or more, but got ",
                 toString(shape));
  }
  int64_t panel = adaptor.getPanel();
  // pack_c2
  if (panel < 1 || panel > 1024) {
    return error("expected a panel of 1 to 1024 columns, but got ", panel);
  }
  bool transposed = adaptor.getTransposed();
  DimAttr width = DimAttr::getStatic(context, panel);
  DimAttr count = DimAttr::combine(AffineExprKind::CeilDiv,
                                   shape[transposed ? 0 : 1], width);
  if (!count) {
    return error("the number of panels of ", toString(shape),
                 " cannot be expressed");
  }
  return addResult(error, types->front(),
                   {count, shape[transposed ? 1 : 0], width}, results);
}

/// Whether `columns` fill panels but a part of the last.
static LogicalResult checkColumns(InferError error, ArrayRef<DimAttr> panels,
                                  ArrayRef<int64_t> sizes, int64_t columns) {
  if (columns < 1 || (columns - 1) / sizes[2] + 1 != sizes[0]) {
    return error("expected columns from ", (sizes[0] - 1) * sizes[2] + 1,
                 " to ", sizes[0] * sizes[2], " for panels ", toString(panels),
                 ", but got ", columns);
  }
  return success();
}

LogicalResult PackedMatmulOp::inferReturnTypes(MLIRContext *context,
                                               std::optional<Location> location,
                                               Adaptor adaptor,
                                               SmallVectorImpl<Type> &results) {
  InferError error(location, getOperationName());
  auto types = getTypesOnOneDevice(error, adaptor.getOperands());
  if (failed(types)) {
    return failure();
  }
  Type element = types->front().getElementType();
  Type stored = types->back().getElementType();
  // packed_matmul_c5
  bool isWidened = element.isF32() && (stored.isF16() || stored.isBF16());
  if (stored != element && !isWidened) {
    return error(
        "expected panels of the element type of lhs, or of f16 or bf16 "
        "with a lhs of f32, but got lhs of ",
        element, " and panels of ", stored);
  }
  ArrayRef<DimAttr> lhs = types->front().getShape();
  ArrayRef<DimAttr> panels = types->back().getShape();
  // packed_matmul_c1
  if (lhs.size() < 2) {
    return error("expected lhs of rank 2 or more, but got ", toString(lhs));
  }
  FailureOr<SmallVector<int64_t>> sizes = getSizes(panels);
  // packed_matmul_c2
  if (failed(sizes) || sizes->size() != 3) {
    return error("expected panels of three static sizes of 1 or more, but got ",
                 toString(panels));
  }
  // packed_matmul_c3
  if (lhs.back() != panels[1]) {
    return error("expected the last size of lhs ", toString(lhs),
                 " to be the rows of panels ", toString(panels), ", but got ",
                 lhs.back().str(), " and ", panels[1].str());
  }
  int64_t columns = adaptor.getColumns();
  // packed_matmul_c4
  if (failed(checkColumns(error, panels, *sizes, columns))) {
    return failure();
  }
  SmallVector<DimAttr> shape(lhs.drop_back());
  shape.push_back(DimAttr::getStatic(context, columns));
  return addResult(error, types->front(), shape, results);
}

LogicalResult PackedGatherOp::inferReturnTypes(MLIRContext *,
                                               std::optional<Location> location,
                                               Adaptor adaptor,
                                               SmallVectorImpl<Type> &results) {
  InferError error(location, getOperationName());
  auto types = getTypesOnOneDevice(error, adaptor.getOperands());
  if (failed(types)) {
    return failure();
  }
  ArrayRef<DimAttr> panels = types->front().getShape();
  FailureOr<SmallVector<int64_t>> sizes = getSizes(panels);
  // packed_gather_c1
  if (failed(sizes) || sizes->size() != 3) {
    return error("expected panels of three static sizes of 1 or more, but got ",
                 toString(panels));
  }
  // packed_gather_c2
  if (failed(checkColumns(error, panels, *sizes, adaptor.getColumns()))) {
    return failure();
  }
  SmallVector<DimAttr> shape(types->back().getShape());
  shape.push_back(panels[1]);
  return addResult(error, types->front(), shape, results);
}
