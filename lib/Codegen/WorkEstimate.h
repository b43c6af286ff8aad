// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How much a loop body has to do.
#ifndef KVERN_LIB_CODEGEN_WORKESTIMATE_H
#define KVERN_LIB_CODEGEN_WORKESTIMATE_H

#include "mlir/IR/Builders.h"

namespace kvern {

class EntrySizes;

/// The operations on elements that one run of `body` carries out, at least 1:
/// each op on floats or vectors counts once an element, four times if it reads
/// or writes memory, and a loop as often as it turns. An index value, computed
/// by `builder` from constants and what `sizes` can bound; loops without a
/// bound count as 64 turns.
mlir::Value estimateWork(mlir::Block &body, EntrySizes &sizes,
                         mlir::OpBuilder &builder);

} // namespace kvern

#endif // KVERN_LIB_CODEGEN_WORKESTIMATE_H
