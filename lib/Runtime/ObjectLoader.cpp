// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Links objects in memory.
#include "lib/Runtime/ObjectLoader.h"

#include "lib/Runtime/CodeImage.h"
#include "lib/Runtime/Relocations.h"

#include <set>

#include <sys/mman.h>

namespace kvern::runtime {

/// 1. Place the objects in one image and copy their sections to it.
/// 2. Give each defined symbol its address, and collect the global ones.
/// 3. Give the undefined ones the address of a global, or of the resolver.
/// 4. Relocate and protect.
class Linker {
public:
  explicit Linker(SymbolResolver resolver)
      : resolver(resolver), code(new LoadedCode()) {}

  Status add(std::string_view bytes) {
    Result<ElfObject> elf = ElfObject::parse(bytes.data(), bytes.size());
    if (!elf.ok()) {
      return elf.status();
    }
    objects.emplace_back(std::move(*elf));
    return objects.back().place(image);
  }

  Status link() {
    bool low = false;
    for (const PlacedObject &object : objects) {
      low |= object.needsLowMemory;
    }
    if (Status status = image.map(low); !status.ok()) {
      return status;
    }
    for (PlacedObject &object : objects) {
      object.copySections(image);
      if (Status status = define(object); !status.ok()) {
        return status;
      }
    }
    for (PlacedObject &object : objects) {
      resolve(object);
    }
    if (!missing.empty()) {
      std::string names;
      for (const std::string &name : missing) {
        names += (names.empty() ? "" : ", ") + name;
      }
      return Status::error(ErrorKind::Artifact,
                           "the runtime has no symbol named " + names);
    }
    for (const PlacedObject &object : objects) {
      if (Status status = relocate(object, image); !status.ok()) {
        return status;
      }
    }
    return image.protect();
  }

  std::unique_ptr<LoadedCode> finish() {
    code->mappedSize = image.size();
    code->memory = image.release();
    return std::move(code);
  }

private:
  Status define(PlacedObject &object) {
    const std::vector<Elf64_Sym> &symbols = object.elf.symbols();
    for (size_t i = 1; i < symbols.size(); ++i) {
      const Elf64_Sym &symbol = symbols[i];
      int type = ELF64_ST_TYPE(symbol.st_info);
      if (type == STT_TLS || type == STT_GNU_IFUNC) {
        return Status::error(ErrorKind::Artifact,
                             "unsupported object code: symbol " +
                                 object.elf.quotedSymbolName(i) + " of type " +
                                 std::to_string(type));
      }
      if (symbol.st_shndx == SHN_UNDEF) {
        continue;
      }
      object.addresses[i] = getAddress(object, i);
      if (ELF64_ST_BIND(symbol.st_info) != STB_GLOBAL ||
          object.addresses[i] == 0) {
        continue;
      }
      auto [it, isNew] =
          code->globals.emplace(object.elf.symbolName(i),
                                reinterpret_cast<void *>(object.addresses[i]));
      if (!isNew) {
        return Status::error(ErrorKind::Artifact,
                             "damaged object code: two symbols named " +
                                 object.elf.quotedSymbolName(i));
      }
    }
    return Status::success();
  }

  uint64_t getAddress(const PlacedObject &object, size_t index) const {
    const Elf64_Sym &symbol = object.elf.symbols()[index];
    if (symbol.st_shndx == SHN_ABS) {
      return symbol.st_value;
    }
    const uint8_t *place =
        symbol.st_shndx == SHN_COMMON
            ? image.at(CodeImage::Data, object.commonOffsets[index])
        : object.isPlaced(symbol.st_shndx)
            ? object.sectionAddress(image, symbol.st_shndx) + symbol.st_value
            : nullptr;
    return reinterpret_cast<uint64_t>(place);
  }

  void resolve(PlacedObject &object) {
    const std::vector<Elf64_Sym> &symbols = object.elf.symbols();
    for (size_t i = 1; i < symbols.size(); ++i) {
      if (symbols[i].st_shndx != SHN_UNDEF) {
        continue;
      }
      std::string_view name = object.elf.symbolName(i);
      void *address = code->lookup(name);
      address = address ? address : resolver(name);
      object.addresses[i] = reinterpret_cast<uint64_t>(address);
      if (!address && ELF64_ST_BIND(symbols[i].st_info) != STB_WEAK &&
          name != "_GLOBAL_OFFSET_TABLE_") {
        missing.insert(object.elf.quotedSymbolName(i));
      }
    }
  }

  SymbolResolver resolver;
  std::unique_ptr<LoadedCode> code;
  CodeImage image;
  std::vector<PlacedObject> objects;
  std::set<std::string> missing;
};

Result<std::unique_ptr<LoadedCode>>
LoadedCode::load(const std::vector<std::string_view> &objects,
                 SymbolResolver resolver) {
  Linker linker(resolver);
  for (std::string_view object : objects) {
    if (Status status = linker.add(object); !status.ok()) {
      return status;
    }
  }
  if (Status status = linker.link(); !status.ok()) {
    return status;
  }
  return linker.finish();
}

LoadedCode::~LoadedCode() {
  if (memory) {
    munmap(memory, mappedSize);
  }
}

void *LoadedCode::lookup(std::string_view name) const {
  auto found = globals.find(std::string(name));
  return found == globals.end() ? nullptr : found->second;
}

} // namespace kvern::runtime
