//===- PolynomialDivision.cpp - Quotients of sizes in lowest terms --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Polynomial.h"

#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace kvern;

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
