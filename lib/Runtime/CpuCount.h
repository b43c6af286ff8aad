// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How many processors this process may keep busy.
#ifndef KVERN_LIB_RUNTIME_CPUCOUNT_H
#define KVERN_LIB_RUNTIME_CPUCOUNT_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kvern::runtime {

/// The processors that the calling thread may run on.
std::vector<int> allowedCpus();

/// How many cores the processors `cpus` belong to: two threads of one core
/// count once. A processor whose core is unknown counts as a core. `root` is
/// put in front of the paths that are read.
int64_t countCores(const std::vector<int> &cpus, const std::string &root = "");

/// The processors' worth of time that control groups (version 1 or 2) leave to
/// this process; none when it is unlimited or unknown.
std::optional<double> cgroupQuota(const std::string &root = "");

/// Cores in the affinity mask, at most the quota rounded up; at least 1.
int64_t usableCores();

} // namespace kvern::runtime

#endif // KVERN_LIB_RUNTIME_CPUCOUNT_H
