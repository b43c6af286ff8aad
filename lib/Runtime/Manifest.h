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

/// Data that programs read but do not own: bound by name at load, or embedded
/// in the file.
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

  bool isExternal() const { return constantOffset < 0; }
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

/// One entry point.
struct ProgramSpec {
  std::string name;
  std::string entrySymbol;
  /// The first `numInputSymbols` are bound from the shapes of inputs; the rest
  /// become known while running.
  std::vector<std::string> symbols;
  uint32_t numInputSymbols = 0;
  std::vector<InputSpec> inputs;
  std::vector<OutputSpec> outputs;
  /// Indices into Manifest::weights, in the order of KvernFrame::weights.
  std::vector<uint32_t> weights;
  std::vector<CheckSpec> checks;
};

struct Manifest {
  std::string kvernVersion;
  std::string triple;
  std::string cpu;
  /// Names as of LLVM ("avx2", "fma"); see CpuFeatures.h.
  std::vector<std::string> cpuFeatures;
  std::vector<WeightSpec> weights;
  std::vector<ProgramSpec> programs;
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
