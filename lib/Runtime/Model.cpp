// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Checking of inputs, binding, running.
#include "lib/Runtime/Model.h"

#include "lib/Runtime/RunState.h"
#include "lib/Runtime/SymbolBinding.h"
#include "lib/Runtime/ThreadPool.h"

namespace kvern::runtime {
namespace {

/// The address of inputs without elements.
alignas(kMemoryAlignment) uint8_t kNoData[kMemoryAlignment];

uint64_t bytesOf(const TensorRef &tensor) {
  uint64_t bytes = dtypeSize(tensor.dtype);
  for (size_t i = 0; i < tensor.rank; ++i) {
    bytes *= static_cast<uint64_t>(tensor.dims[i]);
  }
  return bytes;
}

bool overlap(const TensorRef &a, const TensorRef &b) {
  uintptr_t startA = reinterpret_cast<uintptr_t>(a.data);
  uintptr_t startB = reinterpret_cast<uintptr_t>(b.data);
  uint64_t bytesA = bytesOf(a), bytesB = bytesOf(b);
  return bytesA != 0 && bytesB != 0 && startA < startB + bytesB &&
         startB < startA + bytesA;
}

Status inputError(std::string message) {
  return Status::error(ErrorKind::Input, std::move(message));
}

} // namespace

Model::Model(WeightSet::Ref bound, size_t program, int64_t threads)
    : weights(std::move(bound)),
      spec(&weights->executable()->manifest().programs[program]),
      entry(weights->executable()->entry(program)),
      workspaceSize(weights->executable()->workspaceSize(program)),
      numThreads(threads == 0 ? defaultWorkers() : threads) {
  for (uint32_t index : spec->weights) {
    weightPointers.push_back(const_cast<void *>(weights->data(index)));
  }
}

Model::Ref Model::create(WeightSet::Ref weights, size_t program,
                         int64_t threads) {
  return Ref(new Model(std::move(weights), program, threads));
}

Status Model::checkInputs(const std::vector<TensorRef> &inputs) const {
  if (inputs.size() != spec->inputs.size()) {
    std::string names;
    for (const InputSpec &input : spec->inputs) {
      names += (names.empty() ? "" : ", ") + input.name;
    }
    return Status::error(ErrorKind::InputCount,
                         "program '" + spec->name + "' expected " +
                             std::to_string(spec->inputs.size()) + " inputs (" +
                             names + "), but got " +
                             std::to_string(inputs.size()));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const InputSpec &expected = spec->inputs[i];
    const TensorRef &given = inputs[i];
    auto describe = [&](size_t index) {
      return "input " + std::to_string(index) + " ('" +
             spec->inputs[index].name + "')";
    };
    if (given.dtype != expected.dtype) {
      return inputError("expected " + describe(i) + " to have dtype " +
                        std::string(dtypeName(expected.dtype)) + ", but got " +
                        std::string(dtypeName(given.dtype)));
    }
    if (reinterpret_cast<uintptr_t>(given.data) % dtypeSize(given.dtype) != 0) {
      return inputError(
          "expected the memory of " + describe(i) + " to be aligned to " +
          std::to_string(dtypeSize(given.dtype)) + " bytes; pass a copy of it");
    }
    if (expected.kind == InputKind::Buffer && !given.isWritable) {
      return inputError(
          "expected " + describe(i) +
          " to be writable, because the program changes it in place");
    }
  }
  return Status::success();
}

Result<std::vector<OutputTensor>>
Model::run(const std::vector<TensorRef> &inputs, StepTimes *times) {
  // 1. Check the inputs, bind the symbols.
  if (Status status = checkInputs(inputs); !status.ok()) {
    return status;
  }
  std::vector<ShapeRef> shapes;
  std::vector<void *> pointers;
  shapes.reserve(inputs.size());
  pointers.reserve(inputs.size());
  for (const TensorRef &input : inputs) {
    shapes.push_back({input.dims, input.rank});
    pointers.push_back(input.data ? input.data : kNoData);
  }
  std::vector<int64_t> symbols;
  if (Status status = bindSymbols(*spec, shapes, symbols); !status.ok()) {
    return status;
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (size_t j = 0;
         j < inputs.size() && spec->inputs[i].kind == InputKind::Buffer; ++j) {
      if (i != j && overlap(inputs[i], inputs[j])) {
        return inputError(
            "input " + std::to_string(i) + " ('" + spec->inputs[i].name +
            "'), which the program changes in place, shares memory with "
            "input " +
            std::to_string(j) + " ('" + spec->inputs[j].name + "')");
      }
    }
  }

  // 2. Run with a workspace of the pool.
  RunState state(*spec, symbols);
  if (Status status = state.allocateKnownOutputs(); !status.ok()) {
    return status;
  }
  state.workspace = takeWorkspace();
  state.times = times;
  KvernFrame frame = {pointers.data(), weightPointers.data(), symbols.data(),
                      &state};
  WorkerLimit limit(numThreads);
  Status status = state.call(entry, frame);
  giveBackWorkspace(std::move(state.workspace));
  if (times) {
    times->symbols = std::move(symbols);
  }
  if (!status.ok()) {
    return status;
  }
  return std::move(state.outputs);
}

int64_t Model::weightBytes() const {
  int64_t bytes = 0;
  for (uint32_t index : spec->weights) {
    const WeightSpec &weight = executable()->manifest().weights[index];
    bytes += *byteSize(weight.dtype, weight.shape);
  }
  return bytes;
}

int64_t Model::workspaceBytes(std::vector<int64_t> symbols) const {
  if (!workspaceSize) {
    return 0;
  }
  symbols.resize(spec->symbols.size(), -1);
  KvernFrame frame = {nullptr, nullptr, symbols.data(), nullptr};
  WorkerLimit limit(numThreads);
  return workspaceSize(&frame);
}

Memory::Ref Model::takeWorkspace() {
  std::lock_guard<std::mutex> lock(poolMutex);
  if (pool.empty()) {
    return nullptr;
  }
  Memory::Ref workspace = std::move(pool.back());
  pool.pop_back();
  return workspace;
}

void Model::giveBackWorkspace(Memory::Ref workspace) {
  if (workspace) {
    std::lock_guard<std::mutex> lock(poolMutex);
    pool.push_back(std::move(workspace));
  }
}

} // namespace kvern::runtime
