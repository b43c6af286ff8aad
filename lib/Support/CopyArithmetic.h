// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sizes computed again at another place.
#ifndef KVERN_LIB_SUPPORT_COPYARITHMETIC_H
#define KVERN_LIB_SUPPORT_COPYARITHMETIC_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace kvern {

/// Copies the ops behind `value` to `builder`, each once; `mapping` gives the
/// leaves and gets the copies. Null when the value depends on another leaf, or
/// on an op that `mayCopy` refuses or that has regions.
mlir::Value copyArithmetic(mlir::Value value, mlir::OpBuilder &builder,
                           mlir::IRMapping &mapping,
                           llvm::function_ref<bool(mlir::Operation *)> mayCopy);

} // namespace kvern

#endif // KVERN_LIB_SUPPORT_COPYARITHMETIC_H
