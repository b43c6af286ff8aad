//===- Dim.cpp - Sizes and their algebra ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Canonical form. A dimension is a polynomial: a map from monomials to non-zero
// integer coefficients, where a monomial is a sorted list of factors and a
// factor is a name or a floordiv or mod that does not divide out. The affine
// expression that an attribute stores is rebuilt from that map in one fixed
// order, so equal polynomials are equal attributes.
//
//===----------------------------------------------------------------------===//

#include "dialect/Kvern.h"
#include "llvm/Support/MathExtras.h"

#include <map>

using namespace mlir;
using namespace kvern;

namespace {

/// A total order that does not depend on addresses: kind, then position or
/// value, then operands.
int compare(AffineExpr a, AffineExpr b) {
  if (a == b) {
    return 0;
  }
  if (a.getKind() != b.getKind()) {
    // Names come before the composite factors.
    auto rank = [](AffineExpr e) {
      return isa<AffineSymbolExpr>(e) ? -1 : static_cast<int>(e.getKind());
    };
    return rank(a) < rank(b) ? -1 : 1;
  }
  if (auto symbol = dyn_cast<AffineSymbolExpr>(a)) {
    return symbol.getPosition() < cast<AffineSymbolExpr>(b).getPosition() ? -1
                                                                          : 1;
  }
  if (auto constant = dyn_cast<AffineConstantExpr>(a)) {
    return constant.getValue() < cast<AffineConstantExpr>(b).getValue() ? -1
                                                                        : 1;
  }
  auto lhs = cast<AffineBinaryOpExpr>(a);
  auto rhs = cast<AffineBinaryOpExpr>(b);
  if (int order = compare(lhs.getLHS(), rhs.getLHS())) {
    return order;
  }
  return compare(lhs.getRHS(), rhs.getRHS());
}

using Monomial = SmallVector<AffineExpr, 2>;

/// More factors first, so that the constant is last; then by the factors.
struct MonomialLess {
  bool operator()(const Monomial &a, const Monomial &b) const {
    if (a.size() != b.size()) {
      return a.size() > b.size();
    }
    for (auto [x, y] : llvm::zip_equal(a, b)) {
      if (int order = compare(x, y)) {
        return order < 0;
      }
    }
    return false;
  }
};

class Polynomial {
public:
  using Terms = std::map<Monomial, int64_t, MonomialLess>;

  explicit Polynomial(MLIRContext *context) : context(context) {}

  /// What a symbol stands for, by its position.
  using Leaf = function_ref<std::optional<Polynomial>(unsigned)>;

  static Polynomial factor(AffineExpr expr) {
    Polynomial result(expr.getContext());
    result.terms[Monomial{expr}] = 1;
    return result;
  }
  /// nullopt on overflow and on division by zero, as for `apply`.
  static std::optional<Polynomial> fromExpr(AffineExpr expr, Leaf leaf);
  static std::optional<Polynomial>
  apply(AffineExprKind kind, const Polynomial &lhs, const Polynomial &rhs);
  AffineExpr toExpr() const;

  const Terms &getTerms() const { return terms; }

private:
  bool add(const Monomial &monomial, int64_t coefficient) {
    auto [it, inserted] = terms.try_emplace(monomial, coefficient);
    if (!inserted && llvm::AddOverflow(it->second, coefficient, it->second)) {
      return false;
    }
    if (it->second == 0) {
      terms.erase(it);
    }
    return true;
  }
  std::optional<int64_t> getConstant() const {
    if (terms.empty()) {
      return 0;
    }
    if (terms.size() == 1 && terms.begin()->first.empty()) {
      return terms.begin()->second;
    }
    return std::nullopt;
  }

  static std::optional<Polynomial> sum(Polynomial a, const Polynomial &b,
                                       int64_t factor = 1);
  static std::optional<Polynomial> product(const Polynomial &a,
                                           const Polynomial &b);
  static std::optional<Polynomial>
  divide(AffineExprKind kind, const Polynomial &a, const Polynomial &b);

