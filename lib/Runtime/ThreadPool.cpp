// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Fork and join by one word of memory per helper.
//
// The mailbox of a helper is
//   0            idle: it spins for a while, then sleeps on the mailbox;
//   job          offered: the caller may still take it back;
//   job | taken  running; the helper stores 0 when it has finished.
// A caller offers its job to idle helpers, runs tasks until none is left, then
// takes back what was not taken and waits for the helpers that are running. So
// a helper that is slow to wake up delays nobody, and the job, which lies on
// the caller's stack, is never touched after the caller has left.
#include "lib/Runtime/ThreadPool.h"

#include "lib/Runtime/Abi.h"
#include "lib/Runtime/CpuCount.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <linux/futex.h>
#include <mutex>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace kvern::runtime {
namespace {

/// Helpers spin as long as the gap between two loops of a run may last; callers
/// longer, since they know that the end is near.
constexpr auto kHelperSpin = std::chrono::microseconds(100);
constexpr auto kCallerSpin = std::chrono::microseconds(1000);
/// Loops that have gone on for so long will go on: time to wake helpers.
constexpr auto kLongRun = std::chrono::microseconds(20);
/// From here on a spinning thread lets others run in between.
constexpr auto kPoliteSpin = std::chrono::microseconds(20);

constexpr size_t kStackBytes = size_t(2) << 20;
constexpr uintptr_t kTaken = 1;

thread_local int64_t workerLimit = 1;
/// When the loops of this thread began that followed one another closely, and
/// when the last one ended.
thread_local std::chrono::steady_clock::time_point firstLoop, lastLoop;

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

/// The floating-point modes of the calling thread.
uint64_t getFloatMode() {
#if defined(__SSE__)
  return __builtin_ia32_stmxcsr();
#elif defined(__aarch64__)
  uint64_t mode;
  asm volatile("mrs %0, fpcr" : "=r"(mode));
  return mode;
#else
  return 0;
#endif
}

void setFloatMode([[maybe_unused]] uint64_t mode) {
#if defined(__SSE__)
  __builtin_ia32_ldmxcsr(static_cast<unsigned>(mode));
#elif defined(__aarch64__)
  asm volatile("msr fpcr, %0" : : "r"(mode));
#endif
}

/// Spins until `done` holds or `limit` has passed; whether it holds.
template <typename Done>
bool spin(std::chrono::steady_clock::duration limit, Done done) {
  constexpr int kPauses = 64;
  std::chrono::steady_clock::time_point start{};
  while (true) {
    for (int i = 0; i < kPauses; ++i) {
      if (done()) {
        return true;
      }
      pause();
    }
    auto now = std::chrono::steady_clock::now();
    start = start.time_since_epoch().count() == 0 ? now : start;
    auto spent = now - start;
    if (spent > limit) {
      return false;
    }
    if (spent > kPoliteSpin) {
      sched_yield();
    }
  }
}

/// Each thread has an equal share of neighbouring tasks, which it starts with:
/// the next loop over the same rows finds them in its cache. Then it helps with
/// the shares of others.
class alignas(64) Job {
public:
  Job(Task task, void *context, int64_t tasks, int64_t workers)
      : workers(workers), task(task), context(context),
        floatMode(getFloatMode()) {
    int64_t length = tasks / workers, longer = tasks % workers, begin = 0;
    for (int64_t i = 0; i < workers; ++i) {
      shares[i].next.store(begin, std::memory_order_relaxed);
      begin += length + (i < longer);
      shares[i].end = begin;
      shares[i].hasOwner.store(i == 0, std::memory_order_relaxed);
    }
  }

  /// Runs as the worker `preferred` or, if there is one already, another one.
  void help(int64_t preferred) {
    setFloatMode(floatMode);
    for (int64_t i = 0; i < workers; ++i) {
      int64_t number = (preferred + i) % workers;
      if (!shares[number].hasOwner.exchange(true, std::memory_order_relaxed)) {
        run(number);
        return;
      }
    }
  }

