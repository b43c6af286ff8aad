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

namespace kvern::runtime {

/// Gives the address of a symbol that the object uses but does not define; null
/// when there is none.
using SymbolResolver = void *(*)(std::string_view name);

/// An object file mapped into this process, ready to run.
///
/// The object is one of the small code model, position independent or not, as
/// compilers write it (ET_REL). Its code runs no constructors, has no
/// thread-local data and does not unwind. Code is mapped readable and
/// executable, never writable at the same time.
class LoadedObject {
public:
  /// Maps and relocates the object in `bytes`, which is not needed afterwards.
  ///
  /// Reads nothing outside the bytes and allocates at most a small multiple of
  /// them plus the object's zero-initialised data (1 GiB at most). Fails for
  /// damaged bytes, other machines, unresolved symbols (all of them listed) and
  /// relocations that are not known or do not fit.
  static Result<std::unique_ptr<LoadedObject>>
  load(const void *bytes, size_t size, SymbolResolver resolver);

  /// Unmaps the object; its addresses become invalid.
  ~LoadedObject();
  LoadedObject(const LoadedObject &) = delete;
  LoadedObject &operator=(const LoadedObject &) = delete;

  /// The address of a global symbol defined by the object, or null.
  void *lookup(std::string_view name) const;

  /// Bytes of memory that the object takes.
  size_t mappedBytes() const { return mappedSize; }

private:
  friend class ObjectMapper;
  LoadedObject() = default;

  uint8_t *memory = nullptr;
  size_t mappedSize = 0;
  std::unordered_map<std::string, void *> globals;
};

} // namespace kvern::runtime

#endif // KVERN_LIB_RUNTIME_OBJECTLOADER_H
