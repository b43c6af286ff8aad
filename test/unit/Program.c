/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What CapiTest.cpp runs: y[i] = w[0] * x[i], a task an element. */

#include <stdint.h>

struct KvernFrame {
  void *const *inputs;
  void *const *weights;
  const int64_t *symbols;
  void *call;
};

extern void *kvern_rt_output(struct KvernFrame *, int64_t, int64_t,
                             const int64_t *);
extern void kvern_rt_parallel_for(void (*)(void *, int64_t, int64_t), void *,
                                  int64_t, int64_t);

struct Scale {
  const float *x, *w;
  float *y;
};

static void scale(void *context, int64_t task, int64_t worker) {
  struct Scale *s = context;
  (void)worker;
  s->y[task] = s->w[0] * s->x[task];
}

int32_t program(struct KvernFrame *frame) {
  int64_t n = frame->symbols[0];
  struct Scale s = {frame->inputs[0], frame->weights[0],
                    kvern_rt_output(frame, 0, 1, &n)};
  kvern_rt_parallel_for(scale, &s, n, INT64_MAX);
  return 0;
}
