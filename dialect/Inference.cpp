//===- Inference.cpp - Shared by the result-type rules of the ops ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Inference.h"

using namespace mlir;
using namespace kvern;

std::string kvern::toString(ArrayRef<DimAttr> shape) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << '[';
  llvm::interleaveComma(shape, os, [&](DimAttr dim) { dim.printExpr(os); });
  os << ']';
  return text;
}

LogicalResult kvern::addResult(InferError error, ArrayRef<DimAttr> shape,
                               Type elementType, DeviceAttr device,
                               SmallVectorImpl<Type> &results) {
  std::string text = getTypeError(shape, elementType);
  if (!text.empty()) {
    return error(text);
  }
  results.push_back(kvern::TensorType::get(shape, elementType, device));
  return success();
}

LogicalResult kvern::addResult(InferError error, kvern::TensorType like,
                               ArrayRef<DimAttr> shape,
                               SmallVectorImpl<Type> &results) {
  return addResult(error, shape, like.getElementType(), like.getDevice(),
                   results);
}

FailureOr<SmallVector<kvern::TensorType>>
kvern::getTensorTypes(InferError error, ValueRange operands) {
  SmallVector<kvern::TensorType> types;
  for (auto [i, operand] : llvm::enumerate(operands)) {
    auto type = dyn_cast<kvern::TensorType>(operand.getType());
    if (!type) {
      return error("expected operand ", i, " to be a tensor, but got ",
                   operand.getType());
    }
    types.push_back(type);
  }
  return types;
}

LogicalResult kvern::checkSameDevice(InferError error,
                                     ArrayRef<kvern::TensorType> types) {
  for (kvern::TensorType type : types) {
    // device_c1
    if (type.getDevice() != types.front().getDevice()) {
      return error("expected all operands on one device, but got ",
                   types.front().getDevice().str(), " and ",
                   type.getDevice().str());
    }
  }
  return success();
}

LogicalResult kvern::checkSameElementType(InferError error,
                                          ArrayRef<kvern::TensorType> types) {
  for (kvern::TensorType type : types) {
    // element_type_c1
    if (type.getElementType() != types.front().getElementType()) {
      return error("expected operands of one element type, but got ",
                   types.front().getElementType(), " and ",
                   type.getElementType());
    }
  }
  return success();
}

FailureOr<SmallVector<kvern::TensorType>>
kvern::getTypesOnOneDevice(InferError error, ValueRange operands) {
  auto types = getTensorTypes(error, operands);
  if (failed(types) || failed(checkSameDevice(error, *types))) {
    return failure();
  }
  return types;
}

FailureOr<SmallVector<kvern::TensorType>>
kvern::getUniformTypes(InferError error, ValueRange operands) {
  auto types = getTypesOnOneDevice(error, operands);
  if (failed(types) || failed(checkSameElementType(error, *types))) {
    return failure();
  }
  return types;
}

FailureOr<SmallVector<DimAttr>> kvern::broadcastShapes(InferError error,
                                                       ArrayRef<DimAttr> lhs,
                                                       ArrayRef<DimAttr> rhs) {
  size_t rank = std::max(lhs.size(), rhs.size());
  SmallVector<DimAttr> result(rank);
  for (size_t i = 0; i < rank; ++i) {
    // The axis counted from the end.
    DimAttr a = i < lhs.size() ? lhs[lhs.size() - 1 - i] : DimAttr();
    DimAttr b = i < rhs.size() ? rhs[rhs.size() - 1 - i] : DimAttr();
    DimAttr &size = result[rank - 1 - i];
    if (!a || (b && a.isStatic(1))) {
      size = b;
    } else if (!b || b.isStatic(1) || a == b) {
      size = a;
    } else {
      // broadcast_c1
      return error("expected shapes that broadcast, but got ", toString(lhs),
                   " and ", toString(rhs), ": sizes ", a.str(), " and ",
                   b.str(), " at axis ", -static_cast<int64_t>(i) - 1,
                   (a.isStatic() && b.isStatic())
                       ? " differ"
                       : " are not provably equal; rebind one of them");
    }
  }
  return result;
}

LogicalResult kvern::checkAxis(InferError error, int64_t axis, int64_t rank) {
  // axis_c1
  if (axis < 0 || axis >= rank) {
    return error("expected an axis of a tensor of rank ", rank, ", but got ",
                 axis);
  }
  return success();
}

