// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Allocation, borrowing and mapping.
#include "lib/Runtime/Memory.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace kvern::runtime {
namespace {

void releaseFree(void *memory) { std::free(memory); }

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
  uint64_t rounded = (bytes / kMemoryAlignment + 1) * kMemoryAlignment;
  void *memory = nullptr;
  if (posix_memalign(&memory, kMemoryAlignment, rounded) != 0) {
    return nullptr;
  }
  if (zeroed) {
    std::memset(memory, 0, bytes);
  }
  return borrow(memory, bytes, /*writable=*/true, releaseFree, memory);
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
