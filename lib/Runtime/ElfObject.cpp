// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Parsing of ELF tables. Source: System V ABI, AMD64 supplement.
#include "lib/Runtime/ElfObject.h"

#include <cstring>
#include <string>

namespace kvern::runtime {
namespace {

Status damaged(std::string what) {
  return Status::error(ErrorKind::Artifact,
                       "damaged object code: " + std::move(what));
}

} // namespace

Result<ElfObject> ElfObject::parse(const void *bytes, size_t size) {
  ElfObject object;
  object.bytes = static_cast<const uint8_t *>(bytes);
  object.size = size;
  if (size < sizeof(Elf64_Ehdr) || std::memcmp(bytes, ELFMAG, SELFMAG) != 0) {
    return damaged("expected an ELF file of at least " +
                   std::to_string(sizeof(Elf64_Ehdr)) + " bytes, but got " +
                   std::to_string(size) + " bytes that are not one");
  }
  for (Status (ElfObject::*step)() :
       {&ElfObject::parseSections, &ElfObject::parseSymbols,
        &ElfObject::parseRelocations}) {
    if (Status status = (object.*step)(); !status.ok()) {
      return status;
    }
  }
  return object;
}

Status ElfObject::parseSections() {
  Elf64_Ehdr header;
  std::memcpy(&header, bytes, sizeof(header));
  if (header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_machine != EM_X86_64) {
    return Status::error(
        ErrorKind::Artifact,
        "expected object code for x86-64 (ELF machine 62), but got ELF class " +
            std::to_string(header.e_ident[EI_CLASS]) + ", machine " +
            std::to_string(header.e_machine));
  }
  if (header.e_type != ET_REL) {
    return damaged("expected a relocatable object (type 1), but got type " +
                   std::to_string(header.e_type));
  }
  if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shnum == 0 ||
      !inFile(header.e_shoff, uint64_t(header.e_shnum) * sizeof(Elf64_Shdr)) ||
      header.e_shstrndx >= header.e_shnum) {
    return damaged("section table of " + std::to_string(header.e_shnum) +
                   " entries at offset " + std::to_string(header.e_shoff));
  }
  sectionTable.resize(header.e_shnum);
  std::memcpy(sectionTable.data(), bytes + header.e_shoff,
              sectionTable.size() * sizeof(Elf64_Shdr));
  sectionNames = header.e_shstrndx;
  uint64_t contentBytes = 0;
  for (size_t i = 0; i < sectionTable.size(); ++i) {
    const Elf64_Shdr &section = sectionTable[i];
    if (section.sh_type == SHT_NULL) {
      continue;
    }
    if (section.sh_type != SHT_NOBITS &&
        !inFile(section.sh_offset, section.sh_size)) {
      return damaged("section " + std::to_string(i) + " lies outside the file");
    }
    // Sections do not overlap, which bounds the copies made of them.
    contentBytes += section.sh_type == SHT_NOBITS ? 0 : section.sh_size;
    if (contentBytes > size) {
      return damaged("section " + std::to_string(i) + " overlaps another one");
    }
    if ((section.sh_addralign & (section.sh_addralign - 1)) != 0 ||
        section.sh_addralign > 4096) {
      return damaged("section " + std::to_string(i) + " has the alignment " +
                     std::to_string(section.sh_addralign));
    }
  }
  if (sectionTable[sectionNames].sh_type != SHT_STRTAB) {
    return damaged("section names");
  }
  return Status::success();
}

Status ElfObject::parseSymbols() {
  for (const Elf64_Shdr &section : sectionTable) {
    if (section.sh_type == SHT_SYMTAB_SHNDX) {
      return damaged("more sections than an ELF header counts");
    }
    if (section.sh_type != SHT_SYMTAB) {
      continue;
    }
    if (!symbolTable.empty()) {
      return damaged("two symbol tables");
    }
    if (section.sh_entsize != sizeof(Elf64_Sym) ||
        section.sh_size % sizeof(Elf64_Sym) != 0 ||
        section.sh_link >= sectionTable.size() ||
        sectionTable[section.sh_link].sh_type != SHT_STRTAB) {
      return damaged("symbol table");
    }
    symbolNames = section.sh_link;
    symbolTable.resize(section.sh_size / sizeof(Elf64_Sym));
    std::memcpy(symbolTable.data(), contents(section), section.sh_size);
  }
  for (size_t i = 0; i < symbolTable.size(); ++i) {
    const Elf64_Sym &symbol = symbolTable[i];
    bool isReserved = symbol.st_shndx >= SHN_LORESERVE;
    if (isReserved && symbol.st_shndx != SHN_ABS &&
        symbol.st_shndx != SHN_COMMON) {
      return damaged("symbol " + std::to_string(i) +
                     " is in the reserved section " +
                     std::to_string(symbol.st_shndx));
    }
    if (!isReserved &&
        (symbol.st_shndx >= sectionTable.size() ||
         (symbol.st_shndx != SHN_UNDEF &&
          symbol.st_value > sectionTable[symbol.st_shndx].sh_size))) {
      return damaged("symbol " + std::to_string(i) +
                     " lies outside its section");
    }
  }
  return Status::success();
}

Status ElfObject::parseRelocations() {
  for (size_t i = 0; i < sectionTable.size(); ++i) {
    const Elf64_Shdr &section = sectionTable[i];
    if (section.sh_type == SHT_REL) {
      return damaged("relocations without addends");
    }
    if (section.sh_type != SHT_RELA) {
      continue;
    }
    if (section.sh_entsize != sizeof(Elf64_Rela) ||
        section.sh_size % sizeof(Elf64_Rela) != 0 ||
        section.sh_info >= sectionTable.size()) {
      return damaged("relocation table " + std::to_string(i));
    }
    Relocations table;
    table.target = section.sh_info;
    table.entries.resize(section.sh_size / sizeof(Elf64_Rela));
    if (!table.entries.empty()) {
      std::memcpy(table.entries.data(), contents(section), section.sh_size);
    }
    for (const Elf64_Rela &entry : table.entries) {
      if (ELF64_R_SYM(entry.r_info) >= symbolTable.size()) {
        return damaged("relocation of symbol " +
                       std::to_string(ELF64_R_SYM(entry.r_info)) + " of " +
                       std::to_string(symbolTable.size()));
      }
    }
    relocationTables.push_back(std::move(table));
  }
  return Status::success();
}

std::string_view ElfObject::stringAt(const Elf64_Shdr &table,
                                     uint64_t offset) const {
  if (offset >= table.sh_size) {
    return {};
  }
  const char *start = reinterpret_cast<const char *>(contents(table)) + offset;
  const void *end = std::memchr(start, 0, table.sh_size - offset);
  return end ? std::string_view(start, static_cast<const char *>(end) - start)
             : std::string_view();
}

std::string_view ElfObject::sectionName(size_t index) const {
  return stringAt(sectionTable[sectionNames], sectionTable[index].sh_name);
}

std::string_view ElfObject::symbolName(size_t index) const {
  return stringAt(sectionTable[symbolNames], symbolTable[index].st_name);
}

std::string ElfObject::quotedSymbolName(size_t index) const {
  std::string text = "'" + std::string(symbolName(index)) + "'";
  for (char &c : text) {
    c = c < ' ' || c > '~' ? '?' : c;
  }
  return text;
}

} // namespace kvern::runtime
