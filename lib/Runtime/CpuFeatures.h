// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the processor of this machine can execute.
#ifndef KVERN_LIB_RUNTIME_CPUFEATURES_H
#define KVERN_LIB_RUNTIME_CPUFEATURES_H

#include <string>
#include <vector>

namespace kvern::runtime {

/// The vector and bit-manipulation features of this processor, by LLVM's names
/// ("avx2", "fma", "avx512f"), sorted. A feature counts only when the operating
/// system saves the registers it needs. A compiler should require no others.
const std::vector<std::string> &hostCpuFeatures();

/// All names that `hostCpuFeatures` may have, those of other processors too.
const std::vector<std::string> &knownCpuFeatures();

/// What this processor calls itself: "AMD EPYC 9654 96-Core Processor".
std::string hostCpuBrand();

/// The names among `required` that this processor lacks, or that are not known
/// here.
std::vector<std::string>
missingCpuFeatures(const std::vector<std::string> &required);

} // namespace kvern::runtime

#endif // KVERN_LIB_RUNTIME_CPUFEATURES_H
