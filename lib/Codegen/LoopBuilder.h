// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What all that emits loops by hand needs: arithmetic on indices, control flow.
#ifndef KVERN_LIB_CODEGEN_LOOPBUILDER_H
#define KVERN_LIB_CODEGEN_LOOPBUILDER_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace kvern {

class LoopBuilder : public mlir::ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  // Index arithmetic; folds.
  mlir::Value index(int64_t value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value add(mlir::Value a, int64_t b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, int64_t b);
  mlir::Value min(mlir::Value a, mlir::Value b);
  mlir::Value max(mlir::Value a, mlir::Value b);
  mlir::Value less(mlir::Value a, mlir::Value b);

  using Loop = llvm::function_ref<void(mlir::Value)>;
  /// Gets the values of a turn, gives those of the next one.
  using CarryingLoop = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::Value, mlir::ValueRange)>;
  void loop(mlir::Value from, mlir::Value to, int64_t step, Loop body);
  void loop(mlir::Value from, mlir::Value to, mlir::Value step, Loop body);
  llvm::SmallVector<mlir::Value> loop(mlir::Value from, mlir::Value to,
                                      int64_t step, mlir::ValueRange init,
                                      CarryingLoop body);
  /// Emits one side only when the condition is known.
  void when(mlir::Value condition, llvm::function_ref<void()> then,
            llvm::function_ref<void()> otherwise = nullptr);
};

} // namespace kvern

#endif // KVERN_LIB_CODEGEN_LOOPBUILDER_H
