/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What one core can do: fused multiply-adds from registers, reading. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__AVX512F__)
typedef float lanes __attribute__((vector_size(64)));
#elif defined(__AVX__)
typedef float lanes __attribute__((vector_size(32)));
#else
typedef float lanes __attribute__((vector_size(16)));
#endif
enum { LANES = sizeof(lanes) / sizeof(float), CHAINS = 12, STREAMS = 4 };

static volatile float sink;

/* At least `flops` floating-point operations, on independent accumulators. */
void kvern_limit_fma(double flops) {
  lanes sums[CHAINS] = {0}, factor, term;
  for (int i = 0; i < LANES; ++i) {
    factor[i] = 0.999f;
    term[i] = 1e-3f;
  }
  /* Different values: equal chains would be computed once. */
  for (int c = 0; c < CHAINS; ++c) {
    sums[c] = factor * (float)c;
  }
  int64_t rounds = (int64_t)(flops / (2.0 * LANES * CHAINS)) + 1;
  for (int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 12
    for (int c = 0; c < CHAINS; ++c) {
      sums[c] = sums[c] * factor + term;
    }
  }
  for (int c = 1; c < CHAINS; ++c) {
    sums[0] += sums[c];
  }
  sink = sums[0][0];
}

/* Reads `bytes` of memory as four streams, which one core needs to reach its bandwidth. */
void kvern_limit_read(const float *memory, size_t bytes) {
  size_t count = bytes / sizeof(float) / STREAMS;
  count -= count % (2 * LANES);
  lanes sums[2 * STREAMS] = {0};
  for (size_t i = 0; i < count; i += 2 * LANES) {
#pragma GCC unroll 4
    for (int s = 0; s < STREAMS; ++s) {
      lanes a, b;
      memcpy(&a, memory + s * count + i, sizeof a);
      memcpy(&b, memory + s * count + i + LANES, sizeof b);
      sums[2 * s] += a;
      sums[2 * s + 1] += b;
    }
  }
  for (int i = 1; i < 2 * STREAMS; ++i) {
    sums[0] += sums[i];
  }
  sink = sums[0][0];
}
