// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Allocation, borrowing and mapping.
#include "lib/Runtime/Memory.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace kvern::runtime {
namespace {

/// Large blocks that were freed, kept so that the next run need not fault their
/// pages in again.
class BlockCache {
public:
  /// A kept block of at least `bytes` and not much more; null if there is none.
  void *take(uint64_t &bytes) {
    std::lock_guard<std::mutex> lock(mutex);
    size_t best = blocks.size();
    for (size_t i = 0; i < blocks.size(); ++i) {
      if (blocks[i].bytes >= bytes && blocks[i].bytes <= bytes + bytes / 8 &&
          (best == blocks.size() || blocks[i].bytes < blocks[best].bytes)) {
        best = i;
      }
    }
    if (best == blocks.size()) {
      return nullptr;
    }
    Block block = blocks[best];
    blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(best));
    total -= block.bytes;
    bytes = block.bytes;
    return block.memory;
  }

  /// Keeps a block, or frees it when enough is kept.
  void put(void *memory, uint64_t bytes) {
    {
      std::lock_guard<std::mutex> lock(mutex);
      if (bytes <= kMaxTotal - total && blocks.size() < kMaxBlocks) {
        blocks.push_back({memory, bytes});
        total += bytes;
        return;
      }
    }
    std::free(memory);
  }

  void clear() {
    std::lock_guard<std::mutex> lock(mutex);
    for (const Block &block : blocks) {
      std::free(block.memory);
    }
    blocks.clear();
    total = 0;
  }

  static constexpr uint64_t kMinBytes = uint64_t(1) << 17;

private:
  struct Block {
    void *memory;
    uint64_t bytes;
  };
  static constexpr uint64_t kMaxTotal = uint64_t(1) << 28;
  static constexpr size_t kMaxBlocks = 32;

  std::mutex mutex;
  std::vector<Block> blocks;
  uint64_t total = 0;
};

/// Never destroyed: memory may be freed after the end of main.
BlockCache &blockCache() {
  static BlockCache *const cache = new BlockCache();
  return *cache;
}

struct LargeBlock {
  void *memory;
  uint64_t bytes;
};

void releaseLarge(void *context) {
  auto *block = static_cast<LargeBlock *>(context);
  blockCache().put(block->memory, block->bytes);
  delete block;
}

void releaseFree(void *memory) { std::free(memory); }

/// Whether blocks end where the memory of the process ends, so that code which
/// leaves them fails at once: for tests.
bool hasGuardPages() {
  static const bool result = [] {
    const char *text = std::getenv("KVERN_GUARD_PAGES");
    return text && std::strcmp(text, "1") == 0;
  }();
  return result;
}

/// A mapping of its own, and what a block in it releases.
struct MappedBlock {
  void *mapping;
  uint64_t bytes;
};

void releaseMapped(void *context) {
  auto *block = static_cast<MappedBlock *>(context);
  munmap(block->mapping, block->bytes);
  delete block;
}

/// Pages without access before and after a block, which ends as near to the
/// latter as its alignment lets it.
MappedBlock mapGuarded(uint64_t bytes, void *&memory) {
  const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t inner = (bytes + page - 1) / page * page;
  const uint64_t total = inner + 2 * page;
  void *mapping = mmap(nullptr, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
                       /*fd=*/-1, /*offset=*/0);
  if (mapping == MAP_FAILED) {
    return {nullptr, 0};
  }
  uint8_t *start = static_cast<uint8_t *>(mapping) + page;
  if (inner != 0 && mprotect(start, inner, PROT_READ | PROT_WRITE) != 0) {
    munmap(mapping, total);
    return {nullptr, 0};
  }
  memory = start + (inner - bytes) / kMemoryAlignment * kMemoryAlignment;
  return {mapping, total};
}

constexpr uint64_t kLargePage = uint64_t(1) << 21;

void adviseLargePages(void *memory, uint64_t bytes) {
#if defined(MADV_HUGEPAGE)
  // Advice only: without it, the pages are small.
  (void)madvise(memory, bytes / kLargePage * kLargePage, MADV_HUGEPAGE);
#endif
}

/// Zeros that take memory where they are written, not before: caches are
/// planned for the most that they may hold.
MappedBlock mapZeros(uint64_t bytes, void *&memory) {
  const uint64_t total = bytes + kLargePage;
  void *mapping = mmap(nullptr, total, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, /*fd=*/-1, /*offset=*/0);
  if (mapping == MAP_FAILED) {
    return {nullptr, 0};
  }
  const uint64_t before =
      (kLargePage - reinterpret_cast<uintptr_t>(mapping) % kLargePage) %
      kLargePage;
  memory = static_cast<uint8_t *>(mapping) + before;
  adviseLargePages(memory, bytes);
  return {mapping, total};
}

/// Large blocks get the system's large pages, as far as they fill them: weights
/// are read once a run, and finding their pages would cost a fifth of that.
void *allocateAligned(uint64_t bytes) {
  const bool large = bytes >= 2 * kLargePage;
  void *memory = nullptr;
  if (posix_memalign(&memory, large ? kLargePage : kMemoryAlignment, bytes)) {
    return nullptr;
  }
  if (large) {
    adviseLargePages(memory, bytes);
  }
  return memory;
}

