// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A run of a program whose inputs and output are weights.
#include "lib/Runtime/Initializer.h"

#include "lib/Runtime/RunState.h"
#include "lib/Runtime/SymbolBinding.h"

namespace kvern::runtime {

Result<Memory::Ref> runInitializer(const Executable &executable, size_t weight,
                                   const std::vector<const void *> &inputs) {
  const Manifest &manifest = executable.manifest();
  const WeightSpec &spec = manifest.weights[weight];
  const size_t index = static_cast<size_t>(spec.initializer);
  const ProgramSpec &program = manifest.initializers[index];
  std::vector<ShapeRef> shapes;
  std::vector<void *> pointers;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::vector<int64_t> &shape = spec.inputs[i].shape;
    shapes.push_back({shape.data(), shape.size()});
    pointers.push_back(const_cast<void *>(inputs[i]));
  }
  std::vector<int64_t> symbols;
  if (Status status = bindSymbols(program, shapes, symbols); !status.ok()) {
    return Status::error(ErrorKind::Artifact,
                         "damaged executable: " + status.message());
  }
  RunState state(program, symbols);
  if (Status status = state.allocateKnownOutputs(); !status.ok()) {
    return status;
  }
  KvernFrame frame = {pointers.data(), nullptr, symbols.data(), &state};
  if (Status status = state.call(executable.initializer(index), frame);
      !status.ok()) {
    return status;
  }
  if (state.outputs[0].dims != spec.shape) {
    return Status::error(ErrorKind::Artifact,
                         "damaged executable: expected initializer '" +
                             program.name + "' to give shape " +
                             formatShape(spec.shape) + ", but got " +
                             formatShape(state.outputs[0].dims));
  }
  return std::move(state.outputs[0].memory);
}

} // namespace kvern::runtime
