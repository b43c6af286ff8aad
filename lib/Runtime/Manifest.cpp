// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Encoding of manifests: little-endian fixed-width numbers, strings and lists
// preceded by their u32 length.
#include "lib/Runtime/Manifest.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace kvern::runtime {
namespace {

/// Visits the fields of each struct in file order; shared by Writer and Reader,
/// so that the two cannot disagree.
template <typename Archive> void visit(Archive &archive, DimExpr::Term &term) {
  archive.field(term.op);
  archive.field(term.value);
}
template <typename Archive> void visit(Archive &archive, DimExpr &dim) {
  archive.field(dim.terms);
  archive.field(dim.text);
}
template <typename Archive> void visit(Archive &archive, InputSpec &input) {
  archive.field(input.name);
  archive.field(input.kind);
  archive.field(input.dtype);
  archive.field(input.device);
  archive.field(input.dims);
}
template <typename Archive> void visit(Archive &archive, OutputSpec &output) {
  archive.field(output.name);
  archive.field(output.dtype);
  archive.field(output.device);
  archive.field(output.dims);
}
template <typename Archive> void visit(Archive &archive, WeightInput &input) {
  archive.field(input.weight);
  archive.field(input.shape);
}
template <typename Archive> void visit(Archive &archive, WeightSpec &weight) {
  archive.field(weight.name);
  archive.field(weight.dtype);
  archive.field(weight.shape);
  archive.field(weight.align);
  archive.field(weight.constantOffset);
  archive.field(weight.constantSize);
  archive.field(weight.initializer);
  archive.field(weight.inputs);
}
template <typename Archive> void visit(Archive &archive, CheckSpec &check) {
  archive.field(check.kind);
  archive.field(check.op);
  archive.field(check.location);
  archive.field(check.message);
}
template <typename Archive> void visit(Archive &archive, StepSpec &step) {
  archive.field(step.kernel);
  archive.field(step.ops);
  archive.field(step.lines);
  archive.field(step.schedule);
  archive.field(step.flops);
  archive.field(step.bytes);
}
template <typename Archive> void visit(Archive &archive, ProgramSpec &program) {
  archive.field(program.name);
  archive.field(program.fingerprint);
  archive.field(program.rowsPerBlock);
  archive.field(program.entrySymbol);
  archive.field(program.workspaceSymbol);
  archive.field(program.symbols);
  archive.field(program.numInputSymbols);
  archive.field(program.inputs);
  archive.field(program.outputs);
  archive.field(program.weights);
  archive.field(program.checks);
  archive.field(program.steps);
}
template <typename Archive> void visit(Archive &archive, Manifest &manifest) {
  archive.field(manifest.kvernVersion);
  archive.field(manifest.triple);
  archive.field(manifest.cpu);
  archive.field(manifest.cpuFeatures);
  archive.field(manifest.weights);
  archive.field(manifest.programs);
  archive.field(manifest.initializers);
}

class Writer {
public:
  std::string bytes;

  void field(std::string &text) {
    number(static_cast<uint32_t>(text.size()));
    bytes.append(text);
  }
  template <typename T> void field(std::vector<T> &items) {
    number(static_cast<uint32_t>(items.size()));
    for (T &item : items) {
      field(item);
    }
  }
  template <typename T> void field(T &item) {
    if constexpr (std::is_enum_v<T> || std::is_integral_v<T>) {
      number(item);
    } else {
      visit(*this, item);
    }
  }

private:
  template <typename T> void number(T value) {
    char raw[sizeof(T)];
    std::memcpy(raw, &value, sizeof(T));
    bytes.append(raw, sizeof(T));
  }
};

class Reader {
public:
  Reader(const char *data, size_t size) : cursor(data), left(size) {}

  bool failed = false;
  size_t remaining() const { return left; }

