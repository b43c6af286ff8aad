//===- HostTarget.cpp - The processor of this process ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Pipelines/HostTarget.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"

using namespace kvern;

CpuTarget kvern::resolveTarget(llvm::StringRef cpu, llvm::StringRef features) {
  std::string triple = llvm::sys::getProcessTriple();
  if (cpu != "host") {
    return CpuTarget::get(triple, cpu, features);
  }
  std::string all;
  for (const auto &[name, enabled] : llvm::sys::getHostCPUFeatures()) {
    if (enabled) {
      all += (all.empty() ? "+" : ",+") + name.str();
    }
  }
  if (!features.empty()) {
    all += (all.empty() ? "" : ",") + features.str();
  }
  return CpuTarget::get(triple, llvm::sys::getHostCPUName(), all);
}
