// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What one run of a program holds; the other side of KvernFrame::call.
#ifndef KVERN_LIB_RUNTIME_RUNSTATE_H
#define KVERN_LIB_RUNTIME_RUNSTATE_H

#include "lib/Runtime/Model.h"

#include <atomic>
#include <csetjmp>

namespace kvern::runtime {

class RunState {
public:
  RunState(const ProgramSpec &program, const std::vector<int64_t> &symbols)
      : program(program), symbols(symbols) {}

  /// Allocates the outputs whose sizes are known before the run.
  Status allocateKnownOutputs();

  /// Calls the entry. Returns what it recorded, or what ended it.
  Status call(KvernEntry entry, KvernFrame &frame);

  // The requests of generated code; null when the run cannot go on.
  void *output(int64_t index, int64_t rank, const int64_t *dims);
  void *takeWorkspace(int64_t bytes);
  void *allocate(int64_t bytes);

  /// Notes the time when the run is recorded.
  void beginStep(int64_t step) {
    if (times) {
      recordStep(step);
    }
  }

  /// Records the failure of a check; the first failure counts.
  void failCheck(int64_t check, const int64_t (&values)[3]);

  /// Ends the run: jumps back to call(). The caller must not hold anything that
  /// needs a destructor.
  [[noreturn]] void abandon();

  std::vector<OutputTensor> outputs;
  Memory::Ref workspace;
  /// Where to record the steps; null when nobody wants to know.
  StepTimes *times = nullptr;

private:
  void recordStep(int64_t step);
  void fail(Status status);
  void *allocateOutput(size_t index, std::vector<int64_t> dims);

  const ProgramSpec &program;
  const std::vector<int64_t> &symbols;
  std::vector<Memory::Ref> extra;
  std::atomic<bool> hasFailed = false;
  Status failure = Status::success();
  std::jmp_buf landing;
};

} // namespace kvern::runtime

#endif // KVERN_LIB_RUNTIME_RUNSTATE_H
