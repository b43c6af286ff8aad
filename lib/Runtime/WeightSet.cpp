// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Binding of weights:
//   1. Which weights are needed: those that programs read, and what
//   initializers
//      of needed derived weights read, unless the derived weight is given.
//   2. Each is found by name; problems are collected, not reported one by one.
//   3. Initializers run in the order of the manifest, in which inputs come
//      first; after the last reader of a weight that no program reads, it goes.
#include "lib/Runtime/WeightSet.h"

#include "lib/Runtime/FilePages.h"
#include "lib/Runtime/Initializer.h"

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

class WeightBinder {
public:
  WeightBinder(Executable::Ref executable, std::vector<WeightData> offered,
               const BindOptions &options)
      : executable(std::move(executable)),
        specs(this->executable->manifest().weights), options(options),
        offered(std::move(offered)), data(specs.size()),
        isRead(specs.size(), false), readers(specs.size(), 0) {}

  Result<WeightSet::Ref> run();

private:
  void findGiven();
  void findNeeded();
  Status findOffered();
  Status align(size_t index);
  Status derive(size_t index);
  void release(size_t index);
  uint64_t bytes(size_t index) const {
    return static_cast<uint64_t>(
        *byteSize(specs[index].dtype, specs[index].shape));
  }
  /// The first weight, of those offered, that a derived one is made of.
  const std::string &origin(size_t index) const {
    while (specs[index].isDerived() && !specs[index].inputs.empty()) {
      index = specs[index].inputs[0].weight;
    }
    return specs[index].name;
  }
  bool mustRun(size_t index) const {
    return specs[index].isDerived() && !data[index].data &&
           (isRead[index] || readers[index] != 0);
  }

  Executable::Ref executable;
  const std::vector<WeightSpec> &specs;
  const BindOptions &options;
  std::vector<WeightData> offered;
  /// By weight; without data until it is bound.
  std::vector<WeightData> data;
  /// By a program.
  std::vector<bool> isRead;
  /// Initializers still to run that read the weight.
  std::vector<size_t> readers;
};

/// Binds derived weights that were computed before.
void WeightBinder::findGiven() {
  std::unordered_map<std::string_view, const WeightData *> byName;
  for (const WeightData &given : options.derived) {
    byName.emplace(given.name, &given);
  }
  for (size_t i = 0; i < specs.size(); ++i) {
    auto entry = byName.find(specs[i].name);
    if (specs[i].isDerived() && bytes(i) == 0) {
      data[i].data = kNoData;
    } else if (specs[i].isDerived() && entry != byName.end() &&
               matches(specs[i], *entry->second)) {
      data[i] = *entry->second;
    }
  }
}

void WeightBinder::findNeeded() {
  for (const ProgramSpec &program : executable->manifest().programs) {
    for (uint32_t index : program.weights) {
      isRead[index] = true;
    }
  }
  for (size_t i = specs.size(); i-- != 0;) {
    if (mustRun(i)) {
      for (const WeightInput &input : specs[i].inputs) {
        ++readers[input.weight];
      }
    }
  }
}

Status WeightBinder::findOffered() {
  std::unordered_map<std::string_view, WeightData *> byName;
  for (WeightData &weight : offered) {
    byName.emplace(weight.name, &weight);
  }
  std::string missing, unexpected, mismatching;
  for (size_t i = 0; i < specs.size(); ++i) {
    const WeightSpec &spec = specs[i];
    if (!spec.isExternal()) {
      continue;
    }
    auto entry = byName.find(spec.name);
    if (entry == byName.end()) {
      if (isRead[i] || readers[i] != 0) {
        missing += "\n  missing: '" + spec.name + "' (" +
                   describe(spec.dtype, spec.shape) + ")";
      }
      continue;
    }
    if (!matches(spec, *entry->second)) {
      mismatching += "\n  mismatch: expected '" + spec.name + "' to be " +
                     describe(spec.dtype, spec.shape) + ", but got " +
                     describe(entry->second->dtype, entry->second->shape);
    }
    data[i] = std::move(*entry->second);
    byName.erase(entry);
  }
  if (!options.allowUnexpected) {
    // In the order of the caller's list, not of the hash table.
    for (const WeightData &weight : offered) {
      if (byName.count(weight.name)) {
        unexpected += "\n  unexpected: '" + weight.name + "' (" +
                      describe(weight.dtype, weight.shape) + ")";
      }
    }
  }
  offered.clear();
  if (!missing.empty() || !unexpected.empty() || !mismatching.empty()) {
    return Status::error(ErrorKind::Weight,
                         "weights do not match the model:" + missing +
                             mismatching + unexpected);
  }
  return Status::success();
}