  void run(int64_t number) {
    for (int64_t i = 0; i < workers; ++i) {
      Share &share = shares[(number + i) % workers];
      int64_t next = share.next.load(std::memory_order_relaxed);
      while (next < share.end) {
        next = share.next.fetch_add(1, std::memory_order_relaxed);
        if (next < share.end) {
          task(context, next, number);
        }
      }
    }
  }

  const int64_t workers;

private:
  /// Tasks [next, end). Not initialized: there is room for more than are used.
  struct alignas(64) Share {
    std::atomic<int64_t> next;
    int64_t end;
    std::atomic<bool> hasOwner;
  };

  const Task task;
  void *const context;
  const uint64_t floatMode;
  Share shares[kMaxWorkers];
};

class alignas(64) Helper {
public:
  /// Offers a job if the helper is idle, and awake unless `wake` is set.
  bool offer(Job *job, bool wake) {
    uintptr_t idle = 0;
    if (mailbox.load(std::memory_order_relaxed) != 0 ||
        (!wake && sleeps.load(std::memory_order_relaxed)) ||
        !mailbox.compare_exchange_strong(idle, address(job))) {
      return false;
    }
    if (sleeps.load()) {
      wakeAll();
    }
    return true;
  }

  /// Takes an offered job back, or waits until the helper has left it.
  void join(Job *job) {
    uintptr_t offered = address(job);
    if (mailbox.compare_exchange_strong(offered, 0)) {
      return;
    }
    const uintptr_t running = address(job) | kTaken;
    auto done = [&] {
      return mailbox.load(std::memory_order_acquire) != running;
    };
    if (spin(kCallerSpin, done)) {
      return;
    }
    joiners.fetch_add(1);
    while (mailbox.load() == running) {
      sleepWhile(running);
    }
    joiners.fetch_sub(1);
  }

  /// `number` is the worker that it prefers to be.
  [[noreturn]] void loop(int64_t number) {
    while (true) {
      uintptr_t offered = waitForOffer();
      if (!mailbox.compare_exchange_strong(offered, offered | kTaken)) {
        continue;
      }
      Job *job = reinterpret_cast<Job *>(offered);
      job->help(number);
      mailbox.store(0);
      if (joiners.load() != 0) {
        wakeAll();
      }
    }
  }

private:
  static uintptr_t address(Job *job) {
    return reinterpret_cast<uintptr_t>(job);
  }

  uintptr_t waitForOffer() {
    uintptr_t found = 0;
    auto isOffered = [&] {
      found = mailbox.load(std::memory_order_acquire);
      return found != 0;
    };
    // Woken too late for one job, it is awake for the next.
    while (!spin(kHelperSpin, isOffered)) {
      sleeps.store(true);
      if (mailbox.load() == 0) {
        sleepWhile(0);
      }
      sleeps.store(false);
    }
    return found;
  }

  /// Sleeps unless the low half of the mailbox differs from that of `value`.
  void sleepWhile(uintptr_t value) {
    syscall(SYS_futex, &mailbox, FUTEX_WAIT_PRIVATE,
            static_cast<uint32_t>(value), nullptr, nullptr, 0);
  }

  void wakeAll() {
    constexpr int kAll = 1 << 30;
    syscall(SYS_futex, &mailbox, FUTEX_WAKE_PRIVATE, kAll, nullptr, nullptr, 0);
  }

  std::atomic<uintptr_t> mailbox{0};
  std::atomic<bool> sleeps{false};
  /// Callers that sleep until the helper has finished.
  std::atomic<int> joiners{0};
};

class ThreadPool {
public:
  /// The pool of this process.
  static ThreadPool &get() {
    ThreadPool *pool = instance.load(std::memory_order_acquire);
    if (!pool) {
      auto *fresh = new ThreadPool;
      if (instance.compare_exchange_strong(pool, fresh)) {
        pool = fresh;
        static std::once_flag registered;
        std::call_once(registered, [] {
          // The child has none of the threads; the parent's pool is left alone.
          pthread_atfork(nullptr, nullptr, [] { instance.store(nullptr); });
        });
      } else {
        delete fresh;
      }
    }
    return *pool;
  }

