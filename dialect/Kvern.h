//===- Kvern.h - The kvern dialect: attributes, types, ops ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_DIALECT_KVERN_H
#define KVERN_DIALECT_KVERN_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace kvern {

enum class DeviceKind : uint8_t { CPU, GPU };

/// What loop structure an op needs.
enum class FusionKind : uint8_t {
  /// One loop nest over the result; each element from a few of the operands'.
  Elementwise,
  /// A multiply-accumulate over a contracted axis.
  Contraction,
  /// Loops over one axis of the operand before a result element is known.
  Reduction,
  /// Loops over the last axis, several times.
  Norm,
  /// No loops: the operand's memory under another type.
  View,
  /// Copies elements from computed places.
  Movement,
  /// No operands.
  Constant,
};

} // namespace kvern

#include "dialect/KvernDialect.h.inc"
#include "dialect/KvernInterfaces.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialect/KvernAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialect/KvernTypes.h.inc"

#define GET_OP_CLASSES
#include "dialect/ops/Elementwise.h.inc"
#define GET_OP_CLASSES
#include "dialect/ops/Contraction.h.inc"
#define GET_OP_CLASSES
#include "dialect/ops/Reduction.h.inc"
#define GET_OP_CLASSES
#include "dialect/ops/Norm.h.inc"
#define GET_OP_CLASSES
#include "dialect/ops/Shape.h.inc"
#define GET_OP_CLASSES
#include "dialect/ops/Indexing.h.inc"
#define GET_OP_CLASSES
#include "dialect/ops/Constant.h.inc"
#define GET_OP_CLASSES
#include "dialect/ops/Call.h.inc"
#define GET_OP_CLASSES
#include "dialect/ops/Buffer.h.inc"
#define GET_OP_CLASSES
#include "dialect/ops/Check.h.inc"
#define GET_OP_CLASSES
#include "dialect/ops/Host.h.inc"

#endif // KVERN_DIALECT_KVERN_H
