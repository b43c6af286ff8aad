// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How many processors this process may keep busy.
#include "lib/Runtime/CpuCount.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <sched.h>
#include <set>

namespace kvern::runtime {
namespace {

/// The first `limit` bytes of a file; empty when it cannot be read.
std::string readText(const std::string &path, size_t limit = 1 << 16) {
  std::string text;
  if (std::FILE *file = std::fopen(path.c_str(), "r")) {
    text.resize(limit);
    text.resize(std::fread(&text[0], 1, limit, file));
    std::fclose(file);
  }
  return text;
}

/// The group of this process in a line of /proc/self/cgroup,
/// "id:controllers:path"; for version 2 `controller` is empty.
std::optional<std::string> findGroup(const std::string &table,
                                     const std::string &controller) {
  for (size_t at = 0; at < table.size();) {
    size_t end = std::min(table.find('\n', at), table.size());
    std::string line = table.substr(at, end - at);
    at = end + 1;
    size_t first = line.find(':');
    size_t second =
        first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) {
      continue;
    }
    std::string names = "," + line.substr(first + 1, second - first - 1) + ",";
    if (names == "," + controller + "," ||
        (!controller.empty() &&
         names.find("," + controller + ",") != std::string::npos)) {
      return line.substr(second + 1);
    }
  }
  return std::nullopt;
}

void takeLower(std::optional<double> &best, double quota, double period) {
  if (quota > 0 && period > 0) {
    best = best ? std::min(*best, quota / period) : quota / period;
  }
}

/// The lowest quota of `group` and the groups around it. A container may see
/// its own group as the root, so the root is read too.
template <typename Read>
std::optional<double> lowestQuota(const std::string &mount, std::string group,
                                  Read read) {
  std::optional<double> best;
  while (true) {
    read(mount + group, best);
    size_t slash = group.rfind('/');
    if (slash == std::string::npos) {
      return best;
    }
    group.resize(slash);
  }
}

} // namespace

std::vector<int> allowedCpus() {
  std::vector<int> cpus;
  // Masks of machines with more processors than CPU_SETSIZE need more room.
  for (int count = CPU_SETSIZE; count <= (1 << 18); count *= 4) {
    cpu_set_t *mask = CPU_ALLOC(static_cast<size_t>(count));
    if (!mask) {
      break;
    }
    size_t bytes = CPU_ALLOC_SIZE(static_cast<size_t>(count));
    bool known = sched_getaffinity(0, bytes, mask) == 0;
    for (int cpu = 0; known && cpu < count; ++cpu) {
      if (CPU_ISSET_S(static_cast<size_t>(cpu), bytes, mask)) {
        cpus.push_back(cpu);
      }
    }
    CPU_FREE(mask);
    if (known) {
      break;
    }
  }
  return cpus;
}

int64_t countCores(const std::vector<int> &cpus, const std::string &root) {
  std::set<std::string> cores;
  for (int cpu : cpus) {
    std::string folder = root + "/sys/devices/system/cpu/cpu" +
                         std::to_string(cpu) + "/topology/";
    std::string siblings = readText(folder + "core_cpus_list");
    if (siblings.empty()) {
      siblings = readText(folder + "thread_siblings_list");
    }
    cores.insert(siblings.empty() ? "cpu " + std::to_string(cpu) : siblings);
  }
  return static_cast<int64_t>(cores.size());
}

std::optional<double> cgroupQuota(const std::string &root) {
  std::string table = readText(root + "/proc/self/cgroup");
  std::optional<double> best;
  if (std::optional<std::string> group = findGroup(table, "")) {
    best = lowestQuota(
        root + "/sys/fs/cgroup", *group,
        [](const std::string &folder, std::optional<double> &lowest) {
          // "max 100000" or "150000 100000".
          std::string text = readText(folder + "/cpu.max");
          char *rest = nullptr;
          double quota = std::strtod(text.c_str(), &rest);
          if (rest != text.c_str()) {
            takeLower(lowest, quota, std::strtod(rest, nullptr));
          }
        });
  }
  if (std::optional<std::string> group = findGroup(table, "cpu"); !best) {
    best = lowestQuota(
        root + "/sys/fs/cgroup/cpu", group.value_or(""),
        [](const std::string &folder, std::optional<double> &lowest) {
          std::string quota = readText(folder + "/cpu.cfs_quota_us");
          std::string period = readText(folder + "/cpu.cfs_period_us");
          takeLower(lowest, std::strtod(quota.c_str(), nullptr),
                    std::strtod(period.c_str(), nullptr));
        });
  }
  return best;
}

int64_t usableCores() {
  int64_t cores = countCores(allowedCpus());
  if (std::optional<double> quota = cgroupQuota()) {
    cores = std::min(cores, static_cast<int64_t>(std::ceil(*quota)));
  }
  return std::max<int64_t>(cores, 1);
}

} // namespace kvern::runtime
