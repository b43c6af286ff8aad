//===- Elementwise.cpp - One element at a time ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/ops/Elementwise.h"

#include "dialect/Inference.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace kvern;

#define GET_OP_CLASSES
#include "dialect/ops/Elementwise.cpp.inc"

void KvernDialect::registerElementwiseOps() {
  addOperations<
#define GET_OP_LIST
#include "dialect/ops/Elementwise.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Result types
//===----------------------------------------------------------------------===//

LogicalResult kvern::inferSameType(std::optional<Location> location,
                                   StringRef opName, ValueRange operands,
                                   InferResults &results) {
  auto types = getTensorTypes({location, opName}, operands);
  if (failed(types)) {
    return failure();
  }
  results.push_back(types->front());
  return success();
}

LogicalResult kvern::inferPredicate(std::optional<Location> location,
                                    StringRef opName, ValueRange operands,
                                    InferResults &results) {
  auto types = getTensorTypes({location, opName}, operands);
  if (failed(types)) {
    return failure();
  }
  kvern::TensorType type = types->front();
  results.push_back(
      type.withElementType(IntegerType::get(type.getContext(), 1)));
  return success();
}

/// The sizes of two operands of one element type.
static FailureOr<SmallVector<DimAttr>>
broadcast(InferError error, ArrayRef<kvern::TensorType> types) {
  if (failed(checkSameDevice(error, types)) ||
      failed(checkSameElementType(error, types))) {
    return failure();
  }
  return broadcastShapes(error, types.front().getShape(),
                         types.back().getShape());
}

LogicalResult kvern::inferBroadcast(std::optional<Location> location,
                                    StringRef opName, ValueRange operands,
                                    InferResults &results) {
  InferError error(location, opName);
  auto types = getTensorTypes(error, operands);
  if (failed(types)) {
    return failure();
  }
  auto shape = broadcast(error, *types);
  if (failed(shape)) {
    return failure();
  }
  return addResult(error, types->front(), *shape, results);
}

LogicalResult kvern::inferCompare(std::optional<Location> location,
                                  StringRef opName, ValueRange operands,
                                  InferResults &results) {
  if (failed(inferBroadcast(location, opName, operands, results))) {
    return failure();
  }
  auto type = cast<kvern::TensorType>(results.back());
  results.back() = type.withElementType(IntegerType::get(type.getContext(), 1));
  return success();
}

LogicalResult kvern::inferWhere(std::optional<Location> location,
                                StringRef opName, ValueRange operands,
                                InferResults &results) {
  InferError error(location, opName);
  auto types = getTypesOnOneDevice(error, operands);
  if (failed(types)) {
    return failure();
  }
  auto values = broadcast(error, ArrayRef(*types).drop_front());
  if (failed(values)) {
    return failure();
  }
  auto shape = broadcastShapes(error, types->front().getShape(), *values);
  if (failed(shape)) {
    return failure();
  }
  return addResult(error, types->back(), *shape, results);
}

LogicalResult GeluOp::inferReturnTypes(MLIRContext *,
                                       std::optional<Location> location,
                                       Adaptor adaptor, InferResults &results) {
  return inferSameType(location, getOperationName(), adaptor.getOperands(),
                       results);
}

LogicalResult GeluOp::verify() {
  StringRef form = getApproximate();
  // gelu_c1
  if (form != "none" && form != "tanh" && form != "quick") {
    return emitOpError("expected approximate to be none, tanh or quick, but "
                       "got ")
           << form;
  }
  return success();
}

LogicalResult CastOp::inferReturnTypes(MLIRContext *,
                                       std::optional<Location> location,
                                       Adaptor adaptor, InferResults &results) {
  InferError error(location, getOperationName());
  auto types = getTensorTypes(error, adaptor.getOperands());
  if (failed(types)) {
    return failure();
  }
  kvern::TensorType type = types->front();
  // cast_c1
  return addResult(error, type.getShape(), adaptor.getDtype(), type.getDevice(),
                   results);
}

//===----------------------------------------------------------------------===//
// Folding
//===----------------------------------------------------------------------===//

OpFoldResult CastOp::fold(FoldAdaptor adaptor) {
  if (getX().getType() == getType()) {
    return getX();
  }
  // Integer shape arithmetic is known exactly.
  auto elements = dyn_cast_or_null<DenseIntElementsAttr>(adaptor.getX());
  auto to = dyn_cast<IntegerType>(getDtype());
  auto from = elements ? dyn_cast<IntegerType>(elements.getElementType())
                       : IntegerType();
  if (!from || !to || from.getWidth() == 1 || to.getWidth() == 1 ||
      !isShapeArithmetic(elements)) {
    return {};
  }
  return elements.mapValues(to, [&](const APInt &value) {
    return from.isUnsigned() ? value.zextOrTrunc(to.getWidth())
                             : value.sextOrTrunc(to.getWidth());
  });
}

/// The one value of a constant operand, when it has one.
static std::optional<APInt> getSplatInt(Attribute operand) {
  auto elements = dyn_cast_or_null<DenseIntElementsAttr>(operand);
  if (!elements || !elements.isSplat()) {
    return std::nullopt;
  }
  return elements.getSplatValue<APInt>();
}

/// Whether a constant operand holds `value` everywhere, integer or float.
static bool isSplat(Attribute operand, int64_t value) {
  if (std::optional<APInt> integer = getSplatInt(operand)) {
    return *integer == APInt(integer->getBitWidth(), value, /*isSigned=*/true,
                             /*implicitTrunc=*/true);
  }
  auto elements = dyn_cast_or_null<DenseFPElementsAttr>(operand);
  return elements && elements.isSplat() &&
         elements.getSplatValue<APFloat>().isExactlyValue(value);
}

/// Folds two equally shaped integer constants, as shape arithmetic makes them.
/// Data is not folded: the result would have to be stored as well.
template <typename Fn>
static Attribute foldIntegers(Attribute lhs, Attribute rhs, Fn fn) {
  auto a = dyn_cast_or_null<DenseIntElementsAttr>(lhs);
  auto b = dyn_cast_or_null<DenseIntElementsAttr>(rhs);
  if (!a || !b || a.getType() != b.getType() ||
      a.getElementType().isInteger(1) || !isShapeArithmetic(a)) {
    return {};
  }
  SmallVector<APInt> values;
  for (auto [x, y] :
       llvm::zip_equal(a.getValues<APInt>(), b.getValues<APInt>())) {
    std::optional<APInt> value = fn(x, y);
    if (!value) {
      return {};
    }
    values.push_back(*value);
  }
  return DenseElementsAttr::get(a.getType(), values);
}

static bool isUnsigned(Type type) {
  return cast<kvern::TensorType>(type).getElementType().isUnsignedInteger();
}

OpFoldResult AddOp::fold(FoldAdaptor adaptor) {
  // x + 0 = x for integers only: -0.0 + 0.0 is not -0.0.
  if (getLhs().getType() == getType() && getSplatInt(adaptor.getRhs()) &&
      isSplat(adaptor.getRhs(), 0)) {
    return getLhs();
  }
  return foldIntegers(adaptor.getLhs(), adaptor.getRhs(),
                      [](const APInt &a, const APInt &b) {
                        return std::optional<APInt>(a + b);
                      });
}

OpFoldResult SubOp::fold(FoldAdaptor adaptor) {
  if (getLhs().getType() == getType() && isSplat(adaptor.getRhs(), 0)) {
    return getLhs();
  }
  return foldIntegers(adaptor.getLhs(), adaptor.getRhs(),
                      [](const APInt &a, const APInt &b) {
                        return std::optional<APInt>(a - b);
                      });
}

OpFoldResult MulOp::fold(FoldAdaptor adaptor) {
  if (getLhs().getType() == getType() && isSplat(adaptor.getRhs(), 1)) {
    return getLhs();
  }
  return foldIntegers(adaptor.getLhs(), adaptor.getRhs(),
                      [](const APInt &a, const APInt &b) {
                        return std::optional<APInt>(a * b);
                      });
}

OpFoldResult DivOp::fold(FoldAdaptor adaptor) {
  if (getLhs().getType() == getType() && isSplat(adaptor.getRhs(), 1)) {
    return getLhs();
  }
  bool isUnsignedDiv = isUnsigned(getType());
  return foldIntegers(
      adaptor.getLhs(), adaptor.getRhs(),
      [&](const APInt &a, const APInt &b) -> std::optional<APInt> {
        if (b.isZero()) {
          return APInt::getZero(b.getBitWidth());
        }
        return isUnsignedDiv ? a.udiv(b) : a.sdiv(b);
      });
}
