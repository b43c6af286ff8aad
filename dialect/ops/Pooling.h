//===- Pooling.h - Pools, and padding ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_DIALECT_OPS_POOLING_H
#define KVERN_DIALECT_OPS_POOLING_H

#include "dialect/Kvern.h"

#define GET_OP_CLASSES
#include "dialect/ops/Pooling.h.inc"

#endif // KVERN_DIALECT_OPS_POOLING_H
