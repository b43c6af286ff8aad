//===- Polynomial.cpp - Sums and products of sizes ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Polynomial.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kvern;

/// A total order that does not depend on addresses: kind, then position or
/// value, then operands.
static int compare(AffineExpr a, AffineExpr b) {
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

bool MonomialLess::operator()(const Monomial &a, const Monomial &b) const {
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

std::optional<Monomial> kvern::without(const Monomial &monomial,
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

bool Polynomial::add(const Monomial &monomial, int64_t coefficient) {
  auto [it, inserted] = terms.try_emplace(monomial, coefficient);
  if (!inserted && llvm::AddOverflow(it->second, coefficient, it->second)) {
    return false;
  }
  if (it->second == 0) {
    terms.erase(it);
  }
  return true;
}

std::optional<int64_t> Polynomial::getConstant() const {
  if (terms.empty()) {
    return 0;
  }
  if (terms.size() == 1 && terms.begin()->first.empty()) {
    return terms.begin()->second;
  }
  return std::nullopt;
}

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
