//===- Scalar.h - Arithmetic on one element -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an op of the dialect does to one element, in arith and math. No input
// leads to undefined behaviour.
//
//===----------------------------------------------------------------------===//

#ifndef KVERN_LIB_CONVERSION_KVERNTOLINALG_SCALAR_H
#define KVERN_LIB_CONVERSION_KVERNTOLINALG_SCALAR_H

#include "lib/Support/StorageTypes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace kvern {

/// The type an element is computed in: f32 for f16 and bf16, i1 for booleans,
/// else the storage type.
mlir::Type getComputeType(mlir::Type elementType);

/// Arithmetic on values of the compute type of one element type.
class Scalar {
public:
  Scalar(mlir::ImplicitLocOpBuilder &builder, mlir::Type elementType);

  mlir::ImplicitLocOpBuilder &b;
  const mlir::Type elementType;
  const mlir::Type type;

  bool isFloat() const { return mlir::isa<mlir::FloatType>(type); }
  bool isUnsigned() const { return elementType.isUnsignedInteger(); }
  bool isBool() const { return elementType.isInteger(1); }

  /// Storage to compute type and, rounding to nearest even, back. A byte that
  /// is not 0 is true.
  mlir::Value load(mlir::Value x);
  mlir::Value store(mlir::Value x);

  mlir::Value constant(double value);
  /// Truncated to the width of an integer type.
  mlir::Value integer(int64_t value);
  mlir::Value infinity(bool negative = false);
  /// The identity of max and of min: minus infinity and infinity, or the ends
  /// of the integers.
  mlir::TypedAttr lowest();
  mlir::TypedAttr highest();

  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value sub(mlir::Value x, mlir::Value y);
  mlir::Value mul(mlir::Value x, mlir::Value y);
  mlir::Value div(mlir::Value x, mlir::Value y);
  mlir::Value floorDiv(mlir::Value x, mlir::Value y);
  mlir::Value mod(mlir::Value x, mlir::Value y);
  mlir::Value pow(mlir::Value x, mlir::Value y);
  mlir::Value max(mlir::Value x, mlir::Value y);
  mlir::Value min(mlir::Value x, mlir::Value y);
  mlir::Value neg(mlir::Value x);
  mlir::Value abs(mlir::Value x);
  /// 1 / (1 + e^-x) for floats.
  mlir::Value sigmoid(mlir::Value x);

  /// i1.
  mlir::Value equal(mlir::Value x, mlir::Value y);
  mlir::Value notEqual(mlir::Value x, mlir::Value y);
  mlir::Value greater(mlir::Value x, mlir::Value y);
  mlir::Value greaterEqual(mlir::Value x, mlir::Value y);

  /// Sum and product whose order may be changed, for reductions.
  mlir::Value accumulate(mlir::Value x, mlir::Value sum);
  mlir::Value accumulateProduct(mlir::Value x, mlir::Value product);

private:
  mlir::Value powByConstant(mlir::Value x, mlir::Value y);
  mlir::Value integerPow(mlir::Value x, mlir::Value y);
};

/// `x`, in the storage type of `from`, as one in the storage type of `to`.
mlir::Value castScalar(mlir::ImplicitLocOpBuilder &builder, mlir::Value x,
                       mlir::Type from, mlir::Type to);

} // namespace kvern

#endif // KVERN_LIB_CONVERSION_KVERNTOLINALG_SCALAR_H
