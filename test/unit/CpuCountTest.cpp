// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Counting of processors, from files like those of Linux.
#include "lib/Runtime/CpuCount.h"

#include "test/unit/Check.h"

#include <cstdlib>
#include <fstream>
#include <sys/stat.h>

using namespace kvern::runtime;
using namespace kvern::test;

namespace {

/// A folder that stands for the root of a file system.
class Root {
public:
  Root() {
    char name[] = "/tmp/kvern-unit-XXXXXX";
    path = mkdtemp(name);
  }
  ~Root() {
    [[maybe_unused]] int status = std::system(("rm -r " + path).c_str());
  }

  void write(const std::string &file, const std::string &text) {
    for (size_t at = file.find('/', 1); at != std::string::npos;
         at = file.find('/', at + 1)) {
      mkdir((path + file.substr(0, at)).c_str(), 0700);
    }
    std::ofstream(path + file) << text;
  }

  std::string path;
};

} // namespace

TEST(quotaOfVersion2) {
  Root root;
  CHECK(!cgroupQuota(root.path));
  root.write("/proc/self/cgroup", "0::/a/b\n");
  CHECK(!cgroupQuota(root.path));
  root.write("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  CHECK(!cgroupQuota(root.path));
  root.write("/sys/fs/cgroup/a/cpu.max", "150000 100000\n");
  CHECK(cgroupQuota(root.path) == 1.5);
  root.write("/sys/fs/cgroup/cpu.max", "50000 100000\n");
  CHECK(cgroupQuota(root.path) == 0.5);
  root.write("/sys/fs/cgroup/cpu.max", "nonsense");
  CHECK(cgroupQuota(root.path) == 1.5);
}

TEST(quotaOfVersion1) {
  Root root;
  root.write("/proc/self/cgroup", "5:memory:/m\n4:cpu,cpuacct:/c\n");
  root.write("/sys/fs/cgroup/cpu/c/cpu.cfs_quota_us", "-1\n");
  root.write("/sys/fs/cgroup/cpu/c/cpu.cfs_period_us", "100000\n");
  CHECK(!cgroupQuota(root.path));
  root.write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "300000\n");
  root.write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  CHECK(cgroupQuota(root.path) == 3.0);
}

TEST(coresOfCpus) {
  Root root;
  const std::string folder = "/sys/devices/system/cpu/cpu";
  root.write(folder + "0/topology/core_cpus_list", "0,2\n");
  root.write(folder + "2/topology/core_cpus_list", "0,2\n");
  root.write(folder + "1/topology/thread_siblings_list", "1,3\n");
  CHECK(countCores({0, 2}, root.path) == 1);
  CHECK(countCores({0, 1, 2}, root.path) == 2);
  CHECK(countCores({0, 1, 2, 7, 8}, root.path) == 4);
  CHECK(!allowedCpus().empty());
  CHECK(usableCores() >= 1);
}
