//===- Indexing.h - Elements by index --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_LIB_CONVERSION_KVERNTOLINALG_INDEXING_H
#define KVERN_LIB_CONVERSION_KVERNTOLINALG_INDEXING_H

#include "lib/Conversion/KvernToLinalg/Generic.h"

namespace kvern {

/// An element of a gather, as emitted for the place that an index names along
/// the axis, and the loops of the result.
using PickElement = llvm::function_ref<mlir::Value(mlir::ImplicitLocOpBuilder &,
                                                   mlir::Value place)>;

/// A loop over the result of a gather, of sizes `shape`, that reads the index
/// of each element; the axes of `indices` start at loop `axis`. A negative
/// index counts from `size`. That indices are in range has been checked.
mlir::Value pickByIndex(LoopBuilder &loops, llvm::ArrayRef<DimAttr> shape,
                        mlir::Type storage, mlir::Value indices,
                        TensorType indexType, int64_t axis, mlir::Value size,
                        PickElement pick);

} // namespace kvern

#endif // KVERN_LIB_CONVERSION_KVERNTOLINALG_INDEXING_H
