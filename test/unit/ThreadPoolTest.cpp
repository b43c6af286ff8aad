// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops on the threads of the process, also many at once and after fork().
#include "lib/Runtime/ThreadPool.h"

#include "test/unit/Check.h"

#include <atomic>
#include <cfenv>
#include <cstdlib>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace kvern::runtime;
using namespace kvern::test;

namespace {

/// Counts the calls of each task, and calls that share a worker in one moment.
struct Record {
  explicit Record(int64_t tasks) : calls(static_cast<size_t>(tasks)) {}

  static void run(void *context, int64_t task, int64_t worker) {
    auto &record = *static_cast<Record *>(context);
    if (worker < 0 || worker >= kMaxWorkers ||
        record.busy[worker].exchange(true)) {
      ++record.clashes;
      return;
    }
    // Plain memory: a sanitizer sees whether the caller's reads are ordered.
    record.calls[static_cast<size_t>(task)] += 1;
    record.highest = std::max(record.highest.load(), worker);
    record.busy[worker].store(false);
  }

  bool isComplete() const {
    for (int count : calls) {
      if (count != 1) {
        return false;
      }
    }
    return clashes == 0;
  }

  std::vector<int> calls;
  std::atomic<int64_t> highest{0};
  std::atomic<int> clashes{0};
  std::atomic<bool> busy[kMaxWorkers] = {};
};

bool runsAll(int64_t workers, int64_t tasks) {
  WorkerLimit limit(workers);
  Record record(tasks);
  parallelFor(Record::run, &record, tasks);
  return record.isComplete() && record.highest < currentWorkers();
}

} // namespace

TEST(poolRunsEachTaskOnce) {
  CHECK(currentWorkers() == 1);
  for (int64_t workers : {1, 2, 3, 7, 40}) {
    for (int64_t tasks : {0, 1, 2, 3, 17, 1000}) {
      for (int round = 0; round < 20; ++round) {
        CHECK(runsAll(workers, tasks));
      }
    }
  }
  CHECK(runsAll(1 << 20, 1000));
  CHECK(currentWorkers() == 1);
}

TEST(poolUsesSeveralThreads) {
  WorkerLimit limit(2);
  std::atomic<int> waiting{2};
  // Ends only when two tasks run at the same time.
  auto meet = [](void *context, int64_t, int64_t) {
    auto &left = *static_cast<std::atomic<int> *>(context);
    --left;
    while (left.load() > 0) {
      std::this_thread::yield();
    }
  };
  alarm(30);
  for (int round = 0; round < 3; ++round) {
    waiting = 2;
    parallelFor(meet, &waiting, 2);
  }
  CHECK(waiting == 0);
}

TEST(poolWakesNobodyForLittle) {
  WorkerLimit limit(4);
  std::thread::id self = std::this_thread::get_id();
  auto here = [](void *context, int64_t, int64_t worker) {
    if (worker != 0 || std::this_thread::get_id() !=
                           *static_cast<std::thread::id *>(context)) {
      reportFailure(__FILE__, __LINE__, "expected no helper");
    }
  };
  parallelFor(here, &self, 1000, kWakingWork / 3);
  usleep(5000);
  parallelFor(here, &self, 1000, -1);
}

TEST(poolRunsInnerLoopsInline) {
  WorkerLimit limit(4);
  std::atomic<int> wrong{0};
  parallelFor(
      [](void *context, int64_t, int64_t) {
        std::thread::id self = std::this_thread::get_id();
        bool same = currentWorkers() == 1;
        auto check = [&](int64_t worker) {
          same &= worker == 0 && std::this_thread::get_id() == self;
        };
        parallelFor(
            [](void *inner, int64_t, int64_t worker) {
              (*static_cast<decltype(check) *>(inner))(worker);
            },
            &check, 50);
        *static_cast<std::atomic<int> *>(context) += !same;
      },
      &wrong, 100);
  CHECK(wrong == 0);
  CHECK(currentWorkers() == 4);
}

TEST(poolServesManyCallers) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int64_t caller = 0; caller < 8; ++caller) {
    callers.emplace_back([&, caller] {
      for (int64_t round = 0; round < 300; ++round) {
        wrong += !runsAll(2 + caller % 4, 1 + (round * 7 + caller) % 60);
      }
    });
  }
  for (std::thread &caller : callers) {
    caller.join();
  }
  CHECK(wrong == 0);
}

TEST(poolSurvivesFork) {
  CHECK(runsAll(3, 100));
  for (int round = 0; round < 5; ++round) {
    pid_t child = fork();
    if (child == 0) {
      alarm(20);
      bool good = runsAll(3, 1000) && runsAll(2, 10);
      _exit(good ? 7 : 1);
    }
    CHECK(runsAll(3, 100));
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
  }
}

/// By a sum, for fegetround asks the x87 unit, which generated code never uses.
static bool roundsUpward() {
  volatile float one = 1.0f, tiny = 1e-30f;
  volatile float sum = one + tiny;
  return sum > one;
}

TEST(poolKeepsFloatModes) {
  WorkerLimit limit(3);
  for (int mode : {FE_UPWARD, FE_TONEAREST}) {
    std::fesetround(mode);
    std::atomic<int> wrong{0};
    parallelFor(
        [](void *context, int64_t, int64_t) {
          *static_cast<std::atomic<int> *>(context) += !roundsUpward();
        },
        &wrong, 2000);
    CHECK(wrong == (mode == FE_UPWARD ? 0 : 2000));
  }
}

TEST(poolReadsTheEnvironment) {
  setenv("KVERN_NUM_THREADS", "5", 1);
  CHECK(defaultWorkers() == 5);
  WorkerLimit limit(0);
  CHECK(currentWorkers() == 5);
  CHECK(runsAll(0, 100));
}

TEST(poolIgnoresNonsense) {
  setenv("KVERN_NUM_THREADS", "all", 1);
  CHECK(defaultWorkers() >= 1 && defaultWorkers() <= kMaxWorkers);
}
