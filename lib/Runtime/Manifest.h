// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What an executable says about its programs, and the byte encoding of that.
#ifndef KVERN_LIB_RUNTIME_MANIFEST_H
#define KVERN_LIB_RUNTIME_MANIFEST_H

#include "lib/Runtime/DType.h"
#include "lib/Runtime/DimExpr.h"
#include "lib/Runtime/Result.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace kvern::runtime {

/// Whether an input is a value, or memory that the program mutates in place.
enum class InputKind : uint8_t { Tensor = 0, Buffer = 1 };

struct InputSpec {
  std::string name;
  InputKind kind = InputKind::Tensor;
  DType dtype = DType::Float32;
  /// "cpu:0"
  std::string device;
  std::vector<DimExpr> dims;
};

struct OutputSpec {
  std::string name;
  DType dtype = DType::Float32;
  std::string device;
  std::vector<DimExpr> dims;
};

/// What an initializer reads: a weight, seen with a shape of as many elements.
struct WeightInput {
  /// Index into Manifest::weights, below that of the derived weight.
  uint32_t weight = 0;
  std::vector<int64_t> shape;
};

/// Data that programs read but do not own: bound by name at load, embedded in
/// the file, or derived from other weights at load.
struct WeightSpec {
  std::string name;
  DType dtype = DType::Float32;
  std::vector<int64_t> shape;
  /// Bytes; a power of two.
  uint64_t align = 1;
  /// Offset in the constant section of the file, a multiple of 64; -1 when the
  /// data is bound at load.
  int64_t constantOffset = -1;
  uint64_t constantSize = 0;
  /// Index into Manifest::initializers of what computes it; -1 for the others.
  int32_t initializer = -1;
  std::vector<WeightInput> inputs;

  bool isDerived() const { return initializer >= 0; }
  bool isExternal() const { return constantOffset < 0 && !isDerived(); }
};

/// A run-time assertion; generated code reports its failure by index.
struct CheckSpec {
  /// Short machine-readable kind, such as "bounds" or "shape".
  std::string kind;
  /// The op that asked for it: "kvern.gather".
  std::string op;
  /// The user's file and line, or empty.
  std::string location;
  /// Text in which {0}, {1} and {2} stand for the reported values.
  std::string message;
};

/// A kernel call of a program; generated code announces it by index.
struct StepSpec {
  /// The kernel's symbol; equal kernels are one.
  std::string kernel;
  /// Names of the ops in it.
  std::vector<std::string> ops;
  /// The user's lines that they come from.
  std::vector<std::string> lines;
  /// How the kernel is carried out: tiles, layouts.
  std::string schedule;
  /// Floating-point operations, and bytes read and written, by definition; -1
  /// where they cannot be counted.
  DimExpr flops, bytes;
};

/// One entry point.
struct ProgramSpec {
  std::string name;
  /// Of an initializer: equal for those that do the same, in all executables.
  std::string fingerprint;
  /// Of an initializer of one input: it makes each block of the output's first
  /// axis of that many rows of the input, and of nothing else, so that it may
  /// run on parts. 0 for others.
  int64_t rowsPerBlock = 0;
  std::string entrySymbol;
  /// The function `int64_t (KvernFrame *)` that computes the bytes of the arena
  /// from the symbols alone; empty when there is no arena.
  std::string workspaceSymbol;
  /// The first `numInputSymbols` are bound from the shapes of inputs; the rest
  /// become known while running.
  std::vector<std::string> symbols;
  uint32_t numInputSymbols = 0;
  std::vector<InputSpec> inputs;
  std::vector<OutputSpec> outputs;
  /// Indices into Manifest::weights, in the order of KvernFrame::weights.
  std::vector<uint32_t> weights;
  std::vector<CheckSpec> checks;
  std::vector<StepSpec> steps;
};

struct Manifest {
  std::string kvernVersion;
  std::string triple;
  std::string cpu;
  /// Names as of LLVM ("avx2", "fma"); see CpuFeatures.h.
  std::vector<std::string> cpuFeatures;
  std::vector<WeightSpec> weights;
  std::vector<ProgramSpec> programs;
  /// Programs of one output and no weights that run at load.
  std::vector<ProgramSpec> initializers;
};

/// Encodes a manifest; the inverse of decodeManifest.
std::string encodeManifest(const Manifest &manifest);

/// Decodes and checks a manifest: every index is in range, every dim
/// well-formed, every name that must be unique is. Reads nothing outside the
/// bytes and allocates at most a small multiple of them. Offsets of constants
/// are checked against the file by Executable.
Result<Manifest> decodeManifest(const void *data, size_t size);

/// Bytes of a tensor of non-negative dims; nothing on overflow of int64.
std::optional<int64_t> byteSize(DType dtype, const std::vector<int64_t> &shape);

/// "[2, 3]"
std::string formatShape(const std::vector<int64_t> &shape);

} // namespace kvern::runtime

#endif // KVERN_LIB_RUNTIME_MANIFEST_H
