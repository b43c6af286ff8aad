// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Weights of an executable, bound by name.
#ifndef KVERN_LIB_RUNTIME_WEIGHTSET_H
#define KVERN_LIB_RUNTIME_WEIGHTSET_H

#include "lib/Runtime/Executable.h"

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

/// The data of all weights of an executable. Immutable; shared by its models.
class WeightSet {
public:
  using Ref = std::shared_ptr<const WeightSet>;

  /// Binds `offered` to the external weights of `executable`. Data is used in
  /// place unless it is less aligned than the executable asks for. One failure
  /// lists every weight that is missing, unexpected (unless `allowUnexpected`),
  /// or of another dtype or shape.
  static Result<Ref> bind(Executable::Ref executable,
                          const std::vector<WeightData> &offered,
                          bool allowUnexpected);

  const Executable::Ref &executable() const { return owner; }
  /// Never null.
  const void *data(size_t index) const { return pointers[index]; }

private:
  WeightSet() = default;

  Executable::Ref owner;
  std::vector<const void *> pointers;
  std::vector<Memory::Ref> keptAlive;
};

} // namespace kvern::runtime

#endif // KVERN_LIB_RUNTIME_WEIGHTSET_H