DimAttr kvern::getNumElements(MLIRContext *context, ArrayRef<DimAttr> shape) {
  DimAttr total = DimAttr::getStatic(context, 1);
  for (DimAttr dim : shape) {
    total = total * dim;
    if (!total) {
      return {};
    }
  }
  return total;
}

DimAttr kvern::getSliceSize(DimAttr start, DimAttr stop, int64_t step) {
  DimAttr span = step > 0 ? stop - start : start - stop;
  DimAttr rounded = span ? span + (std::abs(step) - 1) : DimAttr();
  if (!rounded) {
    return {};
  }
  DimAttr size =
      DimAttr::combine(AffineExprKind::FloorDiv, rounded,
                       DimAttr::getStatic(start.getContext(), std::abs(step)));
  std::optional<int64_t> count = size ? size.getStaticValue() : std::nullopt;
  return count && *count < 0 ? DimAttr::getStatic(start.getContext(), 0) : size;
}

/// The size along one axis whose bounds are dims.
static FailureOr<DimAttr> inferSliceSize(InferError error, size_t axis,
                                         DimAttr extent, DimAttr start,
                                         DimAttr stop, int64_t step) {
  DimAttr size = getSliceSize(start, stop, step);
  // slice_c6
  if (!size) {
    return error("slice bounds overflow 64 bits at axis ", axis);
  }
  // Nothing is read, wherever the bounds are.
  if (size.isStatic(0)) {
    return size;
  }
  std::optional<int64_t> first = start.getStaticValue();
  std::optional<int64_t> count = size.getStaticValue();
  std::optional<int64_t> whole = extent.getStaticValue();
  // slice_c7
  if ((first && *first < 0) ||
      (first && count && whole &&
       (*first >= *whole || *first + (*count - 1) * step >= *whole ||
        *first + (*count - 1) * step < 0))) {
    return error("expected slice bounds within size ", extent.str(),
                 " at axis ", axis, ", but got start ", start.str(), ", stop ",
                 stop.str(), " and step ", step);
  }
  return size;
}

FailureOr<SmallVector<DimAttr>>
kvern::inferSliceShape(InferError error, ArrayRef<DimAttr> shape,
                       ArrayAttr starts, ArrayAttr stops,
                       ArrayRef<int64_t> steps, ArrayAttr outDims,
                       ValueRange bounds) {
  size_t rank = shape.size();
  // slice_c1
  if (starts.size() != rank || stops.size() != rank || steps.size() != rank ||
      outDims.size() != rank) {
    return error("expected bounds for ", rank, " axes, but got ", starts.size(),
                 " starts, ", stops.size(), " stops, ", steps.size(),
                 " steps and ", outDims.size(), " out_dims");
  }
  size_t runtime = llvm::count_if(starts, llvm::IsaPred<UnitAttr>) +
                   llvm::count_if(stops, llvm::IsaPred<UnitAttr>);
  // slice_c2
  if (runtime != bounds.size()) {
    return error("expected ", runtime, " run-time bounds, but got ",
                 bounds.size());
  }
  for (Value bound : bounds) {
    auto type = dyn_cast<kvern::TensorType>(bound.getType());
    // slice_c3
    if (!type || type.getRank() != 0) {
      return error("expected run-time bounds to be scalars, but got ",
                   bound.getType());
    }
  }
  SmallVector<DimAttr> result;
  for (size_t axis = 0; axis < rank; ++axis) {
    auto start = dyn_cast<DimAttr>(starts[axis]);
    auto stop = dyn_cast<DimAttr>(stops[axis]);
    auto named = dyn_cast<DimAttr>(outDims[axis]);
    int64_t step = steps[axis];
    // slice_c4
    if (step == 0 || step == INT64_MIN) {
      return error("expected a step other than ", step, " at axis ", axis);
    }
    if (start && stop) {
      auto size = inferSliceSize(error, axis, shape[axis], start, stop, step);
      if (failed(size)) {
        return failure();
      }
      // slice_c8
      if (named && named != *size && named.isStatic() && size->isStatic()) {
        return error("expected out_dims that can be ", size->str(), " at axis ",
                     axis, ", but got ", named.str());
      }
      result.push_back(named ? named : *size);
      continue;
    }
    // slice_c5
    if (!named) {
      return error("expected an output size for axis ", axis,
                   ", which has run-time bounds");
    }
    result.push_back(named);
  }
  return result;
}
