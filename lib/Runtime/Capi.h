/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The C ABI of the runtime: open executables, bind weights, run models. */
#ifndef KVERN_LIB_RUNTIME_CAPI_H
#define KVERN_LIB_RUNTIME_CAPI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct KvernExecutable KvernExecutable;
typedef struct KvernModel KvernModel;

/* A failure: `kind` is a number of kvern::runtime::ErrorKind, 0 for success.
 * `message` is null on success; otherwise kvern_error_clear frees it. */
typedef struct {
  int32_t kind;
  char *message;
} KvernError;

/* A tensor: contiguous, row-major. `dtype` is a number of kvern::DType. */
typedef struct {
  void *data;
  uint8_t dtype;
  uint8_t is_writable;
  const int64_t *dims;
  size_t rank;
} KvernTensor;

/* A weight by name. Its data must live as long as the model. */
typedef struct {
  const char *name;
  KvernTensor tensor;
} KvernNamedTensor;

/* The outputs of a run, owned by the receiver. */
typedef struct KvernOutputs KvernOutputs;

void kvern_error_clear(KvernError *error);

/* Opens an executable file; null on failure. The file must not change while
 * the executable lives. */
KvernExecutable *kvern_executable_open(const char *path, KvernError *error);
void kvern_executable_free(KvernExecutable *executable);
size_t kvern_executable_num_programs(const KvernExecutable *executable);
/* The name of a program; lives as long as the executable. */
const char *kvern_executable_program_name(const KvernExecutable *executable,
                                          size_t program);

/* A model of one program; null on failure. It keeps what it needs of the
 * executable. Its runs use the number of threads that the runtime chooses. */
KvernModel *kvern_model_create(const KvernExecutable *executable,
                               size_t program, const KvernNamedTensor *weights,
                               size_t num_weights, KvernError *error);
/* The same with runs on up to `num_threads` threads, 0 for the runtime's
 * choice. The calling thread counts, and models share the other ones. Results
 * are the same for every number. */
KvernModel *kvern_model_create_with_threads(const KvernExecutable *executable,
                                            size_t program,
                                            const KvernNamedTensor *weights,
                                            size_t num_weights,
                                            size_t num_threads,
                                            KvernError *error);
void kvern_model_free(KvernModel *model);
/* The most threads that a run of the model uses. */
size_t kvern_model_num_threads(const KvernModel *model);

/* Runs a model; null on failure. May be called from several threads at once. */
KvernOutputs *kvern_model_run(KvernModel *model, const KvernTensor *inputs,
                              size_t num_inputs, KvernError *error);
size_t kvern_outputs_size(const KvernOutputs *outputs);
/* Output `index`; its memory lives as long as `outputs`. */
KvernTensor kvern_outputs_get(const KvernOutputs *outputs, size_t index);
void kvern_outputs_free(KvernOutputs *outputs);

#ifdef __cplusplus
}
#endif

#endif /* KVERN_LIB_RUNTIME_CAPI_H */
