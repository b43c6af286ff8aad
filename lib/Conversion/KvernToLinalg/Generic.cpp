//===- Generic.cpp - linalg ops from sizes with names ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Conversion/KvernToLinalg/Generic.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace kvern;

using utils::IteratorType;

LogicalResult kvern::replaceEmpty(Operation *op, PatternRewriter &rewriter) {
  LoopBuilder loops(rewriter, op);
  SmallVector<Value> results;
  for (Value result : op->getResults()) {
    auto type = cast<kvern::TensorType>(result.getType());
    if (!isEmpty(type.getShape())) {
      return failure();
    }
    Type storage = getStorageType(type.getElementType());
    auto zero = cast<TypedAttr>(rewriter.getZeroAttr(storage));
    results.push_back(loops.fill(type.getShape(), zero));
  }
  rewriter.replaceOp(op, results);
  return success();
}

LoopBuilder::LoopBuilder(OpBuilder &builder, Operation *op)
    : builder(builder), location(op->getLoc()),
      dims(op->getParentOfType<func::FuncOp>()) {}

RankedTensorType LoopBuilder::getType(ArrayRef<DimAttr> shape,
                                      Type storageType) {
  SmallVector<int64_t> sizes;
  for (DimAttr dim : shape) {
    sizes.push_back(dim.getStaticValue().value_or(ShapedType::kDynamic));
  }
  return RankedTensorType::get(sizes, storageType);
}

Value LoopBuilder::empty(ArrayRef<DimAttr> shape, Type storageType) {
  return tensor::EmptyOp::create(builder, location,
                                 dims.getFoldResults(builder, location, shape),
                                 storageType);
}

Value LoopBuilder::emptyFor(Value result) {
  auto type = cast<kvern::TensorType>(result.getType());
  return empty(type.getShape(), getStorageType(type.getElementType()));
}

Value LoopBuilder::fill(ArrayRef<DimAttr> shape, TypedAttr value) {
  Value scalar = arith::ConstantOp::create(builder, location, value);
  return linalg::FillOp::create(builder, location, scalar,
                                empty(shape, value.getType()))
      .getResult(0);
}

