//===- Slice.h - The bounds of slices -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_LIB_CONVERSION_KVERNTOLINALG_SLICE_H
#define KVERN_LIB_CONVERSION_KVERNTOLINALG_SLICE_H

#include "lib/Conversion/KvernToLinalg/Generic.h"

namespace kvern {

/// The place of the first element along each axis of a slice of `shape`.
/// `bounds` are the run-time bounds and `converted` what they became.
llvm::SmallVector<mlir::OpFoldResult>
getSliceStarts(LoopBuilder &loops, llvm::ArrayRef<DimAttr> shape,
               mlir::ArrayAttr starts, llvm::ArrayRef<int64_t> steps,
               mlir::ValueRange bounds, mlir::ValueRange converted);

/// Whether a slice of `shape` with these bounds and the sizes `count` has no
/// elements, whatever the names stand for.
bool isEmptySlice(llvm::ArrayRef<DimAttr> shape, mlir::ArrayAttr starts,
                  llvm::ArrayRef<DimAttr> count);

} // namespace kvern

#endif // KVERN_LIB_CONVERSION_KVERNTOLINALG_SLICE_H
