//===- Sampling.h - From logits to tokens ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_DIALECT_OPS_SAMPLING_H
#define KVERN_DIALECT_OPS_SAMPLING_H

#include "dialect/Kvern.h"

#include "mlir/Interfaces/DestinationStyleOpInterface.h"

#define GET_OP_CLASSES
#include "dialect/ops/Sampling.h.inc"

#endif // KVERN_DIALECT_OPS_SAMPLING_H
