// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program of an executable with its weights, ready to run.
#ifndef KVERN_LIB_RUNTIME_MODEL_H
#define KVERN_LIB_RUNTIME_MODEL_H

#include "lib/Runtime/WeightSet.h"

#include <memory>
#include <mutex>
#include <vector>

namespace kvern::runtime {

/// An input of a run: contiguous, row-major, owned by the caller.
struct TensorRef {
  void *data = nullptr;
  DType dtype = DType::Float32;
  const int64_t *dims = nullptr;
  size_t rank = 0;
  bool isWritable = false;
};

/// An output of a run: contiguous, row-major.
struct OutputTensor {
  DType dtype = DType::Float32;
  std::vector<int64_t> dims;
  Memory::Ref memory;
};

/// When each step of a run began, and when the last one ended, in nanoseconds
/// of a steady clock; 0 for a step that was not reached.
struct StepTimes {
  /// The values of the program's symbols.
  std::vector<int64_t> symbols;
  std::vector<int64_t> starts;
  int64_t end = 0;
};

/// Immutable apart from a pool of workspaces: several threads may run one model
/// at once.
class Model {
public:
  using Ref = std::shared_ptr<Model>;

  /// The model of program `program` of the executable of `weights`. A run uses
  /// up to `threads` threads of the process; 0 lets the runtime choose.
  static Ref create(WeightSet::Ref weights, size_t program,
                    int64_t threads = 0);

  const ProgramSpec &program() const { return *spec; }
  const Executable::Ref &executable() const { return weights->executable(); }
  int64_t threads() const { return numThreads; }

  /// Checks `inputs` against the program (count, dtype, shape, alignment,
  /// access, overlap of mutable ones), binds its symbols and runs it.
  ///
  /// Mutable inputs are changed in place, also by a run that fails half-way.
  /// Fails with InputCount, Input, Execution or Memory. `times`, if not null,
  /// gets the times of the steps.
  Result<std::vector<OutputTensor>> run(const std::vector<TensorRef> &inputs,
                                        StepTimes *times = nullptr);

  /// Bytes of the weights that the program reads.
  int64_t weightBytes() const;

  /// Bytes of the arena of a run in which the symbols of the inputs have these
  /// values. Memory for sizes that only a run knows comes on top.
  int64_t workspaceBytes(std::vector<int64_t> symbols) const;

private:
  Model(WeightSet::Ref weights, size_t program, int64_t threads);

  Status checkInputs(const std::vector<TensorRef> &inputs) const;
  Memory::Ref takeWorkspace();
  void giveBackWorkspace(Memory::Ref workspace);

  WeightSet::Ref weights;
  const ProgramSpec *spec;
  KvernEntry entry;
  KvernWorkspaceSize workspaceSize;
  int64_t numThreads;
  std::vector<void *> weightPointers;
  std::mutex poolMutex;
  /// Workspaces that no run uses.
  std::vector<Memory::Ref> pool;
};

} // namespace kvern::runtime

#endif // KVERN_LIB_RUNTIME_MODEL_H
