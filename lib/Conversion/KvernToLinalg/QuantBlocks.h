//===- QuantBlocks.h - Numbers in blocks of bytes --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_LIB_CONVERSION_KVERNTOLINALG_QUANTBLOCKS_H
#define KVERN_LIB_CONVERSION_KVERNTOLINALG_QUANTBLOCKS_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace kvern {

/// A byte of a row of blocks, by its place in the row.
using ByteReader = llvm::function_ref<mlir::Value(mlir::Value place)>;

/// Element `k` of a row of blocks, as f32: what `kvern.dequantize` gives for
/// that encoding.
mlir::Value readElement(mlir::ImplicitLocOpBuilder &builder,
                        llvm::StringRef encoding, ByteReader read,
                        mlir::Value k);

/// Element `k` of row `row` of the blocks that `kvern.pack_quantized` made
/// `panels` of, as f32.
mlir::Value readPackedElement(mlir::ImplicitLocOpBuilder &builder,
                              llvm::StringRef encoding, mlir::Value panels,
                              mlir::Value row, mlir::Value k);

} // namespace kvern

#endif // KVERN_LIB_CONVERSION_KVERNTOLINALG_QUANTBLOCKS_H
