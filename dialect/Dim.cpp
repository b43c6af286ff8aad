//===- Dim.cpp - Sizes and their algebra ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Kvern.h"
#include "dialect/Polynomial.h"

using namespace mlir;
using namespace kvern;

//===----------------------------------------------------------------------===//
// Construction
//===----------------------------------------------------------------------===//

DimAttr DimAttr::getStatic(MLIRContext *context, int64_t value) {
  return get(context, ArrayRef<StringAttr>(),
             getAffineConstantExpr(value, context));
}

DimAttr DimAttr::getSymbol(MLIRContext *context, StringRef name) {
  return get(context, ArrayRef<StringAttr>(StringAttr::get(context, name)),
             getAffineSymbolExpr(0, context));
}

namespace {

/// What is longer is refused, since the work grows with the length.
constexpr int maxNodes = 500;
constexpr int maxDivisionDepth = 32;

/// Whether `expr` has at most `budget` nodes, which are taken from it, and at
/// most `depth` divisions within each other.
bool fitsIn(AffineExpr expr, int &budget, int depth = maxDivisionDepth) {
  if (--budget < 0 || depth < 0) {
    return false;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary) {
    return true;
  }
  bool isDivision = !llvm::is_contained(
      {AffineExprKind::Add, AffineExprKind::Mul}, expr.getKind());
  int inner = depth - isDivision;
  return fitsIn(binary.getLHS(), budget, inner) &&
         fitsIn(binary.getRHS(), budget, inner);
}

/// Polynomials over one sorted list of names.
class NameSpace {
public:
  NameSpace(MLIRContext *context, SmallVector<StringAttr> all)
      : divisions(context), names(std::move(all)) {
    llvm::sort(names, [](StringAttr a, StringAttr b) {
      return a.getValue() < b.getValue();
    });
    names.erase(llvm::unique(names), names.end());
  }

  Polynomial get(StringAttr name) {
    return Polynomial::factor(
        divisions, getAffineSymbolExpr(llvm::find(names, name) - names.begin(),
                                       divisions.context));
  }
  std::optional<Polynomial> get(AffineExpr expr, Polynomial::Leaf leaf) {
    return Polynomial::fromExpr(divisions, expr, leaf);
  }
  std::optional<Polynomial> get(ArrayRef<StringAttr> symbols, AffineExpr expr) {
    return get(expr, [&](unsigned position) {
      return std::optional(get(symbols[position]));
    });
  }
  std::optional<Polynomial> get(DimAttr dim) {
    return get(dim.getSymbols(), dim.getExpr());
  }
  /// The attribute, over those names only that are in use.
  DimAttr toDim(const std::optional<Polynomial> &polynomial) {
    if (!polynomial || polynomial->isTooLong()) {
      return {};
    }
    MLIRContext *context = divisions.context;
    AffineExpr expr = polynomial->toExpr(context);
    int budget = maxNodes;
    if (!fitsIn(expr, budget)) {
      return {};
    }
    SmallVector<StringAttr> used;
    SmallVector<AffineExpr> positions;
    for (auto [i, name] : llvm::enumerate(names)) {
      positions.push_back(getAffineSymbolExpr(used.size(), context));
      if (expr.isFunctionOfSymbol(i)) {
        used.push_back(name);
      }
    }
    return DimAttr::get(context, used,
                        expr.replaceDimsAndSymbols({}, positions));
  }

private:
  Divisions divisions;
  SmallVector<StringAttr> names;
};

} // namespace

DimAttr DimAttr::getCanonical(MLIRContext *context,
                              ArrayRef<StringAttr> symbols, AffineExpr expr) {
  NameSpace names(context, SmallVector<StringAttr>(symbols));
  return names.toDim(names.get(symbols, expr));
}

DimAttr DimAttr::combine(AffineExprKind kind, DimAttr lhs, DimAttr rhs) {
  SmallVector<StringAttr> all(lhs.getSymbols());
  llvm::append_range(all, rhs.getSymbols());
  NameSpace names(lhs.getContext(), std::move(all));
  std::optional<Polynomial> a = names.get(lhs);
  std::optional<Polynomial> b = names.get(rhs);
  return names.toDim(a && b ? Polynomial::apply(kind, *a, *b) : std::nullopt);
}

DimAttr DimAttr::operator+(DimAttr rhs) const {
  return combine(AffineExprKind::Add, *this, rhs);
}
DimAttr DimAttr::operator-(DimAttr rhs) const {
  DimAttr negated = rhs * -1;
  return negated ? *this + negated : DimAttr();
}
DimAttr DimAttr::operator*(DimAttr rhs) const {
  return combine(AffineExprKind::Mul, *this, rhs);
}
DimAttr DimAttr::operator+(int64_t rhs) const {
  return *this + getStatic(getContext(), rhs);
}
DimAttr DimAttr::operator*(int64_t rhs) const {
  return *this * getStatic(getContext(), rhs);
}

std::optional<int64_t> DimAttr::getStaticValue() const {
  if (auto constant = dyn_cast<AffineConstantExpr>(getExpr())) {
    return constant.getValue();
  }
  return std::nullopt;
}

StringAttr DimAttr::getSymbolName() const {
  return isa<AffineSymbolExpr>(getExpr()) ? getSymbols().front() : StringAttr();
}

DimAttr
DimAttr::substitute(const DenseMap<StringAttr, DimAttr> &mapping) const {
  SmallVector<StringAttr> all(getSymbols());
  for (StringAttr name : getSymbols()) {
    if (DimAttr with = mapping.lookup(name)) {
      llvm::append_range(all, with.getSymbols());
    }
  }
  NameSpace names(getContext(), std::move(all));
  return names.toDim(names.get(getExpr(), [&](unsigned position) {
    StringAttr name = getSymbols()[position];
    DimAttr with = mapping.lookup(name);
    return with ? names.get(with) : names.get(name);
  }));
}
