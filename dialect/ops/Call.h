//===- Call.h - Types across a call ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_DIALECT_OPS_CALL_H
#define KVERN_DIALECT_OPS_CALL_H

#include "dialect/Kvern.h"

namespace kvern {

using DimMapping = llvm::DenseMap<mlir::StringAttr, DimAttr>;

/// `type` with its dimension names replaced; types without dimensions stay.
/// Null when a size overflows or is negative.
mlir::Type substitute(mlir::Type type, const DimMapping &mapping);

/// The mapping from the dimension names of the arguments of `callee` to
/// dimensions of the caller under which its argument types are `operands`.
/// `given` (may be null) names dims as in `kvern.call`. Reports through
/// `emitError` when there is none.
llvm::FailureOr<DimMapping>
matchArguments(mlir::func::FuncOp callee, mlir::TypeRange operands,
               mlir::DictionaryAttr given,
               llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// The result types of a call of `callee` with these operand types.
llvm::FailureOr<llvm::SmallVector<mlir::Type>>
inferCallResults(mlir::func::FuncOp callee, mlir::TypeRange operands,
                 mlir::DictionaryAttr given,
                 llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

} // namespace kvern

#endif // KVERN_DIALECT_OPS_CALL_H
