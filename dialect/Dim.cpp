//===- Dim.cpp - Sizes and their algebra ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Canonical form. A dimension is a polynomial: a map from monomials to non-zero
// integer coefficients, where a monomial is a sorted list of factors and a
// factor is a name or a floordiv in lowest terms; a mod b is
// a - b * (a floordiv b). The affine expression that an attribute stores is
// rebuilt from that map in one fixed order, with mod put back where it fits, so
// equal polynomials are equal attributes.
//
//===----------------------------------------------------------------------===//

#include "dialect/Kvern.h"
#include "llvm/Support/MathExtras.h"

#include <map>
#include <numeric>

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

/// What is longer is refused, since the work grows with the length.
constexpr size_t maxTerms = 1000;
constexpr int maxNodes = 500;
constexpr int maxDivisionDepth = 32;

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

struct Divisions;

class Polynomial {
public:
  using Terms = std::map<Monomial, int64_t, MonomialLess>;

  explicit Polynomial(Divisions &divisions) : divisions(&divisions) {}

  /// What a symbol stands for, by its position.
  using Leaf = function_ref<std::optional<Polynomial>(unsigned)>;

  static Polynomial factor(Divisions &divisions, AffineExpr expr) {
    Polynomial result(divisions);
    result.terms[Monomial{expr}] = 1;
    return result;
  }
  /// nullopt on overflow and on division by zero, as for `apply`.
  static std::optional<Polynomial> fromExpr(Divisions &divisions,
                                            AffineExpr expr, Leaf leaf);
  static std::optional<Polynomial>
  apply(AffineExprKind kind, const Polynomial &lhs, const Polynomial &rhs);
  AffineExpr toExpr(MLIRContext *context) const;
  bool isTooLong() const { return terms.size() > maxTerms; }

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
  static std::optional<Polynomial> floorDiv(const Polynomial &a,
                                            const Polynomial &b);
  static std::optional<Polynomial> floorDivReduced(Polynomial rest,
                                                   int64_t divisor);
  static std::optional<Polynomial> merge(const Polynomial &rest,
                                         int64_t divisor);
  static std::optional<Polynomial> floorDivOpaque(const Polynomial &a,
                                                  const Polynomial &b);
  bool contract();
  std::optional<Polynomial> contractMod(const Monomial &monomial,
                                        int64_t coefficient,
                                        AffineExpr divided) const;
  /// Whether each term of `part` is one of these, or a part of one.
  bool contains(const Polynomial &part) const;

  Divisions *divisions;
  Terms terms;
};

/// The operands of each floordiv that is a factor of a polynomial.
struct Divisions {
  explicit Divisions(MLIRContext *context) : context(context) {}

