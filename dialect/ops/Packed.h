//===- Packed.h - Products with packed operands ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_DIALECT_OPS_PACKED_H
#define KVERN_DIALECT_OPS_PACKED_H

#include "dialect/Kvern.h"

#define GET_OP_CLASSES
#include "dialect/ops/Packed.h.inc"

#endif // KVERN_DIALECT_OPS_PACKED_H