Value LoopBuilder::index(OpFoldResult value) {
  return getValueOrCreateConstantIndexOp(builder, location, value);
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

LoopOperand LoopBuilder::broadcast(Value value, ArrayRef<DimAttr> from,
                                   ArrayRef<DimAttr> to) {
  SmallVector<AffineExpr> exprs;
  size_t shift = to.size() - from.size();
  for (auto [axis, dim] : llvm::enumerate(from)) {
    bool repeats = dim.isStatic(1) && !to[axis + shift].isStatic(1);
    exprs.push_back(repeats ? builder.getAffineConstantExpr(0)
                            : builder.getAffineDimExpr(axis + shift));
  }
  return {value, AffineMap::get(to.size(), 0, exprs, builder.getContext())};
}

LoopOperand LoopBuilder::without(Value value, int64_t rank, int64_t axis) {
  return {value, builder.getMultiDimIdentityMap(rank).dropResult(axis)};
}

LoopOperand LoopBuilder::all(Value value, int64_t rank) {
  return {value, builder.getMultiDimIdentityMap(rank)};
}

/// For each group, the one axis that may be longer than 1, or the first; fails
/// when a group has two such axes.
static FailureOr<SmallVector<int64_t>>
getLongAxes(ArrayRef<int64_t> shape, ArrayRef<ReassociationIndices> groups) {
  SmallVector<int64_t> axes;
  for (const ReassociationIndices &group : groups) {
    std::optional<int64_t> found;
    for (int64_t axis : group) {
      if (shape[axis] == 1) {
        continue;
      }
      if (found) {
        return failure();
      }
      found = axis;
    }
    axes.push_back(found.value_or(group.front()));
  }
  return axes;
}

/// The operand of reshapes that only add or drop axes of size 1.
static LoopOperand readThroughReshapes(LoopOperand operand) {
  while (true) {
    MLIRContext *context = operand.map.getContext();
    SmallVector<AffineExpr> exprs;
    if (auto expand = operand.value.getDefiningOp<tensor::ExpandShapeOp>()) {
      auto axes = getLongAxes(expand.getResultType().getShape(),
                              expand.getReassociationIndices());
      if (failed(axes)) {
        return operand;
      }
      for (int64_t axis : *axes) {
        exprs.push_back(operand.map.getResult(axis));
      }
      operand.value = expand.getSrc();
    } else if (auto collapse =
                   operand.value.getDefiningOp<tensor::CollapseShapeOp>()) {
      auto groups = collapse.getReassociationIndices();
      auto axes = getLongAxes(collapse.getSrcType().getShape(), groups);
      if (failed(axes)) {
        return operand;
      }
      exprs.assign(collapse.getSrcType().getRank(),
                   getAffineConstantExpr(0, context));
      for (auto [group, axis] : llvm::enumerate(*axes)) {
        exprs[axis] = operand.map.getResult(group);
      }
      operand.value = collapse.getSrc();
    } else {
      return operand;
    }
    operand.map = AffineMap::get(operand.map.getNumDims(), 0, exprs, context);
  }
}

Value LoopBuilder::getSplat(Value value) {
  DenseElementsAttr elements;
  if (!matchPattern(value, m_Constant(&elements)) || elements.empty() ||
      !elements.isSplat()) {
    return {};
  }
  return arith::ConstantOp::create(builder, location,
                                   elements.getSplatValue<TypedAttr>());
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

bool kvern::isEmpty(ArrayRef<DimAttr> shape) {
  return llvm::any_of(shape, [](DimAttr dim) { return dim.isStatic(0); });
}

Value LoopBuilder::elementwise(ArrayRef<DimAttr> shape, Type storageType,
                               ArrayRef<LoopOperand> operands, Body body) {
  if (isEmpty(shape)) {
    return empty(shape, storageType);
  }
  int64_t rank = shape.size();
  SmallVector<Value> constants;
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (LoopOperand operand : operands) {
    operand = readThroughReshapes(operand);
    constants.push_back(getSplat(operand.value));
    if (!constants.back()) {
      inputs.push_back(operand.value);
      maps.push_back(operand.map);
    }
  }
  maps.push_back(builder.getMultiDimIdentityMap(rank));
  Value init = empty(shape, storageType);
  auto op = linalg::GenericOp::create(
      builder, location, init.getType(), inputs, init, maps,
      SmallVector<IteratorType>(rank, IteratorType::parallel),
      [&](OpBuilder &nested, Location loc, ValueRange arguments) {
        SmallVector<Value> values;
        for (Value constant : constants) {
          if (!constant) {
            constant = arguments.front();
            arguments = arguments.drop_front();
          }
          values.push_back(constant);
        }
        ImplicitLocOpBuilder b(loc, nested);
        linalg::YieldOp::create(nested, loc, body(b, values));
      });
  return op.getResult(0);
}

Value LoopBuilder::reduce(ArrayRef<DimAttr> shape, int64_t axis,
                          TypedAttr initValue, ArrayRef<LoopOperand> operands,
                          Body body) {
  int64_t rank = shape.size();
  SmallVector<DimAttr> reduced(shape);
  reduced.erase(reduced.begin() + axis);
  Value init = fill(reduced, initValue);
  if (isEmpty(shape)) {
    return init;
  }
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (const LoopOperand &operand : operands) {
    inputs.push_back(operand.value);
    maps.push_back(operand.map);
  }
  maps.push_back(without({}, rank, axis).map);
  SmallVector<IteratorType> iterators(rank, IteratorType::parallel);
  iterators[axis] = IteratorType::reduction;
  auto op = linalg::GenericOp::create(
      builder, location, init.getType(), inputs, init, maps, iterators,
      [&](OpBuilder &nested, Location loc, ValueRange arguments) {
        ImplicitLocOpBuilder b(loc, nested);
        linalg::YieldOp::create(nested, loc, body(b, arguments));
      });
  return op.getResult(0);
}

Value LoopBuilder::product(ArrayRef<DimAttr> shape, Type elementType,
                           LoopOperand lhs, LoopOperand rhs) {
  int64_t rank = shape.size();
  Type storage = getStorageType(elementType);
  Type compute = getComputeType(elementType);
  Value init = fill(shape, cast<TypedAttr>(builder.getZeroAttr(compute)));
  SmallVector<IteratorType> iterators(rank + 1, IteratorType::parallel);
  iterators[rank] = IteratorType::reduction;
  auto op = linalg::GenericOp::create(
      builder, location, init.getType(), ValueRange{lhs.value, rhs.value}, init,
      ArrayRef{lhs.map, rhs.map,
               builder.getMultiDimIdentityMap(rank + 1).dropResult(rank)},
      iterators, [&](OpBuilder &nested, Location loc, ValueRange arguments) {
        ImplicitLocOpBuilder b(loc, nested);
        Scalar s(b, elementType);
        Value x = s.load(arguments[0]);
        Value y = s.load(arguments[1]);
        Value sum = s.accumulate(s.accumulateProduct(x, y), arguments[2]);
        linalg::YieldOp::create(nested, loc, sum);
      });
  Value result = op.getResult(0);
  if (storage == compute) {
    return result;
  }
  return elementwise(shape, storage, all(result, rank),
                     [&](ImplicitLocOpBuilder &b, ValueRange values) {
                       return Scalar(b, elementType).store(values[0]);
                     });
}

Value LoopBuilder::insert(Value source, Value destination,
                          ArrayRef<DimAttr> shape,
                          ArrayRef<OpFoldResult> offsets,
                          std::optional<int64_t> axis) {
  auto type = cast<RankedTensorType>(source.getType());
  OpFoldResult one = builder.getIndexAttr(1);
  SmallVector<OpFoldResult> sizes =
      dims.getFoldResults(builder, location, shape);
  if (axis) {
    sizes.insert(sizes.begin() + *axis, one);
  }
  SmallVector<OpFoldResult> strides(sizes.size(), one);
  // The copy is a loop so that what computes `source` can be fused into it.
  Value part = tensor::ExtractSliceOp::create(
      builder, location, type, destination, offsets, sizes, strides);
  AffineMap identity = builder.getMultiDimIdentityMap(type.getRank());
  auto copy = linalg::GenericOp::create(
      builder, location, type, source, part, ArrayRef{identity, identity},
      SmallVector<IteratorType>(type.getRank(), IteratorType::parallel),
      [](OpBuilder &nested, Location loc, ValueRange arguments) {
        linalg::YieldOp::create(nested, loc, arguments.front());
      });
  return tensor::InsertSliceOp::create(builder, location, copy.getResult(0),
                                       destination, offsets, sizes, strides);
}
