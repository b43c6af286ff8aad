//===- DimNames.h - Dimension names and their values ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel takes the value of each dimension name that it mentions as an index
// argument. The list of names and the arithmetic on their values are shared by
// the lowering of kernels and by that of their callers.
//
//===----------------------------------------------------------------------===//

#ifndef KVERN_LIB_SUPPORT_DIMNAMES_H
#define KVERN_LIB_SUPPORT_DIMNAMES_H

#include "dialect/Kvern.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

namespace kvern {

/// The unit attribute of a function that is a kernel.
inline constexpr llvm::StringLiteral kernelAttrName = "kvern.kernel";
/// The argument attribute of a lowered kernel that names the dimension whose
/// value the argument is.
inline constexpr llvm::StringLiteral symbolAttrName = "kvern.symbol";

/// The attribute of a `kvern.check` that names the op it was made for, where
/// its kind does not say that.
inline constexpr llvm::StringLiteral checkedOpAttrName = "checked_op";

/// Every dimension name in the types and attributes of `function` and of the
/// ops in it, in the order of their spelling.
llvm::SmallVector<mlir::StringAttr>
collectDimNames(mlir::func::FuncOp function);

/// What the dimension names of a function are while it runs.
class DimValues {
public:
  DimValues() = default;
  /// The index arguments of a kernel that has been lowered.
  explicit DimValues(mlir::func::FuncOp kernel);

  /// `value` has type index.
  void set(mlir::StringAttr name, mlir::Value value) { values[name] = value; }

  bool contains(mlir::StringAttr name) const { return values.contains(name); }

  /// The value of `dim`, computed at the insertion point of `builder`. A
  /// division by a zero that is known only then gives the value it would have
  /// for 1. Null when a name of `dim` has no value.
  mlir::Value get(mlir::OpBuilder &builder, mlir::Location location,
                  DimAttr dim) const;
  /// The same; an index attribute when `dim` is a number.
  mlir::OpFoldResult getFoldResult(mlir::OpBuilder &builder,
                                   mlir::Location location, DimAttr dim) const;
  llvm::SmallVector<mlir::OpFoldResult>
  getFoldResults(mlir::OpBuilder &builder, mlir::Location location,
                 llvm::ArrayRef<DimAttr> shape) const;
  /// The values of those sizes that are not numbers.
  llvm::SmallVector<mlir::Value>
  getDynamicSizes(mlir::OpBuilder &builder, mlir::Location location,
                  llvm::ArrayRef<DimAttr> shape) const;

private:
  llvm::DenseMap<mlir::StringAttr, mlir::Value> values;
};

} // namespace kvern

#endif // KVERN_LIB_SUPPORT_DIMNAMES_H
