//===- StepTable.h - The kernel calls of a program ---------------*- C++
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_LIB_CONVERSION_KVERNTOHOST_STEPTABLE_H
#define KVERN_LIB_CONVERSION_KVERNTOHOST_STEPTABLE_H

#include "dialect/Kvern.h"

namespace kvern {

/// What each kernel call of a program does, for reports: one dictionary a step
/// with `kernel`, `ops`, `lines` (the user's), and as dims `flops` and `bytes`
/// where they are known.
class StepTable {
public:
  /// Adds a call of `kernel`, which `kvern-describe-kernels` may have
  /// described, and returns its number.
  int64_t add(CallOp call, mlir::func::FuncOp kernel);

  mlir::ArrayAttr getAttr(mlir::MLIRContext *context) const;

private:
  llvm::SmallVector<mlir::Attribute> steps;
};

/// Every "model.py:12" in a location, each once.
llvm::SmallVector<std::string> getLines(mlir::Location loc);

} // namespace kvern

#endif // KVERN_LIB_CONVERSION_KVERNTOHOST_STEPTABLE_H