/// Closes a file when it goes out of scope.
struct File {
  int descriptor;
  ~File() {
    if (descriptor >= 0) {
      close(descriptor);
    }
  }
};

Status systemError(const std::string &what, const char *path) {
  return Status::error(ErrorKind::File,
                       what + " '" + path + "': " + std::strerror(errno));
}

} // namespace

Memory::Ref Memory::allocate(uint64_t bytes, bool zeroed) {
  constexpr uint64_t kMax = uint64_t(1) << 62;
  if (bytes > kMax) {
    return nullptr;
  }
  if (hasGuardPages()) {
    void *memory = nullptr;
    MappedBlock block = mapGuarded(bytes, memory);
    return block.mapping ? borrow(memory, bytes, /*writable=*/true,
                                  releaseMapped, new MappedBlock(block))
                         : nullptr;
  }
  if (zeroed && bytes >= 2 * kLargePage) {
    void *memory = nullptr;
    MappedBlock block = mapZeros(bytes, memory);
    return block.mapping ? borrow(memory, bytes, /*writable=*/true,
                                  releaseMapped, new MappedBlock(block))
                         : nullptr;
  }
  uint64_t rounded = (bytes / kMemoryAlignment + 1) * kMemoryAlignment;
  bool isLarge = rounded >= BlockCache::kMinBytes;
  void *memory = isLarge ? blockCache().take(rounded) : nullptr;
  if (!memory) {
    memory = allocateAligned(rounded);
  }
  if (!memory) {
    blockCache().clear();
    memory = allocateAligned(rounded);
  }
  if (!memory) {
    return nullptr;
  }
  if (zeroed) {
    std::memset(memory, 0, bytes);
  }
  return isLarge
             ? borrow(memory, bytes, /*writable=*/true, releaseLarge,
                      new LargeBlock{memory, rounded})
             : borrow(memory, bytes, /*writable=*/true, releaseFree, memory);
}

void Memory::prefault() {
  if (length == 0) {
    return;
  }
  const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t from = reinterpret_cast<uintptr_t>(start) & ~(page - 1);
  const uintptr_t to = reinterpret_cast<uintptr_t>(start) + length;
#ifdef MADV_POPULATE_WRITE
  if (madvise(reinterpret_cast<void *>(from), to - from, MADV_POPULATE_WRITE) ==
      0) {
    return;
  }
#endif
  // A kernel older than that advice: write to each page.
  for (uintptr_t at = reinterpret_cast<uintptr_t>(start); at < to; at += page) {
    *reinterpret_cast<volatile uint8_t *>(at) = 0;
  }
}

Memory::Ref Memory::borrow(void *data, uint64_t bytes, bool writable,
                           Release release, void *context) {
  Ref memory(new Memory());
  memory->start = static_cast<uint8_t *>(data);
  memory->length = bytes;
  memory->writable = writable;
  memory->release = release;
  memory->context = context;
  return memory;
}

Result<Memory::Ref> Memory::mapFile(const char *path, uint64_t offset,
                                    uint64_t bytes, bool writable,
                                    bool shared) {
  File file{open(path, (writable && shared ? O_RDWR : O_RDONLY) | O_CLOEXEC)};
  if (file.descriptor < 0) {
    return systemError("cannot open", path);
  }
  struct stat info;
  if (fstat(file.descriptor, &info) != 0) {
    return systemError("cannot read the size of", path);
  }
  if (!S_ISREG(info.st_mode)) {
    return Status::error(ErrorKind::File,
                         std::string("expected a regular file, but '") + path +
                             "' is none");
  }
  const uint64_t fileSize = static_cast<uint64_t>(info.st_size);
  if (offset > fileSize || (bytes != kToEnd && bytes > fileSize - offset)) {
    return Status::error(
        ErrorKind::File,
        "expected at least " + std::to_string(bytes == kToEnd ? 0 : bytes) +
            " bytes from offset " + std::to_string(offset) + " in '" + path +
            "', but the file has " + std::to_string(fileSize));
  }
  bytes = bytes == kToEnd ? fileSize - offset : bytes;
  if (bytes == 0) {
    return allocate(0);
  }
  const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t lead = offset % page;
  int protection = PROT_READ | (writable ? PROT_WRITE : 0);
  void *mapping =
      mmap(nullptr, bytes + lead, protection, shared ? MAP_SHARED : MAP_PRIVATE,
           file.descriptor, static_cast<off_t>(offset - lead));
  if (mapping == MAP_FAILED) {
    return systemError("cannot map", path);
  }
  Ref memory = borrow(static_cast<uint8_t *>(mapping) + lead, bytes, writable,
                      nullptr, nullptr);
  memory->mapping = mapping;
  memory->mappingBytes = bytes + lead;
  return memory;
}

Memory::~Memory() {
  if (mapping) {
    munmap(mapping, mappingBytes);
  }
  if (release) {
    release(context);
  }
}

} // namespace kvern::runtime
