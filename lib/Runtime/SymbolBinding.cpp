// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Binding of symbols: bare symbols first, then equations until none is left.
#include "lib/Runtime/SymbolBinding.h"

#include <limits>

namespace kvern::runtime {
namespace {

__extension__ typedef __int128 Wide;

/// One dim of one input.
struct Site {
  uint32_t input = 0;
  uint32_t dim = 0;
};

class Binder {
public:
  Binder(const ProgramSpec &program, const std::vector<ShapeRef> &shapes,
         std::vector<int64_t> &symbols)
      : program(program), shapes(shapes), symbols(symbols) {}

  /// 1. Compare static dims and bind bare symbols, in order of the inputs.
  /// 2. Until nothing changes: evaluate the expressions that can be evaluated
  ///    and compare; solve those with one unbound symbol.
  /// 3. What is left has several unbound symbols: the shapes do not say enough.
  Status run() {
    symbols.assign(program.symbols.size(), kUnbound);
    for (uint32_t input = 0; input < program.inputs.size(); ++input) {
      const std::vector<DimExpr> &dims = program.inputs[input].dims;
      if (dims.size() != shapes[input].rank) {
        return wrongRank(input);
      }
      for (uint32_t dim = 0; dim < dims.size(); ++dim) {
        if (Status status = visitSimple({input, dim}); !status.ok()) {
          return status;
        }
      }
    }
    while (!pending.empty()) {
      std::vector<Site> work;
      work.swap(pending);
      for (Site site : work) {
        if (Status status = visitAlgebraic(site); !status.ok()) {
          return status;
        }
      }
      if (pending.size() == work.size()) {
        return undetermined(pending.front());
      }
    }
    for (uint32_t symbol = 0; symbol < program.numInputSymbols; ++symbol) {
      if (symbols[symbol] == kUnbound) {
        return fail("no input determines the size " + program.symbols[symbol]);
      }
    }
    return Status::success();
  }

private:
  const DimExpr &exprAt(Site site) const {
    return program.inputs[site.input].dims[site.dim];
  }
  int64_t sizeAt(Site site) const { return shapes[site.input].dims[site.dim]; }

  Status visitSimple(Site site) {
    const DimExpr &expr = exprAt(site);
    int64_t size = sizeAt(site);
    if (size < 0) {
      return fail(describe(site) + " has the negative size " +
                  std::to_string(size));
    }
    if (std::optional<int64_t> expected = expr.asConstant()) {
      return size == *expected ? Status::success() : mismatch(site, *expected);
    }
    if (std::optional<int64_t> symbol = expr.asSymbol()) {
      if (symbols[*symbol] == kUnbound) {
        bind(*symbol, size, site);
        return Status::success();
      }
      return size == symbols[*symbol] ? Status::success()
                                      : mismatch(site, symbols[*symbol]);
    }
    pending.push_back(site);
    return Status::success();
  }

  Status visitAlgebraic(Site site) {
    const DimExpr &expr = exprAt(site);
    int64_t size = sizeAt(site);
    if (dependsOnUnbound(expr)) {
      std::optional<LinearForm> form = linearize(expr, symbols);
      if (!form || form->symbol < 0) {
        pending.push_back(site);
        return Status::success();
      }
      // Wide enough that neither the difference nor the quotient overflows.
      Wide rest = static_cast<Wide>(size) - form->offset;
      if (rest % form->coefficient != 0 || rest / form->coefficient < 0 ||
          rest / form->coefficient > std::numeric_limits<int64_t>::max()) {
        return unsolvable(site, form->symbol);
      }
      bind(form->symbol, static_cast<int64_t>(rest / form->coefficient), site);
    }
    std::optional<int64_t> expected = expr.evaluate(symbols);
    if (!expected) {
      return fail(describe(site) + " cannot be computed" + bindings(expr));
    }
    return size == *expected ? Status::success() : mismatch(site, *expected);
  }

  void bind(int64_t symbol, int64_t value, Site site) {
    origins.resize(symbols.size());
    symbols[symbol] = value;
    origins[symbol] = site;
  }

  bool dependsOnUnbound(const DimExpr &expr) const {
    for (const DimExpr::Term &term : expr.terms) {
      if (term.op == DimExpr::Op::Symbol && symbols[term.value] == kUnbound) {
        return true;
      }
    }
    return false;
  }

  static Status fail(std::string message) {
    return Status::error(ErrorKind::Input, std::move(message));
  }

  /// "dim 1 ('batch * 5') of input 0 ('x')"
  std::string describe(Site site) const {
    return "dim " + std::to_string(site.dim) + " ('" + exprAt(site).text +
           "') of input " + describeInput(site.input);
  }
  std::string describeInput(uint32_t input) const {
    return std::to_string(input) + " ('" + program.inputs[input].name + "')";
  }

  /// "; batch = 2 (from dim 0 of input 0 ('x'))" for each symbol of `expr`.
  std::string bindings(const DimExpr &expr) const {
    std::string text;
    std::vector<bool> seen(symbols.size(), false);
    for (const DimExpr::Term &term : expr.terms) {
      if (term.op != DimExpr::Op::Symbol || seen[term.value]) {
        continue;
      }
      seen[term.value] = true;
      text += "; " + program.symbols[term.value];
      if (symbols[term.value] == kUnbound) {
        text += " is not bound";
        continue;
      }
      Site origin = origins[term.value];
      text += " = " + std::to_string(symbols[term.value]) + " (from dim " +
              std::to_string(origin.dim) + " of input " +
              describeInput(origin.input) + ")";
    }
    return text;
  }

  Status mismatch(Site site, int64_t expected) const {
    return fail("expected " + describe(site) + " to be " +
                std::to_string(expected) + ", but got " +
                std::to_string(sizeAt(site)) + givenShape(site.input) +
                bindings(exprAt(site)));
  }

  Status unsolvable(Site site, int64_t symbol) const {
    return fail("expected " + describe(site) + " to be the value of '" +
                exprAt(site).text + "' for some size " +
                program.symbols[symbol] + " >= 0, but got " +
                std::to_string(sizeAt(site)) + givenShape(site.input) +
                bindings(exprAt(site)));
  }

  Status undetermined(Site site) const {
    return fail(describe(site) + " does not determine its symbols" +
                bindings(exprAt(site)));
  }

  Status wrongRank(uint32_t input) const {
    const InputSpec &spec = program.inputs[input];
    std::string expected;
    for (const DimExpr &dim : spec.dims) {
      expected += (expected.empty() ? "" : ", ") + dim.text;
    }
    return fail("expected input " + describeInput(input) + " to have rank " +
                std::to_string(spec.dims.size()) + " and shape [" + expected +
                "], but got rank " + std::to_string(shapes[input].rank) +
                givenShape(input));
  }

  std::string givenShape(uint32_t input) const {
    const ShapeRef &shape = shapes[input];
    return " (shape " +
           formatShape(
               std::vector<int64_t>(shape.dims, shape.dims + shape.rank)) +
           ")";
  }

  const ProgramSpec &program;
  const std::vector<ShapeRef> &shapes;
  std::vector<int64_t> &symbols;
  /// Where each bound symbol got its value.
  std::vector<Site> origins;
  /// Dims that are expressions and still wait for symbols.
  std::vector<Site> pending;
};

} // namespace

Status bindSymbols(const ProgramSpec &program,
                   const std::vector<ShapeRef> &shapes,
                   std::vector<int64_t> &symbols) {
  return Binder(program, shapes, symbols).run();
}

} // namespace kvern::runtime
