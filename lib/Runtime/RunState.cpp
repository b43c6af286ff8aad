// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Requests of generated code during a run.
#include "lib/Runtime/RunState.h"

#include <chrono>
#include <limits>

namespace kvern::runtime {
namespace {

/// Replaces {0}, {1} and {2}.
std::string substitute(const std::string &message, const int64_t (&values)[3]) {
  std::string text;
  for (size_t i = 0; i < message.size(); ++i) {
    if (i + 2 < message.size() && message[i] == '{' && message[i + 1] >= '0' &&
        message[i + 1] <= '2' && message[i + 2] == '}') {
      text += std::to_string(values[message[i + 1] - '0']);
      i += 2;
    } else {
      text += message[i];
    }
  }
  return text;
}

/// Alone in its function: no local changes between setjmp and longjmp.
int32_t enter(KvernEntry entry, KvernFrame *frame, std::jmp_buf &landing) {
  constexpr int32_t kAbandoned = std::numeric_limits<int32_t>::min();
  return setjmp(landing) == 0 ? entry(frame) : kAbandoned;
}

} // namespace

static int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Status RunState::allocateKnownOutputs() {
  outputs.resize(program.outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const OutputSpec &spec = program.outputs[i];
    outputs[i].dtype = spec.dtype;
    std::vector<int64_t> dims;
    for (const DimExpr &dim : spec.dims) {
      std::optional<int64_t> size = dim.evaluate(symbols);
      // A negative size: a check of the program is about to say why.
      if (!size || *size < 0) {
        break;
      }
      dims.push_back(*size);
    }
    if (dims.size() == spec.dims.size() &&
        !allocateOutput(i, std::move(dims))) {
      return failure;
    }
  }
  return Status::success();
}

Status RunState::call(KvernEntry entry, KvernFrame &frame) {
  if (times) {
    times->starts.assign(program.steps.size(), 0);
  }
  int32_t code = enter(entry, &frame, landing);
  if (times) {
    times->end = now();
  }
  if (hasFailed) {
    return failure;
  }
  if (code != 0) {
    return Status::error(ErrorKind::Execution, "program '" + program.name +
                                                   "' ended with code " +
                                                   std::to_string(code));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].memory) {
      return Status::error(ErrorKind::Execution,
                           "program '" + program.name +
                               "' did not produce output " + std::to_string(i));
    }
  }
  return Status::success();
}

void *RunState::allocateOutput(size_t index, std::vector<int64_t> dims) {
  const OutputSpec &spec = program.outputs[index];
  std::optional<int64_t> bytes = byteSize(spec.dtype, dims);
  Memory::Ref memory =
      bytes ? Memory::allocate(static_cast<uint64_t>(*bytes)) : nullptr;
  if (!memory) {
    fail(Status::error(ErrorKind::Memory,
                       "no memory for output " + std::to_string(index) + " ('" +
                           spec.name + "') of shape " + formatShape(dims) +
                           " and dtype " + std::string(dtypeName(spec.dtype))));
    return nullptr;
  }
  outputs[index].dims = std::move(dims);
  outputs[index].memory = std::move(memory);
  return outputs[index].memory->data();
}

void *RunState::output(int64_t index, int64_t rank, const int64_t *dims) {
  if (index < 0 || static_cast<uint64_t>(index) >= outputs.size() ||
      rank != static_cast<int64_t>(program.outputs[index].dims.size())) {
    fail(Status::error(ErrorKind::Execution,
                       "program '" + program.name + "' asked for output " +
                           std::to_string(index) + " of rank " +
                           std::to_string(rank) +
                           ", which its manifest does not have"));
    return nullptr;
  }
  std::vector<int64_t> shape(dims, dims + rank);
  OutputTensor &output = outputs[index];
  if (!output.memory) {
    return allocateOutput(static_cast<size_t>(index), std::move(shape));
  }
  if (shape != output.dims) {
    fail(Status::error(ErrorKind::Execution,
                       "expected output " + std::to_string(index) +
                           " of program '" + program.name + "' to have shape " +
                           formatShape(output.dims) + ", but got " +
                           formatShape(shape)));
    return nullptr;
  }
  return output.memory->data();
}

void *RunState::takeWorkspace(int64_t bytes) {
  if (workspace && bytes >= 0 &&
      workspace->size() >= static_cast<uint64_t>(bytes)) {
    return workspace->data();
  }
  // The smaller one goes first, so that both are never held.
  workspace = nullptr;
  workspace =
      bytes < 0 ? nullptr : Memory::allocate(static_cast<uint64_t>(bytes));
  if (!workspace) {
    fail(Status::error(ErrorKind::Memory, "no memory for a workspace of " +
                                              std::to_string(bytes) +
                                              " bytes"));
    return nullptr;
  }
  workspace->prefault();
  return workspace->data();
}

void *RunState::allocate(int64_t bytes) {
  Memory::Ref memory =
      bytes < 0 ? nullptr : Memory::allocate(static_cast<uint64_t>(bytes));
  if (!memory) {
    fail(Status::error(ErrorKind::Memory, "no memory for " +
                                              std::to_string(bytes) +
                                              " bytes of temporary data"));
    return nullptr;
  }
  extra.push_back(std::move(memory));
  return extra.back()->data();
}

void RunState::failCheck(int64_t check, const int64_t (&values)[3]) {
  if (check < 0 || static_cast<uint64_t>(check) >= program.checks.size()) {
    fail(Status::error(ErrorKind::Execution,
                       "unknown check " + std::to_string(check) +
                           " of program '" + program.name + "' failed"));
    return;
  }
  const CheckSpec &spec = program.checks[check];
  std::string text = spec.location.empty() ? "" : spec.location + ": ";
  text += spec.op.empty() ? "" : spec.op + ": ";
  fail(Status::error(ErrorKind::Execution,
                     text + substitute(spec.message, values)));
}

void RunState::recordStep(int64_t step) {
  if (step >= 0 && static_cast<uint64_t>(step) < times->starts.size()) {
    times->starts[step] = now();
  }
}

void RunState::fail(Status status) {
  if (!hasFailed.exchange(true)) {
    failure = std::move(status);
  }
}

void RunState::abandon() { std::longjmp(landing, 1); }

} // namespace kvern::runtime

using kvern::runtime::RunState;

void *kvern_rt_output(KvernFrame *frame, int64_t index, int64_t rank,
                      const int64_t *dims) {
  RunState *run = static_cast<RunState *>(frame->call);
  void *memory = run->output(index, rank, dims);
  if (!memory) {
    run->abandon();
  }
  return memory;
}

void *kvern_rt_workspace(KvernFrame *frame, int64_t bytes) {
  RunState *run = static_cast<RunState *>(frame->call);
  void *memory = run->takeWorkspace(bytes);
  if (!memory) {
    run->abandon();
  }
  return memory;
}

void *kvern_rt_alloc(KvernFrame *frame, int64_t bytes) {
  RunState *run = static_cast<RunState *>(frame->call);
  void *memory = run->allocate(bytes);
  if (!memory) {
    run->abandon();
  }
  return memory;
}

void kvern_rt_step(KvernFrame *frame, int64_t step) {
  static_cast<RunState *>(frame->call)->beginStep(step);
}

void kvern_rt_fail(KvernFrame *frame, int64_t check, int64_t a, int64_t b,
                   int64_t c) {
  static_cast<RunState *>(frame->call)->failCheck(check, {a, b, c});
}