  void field(std::string &text) {
    uint32_t length = 0;
    number(length);
    if (failed || length > left) {
      failed = true;
      return;
    }
    text.assign(cursor, length);
    advance(length);
  }
  template <typename T> void field(std::vector<T> &items) {
    uint32_t length = 0;
    number(length);
    // The list grows only as its items are found, so that a wrong length cannot
    // allocate much.
    for (uint32_t i = 0; i < length && !failed; ++i) {
      T item{};
      field(item);
      if (!failed) {
        items.push_back(std::move(item));
      }
    }
  }
  template <typename T> void field(T &item) {
    if constexpr (std::is_enum_v<T> || std::is_integral_v<T>) {
      number(item);
    } else {
      visit(*this, item);
    }
  }

private:
  template <typename T> void number(T &value) {
    if (failed || sizeof(T) > left) {
      failed = true;
      return;
    }
    std::memcpy(&value, cursor, sizeof(T));
    advance(sizeof(T));
  }
  void advance(size_t count) {
    cursor += count;
    left -= count;
  }

  const char *cursor;
  size_t left;
};

Status damaged(const std::string &what) {
  return Status::error(ErrorKind::Artifact,
                       "damaged executable manifest: " + what);
}

template <typename Items, typename Name>
bool hasDuplicates(const Items &items, Name name) {
  std::vector<std::string_view> names;
  for (const auto &item : items) {
    names.push_back(name(item));
  }
  std::sort(names.begin(), names.end());
  return std::adjacent_find(names.begin(), names.end()) != names.end();
}

Status validateDims(const std::string &owner, DType dtype,
                    const std::vector<DimExpr> &dims, size_t numSymbols) {
  if (!isValidDType(static_cast<uint8_t>(dtype))) {
    return damaged("unknown dtype of " + owner);
  }
  for (const DimExpr &dim : dims) {
    if (!dim.isWellFormed(numSymbols)) {
      return damaged("malformed dim '" + dim.text + "' of " + owner);
    }
  }
  return Status::success();
}

Status validate(const ProgramSpec &program, size_t numWeights) {
  const std::string where = "program '" + program.name + "'";
  if (program.numInputSymbols > program.symbols.size()) {
    return damaged("symbol count of " + where);
  }
  for (const InputSpec &input : program.inputs) {
    if (input.kind != InputKind::Tensor && input.kind != InputKind::Buffer) {
      return damaged("unknown kind of input '" + input.name + "' of " + where);
    }
    Status status =
        validateDims("input '" + input.name + "' of " + where, input.dtype,
                     input.dims, program.numInputSymbols);
    if (!status.ok()) {
      return status;
    }
  }
  for (const OutputSpec &output : program.outputs) {
    Status status =
        validateDims("output '" + output.name + "' of " + where, output.dtype,
                     output.dims, program.symbols.size());
    if (!status.ok()) {
      return status;
    }
  }
  for (const StepSpec &step : program.steps) {
    if (!step.flops.isWellFormed(program.symbols.size()) ||
        !step.bytes.isWellFormed(program.symbols.size())) {
      return damaged("a size of step '" + step.kernel + "' of " + where);
    }
  }
  for (uint32_t index : program.weights) {
    if (index >= numWeights) {
      return damaged("weight index of " + where);
    }
  }
  if (hasDuplicates(program.inputs,
                    [](const InputSpec &input) -> std::string_view {
                      return input.name;
                    })) {
    return damaged("two inputs of one name in " + where);
  }
  return Status::success();
}

Status validate(const WeightSpec &weight) {
  const std::string where = "weight '" + weight.name + "'";
  if (!isValidDType(static_cast<uint8_t>(weight.dtype))) {
    return damaged("unknown dtype of " + where);
  }
  std::optional<int64_t> bytes = byteSize(weight.dtype, weight.shape);
  if (!bytes) {
    return damaged("shape of " + where);
  }
  if (weight.align == 0 || (weight.align & (weight.align - 1)) != 0 ||
      weight.align > 4096) {
    return damaged("alignment of " + where);
  }
  if (weight.constantOffset >= 0 &&
      (weight.constantSize != static_cast<uint64_t>(*bytes) ||
       weight.constantOffset % 64 != 0 || weight.align > 64)) {
    return damaged("embedded data of " + where);
  }
  return Status::success();
}

/// Weight `index`, when it is derived.
Status validateDerived(const Manifest &manifest, size_t index) {
  const WeightSpec &weight = manifest.weights[index];
  if (!weight.isDerived()) {
    return weight.initializer == -1 && weight.inputs.empty()
               ? Status::success()
               : damaged("inputs of weight '" + weight.name + "'");
  }
  const std::string where = "derived weight '" + weight.name + "'";
  if (static_cast<size_t>(weight.initializer) >= manifest.initializers.size() ||
      weight.constantOffset != -1) {
    return damaged("initializer of " + where);
  }
  const ProgramSpec &initializer = manifest.initializers[weight.initializer];
  if (initializer.outputs.size() != 1 || !initializer.weights.empty() ||
      initializer.inputs.size() != weight.inputs.size() ||
      initializer.outputs[0].dtype != weight.dtype ||
      initializer.rowsPerBlock < 0 ||
      (initializer.rowsPerBlock != 0 &&
       (weight.inputs.size() != 1 || weight.inputs[0].shape.empty() ||
        weight.shape.empty()))) {
    return damaged("inputs and outputs of " + where);
  }
  for (size_t i = 0; i < weight.inputs.size(); ++i) {
    const WeightInput &input = weight.inputs[i];
    if (input.weight >= index) {
      return damaged("input " + std::to_string(i) + " of " + where);
    }
    const WeightSpec &source = manifest.weights[input.weight];
    if (source.dtype != initializer.inputs[i].dtype ||
        initializer.inputs[i].kind != InputKind::Tensor ||
        byteSize(source.dtype, input.shape) !=
            byteSize(source.dtype, source.shape)) {
      return damaged("input " + std::to_string(i) + " of " + where);
    }
  }
  return Status::success();
}

} // namespace

