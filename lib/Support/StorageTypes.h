//===- StorageTypes.h - How values lie in memory ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_LIB_SUPPORT_STORAGETYPES_H
#define KVERN_LIB_SUPPORT_STORAGETYPES_H

#include "dialect/Kvern.h"

namespace kvern {

/// The builtin type that stands for an element in memory: unsigned integers
/// without their sign, booleans (MLIR cannot store a single bit) and 8- and
/// 4-bit floats as a byte, the rest as they are.
mlir::Type getStorageType(mlir::Type elementType);

/// The contiguous memref of a kvern tensor or buffer; sizes that are not
/// numbers are dynamic.
mlir::MemRefType getMemRefType(mlir::Type type);

} // namespace kvern

#endif // KVERN_LIB_SUPPORT_STORAGETYPES_H
