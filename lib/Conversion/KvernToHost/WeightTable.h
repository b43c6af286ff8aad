//===- WeightTable.h - The weights of a module ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_LIB_CONVERSION_KVERNTOHOST_WEIGHTTABLE_H
#define KVERN_LIB_CONVERSION_KVERNTOHOST_WEIGHTTABLE_H

#include "dialect/ops/Derived.h"

#include "llvm/ADT/StringSet.h"

namespace kvern {

/// The named weights and the large constants of all programs of a module, each
/// once.
class WeightTable {
public:
  /// The number of a weight. Fails when its name was met with another type.
  llvm::FailureOr<int64_t> add(WeightOp weight);
  /// The number of a constant, which is stored in the executable.
  int64_t add(ConstantOp constant);
  /// The number of a weight that is computed at load from weights of the
  /// numbers `inputs`; one number for all that are computed alike.
  int64_t add(DerivedWeightOp derived, llvm::ArrayRef<int64_t> inputs);

  /// One dictionary an entry: `name`, `type`, and `align`, `value`, or
  /// `initializer`, `inputs` and `input_types`.
  mlir::ArrayAttr getAttr(mlir::MLIRContext *context) const;

private:
  int64_t append(llvm::ArrayRef<mlir::NamedAttribute> entry,
                 mlir::MLIRContext *context);

  /// Not the op, which goes with its graph.
  struct Entry {
    int64_t index;
    mlir::Type type;
    mlir::Location location;
  };
  llvm::DenseMap<mlir::StringAttr, Entry> byName;
  /// Constants by value, derived weights by all but their name.
  llvm::DenseMap<mlir::Attribute, int64_t> byValue;
  llvm::StringSet<> derivedNames;
  llvm::SmallVector<mlir::Attribute> entries;
};

} // namespace kvern

#endif // KVERN_LIB_CONVERSION_KVERNTOHOST_WEIGHTTABLE_H