/// Copies a weight that is less aligned than the executable asks for.
Status WeightBinder::align(size_t index) {
  const WeightSpec &spec = specs[index];
  WeightData &weight = data[index];
  if (bytes(index) == 0) {
    weight.data = kNoData;
    weight.memory = nullptr;
  } else if (reinterpret_cast<uintptr_t>(weight.data) % spec.align != 0) {
    // Memory::allocate aligns to 64; larger alignments need some room.
    Memory::Ref memory = Memory::allocate(bytes(index) + spec.align);
    if (!memory) {
      return Status::error(ErrorKind::Memory,
                           "no memory to align weight '" + spec.name + "' of " +
                               std::to_string(bytes(index)) + " bytes");
    }
    uintptr_t start = reinterpret_cast<uintptr_t>(memory->data());
    start = (start + spec.align - 1) / spec.align * spec.align;
    weight.data =
        std::memcpy(reinterpret_cast<void *>(start), weight.data, bytes(index));
    weight.memory = std::move(memory);
  }
  return Status::success();
}

/// Lets a weight go, unless someone will read it.
void WeightBinder::release(size_t index) {
  if (isRead[index] || readers[index] != 0) {
    return;
  }
  if (specs[index].isExternal() && data[index].data) {
    forgetFilePages(data[index].data, bytes(index));
  }
  data[index] = {};
}

Status WeightBinder::derive(size_t index) {
  std::vector<const void *> inputs;
  for (const WeightInput &input : specs[index].inputs) {
    inputs.push_back(data[input.weight].data);
  }
  Result<Memory::Ref> result = runInitializer(
      *executable, index, inputs, [&](const void *part, uint64_t size) {
        const size_t source = specs[index].inputs[0].weight;
        if (specs[source].isExternal() && !isRead[source] &&
            readers[source] == 1) {
          forgetFilePages(part, size);
        }
      });
  if (!result.ok()) {
    return Status::error(result.status().kind(),
                         "weight '" + origin(index) +
                             "': " + result.status().message());
  }
  data[index].data = (*result)->data();
  data[index].memory = std::move(*result);
  for (const WeightData &candidate : options.candidates) {
    if (candidate.name == specs[index].name &&
        matches(specs[index], candidate) &&
        std::memcmp(candidate.data, data[index].data, bytes(index)) == 0) {
      data[index] = candidate;
      break;
    }
  }
  for (const WeightInput &input : specs[index].inputs) {
    --readers[input.weight];
    release(input.weight);
  }
  return Status::success();
}

Result<WeightSet::Ref> WeightBinder::run() {
  findGiven();
  findNeeded();
  if (Status status = findOffered(); !status.ok()) {
    return status;
  }
  uint64_t total = 0, done = 0;
  for (size_t i = 0; i < specs.size(); ++i) {
    total += mustRun(i) ? bytes(i) : 0;
  }
  for (size_t i = 0; i < specs.size(); ++i) {
    if (const void *constant = executable->constant(i)) {
      data[i].data = constant;
    }
    if (mustRun(i)) {
      if (Status status = derive(i); !status.ok()) {
        return status;
      }
      done += bytes(i);
      if (options.progress && !options.progress(done, total, origin(i))) {
        return Status::error(ErrorKind::Weight, "loading was stopped");
      }
    }
    release(i);
    if (data[i].data || bytes(i) == 0) {
      if (Status status = align(i); !status.ok()) {
        return status;
      }
    }
  }
  std::shared_ptr<WeightSet> weights(new WeightSet());
  for (size_t i = 0; i < specs.size(); ++i) {
    weights->pointers.push_back(isRead[i] ? data[i].data : kNoData);
    weights->memories.push_back(isRead[i] ? std::move(data[i].memory)
                                          : nullptr);
  }
  weights->owner = std::move(executable);
  return WeightSet::Ref(std::move(weights));
}

Result<WeightSet::Ref> WeightSet::bind(Executable::Ref executable,
                                       std::vector<WeightData> offered,
                                       const BindOptions &options) {
  return WeightBinder(std::move(executable), std::move(offered), options).run();
}

} // namespace kvern::runtime
