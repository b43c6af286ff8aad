// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Layout, relocation and protection of object code.
// Source of the relocations: System V ABI, AMD64 supplement, table 4.10.
#include "lib/Runtime/ObjectLoader.h"

#include "lib/Runtime/ElfObject.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

// Newer than the <elf.h> of some systems.
#ifndef R_X86_64_GOTPCRELX
#define R_X86_64_GOTPCRELX 41
#define R_X86_64_REX_GOTPCRELX 42
#endif

namespace kvern::runtime {

/// 1. Place the allocated sections, the GOT and the call stubs in three groups
///    of pages: code, read-only data, writable data.
/// 2. Map one writable region and copy the sections into it.
/// 3. Find the address of every symbol; undefined ones come from the resolver.
/// 4. Apply the relocations.
/// 5. Protect the groups and collect the global symbols.
class ObjectMapper {
public:
  ObjectMapper(const ElfObject &elf, SymbolResolver resolver)
      : elf(elf), resolver(resolver) {}

  Result<std::unique_ptr<LoadedObject>> run() {
    for (Status (ObjectMapper::*step)() :
         {&ObjectMapper::place, &ObjectMapper::map, &ObjectMapper::resolve,
          &ObjectMapper::relocate, &ObjectMapper::protect}) {
      if (Status status = (this->*step)(); !status.ok()) {
        return status;
      }
    }
    return std::move(object);
  }

private:
  enum Group { Code, Constants, Data, NumGroups };

  static constexpr uint64_t kMaxBytes = uint64_t(4) << 30;
  static constexpr uint64_t kMaxZeroed = uint64_t(1) << 30;
  static constexpr uint64_t kNowhere = ~uint64_t(0);
  /// jmp *[rip + 0]; .quad address
  static constexpr uint64_t kStubSize = 16;

  static Status damaged(std::string what) {
    return Status::error(ErrorKind::Artifact,
                         "damaged object code: " + std::move(what));
  }
  static Status unsupported(std::string what) {
    return Status::error(ErrorKind::Artifact,
                         "unsupported object code: " + std::move(what));
  }

  static bool isLoaded(const Elf64_Shdr &section, std::string_view name) {
    // Nothing unwinds through generated code, so unwind tables stay behind.
    constexpr uint32_t kUnwindType = 0x70000001;
    return (section.sh_flags & SHF_ALLOC) && section.sh_size != 0 &&
           section.sh_type != SHT_NOTE && section.sh_type != kUnwindType &&
           name != ".eh_frame";
  }

  /// Reserves `bytes` in `group` and returns their offset in it.
  uint64_t reserve(Group group, uint64_t bytes, uint64_t align) {
    align = align ? align : 1;
    uint64_t offset = (groupSize[group] + align - 1) / align * align;
    groupSize[group] = offset + bytes;
    return offset;
  }

