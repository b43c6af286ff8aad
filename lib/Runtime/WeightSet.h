// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Weights of an executable, bound by name, and those derived from them.
#ifndef KVERN_LIB_RUNTIME_WEIGHTSET_H
#define KVERN_LIB_RUNTIME_WEIGHTSET_H

#include "lib/Runtime/Executable.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace kvern::runtime {

/// Data offered for one weight: contiguous, row-major, kept alive by `memory`.
struct WeightData {
  std::string name;
  DType dtype = DType::Float32;
  std::vector<int64_t> shape;
  const void *data = nullptr;
  Memory::Ref memory;
};

struct BindOptions {
  /// Whether names that the executable does not have are accepted.
  bool allowUnexpected = false;
  /// Derived weights that were computed before; their initializers do not run,
  /// and weights that only those read need not be offered. Names that the
  /// executable does not have are ignored.
  std::vector<WeightData> derived;
  /// Derived weights of other weight sets. One that turns out to have the bytes
  /// that its initializer gives is used in place of those.
  std::vector<WeightData> candidates;
  /// Called after each initializer with the bytes derived so far, those to be
  /// derived in all, and the name of the weight that was read. Binding ends
  /// when it returns false.
  std::function<bool(uint64_t, uint64_t, const std::string &)> progress;
};

/// The data of all weights of an executable. Immutable; shared by its models.
class WeightSet {
public:
  using Ref = std::shared_ptr<const WeightSet>;

  /// Binds `offered` to the external weights of `executable`, and runs the
  /// initializers of derived weights. Data is used in place unless it is less
  /// aligned than the executable asks for. What no program reads is let go as
  /// soon as the last initializer has read it, so that originals and derived
  /// weights are not in memory together.
  ///
  /// One failure lists every weight that is missing, unexpected, or of another
  /// dtype or shape.
  static Result<Ref> bind(Executable::Ref executable,
                          std::vector<WeightData> offered,
                          const BindOptions &options = {});

  const Executable::Ref &executable() const { return owner; }
  /// Never null for a weight that a program reads.
  const void *data(size_t index) const { return pointers[index]; }
  /// Keeps the data alive; null for constants and for weights that no program
  /// reads.
  const Memory::Ref &memory(size_t index) const { return memories[index]; }

private:
  friend class WeightBinder;
  WeightSet() = default;

  Executable::Ref owner;
  std::vector<const void *> pointers;
  std::vector<Memory::Ref> memories;
};

} // namespace kvern::runtime

#endif // KVERN_LIB_RUNTIME_WEIGHTSET_H
