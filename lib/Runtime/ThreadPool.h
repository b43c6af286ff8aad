// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops whose iterations run on the threads of the process.
//
// There is one pool; its threads are started when they are first needed and
// are never joined. Any number of threads may run loops at once: each takes
// helpers that are idle, and does itself what no helper took, so no loop ever
// waits for another one. Tasks are shared out evenly in their order, and what
// one thread has not begun another one takes when it has nothing left. A loop
// within a task runs on the thread of the task. A child of fork() starts with
// no helpers and gets its own when it needs them.
#ifndef KVERN_LIB_RUNTIME_THREADPOOL_H
#define KVERN_LIB_RUNTIME_THREADPOOL_H

#include <cstdint>

namespace kvern::runtime {

/// One iteration. `worker` tells the threads of one loop apart: it is 0 on the
/// thread that runs the loop and below its limit. Must not throw.
using Task = void (*)(void *context, int64_t task, int64_t worker);

/// The most threads that one loop uses.
inline constexpr int64_t kMaxWorkers = 256;

/// Threads of a run that did not ask for a number: KVERN_NUM_THREADS when it
/// is a number from 1, else usableCores(). Found out once a process.
int64_t defaultWorkers();

/// How many threads loops of the calling thread may use: 1 unless a
/// WorkerLimit says otherwise, and 1 within a task.
int64_t currentWorkers();

/// Sets currentWorkers() of this thread while it lives; 0 stands for
/// defaultWorkers(), more than kMaxWorkers for kMaxWorkers.
class WorkerLimit {
public:
  explicit WorkerLimit(int64_t workers);
  ~WorkerLimit();
  WorkerLimit(const WorkerLimit &) = delete;
  WorkerLimit &operator=(const WorkerLimit &) = delete;

private:
  int64_t previous;
};

/// `work` that is worth waking a thread: about 40 us on one of them.
inline constexpr int64_t kWakingWork = int64_t(4) << 20;

/// Calls `task` for 0, ..., tasks - 1 in any order, on up to currentWorkers()
/// threads, and returns when all calls have. Tasks run with the rounding and
/// denormal modes of the calling thread.
///
/// `work` is about how many operations on elements (each a fraction of a cycle)
/// the calls carry out together. Helpers that sleep are woken for kWakingWork
/// of it, and for any loop when loops have followed one another closely for a
/// time.
void parallelFor(Task task, void *context, int64_t tasks,
                 int64_t work = kWakingWork);

} // namespace kvern::runtime

#endif // KVERN_LIB_RUNTIME_THREADPOOL_H
