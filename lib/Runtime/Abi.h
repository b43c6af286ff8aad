// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The C ABI between generated code and the runtime.
#ifndef KVERN_LIB_RUNTIME_ABI_H
#define KVERN_LIB_RUNTIME_ABI_H

#include <cstdint>

extern "C" {

/// What an entry function is called with. All arrays are owned by the runtime
/// and live until the entry returns.
struct KvernFrame {
  /// Data of the inputs, contiguous and row-major, in the order of the
  /// program's inputs. Never null.
  void *const *inputs;
  /// Data of the weights, contiguous, in the order of the program's weight
  /// list. Never null.
  void *const *weights;
  /// Values of the program's symbols; those not bound by inputs hold -1.
  const int64_t *symbols;
  /// State of this run; generated code only passes the frame back.
  void *call;
};

/// An entry returns 0 on success; otherwise kvern_rt_fail has been called.
using KvernEntry = int32_t (*)(KvernFrame *frame);

/// Computes the bytes of a program's arena; reads only the symbols.
using KvernWorkspaceSize = int64_t (*)(KvernFrame *frame);

// The functions below are offered to generated code by name. They may be called
// only while the entry runs, on the thread that called it (kvern_rt_fail: on
// any thread). A request that cannot be met (out of memory, an output that
// contradicts the manifest) ends the run at once: control goes back to the
// runtime, not to the generated code, so the returned pointers are never null
// and need no check.

/// Returns the memory of output `index`, 64-byte aligned; `dims` must agree
/// with the manifest and be non-negative. Asked again with the same dims, it
/// returns the same memory.
void *kvern_rt_output(KvernFrame *frame, int64_t index, int64_t rank,
                      const int64_t *dims);

/// Returns the planned arena of at least `bytes` bytes, 64-byte aligned,
/// contents undefined. Called once a run.
void *kvern_rt_workspace(KvernFrame *frame, int64_t bytes);

/// Returns extra memory, 64-byte aligned, contents undefined, freed when the
/// run ends.
void *kvern_rt_alloc(KvernFrame *frame, int64_t bytes);

/// Announces that step `step` of the program begins.
void kvern_rt_step(KvernFrame *frame, int64_t step);

/// Records the failure of check `check` of the program, with the values its
/// message reports. The first one counts.
void kvern_rt_fail(KvernFrame *frame, int64_t check, int64_t a, int64_t b,
                   int64_t c);

/// Calls `task(context, i, worker)` for each i in [0, tasks), in any order, on
/// the threads of the run; returns when all calls have. `worker` is at least 0
/// and below kvern_rt_max_workers(), and no two calls that run at the same time
/// have the same. `work` is about how many operations on elements all calls
/// carry out together. A task must not call any function that takes the frame.
void kvern_rt_parallel_for(void (*task)(void *context, int64_t task,
                                        int64_t worker),
                           void *context, int64_t tasks, int64_t work);

/// The number of threads of the run; the same during all of it.
int64_t kvern_rt_max_workers(void);

} // extern "C"

#endif // KVERN_LIB_RUNTIME_ABI_H
