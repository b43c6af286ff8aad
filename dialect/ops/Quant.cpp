//===- Quant.cpp - Products with quantized weights ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/ops/Quant.h"

#include "dialect/Inference.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kvern;

#define GET_OP_CLASSES
#include "dialect/ops/Quant.cpp.inc"

void KvernDialect::registerQuantOps() {
  addOperations<
#define GET_OP_LIST
#include "dialect/ops/Quant.cpp.inc"
      >();
}

std::optional<BlockEncoding> BlockEncoding::parse(StringRef name) {
  if (name == "q8_0") {
    return BlockEncoding{8, 32, false};
  }
  if (name == "q4_0" || name == "q4_1") {
    return BlockEncoding{4, 32, name == "q4_1"};
  }
  BlockEncoding encoding;
  encoding.hasMinimum = name.consume_back("_min");
  if (!name.consume_front("int") || name.consumeInteger(10, encoding.bits) ||
      !name.consume_front("_g") || name.getAsInteger(10, encoding.group) ||
      (encoding.bits != 4 && encoding.bits != 8) ||
      !llvm::is_contained({32, 64, 128}, encoding.group)) {
    return std::nullopt;
  }
  return encoding;
}

static FailureOr<BlockEncoding> parseEncoding(InferError error,
                                              StringRef name) {
  // encoding_c1
  std::optional<BlockEncoding> encoding = BlockEncoding::parse(name);
  if (!encoding) {
    return error("expected an encoding among q8_0, q4_0, q4_1, and "
                 "int<4 or 8>_g<32, 64 or 128> with or without _min, but got ",
                 name);
  }
  return *encoding;
}

static LogicalResult checkActivations(InferError error, StringRef name) {
  // activations_c1
  if (name != "exact" && name != "int8") {
    return error("expected activations exact or int8, but got ", name);
  }
  return success();
}

std::optional<BlockSize> BlockSize::parse(StringRef name) {
  if (name == "q4_k") {
    return BlockSize{256, 144};
  }
  if (name == "q6_k") {
    return BlockSize{256, 210};
  }
  auto encoding = BlockEncoding::parse(name);
  if (!encoding) {
    return std::nullopt;
  }
  return BlockSize{encoding->group, encoding->blockBytes()};
}

/// The number of elements that a row of blocks holds; `name` is an encoding.
static FailureOr<int64_t>
countElements(InferError error, ArrayRef<DimAttr> blocks, StringRef name) {
  BlockSize block = *BlockSize::parse(name);
  std::optional<int64_t> size = blocks.back().getStaticValue();
  // encoding_c2
  if (!size || *size % block.bytes != 0) {
    return error("expected the last size of blocks ", toString(blocks),
                 " to be a number divisible by the bytes of a block of ", name,
                 " (", block.bytes, "), but got ", blocks.back().str());
  }
  return *size / block.bytes * block.elements;
}

static bool isActivation(Type type) {
  return isa<Float32Type, Float16Type, BFloat16Type>(type);
}

LogicalResult QuantizedMatmulOp::inferReturnTypes(
    MLIRContext *context, std::optional<Location> location, Adaptor adaptor,
    SmallVectorImpl<Type> &results) {
  InferError error(location, getOperationName());
  auto types = getTypesOnOneDevice(error, adaptor.getOperands());
  if (failed(types) ||
      failed(checkActivations(error, adaptor.getActivations()))) {
    return failure();
  }
  kvern::TensorType lhs = types->front();
  ArrayRef<DimAttr> blocks = types->back().getShape();
  // quantized_matmul_c1
  if (lhs.getRank() < 2 || !isActivation(lhs.getElementType())) {
    return error("expected lhs of rank 2 or more and element type f32, bf16 or "
                 "f16, but got ",
                 lhs);
  }
  // quantized_matmul_c2
  if (blocks.size() != 2) {
    return error("expected blocks of rank 2, but got ", toString(blocks));
  }
  if (failed(parseEncoding(error, adaptor.getEncoding()))) {
    return failure();
  }
  FailureOr<int64_t> elements =
      countElements(error, blocks, adaptor.getEncoding());
  if (failed(elements)) {
    return failure();
  }
  // quantized_matmul_c3
  if (!lhs.getShape().back().isStatic(*elements)) {
    return error("expected the last size of lhs ", toString(lhs.getShape()),
                 " to be the number of elements that a row of ",
                 adaptor.getEncoding(), " blocks ", toString(blocks),
                 " holds (", *elements, "), but got ",
                 lhs.getShape().back().str());
  }
  SmallVector<DimAttr> shape(lhs.getShape().drop_back());
  shape.push_back(blocks.front());
  return addResult(error, lhs, shape, results);
}

