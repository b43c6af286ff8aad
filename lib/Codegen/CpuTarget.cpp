// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Vector widths and cache sizes from CPU names and features.
#include "lib/Codegen/CpuTarget.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/TargetParser/X86TargetParser.h"

using namespace llvm;

kvern::CpuTarget kvern::CpuTarget::get(StringRef triple, StringRef cpu,
                                       StringRef features) {
  CpuTarget target;
  target.triple = triple.str();
  target.cpu = cpu.str();
  target.features = features.str();
  if (!Triple(triple).isX86()) {
    target.vectorRegisters = 32;
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

  // 512 bits only with what masked loads and integer vectors need.
  if (has.contains("avx512f") && has.contains("avx512vl") &&
      has.contains("avx512bw") && has.contains("avx512dq")) {
    target.vectorBits = 512;
    target.vectorRegisters = 32;
    target.l2Bytes = 1024 * 1024;
  } else if (has.contains("avx2") && has.contains("fma")) {
    target.vectorBits = 256;
  }
  return target;
}
