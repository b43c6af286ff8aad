//===- Polynomial.h - Sizes as polynomials -------------------- -*- C++ -*-===//
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

#ifndef KVERN_DIALECT_POLYNOMIAL_H
#define KVERN_DIALECT_POLYNOMIAL_H

#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <map>
#include <optional>

namespace kvern {

/// Sorted factors.
using Monomial = llvm::SmallVector<mlir::AffineExpr, 2>;

/// More factors first, so that the constant is last; then by the factors.
struct MonomialLess {
  bool operator()(const Monomial &a, const Monomial &b) const;
};

/// `monomial` without the factors of `divisor`; null when one is absent.
std::optional<Monomial> without(const Monomial &monomial,
                                const Monomial &divisor);

struct Divisions;

/// Sums, products and quotients are null on overflow, on division by zero and
/// when they are too long.
class Polynomial {
public:
  using Terms = std::map<Monomial, int64_t, MonomialLess>;

  explicit Polynomial(Divisions &divisions) : divisions(&divisions) {}

  /// What a symbol stands for, by its position.
  using Leaf = llvm::function_ref<std::optional<Polynomial>(unsigned)>;

  static Polynomial factor(Divisions &divisions, mlir::AffineExpr expr) {
    Polynomial result(divisions);
    result.terms[Monomial{expr}] = 1;
    return result;
  }
  /// The polynomial of an expression whose symbols stand for what `leaf` gives.
  static std::optional<Polynomial> fromExpr(Divisions &divisions,
                                            mlir::AffineExpr expr, Leaf leaf);
  /// lhs `kind` rhs.
  static std::optional<Polynomial> apply(mlir::AffineExprKind kind,
                                         const Polynomial &lhs,
                                         const Polynomial &rhs);
  /// Equal for equal polynomials.
  mlir::AffineExpr toExpr(mlir::MLIRContext *context) const;
  /// Whether it is refused; the work grows with the length.
  bool isTooLong() const {
    constexpr size_t maxTerms = 1000;
    return terms.size() > maxTerms;
  }

private:
  /// False on overflow.
  bool add(const Monomial &monomial, int64_t coefficient);
  /// The number when there are no names in it.
  std::optional<int64_t> getConstant() const;

  /// a + factor * b
  static std::optional<Polynomial> sum(Polynomial a, const Polynomial &b,
                                       int64_t factor = 1);
  static std::optional<Polynomial> product(const Polynomial &a,
                                           const Polynomial &b);
  /// Rounded down, in lowest terms (PolynomialDivision.cpp).
  static std::optional<Polynomial> floorDiv(const Polynomial &a,
                                            const Polynomial &b);
  static std::optional<Polynomial> floorDivReduced(Polynomial rest,
                                                   int64_t divisor);
  static std::optional<Polynomial> merge(const Polynomial &rest,
                                         int64_t divisor);
  static std::optional<Polynomial> floorDivOpaque(const Polynomial &a,
                                                  const Polynomial &b);
  /// Puts one mod where its expansion is; false when there is none.
  bool contract();
  std::optional<Polynomial> contractMod(const Monomial &monomial,
                                        int64_t coefficient,
                                        mlir::AffineExpr divided) const;
  /// Whether each term of `part` is one of these, or a part of one.
  bool contains(const Polynomial &part) const;

  Divisions *divisions;
  Terms terms;
};

/// The operands of each floordiv that is a factor of a polynomial.
struct Divisions {
  explicit Divisions(mlir::MLIRContext *context) : context(context) {}

  mlir::MLIRContext *context;
  llvm::DenseMap<mlir::AffineExpr, std::pair<Polynomial, Polynomial>> operands;
};

} // namespace kvern

#endif // KVERN_DIALECT_POLYNOMIAL_H
