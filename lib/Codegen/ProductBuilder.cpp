// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the lowerings of matrix products share: addresses, vectors, arithmetic.
#include "lib/Codegen/ProductBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace kvern;

ProductBuilder::ProductBuilder(Contraction &product, OpBuilder &builder,
                               const ProductBlocking &blocking)
    : LoopBuilder(product.op.getLoc(), builder), product(product),
      blocking(blocking), point(product.op.getNumLoops()) {
  element = getElementTypeOrSelf(product.op.getOutputs()[0].getType());
  vector = VectorType::get({blocking.lanes}, element);
  rows = sizeOf(product.m);
  columns = sizeOf(product.n);
  depth = sizeOf(product.k);
}

Value ProductBuilder::sizeOf(std::optional<unsigned> dim) {
  if (!dim) {
    return index(1);
  }
  for (OpOperand &operand : product.op->getOpOperands()) {
    AffineMap map = product.op.getMatchingIndexingMap(&operand);
    if (auto axis = map.getResultPosition(getAffineDimExpr(*dim))) {
      return getValueOrCreateConstantIndexOp(
          *this, getLoc(),
          memref::getMixedSize(*this, getLoc(), operand.get(), *axis));
    }
  }
  llvm_unreachable("a loop of a product is in the map of an operand");
}

Value ProductBuilder::equal(Value a, Value b) {
  return createOrFold<arith::CmpIOp>(arith::CmpIPredicate::eq, a, b);
}
Value ProductBuilder::select(Value condition, Value a, Value b) {
  return createOrFold<arith::SelectOp>(condition, a, b);
}
Value ProductBuilder::boolean(bool value) {
  return arith::ConstantOp::create(*this, getBoolAttr(value));
}
Value ProductBuilder::roundUp(Value a, int64_t multiple) {
  return roundDown(add(a, multiple - 1), multiple);
}
Value ProductBuilder::roundDown(Value a, int64_t multiple) {
  return multiple == 1 ? a : createOrFold<arith::AndIOp>(a, index(-multiple));
}
Value ProductBuilder::zeros() {
  return arith::ConstantOp::create(*this, getZeroAttr(vector));
}

bool ProductBuilder::isContiguous(unsigned operand,
                                  std::optional<unsigned> dim) {
  Value memory = product.op->getOperand(operand);
  AffineMap map =
      product.op.getMatchingIndexingMap(&product.op->getOpOperand(operand));
  auto type = dyn_cast<MemRefType>(memory.getType());
  return dim && type && map.getNumResults() != 0 &&
         map.getResults().back() == getAffineDimExpr(*dim) &&
         type.isLastDimUnitStride();
}

SmallVector<Value> ProductBuilder::address(unsigned operand, Value m, Value n,
                                           Value k) {
  AffineMap map =
      product.op.getMatchingIndexingMap(&product.op->getOpOperand(operand));
  SmallVector<Value> result;
  for (AffineExpr expr : map.getResults()) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim) {
      result.push_back(index(0));
    } else if (dim.getPosition() == product.m) {
      result.push_back(m);
    } else if (dim.getPosition() == product.n) {
      result.push_back(n);
    } else if (dim.getPosition() == product.k) {
      result.push_back(k);
    } else {
      result.push_back(point[dim.getPosition()]);
    }
  }
  return result;
}

SmallVector<Value> ProductBuilder::inputAddress(unsigned operand, Value mn,
                                                Value k) {
  return address(operand, mn, mn, k);
}

Value ProductBuilder::extend(unsigned operand, Value value) {
  StringRef name = product.extensions[operand];
  Type type = isa<VectorType>(value.getType()) ? Type(vector) : element;
  if (name.empty()) {
    return value;
  }
  OperationState state(getLoc(), name, value, type);
  return create(state)->getResult(0);
}

bool ProductBuilder::loadsMasked(unsigned operand) {
  Type stored = getElementTypeOrSelf(product.op->getOperand(operand).getType());
  return stored.getIntOrFloatBitWidth() >= blocking.maskedLoadBits;
}

bool ProductBuilder::storesMasked() {
  return element.getIntOrFloatBitWidth() >= blocking.maskedStoreBits;
}

Value ProductBuilder::load(unsigned operand, Value mn, Value k) {
  Value memory = product.op->getOperand(operand);
  return extend(operand, memref::LoadOp::create(*this, memory,
                                                inputAddress(operand, mn, k)));
}

Value ProductBuilder::mask(Value length) {
  auto type = VectorType::get({blocking.lanes}, getI1Type());
  return vector::CreateMaskOp::create(*this, type, length);
}