  MLIRContext *context;
  Terms terms;
};

std::optional<Polynomial> Polynomial::sum(Polynomial a, const Polynomial &b,
                                          int64_t factor) {
  for (const auto &[monomial, coefficient] : b.terms) {
    int64_t scaled;
    if (llvm::MulOverflow(coefficient, factor, scaled) ||
        !a.add(monomial, scaled)) {
      return std::nullopt;
    }
  }
  return a;
}

std::optional<Polynomial> Polynomial::product(const Polynomial &a,
                                              const Polynomial &b) {
  Polynomial result(a.context);
  for (const auto &[x, cx] : a.terms) {
    for (const auto &[y, cy] : b.terms) {
      Monomial monomial(x);
      monomial.append(y.begin(), y.end());
      llvm::sort(monomial,
                 [](AffineExpr l, AffineExpr r) { return compare(l, r) < 0; });
      int64_t coefficient;
      if (llvm::MulOverflow(cx, cy, coefficient) ||
          !result.add(monomial, coefficient)) {
        return std::nullopt;
      }
    }
  }
  return result;
}

/// `monomial` without the factors of `divisor`, or nullopt when one is absent.
std::optional<Monomial> without(const Monomial &monomial,
                                const Monomial &divisor) {
  Monomial rest(monomial);
  for (AffineExpr factor : divisor) {
    auto *it = llvm::find(rest, factor);
    if (it == rest.end()) {
      return std::nullopt;
    }
    rest.erase(it);
  }
  return rest;
}

/// a floordiv b or a mod b. Terms that the divisor, when it is one term,
/// divides go out of the division; the rest stays as one opaque factor.
std::optional<Polynomial> Polynomial::divide(AffineExprKind kind,
                                             const Polynomial &a,
                                             const Polynomial &b) {
  if (b.terms.empty()) {
    return std::nullopt;
  }
  bool isMod = kind == AffineExprKind::Mod;
  Polynomial quotient(a.context);
  Polynomial rest = a;
  if (b.terms.size() == 1) {
    const auto &[divisor, coefficient] = *b.terms.begin();
    for (const auto &[monomial, value] : a.terms) {
      std::optional<Monomial> left = without(monomial, divisor);
      if (!left || (coefficient == -1 && value == INT64_MIN) ||
          value % coefficient != 0) {
        continue;
      }
      rest.terms.erase(monomial);
      if (!quotient.add(*left, value / coefficient)) {
        return std::nullopt;
      }
    }
  } else if (a.terms == b.terms) {
    rest.terms.clear();
    quotient.terms[Monomial()] = 1;
  }
  if (std::optional<int64_t> x = rest.getConstant()) {
    if (std::optional<int64_t> y = b.getConstant()) {
      if (*x == INT64_MIN && *y == -1) {
        return std::nullopt;
      }
      int64_t q = llvm::divideFloorSigned(*x, *y);
      rest.terms.clear();
      if (!quotient.add(Monomial(), q) ||
          (isMod && *x != q * *y && !rest.add(Monomial(), *x - q * *y))) {
        return std::nullopt;
      }
      return isMod ? rest : quotient;
    }
  }
  if (rest.terms.empty()) {
    return isMod ? rest : quotient;
  }
  AffineExpr opaque = getAffineBinaryOpExpr(kind, rest.toExpr(), b.toExpr());
  Polynomial factor(a.context);
  if (auto constant = dyn_cast<AffineConstantExpr>(opaque)) {
    if (constant.getValue() != 0) {
      factor.terms[Monomial()] = constant.getValue();
    }
  } else {
    factor.terms[Monomial{opaque}] = 1;
  }
  return isMod ? factor : sum(quotient, factor);
}

std::optional<Polynomial> Polynomial::fromExpr(AffineExpr expr, Leaf leaf) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    Polynomial result(expr.getContext());
    if (constant.getValue() != 0) {
      result.terms[Monomial()] = constant.getValue();
    }
    return result;
  }
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr)) {
    return leaf(symbol.getPosition());
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary) {
    return std::nullopt;
  }
  std::optional<Polynomial> lhs = fromExpr(binary.getLHS(), leaf);
  std::optional<Polynomial> rhs = fromExpr(binary.getRHS(), leaf);
  return lhs && rhs ? apply(expr.getKind(), *lhs, *rhs) : std::nullopt;
}

