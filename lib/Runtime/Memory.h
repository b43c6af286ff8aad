// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks of memory with an owner.
#ifndef KVERN_LIB_RUNTIME_MEMORY_H
#define KVERN_LIB_RUNTIME_MEMORY_H

#include "lib/Runtime/Result.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace kvern::runtime {

/// Alignment of all memory that the runtime allocates: a cache line, and the
/// widest vector register.
inline constexpr size_t kMemoryAlignment = 64;

/// A block that lives as long as something refers to it: allocated here, mapped
/// from a file, or borrowed from an owner who is told when the last reference
/// goes. Counting is thread-safe; the contents are not guarded.
class Memory {
public:
  using Ref = std::shared_ptr<Memory>;
  /// Called once, on any thread, when the last reference goes. Must not throw.
  using Release = void (*)(void *context);

  /// Allocates `bytes` bytes, aligned to kMemoryAlignment; null when there is
  /// no room. Zero bytes give a valid address too. Large blocks come from those
  /// freed lately, up to 256 MiB of which are kept; large zeroed ones take
  /// memory only where they are written. With the environment
  /// variable KVERN_GUARD_PAGES=1, blocks lie between pages that cannot be
  /// accessed.
  static Ref allocate(uint64_t bytes, bool zeroed = false);

  /// Refers to memory of another owner; `release` may be null.
  static Ref borrow(void *data, uint64_t bytes, bool writable, Release release,
                    void *context);

  /// Maps `bytes` bytes of a file from `offset` (any number; to the end of the
  /// file when `bytes` is kToEnd). Writing needs `shared` (into the file) or is
  /// private to this process (copy on write); `writable` false forbids both.
  static Result<Ref> mapFile(const char *path, uint64_t offset, uint64_t bytes,
                             bool writable, bool shared);
  static constexpr uint64_t kToEnd = ~uint64_t(0);

  ~Memory();
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;

  /// Makes all pages of writable memory present, which it may otherwise do one
  /// by one at first use. The contents become undefined.
  void prefault();

  uint8_t *data() const { return start; }
  uint64_t size() const { return length; }
  bool isWritable() const { return writable; }

private:
  Memory() = default;

  uint8_t *start = nullptr;
  uint64_t length = 0;
  bool writable = true;
  Release release = nullptr;
  void *context = nullptr;
  /// The pages to unmap, when mapped from a file.
  void *mapping = nullptr;
  uint64_t mappingBytes = 0;
};

} // namespace kvern::runtime

#endif // KVERN_LIB_RUNTIME_MEMORY_H
