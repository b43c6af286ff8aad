// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Binding of symbols from shapes.
#include "lib/Runtime/SymbolBinding.h"

#include "test/unit/Check.h"

using namespace kvern;
using namespace kvern::runtime;
using namespace kvern::test;
using Op = DimExpr::Op;

static const DimExpr kN = DimExpr::symbol(0, "n");
static const DimExpr kM = DimExpr::symbol(1, "m");

static DimExpr combine(const DimExpr &a, Op op, const DimExpr &b) {
  DimExpr result;
  result.terms = a.terms;
  result.terms.insert(result.terms.end(), b.terms.begin(), b.terms.end());
  result.terms.push_back({op, 0});
  result.text = "expr";
  return result;
}

/// Binds inputs of the given dims to the given shapes.
static Status bind(const std::vector<std::vector<DimExpr>> &inputs,
                   const std::vector<std::vector<int64_t>> &shapes,
                   std::vector<int64_t> &symbols) {
  ProgramSpec program;
  program.symbols = {"n", "m"};
  program.numInputSymbols = 2;
  std::vector<ShapeRef> refs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    program.inputs.push_back(
        {"in", InputKind::Tensor, DType::Float32, "cpu:0", inputs[i]});
    refs.push_back({shapes[i].data(), shapes[i].size()});
  }
  return bindSymbols(program, refs, symbols);
}

static Status bindOne(const std::vector<DimExpr> &dims,
                      const std::vector<int64_t> &shape,
                      std::vector<int64_t> &symbols) {
  return bind(std::vector<std::vector<DimExpr>>{dims}, {shape}, symbols);
}

TEST(bindsBareSymbols) {
  std::vector<int64_t> symbols;
  CHECK(bindOne({kN, kM, kN}, {3, 0, 3}, symbols).ok());
  CHECK((symbols == std::vector<int64_t>{3, 0}));
  CHECK_ERROR(bindOne({kN, kM, kN}, {3, 0, 4}, symbols),
              "dim 2 ('n') of input 0 ('in') to be 3, but got 4");
  CHECK_ERROR(bindOne({kN, kM}, {3}, symbols),
              "rank 2 and shape [n, m], but got rank 1");
  CHECK_ERROR(bindOne({kN, kM}, {-2, 1}, symbols), "negative size -2");
  CHECK_ERROR(bindOne({kN}, {2}, symbols), "no input determines the size m");
}

TEST(solvesEquations) {
  std::vector<int64_t> symbols;
  DimExpr six = DimExpr::constant(6), minus = DimExpr::constant(-1);
  CHECK(bindOne({combine(kN, Op::Mul, six), kM}, {18, 1}, symbols).ok() &&
        symbols[0] == 3);
  CHECK_ERROR(bindOne({combine(kN, Op::Mul, six), kM}, {19, 1}, symbols),
              "some size n >= 0, but got 19");
  // 6 - n
  DimExpr rest = combine(six, Op::Add, combine(kN, Op::Mul, minus));
  CHECK(bindOne({rest, kM}, {4, 1}, symbols).ok() && symbols[0] == 2);
  CHECK_ERROR(bindOne({rest, kM}, {7, 1}, symbols), "some size n >= 0");
  // (6 * n) floordiv 3 is 2 * n.
  DimExpr divided =
      combine(combine(kN, Op::Mul, six), Op::FloorDiv, DimExpr::constant(3));
  CHECK(bindOne({divided, kM}, {8, 1}, symbols).ok() && symbols[0] == 4);
  // n - n says nothing.
  DimExpr nothing = combine(kN, Op::Add, combine(kN, Op::Mul, minus));
  CHECK_ERROR(bindOne({nothing, kM}, {0, 1}, symbols), "does not determine");
  // n * m with m known.
  CHECK(bind({{combine(kN, Op::Mul, kM)}, {kM}}, {{12}, {4}}, symbols).ok() &&
        symbols[0] == 3);
  CHECK_ERROR(bindOne({combine(kN, Op::Add, kM)}, {12}, symbols),
              "does not determine");
}

TEST(equationsAtTheEdgesOfNumbers) {
  std::vector<int64_t> symbols;
  DimExpr most = DimExpr::constant(INT64_MAX),
          least = DimExpr::constant(INT64_MIN);
  for (const DimExpr &number :
       {most, least, DimExpr::constant(-1), DimExpr::constant(0)}) {
    for (Op op : {Op::Add, Op::Mul, Op::FloorDiv, Op::Mod}) {
      for (int64_t size : {int64_t(0), int64_t(1), INT64_MAX}) {
        // Any answer is right that is one: nothing may overflow.
        (void)bindOne({combine(kN, op, number), kM}, {size, 1}, symbols);
        (void)bindOne({kN, kM, combine(kN, op, number)}, {size, 1, 1}, symbols);
        (void)bindOne({combine(number, op, kN), kM}, {size, 1}, symbols);
      }
    }
  }
  CHECK(bindOne({combine(kN, Op::Add, DimExpr::constant(-5)), kM},
                {INT64_MAX - 5, 1}, symbols)
            .ok());
  CHECK(symbols[0] == INT64_MAX);
  CHECK_ERROR(bindOne({combine(kN, Op::Add, DimExpr::constant(-6)), kM},
                      {INT64_MAX - 5, 1}, symbols),
              "some size n >= 0");
}