  MLIRContext *context;
  llvm::DenseMap<AffineExpr, std::pair<Polynomial, Polynomial>> operands;
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
  Polynomial result(*a.divisions);
  for (const auto &[x, cx] : a.terms) {
    for (const auto &[y, cy] : b.terms) {
      Monomial monomial(x);
      monomial.append(y.begin(), y.end());
      llvm::sort(monomial,
                 [](AffineExpr l, AffineExpr r) { return compare(l, r) < 0; });
      int64_t coefficient;
      if (llvm::MulOverflow(cx, cy, coefficient) ||
          !result.add(monomial, coefficient) || result.isTooLong()) {
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

/// What `floorDiv` makes of a division, so that equal ones have one form:
///
/// 1. The first coefficient of b is positive: a / b = -a / -b.
/// 2. a = q b + r by long division of polynomials, each coefficient of r from 0
///    to below that of b. q is outside, r stays.
///
/// and, where b is a number d:
///
/// 3. d and the coefficients of the names in r have no common divisor.
/// 4. Of r and d - 1 - r, reduced by d, the one with the smaller first
///    coefficient stays, since floor(r / d) = -floor((d - 1 - r) / d).
/// 5. floor((floor(x / e) + y) / d) is floor((x + e y) / (e d)).
std::optional<Polynomial> Polynomial::floorDiv(const Polynomial &a,
                                               const Polynomial &b) {
  if (b.terms.empty()) {
    return std::nullopt;
  }
  if (b.terms.begin()->second < 0) {
    Polynomial zero(*a.divisions);
    std::optional<Polynomial> dividend = sum(zero, a, -1);
    std::optional<Polynomial> divisor = sum(zero, b, -1);
    return dividend && divisor ? floorDiv(*dividend, *divisor) : std::nullopt;
  }
  Polynomial quotient(*a.divisions);
  Polynomial rest = a;
  const auto &[leading, divisor] = *b.terms.begin();
  // A step changes its own term and those after it.
  for (auto it = rest.terms.begin(); it != rest.terms.end();) {
    Monomial monomial = it->first;
    std::optional<Monomial> left = without(monomial, leading);
    int64_t times = left ? llvm::divideFloorSigned(it->second, divisor) : 0;
    if (times != 0) {
      Polynomial part(*a.divisions);
      part.terms[*left] = times;
      std::optional<Polynomial> whole = product(part, b);
      std::optional<Polynomial> less =
          whole ? sum(rest, *whole, -1) : std::nullopt;
      if (!less || !quotient.add(*left, times)) {
        return std::nullopt;
      }
      rest = std::move(*less);
    }
    it = rest.terms.upper_bound(monomial);
  }
  if (rest.terms.empty()) {
    return quotient;
  }
  std::optional<Polynomial> fraction = b.getConstant()
                                           ? floorDivReduced(rest, divisor)
                                           : floorDivOpaque(rest, b);
  return fraction ? sum(quotient, *fraction) : std::nullopt;
}

/// Steps 3 to 5.
std::optional<Polynomial> Polynomial::floorDivReduced(Polynomial rest,
                                                      int64_t divisor) {
  Polynomial outside(*rest.divisions);
  if (rest.getConstant()) {
    return outside;
  }
  int64_t common = divisor;
  for (const auto &[monomial, coefficient] : rest.terms) {
    common = monomial.empty() ? common : std::gcd(common, coefficient);
  }
  if (common > 1) {
    Polynomial scaled(*rest.divisions);
    for (const auto &[monomial, coefficient] : rest.terms) {
      scaled.add(monomial, coefficient / common);
    }
    return divisor == common ? std::optional(scaled)
                             : floorDivReduced(scaled, divisor / common);
  }

  // floor(r / d) = sum of the monomials - floor(flipped / d)
  Polynomial flipped(*rest.divisions);
  flipped.add(Monomial(), divisor - 1);
  for (const auto &[monomial, coefficient] : rest.terms) {
    flipped.add(monomial,
                monomial.empty() ? -coefficient : divisor - coefficient);
    if (!monomial.empty()) {
      outside.add(monomial, 1);
    }
  }
  // Numbers do not decide: (n + 1) floordiv 2 is shorter than n - n floordiv 2.
  bool isFlipped = false;
  for (const auto &[monomial, coefficient] : rest.terms) {
    if (!monomial.empty() && coefficient != divisor - coefficient) {
      isFlipped = divisor - coefficient < coefficient;
      break;
    }
  }
  if (isFlipped) {
    std::swap(rest, flipped);
  }
  // `rest` is the smaller one now. Either may be part of a longer division.
  std::optional<Polynomial> fraction = merge(rest, divisor);
  if (!fraction) {
    fraction = merge(flipped, divisor);
    isFlipped ^= fraction.has_value();
  }
  if (!fraction) {
    Polynomial whole(*rest.divisions);
    whole.add(Monomial(), divisor);
    fraction = floorDivOpaque(rest, whole);
  }
  return fraction && isFlipped ? sum(outside, *fraction, -1) : fraction;
}

/// Step 5; null when there is nothing to merge.
std::optional<Polynomial> Polynomial::merge(const Polynomial &rest,
                                            int64_t divisor) {
  Divisions &divisions = *rest.divisions;
  for (const auto &[monomial, coefficient] : rest.terms) {
    if (coefficient != 1 || monomial.size() != 1) {
      continue;
    }
    auto it = divisions.operands.find(monomial.front());
    std::optional<int64_t> inner = it == divisions.operands.end()
                                       ? std::nullopt
                                       : it->second.second.getConstant();
    int64_t both;
    if (!inner || llvm::MulOverflow(*inner, divisor, both)) {
      continue;
    }
    // x + e * (rest - floor(x / e))
    std::optional<Polynomial> y =
        sum(rest, factor(divisions, monomial.front()), -1);
    std::optional<Polynomial> dividend =
        y ? sum(it->second.first, *y, *inner) : std::nullopt;
    Polynomial product(divisions);
    product.add(Monomial(), both);
    if (std::optional<Polynomial> merged =
            dividend ? floorDiv(*dividend, product) : std::nullopt) {
      return merged;
    }
  }
  return std::nullopt;
}

std::optional<Polynomial> Polynomial::floorDivOpaque(const Polynomial &a,
                                                     const Polynomial &b) {
  Divisions &divisions = *a.divisions;
  AffineExpr lhs = a.toExpr(divisions.context);
  AffineExpr rhs = b.toExpr(divisions.context);
  AffineExpr opaque = lhs.floorDiv(rhs);
  auto division = dyn_cast<AffineBinaryOpExpr>(opaque);
  if (division && division.getKind() == AffineExprKind::FloorDiv &&
      division.getLHS() == lhs && division.getRHS() == rhs) {
    divisions.operands.try_emplace(opaque, a, b);
    return factor(divisions, opaque);
  }
  // MLIR has found something shorter.
  return fromExpr(divisions, opaque, [&](unsigned position) {
    return std::optional(
        factor(divisions, getAffineSymbolExpr(position, divisions.context)));
  });
}

std::optional<Polynomial> Polynomial::fromExpr(Divisions &divisions,
                                               AffineExpr expr, Leaf leaf) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    Polynomial result(divisions);
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
  std::optional<Polynomial> lhs = fromExpr(divisions, binary.getLHS(), leaf);
  std::optional<Polynomial> rhs = fromExpr(divisions, binary.getRHS(), leaf);
  return lhs && rhs ? apply(expr.getKind(), *lhs, *rhs) : std::nullopt;
}

std::optional<Polynomial> Polynomial::apply(AffineExprKind kind,
                                            const Polynomial &lhs,
                                            const Polynomial &rhs) {
  Polynomial zero(*lhs.divisions);
  switch (kind) {
  case AffineExprKind::Add:
    return sum(lhs, rhs);
  case AffineExprKind::Mul:
    return product(lhs, rhs);
  case AffineExprKind::CeilDiv: {
    // ceil(a / b) = floor((a + b - 1) / b) = -floor(-a / b)
    if (std::optional<int64_t> divisor = rhs.getConstant();
        divisor && *divisor > 0) {
      Polynomial more = lhs;
      return more.add(Monomial(), *divisor - 1) ? floorDiv(more, rhs)
                                                : std::nullopt;
    }
    std::optional<Polynomial> negated = sum(zero, lhs, -1);
    std::optional<Polynomial> floor =
        negated ? floorDiv(*negated, rhs) : std::nullopt;
    return floor ? sum(zero, *floor, -1) : std::nullopt;
  }
  case AffineExprKind::Mod: {
    std::optional<int64_t> x = lhs.getConstant();
    std::optional<int64_t> y = rhs.getConstant();
    if (x && y && *y != 0) {
      // The product below may overflow where the remainder does not.
      int64_t rest = *y == -1 ? 0 : *x % *y;
      zero.add(Monomial(),
               rest != 0 && (rest < 0) != (*y < 0) ? rest + *y : rest);
      return zero;
    }
    std::optional<Polynomial> floor = floorDiv(lhs, rhs);
    std::optional<Polynomial> whole =
        floor ? product(*floor, rhs) : std::nullopt;
    return whole ? sum(lhs, *whole, -1) : std::nullopt;
  }
  default:
    return floorDiv(lhs, rhs);
  }
}

bool Polynomial::contains(const Polynomial &part) const {
  return llvm::all_of(part.terms, [&](const auto &term) {
    auto it = terms.find(term.first);
    return it != terms.end() && (it->second < 0) == (term.second < 0) &&
           (it->second < 0 ? it->second <= term.second
                           : it->second >= term.second);
  });
}

/// Turns q * a - q * b * (a floordiv b), for one term q, into q * (a mod b).
/// `divided` is that floordiv, and `monomial`, with its coefficient, the
/// product of q, the first term of b and `divided`.
std::optional<Polynomial> Polynomial::contractMod(const Monomial &monomial,
                                                  int64_t coefficient,
                                                  AffineExpr divided) const {
  const auto &[a, b] = divisions->operands.find(divided)->second;
  const auto &[first, value] = *b.terms.begin();
  Monomial product(first);
  product.push_back(divided);
  std::optional<Monomial> left = without(monomial, product);
  if (!left || coefficient == INT64_MIN || coefficient % value != 0) {
    return std::nullopt;
  }
  Polynomial q(*divisions);
  q.terms[*left] = -(coefficient / value);
  std::optional<Polynomial> part = Polynomial::product(q, a);
  std::optional<Polynomial> whole =
      Polynomial::product(b, factor(*divisions, divided));
  whole = whole ? Polynomial::product(q, *whole) : std::nullopt;
  part = part && whole ? sum(*part, *whole, -1) : std::nullopt;
  if (!part || !contains(*part)) {
    return std::nullopt;
  }
  auto division = cast<AffineBinaryOpExpr>(divided);
  AffineExpr mod = division.getLHS() % division.getRHS();
  auto remainder = dyn_cast<AffineBinaryOpExpr>(mod);
  if (!remainder || remainder.getKind() != AffineExprKind::Mod ||
      remainder.getLHS() != division.getLHS()) {
    return std::nullopt;
  }
  std::optional<Polynomial> rest = sum(*this, *part, -1);
  std::optional<Polynomial> contracted =
      Polynomial::product(q, factor(*divisions, mod));
  return rest && contracted ? sum(*rest, *contracted) : std::nullopt;
}

/// Makes the expression shorter; returns whether that was possible.
bool Polynomial::contract() {
  struct Candidate {
    size_t length;
    Terms::const_iterator term;
    AffineExpr factor;
  };
  // Longest dividend first, since that of a nested mod contains the others.
  SmallVector<Candidate> candidates;
  for (auto term = terms.begin(); term != terms.end(); ++term) {
    for (AffineExpr factor : term->first) {
      auto it = divisions->operands.find(factor);
      if (it != divisions->operands.end()) {
        candidates.push_back({it->second.first.terms.size(), term, factor});
      }
    }
  }
  llvm::stable_sort(candidates, [](const Candidate &a, const Candidate &b) {
    return a.length > b.length;
  });
  for (const Candidate &candidate : candidates) {
    const auto &[monomial, coefficient] = *candidate.term;
    if (auto shorter = contractMod(monomial, coefficient, candidate.factor)) {
      terms = std::move(shorter->terms);
      return true;
    }
  }
  return false;
}

AffineExpr Polynomial::toExpr(MLIRContext *context) const {
  Polynomial contracted = *this;
  while (contracted.contract()) {
  }
  AffineExpr result = getAffineConstantExpr(0, context);
  bool first = true;
  for (const auto &[monomial, coefficient] : contracted.terms) {
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
