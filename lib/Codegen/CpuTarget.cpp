// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Vector widths and cache sizes from CPU names and features.
#include "lib/Codegen/CpuTarget.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/TargetParser/X86TargetParser.h"

using namespace llvm;

namespace {
/// Data caches of a core, in KiB.
struct CacheSizes {
  StringLiteral prefix;
  int64_t l1, l2;
};
} // namespace

/// By LLVM's names, the first prefix that fits; from the vendors' manuals.
static constexpr CacheSizes knownCaches[] = {
    {"znver4", 32, 1024},        {"znver5", 48, 1024},
    {"znver", 32, 512},          {"haswell", 32, 256},
    {"broadwell", 32, 256},      {"skylake-avx512", 32, 1024},
    {"skylake", 32, 256},        {"cascadelake", 32, 1024},
    {"cooperlake", 32, 1024},    {"icelake-server", 48, 1280},
    {"icelake", 48, 512},        {"sapphirerapids", 48, 2048},
    {"emeraldrapids", 48, 2048}, {"graniterapids", 48, 2048},
    {"alderlake", 48, 1280},     {"raptorlake", 48, 2048},
    {"arrowlake", 48, 2048},     {"x86-64-v4", 32, 1024},
    {"neoverse-n1", 64, 1024},   {"neoverse-n2", 64, 1024},
    {"neoverse-v", 64, 1024},    {"ampere1", 64, 2048},
    {"apple", 64, 4096},         {"cortex-a7", 32, 512},
    {"cortex-x", 64, 1024},      {"generic", 32, 512},
};

/// Whether a register of 512 bits can be masked and hold all integers.
static bool hasAvx512(const StringSet<> &features) {
  return features.contains("avx512f") && features.contains("avx512vl") &&
         features.contains("avx512bw") && features.contains("avx512dq");
}

kvern::CpuTarget kvern::CpuTarget::get(StringRef triple, StringRef cpu,
                                       StringRef features) {
  CpuTarget target;
  target.triple = triple.str();
  target.cpu = cpu.str();
  target.features = features.str();
  for (const CacheSizes &sizes : knownCaches) {
    if (cpu.starts_with(sizes.prefix)) {
      target.l1Bytes = sizes.l1 * 1024;
      target.l2Bytes = sizes.l2 * 1024;
      break;
    }
  }
  if (!Triple(triple).isX86()) {
    // NEON and SVE at 128 bits.
    target.vectorRegisters = 32;
    if (Triple(triple).isAArch64() && features.contains("+dotprod")) {
      target.integerDot = "neon";
    }
    return target;
  }

  StringSet<> has;
  if (X86::parseArchX86(cpu) != X86::CK_None) {
    SmallVector<StringRef> implied;
    X86::getFeaturesForCPU(cpu, implied);
    has.insert_range(implied);
  }
  SmallVector<StringRef> changes;
  features.split(changes, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef change : changes) {
    if (change.consume_front("-")) {
      has.erase(change);
      continue;
    }
    change.consume_front("+");
    has.insert(change);
  }

  for (StringRef name : has.keys()) {
    target.available.push_back(name.str());
  }

  if (hasAvx512(has)) {
    target.vectorBits = 512;
    target.vectorRegisters = 32;
  } else if (has.contains("avx2") && has.contains("fma")) {
    target.vectorBits = 256;
  }
  bool hasVnni = target.vectorBits == 512 ? has.contains("avx512vnni")
                                          : has.contains("avxvnni");
  if (target.vectorBits >= 256) {
    target.integerDot = hasVnni ? "vnni" : "maddubs";
  }
  return target;
}
