// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Encoding of manifests, and bytes that are none.
#include "lib/Runtime/Manifest.h"

#include "test/unit/Check.h"

using namespace kvern;
using namespace kvern::runtime;
using namespace kvern::test;

static Manifest sample() {
  Manifest manifest;
  manifest.kvernVersion = "1.2.3";
  manifest.triple = "x86_64-unknown-linux-gnu";
  manifest.cpu = "znver3";
  manifest.cpuFeatures = {"avx2", "fma"};
  manifest.weights.push_back({"w", DType::BFloat16, {3, 4}, 64, -1, 0});
  manifest.weights.push_back({"c", DType::Float32, {2}, 4, 64, 8});
  ProgramSpec program;
  program.name = program.entrySymbol = "main";
  program.symbols = {"n", "found"};
  program.numInputSymbols = 1;
  DimExpr twice{{{DimExpr::Op::Symbol, 0},
                 {DimExpr::Op::Const, 2},
                 {DimExpr::Op::Mul, 0}},
                "n * 2"};
  program.inputs.push_back(
      {"x",
       InputKind::Buffer,
       DType::Float32,
       "cpu:0",
       {DimExpr::symbol(0, "n"), DimExpr::constant(4), twice}});
  program.outputs.push_back(
      {"y", DType::Bool, "cpu:0", {DimExpr::symbol(1, "found")}});
  program.weights = {1, 0};
  program.checks.push_back({"bounds", "kvern.gather", "a.py:3", "index {0}"});
  manifest.programs.push_back(program);
  return manifest;
}

TEST(manifestRoundTrip) {
  std::string bytes = encodeManifest(sample());
  Result<Manifest> decoded = decodeManifest(bytes.data(), bytes.size());
  CHECK(decoded.ok());
  CHECK(encodeManifest(*decoded) == bytes);
  CHECK(decoded->weights[1].constantOffset == 64 &&
        decoded->weights[0].isExternal());
  CHECK(decoded->programs[0].inputs[0].dims[2].text == "n * 2");
  CHECK(decoded->programs[0].checks[0].message == "index {0}");
}

TEST(manifestCutAnywhere) {
  std::string bytes = encodeManifest(sample());
  for (size_t size = 0; size < bytes.size(); ++size) {
    // An exact copy, so that a sanitizer sees every read behind its end.
    std::vector<char> part(bytes.begin(),
                           bytes.begin() + static_cast<ptrdiff_t>(size));
    CHECK_ERROR(decodeManifest(part.data(), part.size()).status(),
                "it ends too early");
  }
  bytes += 'x';
  CHECK_ERROR(decodeManifest(bytes.data(), bytes.size()).status(),
              "1 bytes too many");
}

TEST(manifestMutations) {
  const std::string bytes = encodeManifest(sample());
  for (uint64_t seed = 0; seed < 20000; ++seed) {
    Random random(seed);
    std::string changed = mutate(bytes, random);
    std::vector<char> exact(changed.begin(), changed.end());
    Result<Manifest> decoded = decodeManifest(exact.data(), exact.size());
    // What is accepted means something: it has one encoding, these bytes.
    CHECK(!decoded.ok() || encodeManifest(*decoded) == changed);
  }
}

TEST(sizesThatOverflow) {
  CHECK(byteSize(DType::Float32, {2, 3}) == 24);
  CHECK(byteSize(DType::Float32, {}) == 4);
  CHECK(byteSize(DType::Float32, {0, 5}) == 0);
  CHECK(!byteSize(DType::Float32, {-1}));
  CHECK(!byteSize(DType::Int8, {int64_t(1) << 32, int64_t(1) << 31}));
  CHECK(!byteSize(DType::Int8, {0, int64_t(1) << 62, 4}));
}

TEST(dimensionArithmetic) {
  using Op = DimExpr::Op;
  auto value = [](int64_t a, Op op, int64_t b) {
    return DimExpr{{{Op::Const, a}, {Op::Const, b}, {op, 0}}, ""}.evaluate({});
  };
  CHECK(value(7, Op::FloorDiv, 2) == 3 && value(-7, Op::FloorDiv, 2) == -4);
  CHECK(value(7, Op::Mod, 2) == 1 && value(-7, Op::Mod, 2) == 1 &&
        value(7, Op::Mod, -2) == -1);
  CHECK(!value(7, Op::FloorDiv, 0) && !value(7, Op::Mod, 0));
  CHECK(!value(INT64_MIN, Op::FloorDiv, -1) &&
        value(INT64_MIN, Op::Mod, -1) == 0);
  CHECK(!value(INT64_MAX, Op::Add, 1) && !value(INT64_MAX, Op::Mul, 2));
}
