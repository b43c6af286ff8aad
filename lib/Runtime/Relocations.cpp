// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Source: System V ABI, AMD64 supplement, table 4.10.
#include "lib/Runtime/Relocations.h"

#include <array>
#include <cstring>
#include <limits>
#include <string>

// Newer than the <elf.h> of some systems.
#ifndef R_X86_64_GOTPCRELX
#define R_X86_64_GOTPCRELX 41
#define R_X86_64_REX_GOTPCRELX 42
#endif

namespace kvern::runtime {

bool isAbsolute32(uint32_t type) {
  return type == R_X86_64_32 || type == R_X86_64_32S;
}

bool isRelative32(uint32_t type) {
  return type == R_X86_64_PLT32 || type == R_X86_64_PC32;
}

bool isThroughGot(uint32_t type) {
  return type == R_X86_64_GOTPCREL || type == R_X86_64_GOTPCRELX ||
         type == R_X86_64_REX_GOTPCRELX;
}

namespace {

bool fits(uint64_t value) {
  int64_t distance = static_cast<int64_t>(value);
  return distance >= std::numeric_limits<int32_t>::min() &&
         distance <= std::numeric_limits<int32_t>::max();
}

Status write64(uint8_t *place, uint64_t value) {
  std::memcpy(place, &value, sizeof(value));
  return Status::success();
}

Status write32(uint8_t *place, uint64_t value) {
  uint32_t low = static_cast<uint32_t>(value);
  std::memcpy(place, &low, sizeof(low));
  return Status::success();
}

Status damaged(std::string what) {
  return Status::error(ErrorKind::Artifact,
                       "damaged object code: " + std::move(what));
}

Status unsupported(std::string what) {
  return Status::error(ErrorKind::Artifact,
                       "unsupported object code: " + std::move(what));
}

class Relocator {
public:
  Relocator(const PlacedObject &object, const CodeImage &image)
      : object(object), image(image) {}

  void writeIndirections() const;
  Status apply(uint32_t section, const Elf64_Rela &entry) const;

private:
  Status writeSigned(uint8_t *place, uint64_t value,
                     const Elf64_Rela &entry) const {
    return fits(value) ? write32(place, value) : tooFar(entry);
  }
  Status tooFar(const Elf64_Rela &entry) const {
    return unsupported("relocation type " +
                       std::to_string(ELF64_R_TYPE(entry.r_info)) +
                       " cannot reach " +
                       object.elf.quotedSymbolName(ELF64_R_SYM(entry.r_info)));
  }
  /// Whether the place is the operand of call or jmp: then a stub may stand in
  /// for the symbol, which is wrong for data and for comparing addresses.
  bool isCall(uint32_t section, uint64_t offset) const {
    return offset > 0 &&
           (object.sectionAddress(image, section)[offset - 1] & 0xfe) == 0xe8;
  }

  const PlacedObject &object;
  const CodeImage &image;
};

} // namespace

void Relocator::writeIndirections() const {
  for (size_t i = 0; i < object.addresses.size(); ++i) {
    const uint64_t address = object.addresses[i];
    if (object.gotOffsets[i] != PlacedObject::kNowhere) {
      std::memcpy(image.at(CodeImage::Constants, object.gotOffsets[i]),
                  &address, sizeof(address));
    }
    if (object.stubOffsets[i] != PlacedObject::kNowhere) {
      uint8_t *stub = image.at(CodeImage::Code, object.stubOffsets[i]);
      constexpr std::array<uint8_t, 6> kJump = {0xff, 0x25, 0, 0, 0, 0};
      std::memcpy(stub, kJump.data(), kJump.size());
      std::memcpy(stub + kJump.size(), &address, sizeof(address));
    }
  }
}

/// S: symbol, A: addend, P: place, G: entry in the GOT, L: stub.
Status Relocator::apply(uint32_t section, const Elf64_Rela &entry) const {
  const uint32_t type = ELF64_R_TYPE(entry.r_info);
  const size_t index = ELF64_R_SYM(entry.r_info);
  const bool isWide = type == R_X86_64_64 || type == R_X86_64_PC64;
  const uint64_t width = isWide ? 8 : 4;
  const uint64_t sectionSize = object.elf.sections()[section].sh_size;
  if (type == R_X86_64_NONE) {
    return Status::success();
  }
  if (sectionSize < width || entry.r_offset > sectionSize - width) {
    return damaged("relocation outside its section");
  }
  uint8_t *place = object.sectionAddress(image, section) + entry.r_offset;
  // Modulo 2^64; what must fit in 32 bits is checked below.
  const uint64_t P = reinterpret_cast<uint64_t>(place);
  const uint64_t S = object.addresses[index];
  const uint64_t A = static_cast<uint64_t>(entry.r_addend);
  if (isRelative32(type)) {
    const uint64_t stub = object.stubOffsets[index];
    if (stub == PlacedObject::kNowhere || fits(S + A - P)) {
      return writeSigned(place, S + A - P, entry);
    }
    if (type == R_X86_64_PC32 && !isCall(section, entry.r_offset)) {
      return tooFar(entry);
    }
    const uint64_t L =
        reinterpret_cast<uint64_t>(image.at(CodeImage::Code, stub));
    return writeSigned(place, L + A - P, entry);
  }
  if (isThroughGot(type)) {
    const uint64_t G = reinterpret_cast<uint64_t>(
        image.at(CodeImage::Constants, object.gotOffsets[index]));
    return writeSigned(place, G + A - P, entry);
  }
  switch (type) {
  case R_X86_64_64:
    return write64(place, S + A);
  case R_X86_64_PC64:
    return write64(place, S + A - P);
  case R_X86_64_32:
    return S + A > std::numeric_limits<uint32_t>::max() ? tooFar(entry)
                                                        : write32(place, S + A);
  case R_X86_64_32S:
    return writeSigned(place, S + A, entry);
  default:
    return unsupported("relocation type " + std::to_string(type));
  }
}

Status relocate(const PlacedObject &object, const CodeImage &image) {
  Relocator relocator(object, image);
  relocator.writeIndirections();
  for (const ElfObject::Relocations &table : object.elf.relocations()) {
    if (!object.isPlaced(table.target)) {
      continue;
    }
    if (object.elf.sections()[table.target].sh_type == SHT_NOBITS) {
      return damaged("relocation of zero-initialised data");
    }
    for (const Elf64_Rela &entry : table.entries) {
      if (Status status = relocator.apply(table.target, entry); !status.ok()) {
        return status;
      }
    }
  }
  return Status::success();
}

} // namespace kvern::runtime