std::optional<Polynomial> Polynomial::apply(AffineExprKind kind,
                                            const Polynomial &lhs,
                                            const Polynomial &rhs) {
  Polynomial zero(lhs.context);
  switch (kind) {
  case AffineExprKind::Add:
    return sum(lhs, rhs);
  case AffineExprKind::Mul:
    return product(lhs, rhs);
  case AffineExprKind::CeilDiv: {
    // ceil(a / b) = -floor(-a / b)
    std::optional<Polynomial> negated = sum(zero, lhs, -1);
    std::optional<Polynomial> floor =
        negated ? divide(AffineExprKind::FloorDiv, *negated, rhs)
                : std::nullopt;
    return floor ? sum(zero, *floor, -1) : std::nullopt;
  }
  default:
    return divide(kind, lhs, rhs);
  }
}

AffineExpr Polynomial::toExpr() const {
  AffineExpr result = getAffineConstantExpr(0, context);
  bool first = true;
  for (const auto &[monomial, coefficient] : terms) {
    AffineExpr term;
    for (AffineExpr factor : monomial) {
      term = term ? term * factor : factor;
    }
    term =
        term ? term * coefficient : getAffineConstantExpr(coefficient, context);
    result = first ? term : result + term;
    first = false;
  }
  return result;
}

} // namespace

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

/// Polynomials over one sorted list of names.
class NameSpace {
public:
  explicit NameSpace(SmallVector<StringAttr> all) : names(std::move(all)) {
    llvm::sort(names, [](StringAttr a, StringAttr b) {
      return a.getValue() < b.getValue();
    });
    names.erase(llvm::unique(names), names.end());
  }

  Polynomial get(StringAttr name) const {
    return Polynomial::factor(getAffineSymbolExpr(
        llvm::find(names, name) - names.begin(), name.getContext()));
  }
  std::optional<Polynomial> get(ArrayRef<StringAttr> symbols,
                                AffineExpr expr) const {
    return Polynomial::fromExpr(expr, [&](unsigned position) {
      return std::optional(get(symbols[position]));
    });
  }
  std::optional<Polynomial> get(DimAttr dim) const {
    return get(dim.getSymbols(), dim.getExpr());
  }
  /// The attribute, over those names only that are in use.
  DimAttr toDim(MLIRContext *context,
                const std::optional<Polynomial> &polynomial) const {
    if (!polynomial) {
      return {};
    }
    AffineExpr expr = polynomial->toExpr();
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
  SmallVector<StringAttr> names;
};

} // namespace

DimAttr DimAttr::getCanonical(MLIRContext *context,
                              ArrayRef<StringAttr> symbols, AffineExpr expr) {
  NameSpace names{SmallVector<StringAttr>(symbols)};
  return names.toDim(context, names.get(symbols, expr));
}

DimAttr DimAttr::combine(AffineExprKind kind, DimAttr lhs, DimAttr rhs) {
  SmallVector<StringAttr> all(lhs.getSymbols());
  llvm::append_range(all, rhs.getSymbols());
  NameSpace names(std::move(all));
  std::optional<Polynomial> a = names.get(lhs);
  std::optional<Polynomial> b = names.get(rhs);
  return names.toDim(lhs.getContext(),
                     a && b ? Polynomial::apply(kind, *a, *b) : std::nullopt);
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
  NameSpace names(std::move(all));
  return names.toDim(getContext(),
                     Polynomial::fromExpr(getExpr(), [&](unsigned position) {
                       StringAttr name = getSymbols()[position];
                       DimAttr with = mapping.lookup(name);
                       return with ? names.get(with) : names.get(name);
                     }));
}
