// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Binding of weights; problems are collected, not reported one by one.
#include "lib/Runtime/WeightSet.h"

#include <cstring>
#include <unordered_map>

namespace kvern::runtime {
namespace {

/// The address of weights without elements.
alignas(kMemoryAlignment) const uint8_t kNoData[kMemoryAlignment] = {};

std::string describe(DType dtype, const std::vector<int64_t> &shape) {
  return std::string(dtypeName(dtype)) + formatShape(shape);
}

bool matches(const WeightSpec &spec, const WeightData &data) {
  return spec.dtype == data.dtype && spec.shape == data.shape;
}

} // namespace

Result<WeightSet::Ref> WeightSet::bind(Executable::Ref executable,
                                       const std::vector<WeightData> &offered,
                                       bool allowUnexpected) {
  const std::vector<WeightSpec> &specs = executable->manifest().weights;
  std::unordered_map<std::string_view, const WeightData *> byName;
  for (const WeightData &data : offered) {
    byName.emplace(data.name, &data);
  }

  std::string missing, unexpected, mismatching;
  std::vector<const WeightData *> found(specs.size(), nullptr);
  for (size_t i = 0; i < specs.size(); ++i) {
    const WeightSpec &spec = specs[i];
    if (!spec.isExternal()) {
      continue;
    }
    auto entry = byName.find(spec.name);
    if (entry == byName.end()) {
      missing += "\n  missing: '" + spec.name + "' (" +
                 describe(spec.dtype, spec.shape) + ")";
      continue;
    }
    found[i] = entry->second;
    if (!matches(spec, *found[i])) {
      mismatching += "\n  mismatch: expected '" + spec.name + "' to be " +
                     describe(spec.dtype, spec.shape) + ", but got " +
                     describe(found[i]->dtype, found[i]->shape);
    }
    byName.erase(entry);
  }
  if (!allowUnexpected) {
    // In the order of the caller's list, not of the hash table.
    for (const WeightData &data : offered) {
      if (byName.count(data.name)) {
        unexpected += "\n  unexpected: '" + data.name + "' (" +
                      describe(data.dtype, data.shape) + ")";
      }
    }
  }
  if (!missing.empty() || !unexpected.empty() || !mismatching.empty()) {
    return Status::error(ErrorKind::Weight,
                         "weights do not match the model:" + missing +
                             mismatching + unexpected);
  }

  std::shared_ptr<WeightSet> weights(new WeightSet());
  for (size_t i = 0; i < specs.size(); ++i) {
    const void *data = found[i] ? found[i]->data : executable->constant(i);
    Memory::Ref memory = found[i] ? found[i]->memory : nullptr;
    const uint64_t bytes =
        static_cast<uint64_t>(*byteSize(specs[i].dtype, specs[i].shape));
    if (bytes == 0) {
      data = kNoData;
    } else if (reinterpret_cast<uintptr_t>(data) % specs[i].align != 0) {
      // Memory::allocate aligns to 64; larger alignments need some room.
      memory = Memory::allocate(bytes + specs[i].align);
      if (!memory) {
        return Status::error(ErrorKind::Memory,
                             "no memory to align weight '" + specs[i].name +
                                 "' of " + std::to_string(bytes) + " bytes");
      }
      uintptr_t start = reinterpret_cast<uintptr_t>(memory->data());
      start = (start + specs[i].align - 1) / specs[i].align * specs[i].align;
      data = std::memcpy(reinterpret_cast<void *>(start), data, bytes);
    }
    weights->pointers.push_back(data);
    if (memory) {
      weights->keptAlive.push_back(std::move(memory));
    }
  }
  weights->owner = std::move(executable);
  return Ref(std::move(weights));
}

} // namespace kvern::runtime
