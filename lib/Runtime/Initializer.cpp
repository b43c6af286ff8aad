// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs of programs whose inputs and output are weights.
#include "lib/Runtime/Initializer.h"

#include "lib/Runtime/RunState.h"
#include "lib/Runtime/SymbolBinding.h"

#include <algorithm>

namespace kvern::runtime {
namespace {

/// Of an input that is read in parts, about.
constexpr uint64_t kPartBytes = 32 << 20;

Status damaged(const std::string &what) {
  return Status::error(ErrorKind::Artifact, "damaged executable: " + what);
}

/// One run; the output has `shape` and goes to `output`.
Status run(const Executable &executable, size_t index,
           const std::vector<std::vector<int64_t>> &inputShapes,
           std::vector<void *> inputs, const std::vector<int64_t> &shape,
           Memory::Ref output) {
  const ProgramSpec &program = executable.manifest().initializers[index];
  std::vector<ShapeRef> shapes;
  for (const std::vector<int64_t> &input : inputShapes) {
    shapes.push_back({input.data(), input.size()});
  }
  std::vector<int64_t> symbols;
  if (Status status = bindSymbols(program, shapes, symbols); !status.ok()) {
    return damaged(status.message());
  }
  std::vector<int64_t> expected;
  for (const DimExpr &dim : program.outputs[0].dims) {
    expected.push_back(dim.evaluate(symbols).value_or(-1));
  }
  if (expected != shape) {
    return damaged("expected initializer '" + program.name +
                   "' to give shape " + formatShape(shape) + ", but got " +
                   formatShape(expected));
  }
  RunState state(program, symbols);
  state.outputs.push_back({program.outputs[0].dtype, shape, std::move(output)});
  KvernFrame frame = {inputs.data(), nullptr, symbols.data(), &state};
  return state.call(executable.initializer(index), frame);
}

} // namespace

Result<Memory::Ref>
runInitializer(const Executable &executable, size_t weight,
               const std::vector<const void *> &inputs,
               const std::function<void(const void *, uint64_t)> &wasRead) {
  const Manifest &manifest = executable.manifest();
  const WeightSpec &spec = manifest.weights[weight];
  const size_t index = static_cast<size_t>(spec.initializer);
  const uint64_t bytes =
      static_cast<uint64_t>(*byteSize(spec.dtype, spec.shape));
  Memory::Ref output = Memory::allocate(bytes);
  if (!output) {
    return Status::error(ErrorKind::Memory, "no memory for " +
                                                std::to_string(bytes) +
                                                " bytes of derived weights");
  }
  std::vector<std::vector<int64_t>> shapes;
  std::vector<void *> pointers;
  for (size_t i = 0; i < inputs.size(); ++i) {
    shapes.push_back(spec.inputs[i].shape);
    pointers.push_back(const_cast<void *>(inputs[i]));
  }

  // Without parts, all rows are one.
  const int64_t block = manifest.initializers[index].rowsPerBlock;
  int64_t rows = 1, part = 1;
  uint64_t rowBytes = 0;
  if (block != 0 && spec.inputs[0].shape[0] != 0) {
    rows = spec.inputs[0].shape[0];
    rowBytes = static_cast<uint64_t>(
                   *byteSize(manifest.weights[spec.inputs[0].weight].dtype,
                             spec.inputs[0].shape)) /
               static_cast<uint64_t>(rows);
    const int64_t blocks =
        static_cast<int64_t>(kPartBytes / std::max<uint64_t>(rowBytes, 1)) /
        block;
    part = std::max<int64_t>(blocks, 1) * block;
    if ((rows + block - 1) / block != spec.shape[0]) {
      return damaged("number of blocks of derived weight '" + spec.name + "'");
    }
  }
  if (part >= rows) {
    Status status =
        run(executable, index, shapes, pointers, spec.shape, output);
    return status.ok() ? Result<Memory::Ref>(std::move(output)) : status;
  }
  const uint64_t blockBytes = bytes / static_cast<uint64_t>(spec.shape[0]);
  std::vector<int64_t> shape = spec.shape;
  for (int64_t row = 0; row < rows; row += part) {
    shapes[0][0] = std::min(part, rows - row);
    shape[0] = (shapes[0][0] + block - 1) / block;
    pointers[0] = static_cast<uint8_t *>(const_cast<void *>(inputs[0])) +
                  static_cast<uint64_t>(row) * rowBytes;
    const uint64_t size = static_cast<uint64_t>(shape[0]) * blockBytes;
    Memory::Ref target = Memory::borrow(
        output->data() + static_cast<uint64_t>(row / block) * blockBytes, size,
        /*writable=*/true, nullptr, nullptr);
    if (Status status = run(executable, index, shapes, pointers, shape, target);
        !status.ok()) {
      return status;
    }
    wasRead(pointers[0], static_cast<uint64_t>(shapes[0][0]) * rowBytes);
  }
  return output;
}

} // namespace kvern::runtime
