//===- WeightTable.h - The weights of a module ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_LIB_CONVERSION_KVERNTOHOST_WEIGHTTABLE_H
#define KVERN_LIB_CONVERSION_KVERNTOHOST_WEIGHTTABLE_H

#include "dialect/Kvern.h"

namespace kvern {

/// The named weights and the large constants of all programs of a module, each
/// once.
class WeightTable {
public:
  /// The number of a weight. Fails when its name was met with another type.
  llvm::FailureOr<int64_t> add(WeightOp weight);
  /// The number of a constant, which is stored in the executable.
  int64_t add(ConstantOp constant);

  /// One dictionary an entry: `name`, `type`, and `align` or `value`.
  mlir::ArrayAttr getAttr(mlir::MLIRContext *context) const;

private:
  int64_t append(llvm::ArrayRef<mlir::NamedAttribute> entry,
                 mlir::MLIRContext *context);

  llvm::DenseMap<mlir::StringAttr, std::pair<int64_t, WeightOp>> byName;
  llvm::DenseMap<mlir::Attribute, int64_t> byValue;
  llvm::SmallVector<mlir::Attribute> entries;
};

} // namespace kvern

#endif // KVERN_LIB_CONVERSION_KVERNTOHOST_WEIGHTTABLE_H