std::string encodeManifest(const Manifest &manifest) {
  Writer writer;
  // The visitors take mutable references for the Reader's sake; the Writer
  // changes nothing.
  visit(writer, const_cast<Manifest &>(manifest));
  return std::move(writer.bytes);
}

Result<Manifest> decodeManifest(const void *data, size_t size) {
  Reader reader(static_cast<const char *>(data), size);
  Manifest manifest;
  visit(reader, manifest);
  if (reader.failed) {
    return damaged("it ends too early");
  }
  if (reader.remaining() != 0) {
    return damaged(std::to_string(reader.remaining()) + " bytes too many");
  }
  for (const WeightSpec &weight : manifest.weights) {
    if (Status status = validate(weight); !status.ok()) {
      return status;
    }
  }
  for (const auto *programs : {&manifest.programs, &manifest.initializers}) {
    for (const ProgramSpec &program : *programs) {
      if (Status status = validate(program, manifest.weights.size());
          !status.ok()) {
        return status;
      }
    }
  }
  for (size_t i = 0; i < manifest.weights.size(); ++i) {
    if (Status status = validateDerived(manifest, i); !status.ok()) {
      return status;
    }
  }
  if (hasDuplicates(manifest.weights,
                    [](const WeightSpec &weight) -> std::string_view {
                      return weight.name;
                    })) {
    return damaged("two weights of one name");
  }
  if (hasDuplicates(manifest.programs,
                    [](const ProgramSpec &program) -> std::string_view {
                      return program.name;
                    })) {
    return damaged("two programs of one name");
  }
  return manifest;
}

std::optional<int64_t> byteSize(DType dtype,
                                const std::vector<int64_t> &shape) {
  // Zero anywhere makes the size zero, but the other dims must still not
  // overflow: strides are computed from them.
  int64_t bytes = static_cast<int64_t>(dtypeSize(dtype));
  bool empty = false;
  for (int64_t dim : shape) {
    if (dim < 0) {
      return std::nullopt;
    }
    empty |= dim == 0;
    if (dim != 0 && __builtin_mul_overflow(bytes, dim, &bytes)) {
      return std::nullopt;
    }
  }
  return empty ? 0 : bytes;
}

std::string formatShape(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    text += (i ? ", " : "") + std::to_string(shape[i]);
  }
  return text + "]";
}

} // namespace kvern::runtime
