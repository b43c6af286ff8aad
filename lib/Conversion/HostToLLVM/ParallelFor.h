//===- ParallelFor.h - Calls of tasks through the runtime -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_LIB_CONVERSION_HOSTTOLLVM_PARALLELFOR_H
#define KVERN_LIB_CONVERSION_HOSTTOLLVM_PARALLELFOR_H

#include "dialect/ops/Parallel.h"

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"

namespace kvern {

/// Replaces `op` by a call of the runtime's kvern_rt_parallel_for with a
/// function made here, `<body>_task`: it loads the captured values from a
/// struct on the stack of the caller and calls the body. A single task is
/// called directly.
mlir::LogicalResult lowerParallelFor(HostParallelForOp op,
                                     mlir::LLVMTypeConverter &converter);

} // namespace kvern

#endif // KVERN_LIB_CONVERSION_HOSTTOLLVM_PARALLELFOR_H
