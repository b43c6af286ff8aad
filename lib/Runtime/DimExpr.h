// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sizes as expressions over symbols, in the postfix form of executable files.
#ifndef KVERN_LIB_RUNTIME_DIMEXPR_H
#define KVERN_LIB_RUNTIME_DIMEXPR_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kvern::runtime {

/// The value of a symbol that is not bound yet.
inline constexpr int64_t kUnbound = -1;

/// A dim: static, symbolic, or an integer expression over the symbols of its
/// program.
struct DimExpr {
  enum class Op : uint8_t {
    Const = 0,
    Symbol = 1,
    Add = 2,
    Mul = 3,
    FloorDiv = 4,
    Mod = 5
  };

  struct Term {
    Op op;
    /// The number of a Const, the index of a Symbol, 0 otherwise.
    int64_t value = 0;
  };

  /// Postfix: operands before their operation. FloorDiv and Mod round towards
  /// minus infinity.
  std::vector<Term> terms;
  /// What people read: "batch * 5 + 1".
  std::string text;

  static DimExpr constant(int64_t value) {
    return {{{Op::Const, value}}, std::to_string(value)};
  }
  static DimExpr symbol(int64_t index, std::string name) {
    return {{{Op::Symbol, index}}, std::move(name)};
  }

  /// The size of a static dim.
  std::optional<int64_t> asConstant() const {
    return terms.size() == 1 && terms[0].op == Op::Const
               ? std::optional(terms[0].value)
               : std::nullopt;
  }
  /// The symbol that this dim is, when it is a bare one.
  std::optional<int64_t> asSymbol() const {
    return terms.size() == 1 && terms[0].op == Op::Symbol
               ? std::optional(terms[0].value)
               : std::nullopt;
  }

  /// Whether the postfix form leaves exactly one value, never underflows, and
  /// only names symbols below `numSymbols`.
  bool isWellFormed(size_t numSymbols) const;

  /// The value under `symbols`; nothing when one that it needs is unbound, on
  /// overflow, or on division by zero. The expression must be well-formed for
  /// `symbols`.
  std::optional<int64_t> evaluate(const std::vector<int64_t> &symbols) const;
};

/// The form `coefficient * symbol + offset` of an expression under partly bound
/// symbols.
struct LinearForm {
  /// -1 when the expression depends on no unbound symbol.
  int64_t symbol = -1;
  int64_t coefficient = 0;
  int64_t offset = 0;
};

/// Rewrites `expr` as a linear form in its only unbound symbol; nothing when
/// there are several, when the symbol occurs below a division that does not
/// cancel, or on overflow.
std::optional<LinearForm> linearize(const DimExpr &expr,
                                    const std::vector<int64_t> &symbols);

} // namespace kvern::runtime

#endif // KVERN_LIB_RUNTIME_DIMEXPR_H
