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

/// Immutable apart from a pool of workspaces: several threads may run one model
/// at once.
class Model {
public:
  using Ref = std::shared_ptr<Model>;

  /// The model of program `program` of the executable of `weights`.
  static Ref create(WeightSet::Ref weights, size_t program);

  const ProgramSpec &program() const { return *spec; }
  const Executable::Ref &executable() const { return weights->executable(); }

  /// Checks `inputs` against the program (count, dtype, shape, alignment,
  /// access, overlap of mutable ones), binds its symbols and runs it.
  ///
  /// Mutable inputs are changed in place, also by a run that fails half-way.
  /// Fails with InputCount, Input, Execution or Memory.
  Result<std::vector<OutputTensor>> run(const std::vector<TensorRef> &inputs);

private:
  explicit Model(WeightSet::Ref weights, size_t program);

  Status checkInputs(const std::vector<TensorRef> &inputs) const;
  Memory::Ref takeWorkspace();
  void giveBackWorkspace(Memory::Ref workspace);

  WeightSet::Ref weights;
  const ProgramSpec *spec;
  KvernEntry entry;
  std::vector<void *> weightPointers;
  std::mutex poolMutex;
  /// Workspaces that no run uses.
  std::vector<Memory::Ref> pool;
};

} // namespace kvern::runtime

#endif // KVERN_LIB_RUNTIME_MODEL_H