Value ProductBuilder::loadVector(unsigned operand, Value mn, Value k,
                                 Value length) {
  Value memory = product.op->getOperand(operand);
  if (length && !loadsMasked(operand)) {
    // One by one, along the axis that is contiguous.
    bool alongK = isContiguous(operand, product.k);
    return loop(index(0), min(length, index(blocking.lanes)), 1, zeros(),
                [&](Value lane, ValueRange carried) -> SmallVector<Value> {
                  Value one = alongK ? load(operand, mn, add(k, lane))
                                     : load(operand, add(mn, lane), k);
                  return {vector::InsertOp::create(*this, one, carried[0],
                                                   OpFoldResult(lane))};
                })[0];
  }
  SmallVector<Value> indices = inputAddress(operand, mn, k);
  auto type =
      VectorType::get({blocking.lanes}, getElementTypeOrSelf(memory.getType()));
  Value loaded;
  if (length) {
    Value zero = arith::ConstantOp::create(*this, getZeroAttr(type));
    loaded = vector::MaskedLoadOp::create(*this, type, memory, indices,
                                          mask(length), zero);
  } else {
    loaded = vector::LoadOp::create(*this, type, memory, indices);
  }
  return extend(operand, loaded);
}

Value ProductBuilder::loadPanel(Value panel, Value k, int64_t v) {
  unsigned rhs = product.rhs;
  Value memory = product.op->getOperand(rhs);
  auto type =
      VectorType::get({blocking.lanes}, getElementTypeOrSelf(memory.getType()));
  SmallVector<Value> indices = address(rhs, Value(), Value(), k);
  indices[indices.size() - 3] = panel;
  indices.back() = index(v * blocking.lanes);
  return extend(rhs, vector::LoadOp::create(*this, type, memory, indices));
}

void ProductBuilder::prefetchPanel(Value panel, Value k) {
  constexpr int64_t kLineBytes = 64;
  unsigned rhs = product.rhs;
  Value memory = product.op->getOperand(rhs);
  int64_t bytes =
      getElementTypeOrSelf(memory.getType()).getIntOrFloatBitWidth() / 8;
  for (int64_t at = 0; at < product.panel * bytes; at += kLineBytes) {
    SmallVector<Value> indices = address(rhs, Value(), Value(), k);
    indices[indices.size() - 3] = panel;
    indices.back() = index(at / bytes);
    // Into the second cache: the first one is in use.
    memref::PrefetchOp::create(*this, memory, indices, /*isWrite=*/false,
                               /*localityHint=*/2, /*isDataCache=*/true);
  }
}

Value ProductBuilder::loadOut(Value m, Value n, bool vectors, Value mask) {
  Value memory = product.op.getOutputs()[0];
  SmallVector<Value> indices = address(2, m, n, Value());
  if (!vectors) {
    return memref::LoadOp::create(*this, memory, indices);
  }
  if (mask) {
    return vector::MaskedLoadOp::create(*this, vector, memory, indices, mask,
                                        zeros());
  }
  return vector::LoadOp::create(*this, vector, memory, indices);
}

void ProductBuilder::storeOut(Value value, Value m, Value n, Value mask) {
  Value memory = product.op.getOutputs()[0];
  SmallVector<Value> indices = address(2, m, n, Value());
  if (!isa<VectorType>(value.getType())) {
    memref::StoreOp::create(*this, value, memory, indices);
  } else if (mask) {
    vector::MaskedStoreOp::create(*this, memory, indices, mask, value);
  } else {
    vector::StoreOp::create(*this, value, memory, indices);
  }
}

Value ProductBuilder::splat(Value scalar) {
  return vector::BroadcastOp::create(*this, vector, scalar);
}

Value ProductBuilder::plus(Value a, Value b) {
  if (isa<FloatType>(element)) {
    return arith::AddFOp::create(*this, a, b);
  }
  return arith::AddIOp::create(*this, a, b);
}

Value ProductBuilder::multiplyAdd(Value a, Value b, Value sum) {
  if (isa<FloatType>(element)) {
    return vector::FMAOp::create(*this, a, b, sum);
  }
  return arith::AddIOp::create(*this, arith::MulIOp::create(*this, a, b), sum);
}

Value ProductBuilder::reduce(Value value) {
  auto flags = isa<FloatType>(element) ? arith::FastMathFlags::reassoc
                                       : arith::FastMathFlags::none;
  return vector::ReductionOp::create(*this, vector::CombiningKind::ADD, value,
                                     flags);
}
