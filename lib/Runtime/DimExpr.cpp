// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Evaluation of dims; every step is checked for overflow.
#include "lib/Runtime/DimExpr.h"

#include <limits>

namespace kvern::runtime {
namespace {

using Op = DimExpr::Op;

/// floor(a / b); nothing for b == 0 and for the one quotient that overflows.
std::optional<int64_t> floorDiv(int64_t a, int64_t b) {
  if (b == 0 || (a == std::numeric_limits<int64_t>::min() && b == -1)) {
    return std::nullopt;
  }
  int64_t quotient = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

std::optional<int64_t> apply(Op op, int64_t a, int64_t b) {
  int64_t value;
  switch (op) {
  case Op::Add:
    return __builtin_add_overflow(a, b, &value) ? std::nullopt
                                                : std::optional(value);
  case Op::Mul:
    return __builtin_mul_overflow(a, b, &value) ? std::nullopt
                                                : std::optional(value);
  case Op::FloorDiv:
    return floorDiv(a, b);
  case Op::Mod: {
    if (b == 0) {
      return std::nullopt;
    }
    // The one remainder that the processor cannot compute is 0.
    int64_t rest = b == -1 ? 0 : a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
  case Op::Const:
  case Op::Symbol:
    break;
  }
  return std::nullopt;
}

/// The operation on linear forms of the same (or no) unbound symbol.
std::optional<LinearForm> apply(Op op, const LinearForm &a,
                                const LinearForm &b) {
  if (a.symbol >= 0 && b.symbol >= 0 && a.symbol != b.symbol) {
    return std::nullopt;
  }
  LinearForm result;
  result.symbol = a.symbol >= 0 ? a.symbol : b.symbol;
  std::optional<int64_t> coefficient, offset;
  if (result.symbol < 0) {
    coefficient = 0;
    offset = apply(op, a.offset, b.offset);
  } else if (op == Op::Add) {
    coefficient = apply(op, a.coefficient, b.coefficient);
    offset = apply(op, a.offset, b.offset);
  } else if (op == Op::Mul && (a.symbol < 0 || b.symbol < 0)) {
    const LinearForm &form = a.symbol >= 0 ? a : b;
    int64_t factor = a.symbol >= 0 ? b.offset : a.offset;
    coefficient = apply(op, form.coefficient, factor);
    offset = apply(op, form.offset, factor);
  } else if (op == Op::FloorDiv && b.symbol < 0 && b.offset > 0 &&
             a.coefficient % b.offset == 0) {
    coefficient = a.coefficient / b.offset;
    offset = floorDiv(a.offset, b.offset);
  }
  if (!coefficient || !offset) {
    return std::nullopt;
  }
  result.coefficient = *coefficient;
  result.offset = *offset;
  if (result.coefficient == 0) {
    result.symbol = -1;
  }
  return result;
}

} // namespace

bool DimExpr::isWellFormed(size_t numSymbols) const {
  size_t depth = 0;
  for (const Term &term : terms) {
    switch (term.op) {
    case Op::Const:
      ++depth;
      break;
    case Op::Symbol:
      if (term.value < 0 || static_cast<uint64_t>(term.value) >= numSymbols) {
        return false;
      }
      ++depth;
      break;
    case Op::Add:
    case Op::Mul:
    case Op::FloorDiv:
    case Op::Mod:
      if (depth < 2) {
        return false;
      }
      --depth;
      break;
    default:
      return false;
    }
  }
  return depth == 1;
}

std::optional<int64_t>
DimExpr::evaluate(const std::vector<int64_t> &symbols) const {
  if (terms.size() == 1) {
    int64_t value =
        terms[0].op == Op::Const ? terms[0].value : symbols[terms[0].value];
    return terms[0].op == Op::Symbol && value == kUnbound
               ? std::nullopt
               : std::optional(value);
  }
  std::vector<int64_t> stack;
  for (const Term &term : terms) {
    if (term.op == Op::Const) {
      stack.push_back(term.value);
    } else if (term.op == Op::Symbol) {
      if (symbols[term.value] == kUnbound) {
        return std::nullopt;
      }
      stack.push_back(symbols[term.value]);
    } else {
      int64_t rhs = stack.back();
      stack.pop_back();
      std::optional<int64_t> value = apply(term.op, stack.back(), rhs);
      if (!value) {
        return std::nullopt;
      }
      stack.back() = *value;
    }
  }
  return stack.back();
}

std::optional<LinearForm> linearize(const DimExpr &expr,
                                    const std::vector<int64_t> &symbols) {
  std::vector<LinearForm> stack;
  for (const DimExpr::Term &term : expr.terms) {
    if (term.op == Op::Const) {
      stack.push_back({-1, 0, term.value});
    } else if (term.op == Op::Symbol) {
      int64_t value = symbols[term.value];
      stack.push_back(value == kUnbound ? LinearForm{term.value, 1, 0}
                                        : LinearForm{-1, 0, value});
    } else {
      LinearForm rhs = stack.back();
      stack.pop_back();
      std::optional<LinearForm> value = apply(term.op, stack.back(), rhs);
      if (!value) {
        return std::nullopt;
      }
      stack.back() = *value;
    }
  }
  return stack.back();
}

} // namespace kvern::runtime