  void run(Job &job, bool wake) {
    Helper *taken[kMaxWorkers];
    int64_t count = 0, wanted = job.workers - 1;
    auto offer = [&](int64_t index) {
      if (helpers[index].offer(&job, wake)) {
        taken[count++] = &helpers[index];
      }
    };
    int64_t known = started.load(std::memory_order_acquire);
    for (int64_t i = 0; i < known && count < wanted; ++i) {
      offer(i);
    }
    // As many helpers as this loop or all processors can use.
    int64_t most = std::max(wanted, defaultWorkers() - 1);
    for (; wake && known < most && count < wanted && start(known); ++known) {
      offer(known);
    }
    job.run(0);
    for (int64_t i = 0; i < count; ++i) {
      taken[i]->join(&job);
    }
  }

private:
  /// Starts helper `index` unless it runs; false when there is no room for one
  /// more thread.
  bool start(int64_t index) {
    std::lock_guard<std::mutex> lock(mutex);
    if (started.load() > index) {
      return true;
    }
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, kStackBytes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    // Signals are for the threads of the program.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    auto enter = [](void *helper) -> void * {
      auto *self = static_cast<Helper *>(helper);
      self->loop(self - get().helpers + 1);
    };
    bool runs =
        pthread_create(&thread, &attributes, enter, &helpers[index]) == 0;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_attr_destroy(&attributes);
    if (runs) {
      started.store(index + 1);
    }
    return runs;
  }

  static std::atomic<ThreadPool *> instance;
  std::mutex mutex;
  std::atomic<int64_t> started{0};
  Helper helpers[kMaxWorkers - 1];
};

std::atomic<ThreadPool *> ThreadPool::instance{nullptr};

} // namespace

int64_t defaultWorkers() {
  static const int64_t workers = [] {
    if (const char *text = std::getenv("KVERN_NUM_THREADS")) {
      char *end = nullptr;
      long long asked = std::strtoll(text, &end, 10);
      if (end != text && *end == '\0' && asked >= 1) {
        return std::min<int64_t>(asked, kMaxWorkers);
      }
    }
    return std::min(usableCores(), kMaxWorkers);
  }();
  return workers;
}

int64_t currentWorkers() { return workerLimit; }

WorkerLimit::WorkerLimit(int64_t workers) : previous(workerLimit) {
  workerLimit =
      workers <= 0 ? defaultWorkers() : std::min(workers, kMaxWorkers);
}

WorkerLimit::~WorkerLimit() { workerLimit = previous; }

void parallelFor(Task task, void *context, int64_t tasks, int64_t work) {
  int64_t workers = std::min(workerLimit, tasks);
  if (workers <= 1) {
    for (int64_t i = 0; i < tasks; ++i) {
      task(context, i, 0);
    }
    return;
  }
  Job job(task, context, tasks, workers);
  auto now = std::chrono::steady_clock::now();
  if (now - lastLoop > kHelperSpin) {
    firstLoop = now;
  }
  bool wake = work >= kWakingWork || now - firstLoop > kLongRun;
  int64_t limit = workerLimit;
  workerLimit = 1;
  ThreadPool::get().run(job, wake);
  workerLimit = limit;
  lastLoop = std::chrono::steady_clock::now();
}

} // namespace kvern::runtime

void kvern_rt_parallel_for(void (*task)(void *, int64_t, int64_t),
                           void *context, int64_t tasks, int64_t work) {
  kvern::runtime::parallelFor(task, context, tasks, work);
}

int64_t kvern_rt_max_workers() { return kvern::runtime::currentWorkers(); }
