// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The C ABI: open, bind, run, fail. Arguments: an object file made from
// Program.c, and a path for the executable.
#include "lib/Runtime/Capi.h"

#include "lib/Runtime/Executable.h"
#include "lib/Runtime/Result.h"

#include "test/unit/Check.h"

#include <cstring>
#include <fstream>

using namespace kvern;
using namespace kvern::runtime;
using namespace kvern::test;

static void writeProgram(const std::string &object, const std::string &path) {
  Manifest manifest;
  manifest.kvernVersion = "1.2.3";
  manifest.triple = "x86_64-unknown-linux-gnu";
  manifest.weights.push_back({"w", DType::Float32, {1}, 4});
  ProgramSpec program;
  program.name = "scale";
  program.entrySymbol = "program";
  program.symbols = {"n"};
  program.numInputSymbols = 1;
  std::vector<DimExpr> dims = {DimExpr::symbol(0, "n")};
  program.inputs.push_back(
      {"x", InputKind::Tensor, DType::Float32, "cpu:0", dims});
  program.outputs.push_back({"y", DType::Float32, "cpu:0", dims});
  program.weights = {0};
  manifest.programs.push_back(program);
  std::ofstream(path, std::ios::binary)
      << writeExecutable(manifest, {}, {object});
}

TEST(capiRunsAModel) {
  const std::string path = arguments()[1];
  writeProgram(readFile(arguments()[0]), path);
  KvernError error = {};
  KvernExecutable *executable = kvern_executable_open(path.c_str(), &error);
  CHECK(executable && error.kind == 0 && !error.message);
  if (!executable) {
    reportFailure(__FILE__, __LINE__, error.message);
    return;
  }
  CHECK(kvern_executable_num_programs(executable) == 1);
  CHECK(std::strcmp(kvern_executable_program_name(executable, 0), "scale") ==
        0);

  constexpr auto kFloat32 = static_cast<uint8_t>(DType::Float32);
  float two = 2;
  const int64_t one[] = {1}, many[] = {1000};
  KvernNamedTensor weight = {"w", {&two, kFloat32, 0, one, 1}};
  std::vector<float> x(1000);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(i);
  }
  KvernTensor input = {x.data(), kFloat32, 0, many, 1};
  for (size_t threads : {0, 1, 3}) {
    KvernModel *model = kvern_model_create_with_threads(executable, 0, &weight,
                                                        1, threads, &error);
    CHECK(model && (threads == 0 || kvern_model_num_threads(model) == threads));
    KvernOutputs *outputs = kvern_model_run(model, &input, 1, &error);
    CHECK(outputs && kvern_outputs_size(outputs) == 1);
    KvernTensor y = kvern_outputs_get(outputs, 0);
    CHECK(y.dtype == kFloat32 && y.rank == 1 && y.dims[0] == 1000);
    for (size_t i = 0; i < x.size(); ++i) {
      CHECK(static_cast<const float *>(y.data)[i] == 2 * x[i]);
    }
    kvern_outputs_free(outputs);

    CHECK(!kvern_model_run(model, &input, 0, &error));
    CHECK(error.kind == static_cast<int32_t>(ErrorKind::InputCount));
    CHECK(error.message && std::strstr(error.message, "expected 1 inputs"));
    kvern_error_clear(&error);
    kvern_model_free(model);
  }

  CHECK(!kvern_model_create(executable, 0, nullptr, 0, &error));
  CHECK(error.message && std::strstr(error.message, "w"));
  kvern_error_clear(&error);
  CHECK(!kvern_model_create(executable, 1, &weight, 1, nullptr));
  kvern_executable_free(executable);
  CHECK(!kvern_executable_open((path + ".missing").c_str(), &error));
  CHECK(error.message);
  kvern_error_clear(&error);
}
