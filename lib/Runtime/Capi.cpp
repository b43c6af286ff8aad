// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The C ABI over Executable and Model.
#include "lib/Runtime/Capi.h"

#include "lib/Runtime/Model.h"
#include "lib/Runtime/ThreadPool.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace kvern::runtime;

struct KvernExecutable {
  Executable::Ref executable;
};
struct KvernModel {
  Model::Ref model;
};
struct KvernOutputs {
  std::vector<OutputTensor> tensors;
};

namespace {

/// Stores `status` into `error`, which may be null.
void setError(KvernError *error, const Status &status) {
  if (error) {
    error->kind = static_cast<int32_t>(status.kind());
    error->message = status.ok() ? nullptr : strdup(status.message().c_str());
  }
}

} // namespace

void kvern_error_clear(KvernError *error) {
  std::free(error->message);
  *error = {};
}

KvernExecutable *kvern_executable_open(const char *path, KvernError *error) {
  Result<Executable::Ref> executable = Executable::open(path);
  setError(error, executable.status());
  return executable.ok() ? new KvernExecutable{*executable} : nullptr;
}

void kvern_executable_free(KvernExecutable *executable) { delete executable; }

size_t kvern_executable_num_programs(const KvernExecutable *executable) {
  return executable->executable->manifest().programs.size();
}

const char *kvern_executable_program_name(const KvernExecutable *executable,
                                          size_t program) {
  return executable->executable->manifest().programs[program].name.c_str();
}

KvernModel *kvern_model_create(const KvernExecutable *executable,
                               size_t program, const KvernNamedTensor *weights,
                               size_t num_weights, KvernError *error) {
  return kvern_model_create_with_threads(executable, program, weights,
                                         num_weights, 0, error);
}

KvernModel *kvern_model_create_with_threads(const KvernExecutable *executable,
                                            size_t program,
                                            const KvernNamedTensor *weights,
                                            size_t num_weights,
                                            size_t num_threads,
                                            KvernError *error) {
  std::vector<WeightData> offered;
  for (size_t i = 0; i < num_weights; ++i) {
    const KvernTensor &tensor = weights[i].tensor;
    offered.push_back(
        {weights[i].name, static_cast<kvern::DType>(tensor.dtype),
         std::vector<int64_t>(tensor.dims, tensor.dims + tensor.rank),
         tensor.data, nullptr});
  }
  if (program >= kvern_executable_num_programs(executable)) {
    setError(error, Status::error(ErrorKind::InputCount,
                                  "the executable has no program " +
                                      std::to_string(program)));
    return nullptr;
  }
  auto threads = static_cast<int64_t>(
      std::min<size_t>(num_threads, static_cast<size_t>(kMaxWorkers)));
  // Weights may be rearranged while they are bound.
  WorkerLimit limit(threads);
  Result<WeightSet::Ref> bound =
      WeightSet::bind(executable->executable, std::move(offered));
  setError(error, bound.status());
  return bound.ok() ? new KvernModel{Model::create(*bound, program, threads)}
                    : nullptr;
}

void kvern_model_free(KvernModel *model) { delete model; }

size_t kvern_model_num_threads(const KvernModel *model) {
  return static_cast<size_t>(model->model->threads());
}

KvernOutputs *kvern_model_run(KvernModel *model, const KvernTensor *inputs,
                              size_t num_inputs, KvernError *error) {
  std::vector<TensorRef> refs;
  for (size_t i = 0; i < num_inputs; ++i) {
    refs.push_back({inputs[i].data, static_cast<kvern::DType>(inputs[i].dtype),
                    inputs[i].dims, inputs[i].rank,
                    inputs[i].is_writable != 0});
  }
  Result<std::vector<OutputTensor>> outputs = model->model->run(refs);
  setError(error, outputs.status());
  return outputs.ok() ? new KvernOutputs{std::move(*outputs)} : nullptr;
}

size_t kvern_outputs_size(const KvernOutputs *outputs) {
  return outputs->tensors.size();
}

KvernTensor kvern_outputs_get(const KvernOutputs *outputs, size_t index) {
  const OutputTensor &tensor = outputs->tensors[index];
  return {tensor.memory->data(), static_cast<uint8_t>(tensor.dtype), 1,
          tensor.dims.data(), tensor.dims.size()};
}

void kvern_outputs_free(KvernOutputs *outputs) { delete outputs; }
