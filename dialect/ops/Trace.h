//===- Trace.h - Marks for profiling ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_DIALECT_OPS_TRACE_H
#define KVERN_DIALECT_OPS_TRACE_H

#include "dialect/Kvern.h"

#define GET_OP_CLASSES
#include "dialect/ops/Trace.h.inc"

#endif // KVERN_DIALECT_OPS_TRACE_H
