// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A bounds-checked view of a relocatable x86-64 ELF file.
#ifndef KVERN_LIB_RUNTIME_ELFOBJECT_H
#define KVERN_LIB_RUNTIME_ELFOBJECT_H

#include "lib/Runtime/Result.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <elf.h>

namespace kvern::runtime {

/// The tables of an object file, copied out of it so that alignment does not
/// matter; section contents and names point into the caller's bytes.
class ElfObject {
public:
  /// Parses the header and the section, symbol and relocation tables. Every
  /// offset, size, index and name in them is checked here, once.
  static Result<ElfObject> parse(const void *bytes, size_t size);

  struct Relocations {
    /// The section whose contents they patch.
    uint32_t target;
    std::vector<Elf64_Rela> entries;
  };

  const std::vector<Elf64_Shdr> &sections() const { return sectionTable; }
  const std::vector<Elf64_Sym> &symbols() const { return symbolTable; }
  const std::vector<Relocations> &relocations() const {
    return relocationTables;
  }

  std::string_view sectionName(size_t index) const;
  std::string_view symbolName(size_t index) const;
  /// The same in quotes, with ? for what is no printable ASCII.
  std::string quotedSymbolName(size_t index) const;
  /// The contents of a section that is not SHT_NOBITS.
  const uint8_t *contents(const Elf64_Shdr &section) const {
    return bytes + section.sh_offset;
  }

private:
  Status parseSections();
  Status parseSymbols();
  Status parseRelocations();
  bool inFile(uint64_t offset, uint64_t length) const {
    return offset <= size && length <= size - offset;
  }
  /// The string at `offset` of a string table; "" when it does not end in it.
  std::string_view stringAt(const Elf64_Shdr &table, uint64_t offset) const;

  const uint8_t *bytes = nullptr;
  size_t size = 0;
  uint32_t sectionNames = 0;
  uint32_t symbolNames = 0;
  std::vector<Elf64_Shdr> sectionTable;
  std::vector<Elf64_Sym> symbolTable;
  std::vector<Relocations> relocationTables;
};

} // namespace kvern::runtime

#endif // KVERN_LIB_RUNTIME_ELFOBJECT_H
