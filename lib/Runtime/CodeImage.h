// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The memory that the sections of several objects share.
#ifndef KVERN_LIB_RUNTIME_CODEIMAGE_H
#define KVERN_LIB_RUNTIME_CODEIMAGE_H

#include "lib/Runtime/ElfObject.h"

#include <array>
#include <cstdint>
#include <vector>

namespace kvern::runtime {

/// Three groups of pages: code, read-only data, writable data.
///
/// 1. `reserve` space in the groups. 2. `map` them, writable. 3. Fill them
/// through `at`. 4. `protect` them.
class CodeImage {
public:
  enum Group : uint8_t { Code, Constants, Data, NumGroups };

  CodeImage() = default;
  /// Unmaps the memory unless it has been released.
  ~CodeImage();
  CodeImage(const CodeImage &) = delete;
  CodeImage &operator=(const CodeImage &) = delete;

  /// Reserves `bytes` in `group` and stores their offset in it. Fails beyond
  /// 4 GiB.
  Status reserve(Group group, uint64_t bytes, uint64_t align, uint64_t &offset);
  /// Counts zero-initialised data, which may be 1 GiB.
  Status countZeroed(uint64_t bytes);
  /// `low`: within the first 2 GiB of the address space.
  Status map(bool low);
  Status protect();

  uint8_t *at(Group group, uint64_t offset) const {
    return memory + groupStart[group] + offset;
  }
  /// Hands the memory to the caller, who unmaps it.
  uint8_t *release();
  size_t size() const { return mappedSize; }

private:
  uint8_t *memory = nullptr;
  size_t mappedSize = 0;
  uint64_t zeroed = 0;
  std::array<uint64_t, NumGroups> groupSize = {};
  std::array<uint64_t, NumGroups> groupStart = {};
};

/// An object and the places of its parts in an image.
struct PlacedObject {
  static constexpr uint64_t kNowhere = ~uint64_t(0);
  /// jmp *[rip + 0]; .quad address
  static constexpr uint64_t kStubSize = 16;

  explicit PlacedObject(ElfObject elf) : elf(std::move(elf)) {}

  /// Reserves room for the sections, the common symbols, the GOT and the stubs
  /// of calls that may lead far away.
  Status place(CodeImage &image);
  /// Copies the sections.
  void copySections(const CodeImage &image) const;
  uint8_t *sectionAddress(const CodeImage &image, size_t index) const {
    return image.at(groups[index], offsets[index]);
  }
  bool isPlaced(size_t section) const { return offsets[section] != kNowhere; }

  ElfObject elf;
  bool needsLowMemory = false;
  /// Per section: group, and offset in it.
  std::vector<CodeImage::Group> groups;
  std::vector<uint64_t> offsets;
  /// Per symbol: its address, known after linking, and offsets of what is
  /// reserved for it.
  std::vector<uint64_t> addresses, gotOffsets, stubOffsets, commonOffsets;

private:
  Status placeSections(CodeImage &image);
  Status placeCommon(CodeImage &image);
  Status placeIndirections(CodeImage &image);
};

} // namespace kvern::runtime

#endif // KVERN_LIB_RUNTIME_CODEIMAGE_H
