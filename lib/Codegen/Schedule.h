// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What passes decided about a kernel, in words, for reports.
#ifndef KVERN_LIB_CODEGEN_SCHEDULE_H
#define KVERN_LIB_CODEGEN_SCHEDULE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace kvern {

/// Adds a line to the schedule of the kernel around `op`, once: "tiles of
/// 128 x 512".
void noteSchedule(mlir::Operation *op, const llvm::Twine &text);

/// The lines, joined by "; ".
std::string getSchedule(mlir::func::FuncOp kernel);

} // namespace kvern

#endif // KVERN_LIB_CODEGEN_SCHEDULE_H