  Status place() {
    const std::vector<Elf64_Shdr> &sections = elf.sections();
    offsets.assign(sections.size(), kNowhere);
    groups.assign(sections.size(), Data);
    uint64_t zeroed = 0;
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
        if (section.sh_size > kMaxZeroed - zeroed) {
          return unsupported("more than 1 GiB of zero-initialised data");
        }
        zeroed += section.sh_size;
      }
      groups[i] = (section.sh_flags & SHF_EXECINSTR) ? Code
                  : (section.sh_flags & SHF_WRITE)   ? Data
                                                     : Constants;
      offsets[i] = reserve(groups[i], section.sh_size, section.sh_addralign);
      if (groupSize[groups[i]] > kMaxBytes) {
        return unsupported("more than 4 GiB of sections");
      }
    }
    return placeSymbols(zeroed);
  }

  /// Common symbols, and which symbols need a GOT entry or a stub.
  Status placeSymbols(uint64_t zeroed) {
    const std::vector<Elf64_Sym> &symbols = elf.symbols();
    addresses.assign(symbols.size(), 0);
    gotOffsets.assign(symbols.size(), kNowhere);
    stubOffsets.assign(symbols.size(), kNowhere);
    commonOffsets.assign(symbols.size(), kNowhere);
    for (size_t i = 0; i < symbols.size(); ++i) {
      const Elf64_Sym &symbol = symbols[i];
      if (symbol.st_shndx != SHN_COMMON) {
        continue;
      }
      uint64_t align = symbol.st_value;
      if (symbol.st_size > kMaxZeroed - zeroed || align > 4096 ||
          (align & (align - 1)) != 0) {
        return damaged("common symbol '" + std::string(elf.symbolName(i)) +
                       "'");
      }
      zeroed += symbol.st_size;
      commonOffsets[i] = reserve(Data, symbol.st_size, align);
    }
    for (const ElfObject::Relocations &table : elf.relocations()) {
      if (offsets[table.target] == kNowhere) {
        continue;
      }
      for (const Elf64_Rela &entry : table.entries) {
        uint64_t symbol = ELF64_R_SYM(entry.r_info);
        switch (ELF64_R_TYPE(entry.r_info)) {
        case R_X86_64_GOTPCREL:
        case R_X86_64_GOTPCRELX:
        case R_X86_64_REX_GOTPCRELX:
          if (gotOffsets[symbol] == kNowhere) {
            gotOffsets[symbol] = reserve(Constants, 8, 8);
          }
          break;
        case R_X86_64_PLT32:
        case R_X86_64_PC32:
          if (symbols[symbol].st_shndx == SHN_UNDEF &&
              stubOffsets[symbol] == kNowhere) {
            stubOffsets[symbol] = reserve(Code, kStubSize, kStubSize);
          }
          break;
        case R_X86_64_32:
        case R_X86_64_32S:
          needsLowMemory = true;
          break;
        default:
          break;
        }
      }
    }
    return Status::success();
  }

  Status map() {
    const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    uint64_t total = 0;
    for (int group = 0; group < NumGroups; ++group) {
      groupSize[group] = (groupSize[group] + page - 1) / page * page;
      groupStart[group] = total;
      total += groupSize[group];
    }
    if (total == 0) {
      return damaged("no code in it");
    }
    if (total > kMaxBytes) {
      return unsupported("more than 4 GiB of sections");
    }
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | (needsLowMemory ? MAP_32BIT : 0);
    void *memory = mmap(nullptr, total, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (memory == MAP_FAILED) {
      return Status::error(ErrorKind::Memory,
                           "cannot map " + std::to_string(total) +
                               " bytes for code: " + std::strerror(errno));
    }
    object.reset(new LoadedObject());
    object->memory = static_cast<uint8_t *>(memory);
    object->mappedSize = total;
    for (size_t i = 0; i < offsets.size(); ++i) {
      const Elf64_Shdr &section = elf.sections()[i];
      if (offsets[i] != kNowhere && section.sh_type != SHT_NOBITS) {
        std::memcpy(sectionAddress(i), elf.contents(section), section.sh_size);
      }
    }
    return Status::success();
  }

  uint8_t *at(Group group, uint64_t offset) const {
    return object->memory + groupStart[group] + offset;
  }
  uint8_t *sectionAddress(size_t index) const {
    return at(groups[index], offsets[index]);
  }

  Status resolve() {
    const std::vector<Elf64_Sym> &symbols = elf.symbols();
    std::string missing;
    for (size_t i = 1; i < symbols.size(); ++i) {
      const Elf64_Sym &symbol = symbols[i];
      int type = ELF64_ST_TYPE(symbol.st_info);
      if (type == STT_TLS || type == STT_GNU_IFUNC) {
        return unsupported("symbol '" + std::string(elf.symbolName(i)) +
                           "' of type " + std::to_string(type));
      }
      if (symbol.st_shndx == SHN_ABS) {
        addresses[i] = symbol.st_value;
      } else if (symbol.st_shndx == SHN_COMMON) {
        addresses[i] = reinterpret_cast<uint64_t>(at(Data, commonOffsets[i]));
      } else if (symbol.st_shndx != SHN_UNDEF) {
        if (offsets[symbol.st_shndx] != kNowhere) {
          addresses[i] =
              reinterpret_cast<uint64_t>(sectionAddress(symbol.st_shndx)) +
              symbol.st_value;
        }
      } else {
        std::string_view name = elf.symbolName(i);
        addresses[i] = reinterpret_cast<uint64_t>(resolver(name));
        if (addresses[i] == 0 && ELF64_ST_BIND(symbol.st_info) != STB_WEAK &&
            name != "_GLOBAL_OFFSET_TABLE_") {
          missing += (missing.empty() ? "'" : ", '") + std::string(name) + "'";
        }
      }
      if (ELF64_ST_BIND(symbol.st_info) == STB_GLOBAL &&
          symbol.st_shndx != SHN_UNDEF && addresses[i] != 0) {
        object->globals.emplace(elf.symbolName(i),
                                reinterpret_cast<void *>(addresses[i]));
      }
    }
    if (!missing.empty()) {
      return Status::error(ErrorKind::Artifact,
                           "the runtime has no symbol named " + missing);
    }
    for (size_t i = 0; i < symbols.size(); ++i) {
      if (gotOffsets[i] != kNowhere) {
        std::memcpy(at(Constants, gotOffsets[i]), &addresses[i], 8);
      }
      if (stubOffsets[i] != kNowhere) {
        uint8_t *stub = at(Code, stubOffsets[i]);
        constexpr std::array<uint8_t, 6> kJump = {0xff, 0x25, 0, 0, 0, 0};
        std::memcpy(stub, kJump.data(), kJump.size());
        std::memcpy(stub + kJump.size(), &addresses[i], 8);
      }
    }
    return Status::success();
  }

  Status relocate() {
    for (const ElfObject::Relocations &table : elf.relocations()) {
      if (offsets[table.target] == kNowhere) {
        continue;
      }
      if (elf.sections()[table.target].sh_type == SHT_NOBITS) {
        return damaged("relocation of zero-initialised data");
      }
      for (const Elf64_Rela &entry : table.entries) {
        if (Status status = apply(table.target, entry); !status.ok()) {
          return status;
        }
      }
    }
    return Status::success();
  }

  /// S: symbol, A: addend, P: place, G: entry in the GOT, L: stub.
  Status apply(uint32_t section, const Elf64_Rela &entry) {
    const uint32_t type = ELF64_R_TYPE(entry.r_info);
    const size_t index = ELF64_R_SYM(entry.r_info);
    const bool isWide = type == R_X86_64_64 || type == R_X86_64_PC64;
    const uint64_t width = isWide ? 8 : 4;
    const uint64_t sectionSize = elf.sections()[section].sh_size;
    if (type == R_X86_64_NONE) {
      return Status::success();
    }
    if (sectionSize < width || entry.r_offset > sectionSize - width) {
      return damaged("relocation outside its section");
    }
    uint8_t *place = sectionAddress(section) + entry.r_offset;
    // Modulo 2^64; what must fit in 32 bits is checked below.
    const uint64_t P = reinterpret_cast<uint64_t>(place);
    const uint64_t S = addresses[index];
    const uint64_t A = static_cast<uint64_t>(entry.r_addend);
    switch (type) {
    case R_X86_64_64:
      return write64(place, S + A);
    case R_X86_64_PC64:
      return write64(place, S + A - P);
    case R_X86_64_32: {
      uint64_t value = S + A;
      return value > std::numeric_limits<uint32_t>::max()
                 ? tooFar(entry)
                 : write32(place, value);
    }
    case R_X86_64_32S:
      return writeSigned(place, S + A, entry);
    case R_X86_64_PC32:
    case R_X86_64_PLT32:
      if (stubOffsets[index] != kNowhere && !fits(S + A - P)) {
        const uint64_t L =
            reinterpret_cast<uint64_t>(at(Code, stubOffsets[index]));
        if (type == R_X86_64_PC32 && !isCall(section, entry.r_offset)) {
          return tooFar(entry);
        }
        return writeSigned(place, L + A - P, entry);
      }
      return writeSigned(place, S + A - P, entry);
    case R_X86_64_GOTPCREL:
    case R_X86_64_GOTPCRELX:
    case R_X86_64_REX_GOTPCRELX: {
      const uint64_t G =
          reinterpret_cast<uint64_t>(at(Constants, gotOffsets[index]));
      return writeSigned(place, G + A - P, entry);
    }
    default:
      return unsupported("relocation type " + std::to_string(type));
    }
  }

  /// Whether the place is the operand of call or jmp: then a stub may stand in
  /// for the symbol, which is wrong for data and for comparing addresses.
  bool isCall(uint32_t section, uint64_t offset) const {
    return offset > 0 && (sectionAddress(section)[offset - 1] & 0xfe) == 0xe8;
  }

  static bool fits(uint64_t value) {
    int64_t distance = static_cast<int64_t>(value);
    return distance >= std::numeric_limits<int32_t>::min() &&
           distance <= std::numeric_limits<int32_t>::max();
  }
  static Status write64(uint8_t *place, uint64_t value) {
    std::memcpy(place, &value, sizeof(value));
    return Status::success();
  }
  static Status write32(uint8_t *place, uint64_t value) {
    uint32_t low = static_cast<uint32_t>(value);
    std::memcpy(place, &low, sizeof(low));
    return Status::success();
  }
  Status writeSigned(uint8_t *place, uint64_t value, const Elf64_Rela &entry) {
    return fits(value) ? write32(place, value) : tooFar(entry);
  }
  Status tooFar(const Elf64_Rela &entry) const {
    return unsupported(
        "relocation type " + std::to_string(ELF64_R_TYPE(entry.r_info)) +
        " cannot reach '" +
        std::string(elf.symbolName(ELF64_R_SYM(entry.r_info))) + "'");
  }

  Status protect() {
    constexpr int kProtections[NumGroups] = {PROT_READ | PROT_EXEC, PROT_READ,
                                             PROT_READ | PROT_WRITE};
    for (int group = 0; group < NumGroups; ++group) {
      if (groupSize[group] != 0 &&
          mprotect(object->memory + groupStart[group], groupSize[group],
                   kProtections[group]) != 0) {
        return Status::error(ErrorKind::Memory,
                             std::string("cannot protect code: ") +
                                 std::strerror(errno));
      }
    }
    return Status::success();
  }

  const ElfObject &elf;
  SymbolResolver resolver;
  std::unique_ptr<LoadedObject> object;
  bool needsLowMemory = false;
  std::array<uint64_t, NumGroups> groupSize = {};
  std::array<uint64_t, NumGroups> groupStart = {};
  /// Per section: group and offset in it.
  std::vector<Group> groups;
  std::vector<uint64_t> offsets;
  /// Per symbol.
  std::vector<uint64_t> addresses, gotOffsets, stubOffsets, commonOffsets;
};

Result<std::unique_ptr<LoadedObject>>
LoadedObject::load(const void *bytes, size_t size, SymbolResolver resolver) {
  Result<ElfObject> elf = ElfObject::parse(bytes, size);
  if (!elf.ok()) {
    return elf.status();
  }
  return ObjectMapper(*elf, resolver).run();
}

LoadedObject::~LoadedObject() {
  if (memory) {
    munmap(memory, mappedSize);
  }
}

void *LoadedObject::lookup(std::string_view name) const {
  auto found = globals.find(std::string(name));
  return found == globals.end() ? nullptr : found->second;
}

} // namespace kvern::runtime
