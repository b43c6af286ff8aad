// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Executable files: manifest, embedded constants and object code.
#ifndef KVERN_LIB_RUNTIME_EXECUTABLE_H
#define KVERN_LIB_RUNTIME_EXECUTABLE_H

#include "lib/Runtime/Abi.h"
#include "lib/Runtime/Manifest.h"
#include "lib/Runtime/Memory.h"
#include "lib/Runtime/ObjectLoader.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace kvern::runtime {

/// Data to embed for weight `weight` of a manifest; as many bytes as its shape
/// and dtype say.
struct ConstantData {
  uint32_t weight = 0;
  const void *data = nullptr;
  uint64_t size = 0;
};

/// Writes an executable file to memory, of object files that are linked when it
/// is opened. Sets the offset and size of each weight that has data in
/// `constants`; the other weights stay external.
std::string writeExecutable(Manifest manifest,
                            const std::vector<ConstantData> &constants,
                            const std::vector<std::string_view> &objects);

/// An executable, checked and mapped. Immutable and shared between threads.
class Executable {
public:
  using Ref = std::shared_ptr<const Executable>;

  /// Opens an executable file. The file is mapped: embedded constants are used
  /// in place, so it must not be changed while the executable lives (replacing
  /// it by a rename is fine).
  static Result<Ref> open(const char *path);

  /// Opens an executable held in memory, which is used in place when it is
  /// aligned to kMemoryAlignment and copied otherwise.
  static Result<Ref> fromMemory(Memory::Ref memory);

  const Manifest &manifest() const { return contents; }
  /// The whole file, for saving it again.
  const Memory &bytes() const { return *file; }
  /// The entry of program `index`.
  KvernEntry entry(size_t index) const { return entries[index]; }
  /// The entry of initializer `index`.
  KvernEntry initializer(size_t index) const { return initializers[index]; }
  /// What computes the bytes of the arena of program `index`; null when it has
  /// none.
  KvernWorkspaceSize workspaceSize(size_t index) const {
    return workspaceSizes[index];
  }
  /// The embedded data of weight `index`; null for others.
  const void *constant(size_t index) const {
    const WeightSpec &weight = contents.weights[index];
    return weight.constantOffset < 0 ? nullptr
                                     : constants + weight.constantOffset;
  }
  /// The index of a program, or -1.
  int64_t findProgram(std::string_view name) const;

private:
  Executable() = default;

  Memory::Ref file;
  Manifest contents;
  const uint8_t *constants = nullptr;
  std::unique_ptr<LoadedCode> code;
  std::vector<KvernEntry> entries, initializers;
  std::vector<KvernWorkspaceSize> workspaceSizes;
};

} // namespace kvern::runtime

#endif // KVERN_LIB_RUNTIME_EXECUTABLE_H
