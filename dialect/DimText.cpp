//===- DimText.cpp - Sizes as text ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Kvern.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace kvern;

static bool isIdentifier(StringRef name) {
  if (name.empty() || !(llvm::isAlpha(name[0]) || name[0] == '_') ||
      name == "floordiv" || name == "mod" || name == "ceildiv") {
    return false;
  }
  return llvm::all_of(name,
                      [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

/// `strength`: 0 in a sum, 1 in a product, 2 as an operand of a division.
static void printTerm(raw_ostream &os, AffineExpr expr,
                      ArrayRef<StringAttr> names, int strength) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    // The lowest integer has no literal: a sign is an operation.
    if (constant.getValue() == INT64_MIN) {
      os << "(-9223372036854775807 - 1)";
    } else {
      os << constant.getValue();
    }
    return;
  }
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr)) {
    StringRef name = names[symbol.getPosition()].getValue();
    if (isIdentifier(name)) {
      os << name;
      return;
    }
    os << '"';
    llvm::printEscapedString(name, os);
    os << '"';
    return;
  }
  auto binary = cast<AffineBinaryOpExpr>(expr);
  bool isSum = expr.getKind() == AffineExprKind::Add;
  bool isProduct = expr.getKind() == AffineExprKind::Mul;
  int own = isSum ? 0 : 1;
  bool parenthesize = own < strength || (strength == 2 && !isSum);
  os << (parenthesize ? "(" : "");
  printTerm(os, binary.getLHS(), names, isSum ? 0 : isProduct ? 1 : 2);
  AffineExpr rhs = binary.getRHS();
  if (isSum) {
    // a + b * -1 reads better as a - b.
    if (auto constant = dyn_cast<AffineConstantExpr>(rhs);
        constant && constant.getValue() < 0 &&
        constant.getValue() != INT64_MIN) {
      os << " - " << -constant.getValue();
    } else if (auto product = dyn_cast<AffineBinaryOpExpr>(rhs);
               product && product.getKind() == AffineExprKind::Mul &&
               product.getRHS() == -1) {
      os << " - ";
      printTerm(os, product.getLHS(), names, 1);
    } else {
      os << " + ";
      printTerm(os, rhs, names, 0);
    }
  } else {
    os << (isProduct                                    ? " * "
           : expr.getKind() == AffineExprKind::FloorDiv ? " floordiv "
           : expr.getKind() == AffineExprKind::CeilDiv  ? " ceildiv "
                                                        : " mod ");
    printTerm(os, rhs, names, 2);
  }
  os << (parenthesize ? ")" : "");
}

void DimAttr::printExpr(raw_ostream &os) const {
  printTerm(os, getExpr(), getSymbols(), 0);
}

std::string DimAttr::str() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  printExpr(os);
  return text;
}

namespace {

/// sum     ::= product ((`+` | `-`) product)*
/// product ::= unary ((`*` | `floordiv` | `ceildiv` | `mod`) unary)*
/// unary   ::= `-` unary | integer | name | string | `(` sum `)`
class DimParser {
public:
  explicit DimParser(AsmParser &parser) : parser(parser) {}

  FailureOr<DimAttr> parseSum() {
    FailureOr<DimAttr> lhs = parseProduct();
    while (succeeded(lhs)) {
      bool minus = false;
      if (failed(parser.parseOptionalPlus())) {
        if (failed(parser.parseOptionalMinus())) {
          return lhs;
        }
        minus = true;
      }
      FailureOr<DimAttr> rhs = parseProduct();
      if (failed(rhs)) {
        return failure();
      }
      lhs = check(minus ? *lhs - *rhs : *lhs + *rhs);
    }
    return lhs;
  }

private:
  FailureOr<DimAttr> check(DimAttr dim) {
    if (dim) {
      return dim;
    }
    return parser.emitError(parser.getCurrentLocation(),
                            "dimension overflows 64 bits, divides by zero or "
                            "is too long");
  }

  FailureOr<DimAttr> parseProduct() {
    FailureOr<DimAttr> lhs = parseUnary();
    while (succeeded(lhs)) {
      AffineExprKind kind;
      if (succeeded(parser.parseOptionalStar())) {
        kind = AffineExprKind::Mul;
      } else if (succeeded(parser.parseOptionalKeyword("floordiv"))) {
        kind = AffineExprKind::FloorDiv;
      } else if (succeeded(parser.parseOptionalKeyword("ceildiv"))) {
        kind = AffineExprKind::CeilDiv;
      } else if (succeeded(parser.parseOptionalKeyword("mod"))) {
        kind = AffineExprKind::Mod;
      } else {
        return lhs;
      }
      FailureOr<DimAttr> rhs = parseUnary();
      if (failed(rhs)) {
        return failure();
      }
      lhs = check(DimAttr::combine(kind, *lhs, *rhs));
    }
    return lhs;
  }

  FailureOr<DimAttr> parseUnary() {
    MLIRContext *context = parser.getContext();
    // Recursion is bounded so that deep text cannot exhaust the stack.
    if (++depth > 200) {
      return parser.emitError(parser.getCurrentLocation(),
                              "dimension is nested too deeply");
    }
    llvm::scope_exit leave([&] { --depth; });
    if (succeeded(parser.parseOptionalMinus())) {
      FailureOr<DimAttr> operand = parseUnary();
      if (failed(operand)) {
        return failure();
      }
      return check(*operand * -1);
    }
    int64_t value;
    OptionalParseResult number = parser.parseOptionalInteger(value);
    if (number.has_value()) {
      if (failed(*number)) {
        return failure();
      }
      return DimAttr::getStatic(context, value);
    }
    if (succeeded(parser.parseOptionalLParen())) {
      FailureOr<DimAttr> inner = parseSum();
      if (failed(inner) || failed(parser.parseRParen())) {
        return failure();
      }
      return inner;
    }
    StringRef name;
    if (succeeded(parser.parseOptionalKeyword(&name))) {
      return DimAttr::getSymbol(context, name);
    }
    std::string quoted;
    if (succeeded(parser.parseOptionalString(&quoted))) {
      if (quoted.empty()) {
        return parser.emitError(parser.getCurrentLocation(),
                                "expected a dimension name that is not empty");
      }
      return DimAttr::getSymbol(context, quoted);
    }
    return parser.emitError(
        parser.getCurrentLocation(),
        "expected an integer, a name or `(` in a dimension");
  }

  AsmParser &parser;
  int depth = 0;
};

} // namespace

FailureOr<DimAttr> DimAttr::parseExpr(AsmParser &parser) {
  return DimParser(parser).parseSum();
}

Attribute DimAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess()) {
    return {};
  }
  FailureOr<DimAttr> dim = parseExpr(parser);
  if (failed(dim) || parser.parseGreater()) {
    return {};
  }
  return *dim;
}

void DimAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printExpr(printer.getStream());
  printer << '>';
}
