//===- HostTarget.cpp - The processor of this process ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Pipelines/HostTarget.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"

#if defined(__linux__)
#include <unistd.h>
#endif

using namespace kvern;

/// What the system knows of this processor's caches replaces the table.
static void readCacheSizes([[maybe_unused]] CpuTarget &target) {
#if defined(_SC_LEVEL1_DCACHE_SIZE)
  if (long bytes = sysconf(_SC_LEVEL1_DCACHE_SIZE); bytes > 0) {
    target.l1Bytes = bytes;
  }
  if (long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE); bytes > 0) {
    target.l2Bytes = bytes;
  }
#endif
}

CpuTarget kvern::resolveTarget(llvm::StringRef cpu, llvm::StringRef features) {
  std::string triple = llvm::sys::getProcessTriple();
  if (cpu != "host") {
    return CpuTarget::get(triple, cpu, features);
  }
  // What the name stands for may be switched off on this machine.
  std::string all;
  for (const auto &[name, enabled] : llvm::sys::getHostCPUFeatures()) {
    all += (all.empty() ? "" : ",") + std::string(enabled ? "+" : "-") +
           name.str();
  }
  if (!features.empty()) {
    all += (all.empty() ? "" : ",") + features.str();
  }
  CpuTarget target = CpuTarget::get(triple, llvm::sys::getHostCPUName(), all);
  readCacheSizes(target);
  return target;
}
