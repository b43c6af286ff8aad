// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Layout and protection of object code.
#include "lib/Runtime/CodeImage.h"

#include "lib/Runtime/Relocations.h"

#include <cerrno>
#include <cstring>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

namespace kvern::runtime {
namespace {

constexpr uint64_t kMaxBytes = uint64_t(4) << 30;
constexpr uint64_t kMaxZeroed = uint64_t(1) << 30;

Status unsupported(std::string what) {
  return Status::error(ErrorKind::Artifact,
                       "unsupported object code: " + std::move(what));
}

bool isLoaded(const Elf64_Shdr &section, std::string_view name) {
  // Nothing unwinds through generated code, so unwind tables stay behind.
  constexpr uint32_t kUnwindType = 0x70000001;
  return (section.sh_flags & SHF_ALLOC) && section.sh_size != 0 &&
         section.sh_type != SHT_NOTE && section.sh_type != kUnwindType &&
         name != ".eh_frame";
}

} // namespace

CodeImage::~CodeImage() {
  if (memory) {
    munmap(memory, mappedSize);
  }
}

Status CodeImage::reserve(Group group, uint64_t bytes, uint64_t align,
                          uint64_t &offset) {
  align = align ? align : 1;
  offset = (groupSize[group] + align - 1) / align * align;
  if (bytes > kMaxBytes || offset > kMaxBytes - bytes) {
    return unsupported("more than 4 GiB of sections");
  }
  groupSize[group] = offset + bytes;
  return Status::success();
}

Status CodeImage::countZeroed(uint64_t bytes) {
  if (bytes > kMaxZeroed - zeroed) {
    return unsupported("more than 1 GiB of zero-initialised data");
  }
  zeroed += bytes;
  return Status::success();
}

Status CodeImage::map(bool low) {
  const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  uint64_t total = 0;
  for (int group = 0; group < NumGroups; ++group) {
    groupSize[group] = (groupSize[group] + page - 1) / page * page;
    groupStart[group] = total;
    total += groupSize[group];
  }
  if (total == 0) {
    return Status::error(ErrorKind::Artifact,
                         "damaged object code: no code in it");
  }
  if (total > kMaxBytes) {
    return unsupported("more than 4 GiB of sections");
  }
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | (low ? MAP_32BIT : 0);
  void *mapped = mmap(nullptr, total, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (mapped == MAP_FAILED) {
    return Status::error(ErrorKind::Memory,
                         "cannot map " + std::to_string(total) +
                             " bytes for code: " + std::strerror(errno));
  }
  memory = static_cast<uint8_t *>(mapped);
  mappedSize = total;
  return Status::success();
}

Status CodeImage::protect() {
  constexpr int kProtections[NumGroups] = {PROT_READ | PROT_EXEC, PROT_READ,
                                           PROT_READ | PROT_WRITE};
  for (int group = 0; group < NumGroups; ++group) {
    if (groupSize[group] != 0 &&
        mprotect(memory + groupStart[group], groupSize[group],
                 kProtections[group]) != 0) {
      return Status::error(ErrorKind::Memory,
                           std::string("cannot protect code: ") +
                               std::strerror(errno));
    }
  }
  return Status::success();
}

uint8_t *CodeImage::release() {
  uint8_t *released = memory;
  memory = nullptr;
  return released;
}

Status PlacedObject::place(CodeImage &image) {
  for (Status (PlacedObject::*step)(CodeImage &) :
       {&PlacedObject::placeSections, &PlacedObject::placeCommon,
        &PlacedObject::placeIndirections}) {
    if (Status status = (this->*step)(image); !status.ok()) {
      return status;
    }
  }
  return Status::success();
}

Status PlacedObject::placeSections(CodeImage &image) {
  const std::vector<Elf64_Shdr> &sections = elf.sections();
  offsets.assign(sections.size(), kNowhere);
  groups.assign(sections.size(), CodeImage::Data);
  for (size_t i = 0; i < sections.size(); ++i) {
    const Elf64_Shdr &section = sections[i];
    if (!isLoaded(section, elf.sectionName(i))) {
      continue;
    }
    if (section.sh_flags & SHF_TLS) {
      return unsupported("thread-local data");
    }
    if (section.sh_type == SHT_INIT_ARRAY ||
        section.sh_type == SHT_FINI_ARRAY ||
        section.sh_type == SHT_PREINIT_ARRAY) {
      return unsupported("constructors or destructors");
    }
    if (section.sh_type == SHT_NOBITS) {
      if (Status status = image.countZeroed(section.sh_size); !status.ok()) {
        return status;
      }
    }
    groups[i] = (section.sh_flags & SHF_EXECINSTR) ? CodeImage::Code
                : (section.sh_flags & SHF_WRITE)   ? CodeImage::Data
                                                   : CodeImage::Constants;
    if (Status status = image.reserve(groups[i], section.sh_size,
                                      section.sh_addralign, offsets[i]);
        !status.ok()) {
      return status;
    }
  }
  return Status::success();
}

Status PlacedObject::placeCommon(CodeImage &image) {
  const std::vector<Elf64_Sym> &symbols = elf.symbols();
  addresses.assign(symbols.size(), 0);
  commonOffsets.assign(symbols.size(), kNowhere);
  for (size_t i = 0; i < symbols.size(); ++i) {
    const Elf64_Sym &symbol = symbols[i];
    if (symbol.st_shndx != SHN_COMMON) {
      continue;
    }
    uint64_t align = symbol.st_value;
    if (align > 4096 || (align & (align - 1)) != 0) {
      return Status::error(ErrorKind::Artifact,
                           "damaged object code: common symbol " +
                               elf.quotedSymbolName(i));
    }
    if (Status status = image.countZeroed(symbol.st_size); !status.ok()) {
      return status;
    }
    if (Status status = image.reserve(CodeImage::Data, symbol.st_size, align,
                                      commonOffsets[i]);
        !status.ok()) {
      return status;
    }
  }
  return Status::success();
}

Status PlacedObject::placeIndirections(CodeImage &image) {
  const std::vector<Elf64_Sym> &symbols = elf.symbols();
  gotOffsets.assign(symbols.size(), kNowhere);
  stubOffsets.assign(symbols.size(), kNowhere);
  for (const ElfObject::Relocations &table : elf.relocations()) {
    if (!isPlaced(table.target)) {
      continue;
    }
    for (const Elf64_Rela &entry : table.entries) {
      const uint32_t type = ELF64_R_TYPE(entry.r_info);
      const size_t symbol = ELF64_R_SYM(entry.r_info);
      needsLowMemory |= isAbsolute32(type);
      Status status = Status::success();
      if (isThroughGot(type) && gotOffsets[symbol] == kNowhere) {
        status = image.reserve(CodeImage::Constants, 8, 8, gotOffsets[symbol]);
      } else if (isRelative32(type) && symbols[symbol].st_shndx == SHN_UNDEF &&
                 stubOffsets[symbol] == kNowhere) {
        status = image.reserve(CodeImage::Code, kStubSize, kStubSize,
                               stubOffsets[symbol]);
      }
      if (!status.ok()) {
        return status;
      }
    }
  }
  return Status::success();
}

void PlacedObject::copySections(const CodeImage &image) const {
  for (size_t i = 0; i < offsets.size(); ++i) {
    const Elf64_Shdr &section = elf.sections()[i];
    if (isPlaced(i) && section.sh_type != SHT_NOBITS) {
      std::memcpy(sectionAddress(image, i), elf.contents(section),
                  section.sh_size);
    }
  }
}

} // namespace kvern::runtime
