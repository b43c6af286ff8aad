// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops that do nothing but compute, or nothing but read.
#include "lib/Runtime/MachineLimits.h"

#include "lib/Runtime/Memory.h"
#include "lib/Runtime/ThreadPool.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace kvern::runtime {
namespace {

#if defined(__x86_64__)
#define KVERN_FOR_TARGET(features) __attribute__((target(features)))
#else
#define KVERN_FOR_TARGET(features)
#endif

constexpr int kChains = 12;
constexpr int kStreams = 4;

/// Keeps results from being optimized away; a race on it harms nobody.
volatile float sink;

template <int Bytes> struct Lanes {
  typedef float Vector __attribute__((vector_size(Bytes)));
  static constexpr int kCount = Bytes / static_cast<int>(sizeof(float));
};

/// `rounds` multiply-adds on each of several independent sums.
template <int Bytes>
inline __attribute__((always_inline)) double computeLoop(int64_t rounds) {
  using Vector = typename Lanes<Bytes>::Vector;
  Vector sums[kChains], factor = {}, term = {};
  factor += 0.999f;
  term += 1e-3f;
  // Different values: equal chains would be computed once.
  for (int c = 0; c < kChains; ++c) {
    sums[c] = factor * static_cast<float>(c);
  }
  for (int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) {
      sums[c] = sums[c] * factor + term;
    }
  }
  for (int c = 1; c < kChains; ++c) {
    sums[0] += sums[c];
  }
  sink = sums[0][0];
  return 2.0 * Lanes<Bytes>::kCount * kChains * static_cast<double>(rounds);
}

/// Reads a block as several streams, which one core needs for all bandwidth.
template <int Bytes>
inline __attribute__((always_inline)) void readLoop(const float *memory,
                                                    int64_t elements) {
  using Vector = typename Lanes<Bytes>::Vector;
  constexpr int kCount = Lanes<Bytes>::kCount;
  int64_t part = elements / kStreams / (2 * kCount) * (2 * kCount);
  Vector sums[2 * kStreams] = {};
  for (int64_t i = 0; i < part; i += 2 * kCount) {
#pragma GCC unroll 4
    for (int s = 0; s < kStreams; ++s) {
      Vector a, b;
      std::memcpy(&a, memory + s * part + i, sizeof a);
      std::memcpy(&b, memory + s * part + i + kCount, sizeof b);
      sums[2 * s] += a;
      sums[2 * s + 1] += b;
    }
  }
  for (int i = 1; i < 2 * kStreams; ++i) {
    sums[0] += sums[i];
  }
  sink = sums[0][0];
}

using Compute = double (*)(int64_t rounds);
using Read = void (*)(const float *memory, int64_t elements);

double computeNarrow(int64_t rounds) { return computeLoop<16>(rounds); }
void readNarrow(const float *memory, int64_t elements) {
  readLoop<16>(memory, elements);
}

#if defined(__x86_64__)
KVERN_FOR_TARGET("avx2,fma") double computeAvx2(int64_t rounds) {
  return computeLoop<32>(rounds);
}
KVERN_FOR_TARGET("avx2,fma")
void readAvx2(const float *memory, int64_t elements) {
  readLoop<32>(memory, elements);
}
KVERN_FOR_TARGET("avx512f") double computeAvx512(int64_t rounds) {
  return computeLoop<64>(rounds);
}
KVERN_FOR_TARGET("avx512f")
void readAvx512(const float *memory, int64_t elements) {
  readLoop<64>(memory, elements);
}
#endif

struct Loops {
  Compute compute = computeNarrow;
  Read read = readNarrow;
};

Loops chooseLoops() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) {
    return {computeAvx512, readAvx512};
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return {computeAvx2, readAvx2};
  }
#endif
  return {};
}

/// Seconds of one pass of `task` on all workers at once.
double timeOnAll(Task task, void *context, int64_t workers) {
  auto start = std::chrono::steady_clock::now();
  parallelFor(task, context, workers);
  std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - start;
  return elapsed.count();
}

} // namespace

MachineLimits measureMachineLimits(int64_t threads) {
  WorkerLimit limit(threads);
  constexpr int64_t kRounds = 1 << 20;
  constexpr int64_t kBytes = int64_t(1) << 28;
  constexpr int kTries = 5;
  struct Shared {
    Loops loops = chooseLoops();
    int64_t workers = currentWorkers();
    double flops = 0;
    const float *memory = nullptr;
  } shared;
  MachineLimits result;
  for (int i = 0; i < kTries; ++i) {
    double seconds = timeOnAll(
        [](void *context, int64_t, int64_t worker) {
          auto *state = static_cast<Shared *>(context);
          double flops = state->loops.compute(kRounds);
          if (worker == 0) {
            state->flops = flops;
          }
        },
        &shared, shared.workers);
    result.flopsPerSecond =
        std::max(result.flopsPerSecond,
                 shared.flops * static_cast<double>(shared.workers) / seconds);
  }
  Memory::Ref memory = Memory::allocate(kBytes);
  if (!memory) {
    return result;
  }
  memory->prefault();
  shared.memory = reinterpret_cast<const float *>(memory->data());
  for (int i = 0; i < kTries; ++i) {
    double seconds = timeOnAll(
        [](void *context, int64_t task, int64_t) {
          auto *state = static_cast<Shared *>(context);
          int64_t part = kBytes / 4 / state->workers;
          state->loops.read(state->memory + task * part, part);
        },
        &shared, shared.workers);
    result.bytesPerSecond =
        std::max(result.bytesPerSecond, static_cast<double>(kBytes) / seconds);
  }
  return result;
}

} // namespace kvern::runtime
