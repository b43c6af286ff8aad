//===- DimNames.cpp - Dimension names and their values --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Support/DimNames.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace kvern;

SmallVector<StringAttr> kvern::collectDimNames(func::FuncOp function) {
  llvm::SetVector<StringAttr> names;
  AttrTypeWalker walker;
  walker.addWalk([&](DimAttr dim) {
    names.insert(dim.getSymbols().begin(), dim.getSymbols().end());
  });
  function->walk([&](Operation *op) {
    walker.walk(op->getAttrDictionary());
    for (Type type : op->getResultTypes()) {
      walker.walk(type);
    }
    for (Region &region : op->getRegions()) {
      for (BlockArgument argument : region.getArguments()) {
        walker.walk(argument.getType());
      }
    }
  });
  SmallVector<StringAttr> sorted = names.takeVector();
  llvm::sort(sorted, [](StringAttr a, StringAttr b) {
    return a.getValue() < b.getValue();
  });
  return sorted;
}

DimValues::DimValues(func::FuncOp kernel) {
  for (BlockArgument argument : kernel.getArguments()) {
    if (auto name = kernel.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                        symbolAttrName)) {
      set(name, argument);
    }
  }
}

namespace {

/// Emits the arithmetic of one expression.
class Expander {
public:
  Expander(OpBuilder &builder, Location location, ArrayRef<Value> symbols)
      : builder(builder), location(location), symbols(symbols) {}

  Value expand(AffineExpr expr) {
    if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
      return getConstant(constant.getValue());
    }
    if (auto symbol = dyn_cast<AffineSymbolExpr>(expr)) {
      return symbols[symbol.getPosition()];
    }
    auto binary = cast<AffineBinaryOpExpr>(expr);
    Value lhs = expand(binary.getLHS());
    switch (expr.getKind()) {
    case AffineExprKind::Add:
      // a + b * -1 is a difference.
      if (auto product = dyn_cast<AffineBinaryOpExpr>(binary.getRHS());
          product && product.getKind() == AffineExprKind::Mul &&
          product.getRHS() == -1) {
        return arith::SubIOp::create(builder, location, lhs,
                                     expand(product.getLHS()));
      }
      return arith::AddIOp::create(builder, location, lhs,
                                   expand(binary.getRHS()));
    case AffineExprKind::Mul:
      return arith::MulIOp::create(builder, location, lhs,
                                   expand(binary.getRHS()));
    case AffineExprKind::FloorDiv:
      return arith::FloorDivSIOp::create(builder, location, lhs,
                                         expandDivisor(binary.getRHS()));
    case AffineExprKind::CeilDiv:
      return arith::CeilDivSIOp::create(builder, location, lhs,
                                        expandDivisor(binary.getRHS()));
    default: {
      // a mod b = a - a floordiv b * b
      Value rhs = expandDivisor(binary.getRHS());
      Value quotient = arith::FloorDivSIOp::create(builder, location, lhs, rhs);
      Value whole = arith::MulIOp::create(builder, location, quotient, rhs);
      return arith::SubIOp::create(builder, location, lhs, whole);
    }
    }
  }

private:
  Value getConstant(int64_t value) {
    return arith::ConstantIndexOp::create(builder, location, value);
  }

  Value expandDivisor(AffineExpr expr) {
    Value divisor = expand(expr);
    if (isa<AffineConstantExpr>(expr)) {
      return divisor;
    }
    Value isZero = arith::CmpIOp::create(
        builder, location, arith::CmpIPredicate::eq, divisor, getConstant(0));
    return arith::SelectOp::create(builder, location, isZero, getConstant(1),
                                   divisor);
  }

  OpBuilder &builder;
  Location location;
  ArrayRef<Value> symbols;
};

} // namespace

Value DimValues::get(OpBuilder &builder, Location location, DimAttr dim) const {
  SmallVector<Value> symbols;
  for (StringAttr name : dim.getSymbols()) {
    symbols.push_back(values.lookup(name));
    if (!symbols.back()) {
      return {};
    }
  }
  return Expander(builder, location, symbols).expand(dim.getExpr());
}

OpFoldResult DimValues::getFoldResult(OpBuilder &builder, Location location,
                                      DimAttr dim) const {
  if (std::optional<int64_t> size = dim.getStaticValue()) {
    return builder.getIndexAttr(*size);
  }
  return get(builder, location, dim);
}

SmallVector<OpFoldResult>
DimValues::getFoldResults(OpBuilder &builder, Location location,
                          ArrayRef<DimAttr> shape) const {
  SmallVector<OpFoldResult> results;
  for (DimAttr dim : shape) {
    results.push_back(getFoldResult(builder, location, dim));
  }
  return results;
}

SmallVector<Value> DimValues::getDynamicSizes(OpBuilder &builder,
                                              Location location,
                                              ArrayRef<DimAttr> shape) const {
  SmallVector<Value> sizes;
  for (DimAttr dim : shape) {
    if (!dim.isStatic()) {
      sizes.push_back(get(builder, location, dim));
    }
  }
  return sizes;
}