LogicalResult DequantizeOp::inferReturnTypes(MLIRContext *context,
                                             std::optional<Location> location,
                                             Adaptor adaptor,
                                             SmallVectorImpl<Type> &results) {
  InferError error(location, getOperationName());
  auto types = getTensorTypes(error, adaptor.getOperands());
  if (failed(types)) {
    return failure();
  }
  kvern::TensorType blocks = types->front();
  // dequantize_c1
  if (blocks.getRank() == 0) {
    return error("expected blocks of rank 1 or more, but got a scalar");
  }
  StringRef name = adaptor.getEncoding();
  if (!BlockSize::parse(name) && failed(parseEncoding(error, name))) {
    return failure();
  }
  FailureOr<int64_t> elements =
      countElements(error, blocks.getShape(), adaptor.getEncoding());
  if (failed(elements)) {
    return failure();
  }
  SmallVector<DimAttr> shape(blocks.getShape());
  shape.back() = DimAttr::getStatic(context, *elements);
  return addResult(error, shape, Float32Type::get(context), blocks.getDevice(),
                   results);
}

LogicalResult PackQuantizedOp::inferReturnTypes(
    MLIRContext *context, std::optional<Location> location, Adaptor adaptor,
    SmallVectorImpl<Type> &results) {
  InferError error(location, getOperationName());
  auto types = getTensorTypes(error, adaptor.getOperands());
  if (failed(types)) {
    return failure();
  }
  ArrayRef<DimAttr> shape = types->front().getShape();
  // pack_quantized_c1
  if (shape.size() != 2 || !llvm::all_of(shape, [](DimAttr dim) {
        return dim.getStaticValue().value_or(0) > 0;
      })) {
    return error("expected blocks of rank 2 and static sizes of 1 or more, but "
                 "got ",
                 toString(shape));
  }
  if (failed(parseEncoding(error, adaptor.getEncoding())) ||
      failed(countElements(error, shape, adaptor.getEncoding()))) {
    return failure();
  }
  BlockEncoding encoding = *BlockEncoding::parse(adaptor.getEncoding());
  auto dim = [&](int64_t size) { return DimAttr::getStatic(context, size); };
  int64_t bytes = encoding.blockBytes();
  return addResult(
      error, types->front(),
      {dim(llvm::divideCeil(*shape[0].getStaticValue(), kQuantizedPanel)),
       dim(*shape[1].getStaticValue() / bytes), dim(kQuantizedPanel * bytes)},
      results);
}

LogicalResult PackedQuantizedMatmulOp::inferReturnTypes(
    MLIRContext *context, std::optional<Location> location, Adaptor adaptor,
    SmallVectorImpl<Type> &results) {
  InferError error(location, getOperationName());
  auto types = getTypesOnOneDevice(error, adaptor.getOperands());
  if (failed(types) ||
      failed(checkActivations(error, adaptor.getActivations()))) {
    return failure();
  }
  kvern::TensorType lhs = types->front();
  ArrayRef<DimAttr> panels = types->back().getShape();
  // packed_quantized_matmul_c1
  if (lhs.getRank() < 2 || !isActivation(lhs.getElementType())) {
    return error("expected lhs of rank 2 or more and element type f32, bf16 or "
                 "f16, but got ",
                 lhs);
  }
  FailureOr<BlockEncoding> encoding =
      parseEncoding(error, adaptor.getEncoding());
  if (failed(encoding)) {
    return failure();
  }
  int64_t columns = adaptor.getColumns();
  std::optional<int64_t> depth = lhs.getShape().back().getStaticValue();
  // packed_quantized_matmul_c2
  if (panels.size() != 3 || !depth || *depth % encoding->group != 0 ||
      columns < 1 || !panels[0].isStatic((columns - 1) / kQuantizedPanel + 1) ||
      !panels[1].isStatic(*depth / encoding->group) ||
      !panels[2].isStatic(kQuantizedPanel * encoding->blockBytes())) {
    return error("expected panels of ", columns, " columns for lhs ",
                 toString(lhs.getShape()), " in encoding ",
                 adaptor.getEncoding(), ", but got ", toString(panels));
  }
  SmallVector<DimAttr> shape(lhs.getShape().drop_back());
  shape.push_back(DimAttr::getStatic(context, columns));
  return addResult(error, lhs, shape, results);
}

LogicalResult PackedQuantizedGatherOp::inferReturnTypes(
    MLIRContext *context, std::optional<Location> location, Adaptor adaptor,
    SmallVectorImpl<Type> &results) {
  InferError error(location, getOperationName());
  auto types = getTypesOnOneDevice(error, adaptor.getOperands());
  if (failed(types)) {
    return failure();
  }
  FailureOr<BlockEncoding> encoding =
      parseEncoding(error, adaptor.getEncoding());
  if (failed(encoding)) {
    return failure();
  }
  ArrayRef<DimAttr> panels = types->front().getShape();
  int64_t rows = adaptor.getRows();
  std::optional<int64_t> groups =
      panels.size() == 3 ? panels[1].getStaticValue() : std::nullopt;
  // packed_quantized_gather_c1
  if (!groups || rows < 1 ||
      !panels[0].isStatic((rows - 1) / kQuantizedPanel + 1) ||
      !panels[2].isStatic(kQuantizedPanel * encoding->blockBytes())) {
    return error("expected panels of ", rows, " rows in encoding ",
                 adaptor.getEncoding(), ", but got ", toString(panels));
  }
  SmallVector<DimAttr> shape(types->back().getShape());
  shape.push_back(DimAttr::getStatic(context, *groups * encoding->group));
  return addResult(error, shape, Float32Type::get(context),
                   types->front().getDevice(), results);
}
