// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loads relocatable x86-64 ELF objects into executable memory.
#ifndef KVERN_LIB_RUNTIME_OBJECTLOADER_H
#define KVERN_LIB_RUNTIME_OBJECTLOADER_H

#include "lib/Runtime/Result.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace kvern::runtime {

/// Gives the address of a symbol that the objects use but do not define; null
/// when there is none.
using SymbolResolver = void *(*)(std::string_view name);

/// Object files linked with each other and mapped into this process, ready to
/// run.
///
/// Each object is one of the small code model, position independent or not, as
/// compilers write it (ET_REL). Its code runs no constructors, has no
/// thread-local data and does not unwind. Code is mapped readable and
/// executable, never writable at the same time.
class LoadedCode {
public:
  /// Links, maps and relocates the bytes of `objects`, which are not needed
  /// afterwards. A symbol that an object does not define is that of another
  /// object, else that of the resolver.
  ///
  /// Reads nothing outside the bytes and allocates at most a small multiple of
  /// them plus their zero-initialised data (1 GiB at most). Fails for damaged
  /// bytes, other machines, symbols that two objects define, unresolved symbols
  /// (all of them listed) and relocations that are not known or do not fit.
  static Result<std::unique_ptr<LoadedCode>>
  load(const std::vector<std::string_view> &objects, SymbolResolver resolver);

  /// Unmaps the code; its addresses become invalid.
  ~LoadedCode();
  LoadedCode(const LoadedCode &) = delete;
  LoadedCode &operator=(const LoadedCode &) = delete;

  /// The address of a global symbol that an object defines, or null.
  void *lookup(std::string_view name) const;

  /// Bytes of memory that the code takes.
  size_t mappedBytes() const { return mappedSize; }

private:
  friend class Linker;
  LoadedCode() = default;

  uint8_t *memory = nullptr;
  size_t mappedSize = 0;
  std::unordered_map<std::string, void *> globals;
};

} // namespace kvern::runtime

#endif // KVERN_LIB_RUNTIME_OBJECTLOADER_H
