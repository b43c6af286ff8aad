// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Source: Documentation/admin-guide/mm/pagemap.rst of Linux.
#include "lib/Runtime/FilePages.h"

#include <algorithm>
#include <iterator>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace kvern::runtime {

void forgetFilePages(const void *data, uint64_t bytes) {
  const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  uintptr_t first = reinterpret_cast<uintptr_t>(data);
  // Others share the first and the last page when those are not whole.
  const uintptr_t end = (first + bytes) / page * page;
  first = (first + page - 1) / page * page;
  // Not worth a system call.
  constexpr uintptr_t kFew = 16;
  if (first + kFew * page > end) {
    return;
  }
  int map = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (map < 0) {
    return;
  }
  constexpr uint64_t kIsPresent = uint64_t(1) << 63;
  constexpr uint64_t kIsOfFile = uint64_t(1) << 61;
  uint64_t entries[512];
  while (first < end) {
    const size_t count =
        std::min<size_t>((end - first) / page, std::size(entries));
    if (pread(map, entries, count * sizeof(uint64_t),
              static_cast<off_t>(first / page * sizeof(uint64_t))) !=
        static_cast<ssize_t>(count * sizeof(uint64_t))) {
      break;
    }
    for (size_t i = 0; i < count;) {
      auto isOfFile = [&](size_t j) {
        return (entries[j] & kIsPresent) && (entries[j] & kIsOfFile);
      };
      size_t next = i + 1;
      while (next < count && isOfFile(next) == isOfFile(i)) {
        ++next;
      }
      if (isOfFile(i)) {
        madvise(reinterpret_cast<void *>(first + i * page), (next - i) * page,
                MADV_DONTNEED);
      }
      i = next;
    }
    first += count * page;
  }
  close(map);
}

} // namespace kvern::runtime
