//===- Parallel.h - Loops on the threads of a run --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_DIALECT_OPS_PARALLEL_H
#define KVERN_DIALECT_OPS_PARALLEL_H

#include "dialect/Kvern.h"

#define GET_OP_CLASSES
#include "dialect/ops/Parallel.h.inc"

#endif // KVERN_DIALECT_OPS_PARALLEL_H
