// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The file format:
//   header (64 bytes), manifest, padding to 64, constants (each padded to 64),
//   the size of each object (8 bytes each), the objects one after the other.
// All numbers little-endian.
#include "lib/Runtime/Executable.h"

#include "lib/Runtime/CpuFeatures.h"
#include "lib/Runtime/HostSymbols.h"

#include <cstring>

namespace kvern::runtime {
namespace {

constexpr char kMagic[8] = {'K', 'V', 'E', 'R', 'N', 'E', 'X', 'E'};
constexpr uint32_t kFormatVersion = 2;

struct Header {
  char magic[8];
  uint32_t version;
  uint32_t headerSize;
  uint64_t manifestSize;
  uint64_t constantsSize;
  /// Of the objects and their table of sizes.
  uint64_t codeSize;
  uint64_t numObjects;
  /// Of the sizes and everything after the header. Guards against damage, not
  /// against malice.
  uint64_t checksum;
  uint64_t reserved;
};
static_assert(sizeof(Header) == 64);

constexpr uint64_t padded(uint64_t size) { return (size + 63) / 64 * 64; }

/// A 64-bit hash with four independent lanes, so that it runs at memory speed:
/// every step is a bijection of the state, hence a change of one word always
/// changes the result.
uint64_t checksum(const Header &header, const uint8_t *data, uint64_t size) {
  constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15;
  uint64_t lanes[4] = {1, 2, 3, 4};
  auto mix = [](uint64_t state, uint64_t word) {
    state = (state ^ word) * kMultiplier;
    return state ^ (state >> 32);
  };
  uint64_t position = 0;
  for (; size - position >= sizeof(lanes); position += sizeof(lanes)) {
    uint64_t words[4];
    std::memcpy(words, data + position, sizeof(words));
    for (int lane = 0; lane < 4; ++lane) {
      lanes[lane] = mix(lanes[lane], words[lane]);
    }
  }
  uint64_t state = size;
  for (uint64_t part :
       {header.manifestSize, header.constantsSize, header.numObjects}) {
    state = mix(state, part);
  }
  for (; position < size; ++position) {
    state = mix(state, data[position]);
  }
  for (uint64_t lane : lanes) {
    state = mix(state, lane);
  }
  return state;
}

Status damaged(const std::string &what) {
  return Status::error(ErrorKind::Artifact, "damaged executable: " + what);
}

std::string join(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names) {
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

/// Checks the header against the size of the file.
Status readHeader(const Memory &file, Header &header) {
  if (file.size() < sizeof(Header) ||
      std::memcmp(file.data(), kMagic, sizeof(kMagic)) != 0) {
    return Status::error(ErrorKind::Artifact, "not a kvern executable (" +
                                                  std::to_string(file.size()) +
                                                  " bytes)");
  }
  std::memcpy(&header, file.data(), sizeof(header));
  if (header.version != kFormatVersion || header.headerSize != sizeof(Header)) {
    return Status::error(ErrorKind::Artifact,
                         "expected executable format version " +
                             std::to_string(kFormatVersion) + ", but got " +
                             std::to_string(header.version) +
                             "; compile the model again");
  }
  uint64_t left = file.size() - sizeof(Header);
  for (uint64_t part : {header.manifestSize, header.constantsSize}) {
    if (part > left || padded(part) > left) {
      return damaged("the file ends too early");
    }
    left -= padded(part);
  }
  if (header.codeSize != left) {
    return damaged("expected " + std::to_string(header.codeSize) +
                   " bytes of code, but got " + std::to_string(left));
  }
  if (checksum(header, file.data() + sizeof(Header),
               file.size() - sizeof(Header)) != header.checksum) {
    return damaged("its checksum does not match");
  }
  return Status::success();
}

/// The objects in `bytes`: a table of their sizes, and then they.
Result<std::vector<std::string_view>> findObjects(const Header &header,
                                                  const uint8_t *bytes) {
  uint64_t left = header.codeSize;
  if (header.numObjects > left / sizeof(uint64_t)) {
    return damaged("a table of " + std::to_string(header.numObjects) +
                   " objects in " + std::to_string(left) + " bytes");
  }
  const uint8_t *next = bytes + header.numObjects * sizeof(uint64_t);
  left -= header.numObjects * sizeof(uint64_t);
  std::vector<std::string_view> objects(header.numObjects);
  for (std::string_view &object : objects) {
    uint64_t size;
    std::memcpy(&size, bytes, sizeof(size));
    bytes += sizeof(size);
    if (size > left) {
      return damaged("an object of " + std::to_string(size) +
                     " bytes lies outside the file");
    }
    object = {reinterpret_cast<const char *>(next), size};
    next += size;
    left -= size;
  }
  if (left != 0) {
    return damaged(std::to_string(left) + " bytes after the last object");
  }
  return objects;
}

/// Checks that this process can run the code.
Status checkTarget(const Manifest &manifest) {
  const std::string arch = manifest.triple.substr(0, manifest.triple.find('-'));
  if (arch != "x86_64") {
    return Status::error(
        ErrorKind::Artifact,
        "expected an executable for x86_64, but got one for " +
            (manifest.triple.empty() ? "no target" : manifest.triple));
  }
  std::vector<std::string> missing = missingCpuFeatures(manifest.cpuFeatures);
  if (!missing.empty()) {
    return Status::error(
        ErrorKind::Artifact,
        "the executable was compiled for the processor '" + manifest.cpu +
            "' and needs features that this one lacks: " + join(missing));
  }
  return Status::success();
}

} // namespace

std::string writeExecutable(Manifest manifest,
                            const std::vector<ConstantData> &constants,
                            const std::vector<std::string_view> &objects) {
  uint64_t constantsSize = 0;
  for (const ConstantData &constant : constants) {
    WeightSpec &weight = manifest.weights[constant.weight];
    weight.constantOffset = static_cast<int64_t>(constantsSize);
    weight.constantSize = constant.size;
    constantsSize += padded(constant.size);
  }
  std::string encoded = encodeManifest(manifest);

  Header header = {};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.version = kFormatVersion;
  header.headerSize = sizeof(Header);
  header.manifestSize = encoded.size();
  header.constantsSize = constantsSize;
  header.numObjects = objects.size();
  for (std::string_view object : objects) {
    header.codeSize += sizeof(uint64_t) + object.size();
  }

  std::string file(sizeof(Header), '\0');
  file.reserve(file.size() + padded(encoded.size()) + constantsSize +
               header.codeSize);
  file += encoded;
  file.resize(padded(file.size()), '\0');
  for (const ConstantData &constant : constants) {
    file.append(static_cast<const char *>(constant.data), constant.size);
    file.resize(padded(file.size()), '\0');
  }
  for (std::string_view object : objects) {
    const uint64_t size = object.size();
    file.append(reinterpret_cast<const char *>(&size), sizeof(size));
  }
  for (std::string_view object : objects) {
    file += object;
  }
  header.checksum = checksum(
      header, reinterpret_cast<const uint8_t *>(file.data()) + sizeof(Header),
      file.size() - sizeof(Header));
  std::memcpy(file.data(), &header, sizeof(header));
  return file;
}

Result<Executable::Ref> Executable::open(const char *path) {
  Result<Memory::Ref> memory = Memory::mapFile(
      path, 0, Memory::kToEnd, /*writable=*/false, /*shared=*/false);
  if (!memory.ok()) {
    return memory.status();
  }
  Result<Ref> executable = fromMemory(*memory);
  if (!executable.ok()) {
    return Status::error(executable.status().kind(),
                         std::string("'") + path +
                             "': " + executable.status().message());
  }
  return executable;
}

Result<Executable::Ref> Executable::fromMemory(Memory::Ref memory) {
  if (reinterpret_cast<uintptr_t>(memory->data()) % kMemoryAlignment != 0) {
    Memory::Ref copy = Memory::allocate(memory->size());
    if (!copy) {
      return Status::error(ErrorKind::Memory,
                           "no memory for an executable of " +
                               std::to_string(memory->size()) + " bytes");
    }
    std::memcpy(copy->data(), memory->data(), memory->size());
    memory = copy;
  }
  Header header;
  if (Status status = readHeader(*memory, header); !status.ok()) {
    return status;
  }
  const uint8_t *manifestBytes = memory->data() + sizeof(Header);
  const uint8_t *constants = manifestBytes + padded(header.manifestSize);
  const uint8_t *codeBytes = constants + padded(header.constantsSize);

  Result<Manifest> manifest =
      decodeManifest(manifestBytes, header.manifestSize);
  if (!manifest.ok()) {
    return manifest.status();
  }
  for (const WeightSpec &weight : manifest->weights) {
    if (weight.constantOffset >= 0 &&
        (static_cast<uint64_t>(weight.constantOffset) > header.constantsSize ||
         weight.constantSize > header.constantsSize - weight.constantOffset)) {
      return damaged("the data of weight '" + weight.name +
                     "' lies outside the file");
    }
  }
  if (Status status = checkTarget(*manifest); !status.ok()) {
    return status;
  }
  Result<std::vector<std::string_view>> objects =
      findObjects(header, codeBytes);
  if (!objects.ok()) {
    return objects.status();
  }
  Result<std::unique_ptr<LoadedCode>> code =
      LoadedCode::load(*objects, lookupHostSymbol);
  if (!code.ok()) {
    return code.status();
  }
  std::shared_ptr<Executable> executable(new Executable());
  auto addEntries = [&](const std::vector<ProgramSpec> &programs,
                        std::vector<KvernEntry> &entries) {
    for (const ProgramSpec &program : programs) {
      void *entry = (*code)->lookup(program.entrySymbol);
      if (!entry) {
        return damaged("no code for program '" + program.name + "' (symbol '" +
                       program.entrySymbol + "')");
      }
      entries.push_back(reinterpret_cast<KvernEntry>(entry));
    }
    return Status::success();
  };
  for (Status status :
       {addEntries(manifest->programs, executable->entries),
        addEntries(manifest->initializers, executable->initializers)}) {
    if (!status.ok()) {
      return status;
    }
  }
  for (const ProgramSpec &program : manifest->programs) {
    const std::string &symbol = program.workspaceSymbol;
    void *size = symbol.empty() ? nullptr : (*code)->lookup(symbol);
    if (!size && !symbol.empty()) {
      return damaged("no code for the workspace of program '" + program.name +
                     "' (symbol '" + symbol + "')");
    }
    executable->workspaceSizes.push_back(
        reinterpret_cast<KvernWorkspaceSize>(size));
  }
  executable->file = std::move(memory);
  executable->contents = std::move(*manifest);
  executable->constants = constants;
  executable->code = std::move(*code);
  return Ref(std::move(executable));
}

int64_t Executable::findProgram(std::string_view name) const {
  for (size_t i = 0; i < contents.programs.size(); ++i) {
    if (contents.programs[i].name == name) {
      return static_cast<int64_t>(i);
    }
  }
  return -1;
}

} // namespace kvern::runtime
