// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions of f32 as arithmetic without branches or calls.
#ifndef KVERN_LIB_CODEGEN_MATHAPPROXIMATIONS_H
#define KVERN_LIB_CODEGEN_MATHAPPROXIMATIONS_H

#include "mlir/IR/PatternMatch.h"

namespace kvern {

class Lanes;

/// exp(x) = 2^n * (1 + r + r^2 * curve), |r| <= ln 2 / 2.
struct ExpParts {
  /// n + 1.5 * 2^23, as a float: n is in the low bits.
  mlir::Value shifted;
  mlir::Value r, curve;
};
/// For x within the bounds in which 2^n is used by the caller.
ExpParts emitExpParts(Lanes &b, mlir::Value x);

/// ln(1 + x) within 2 units in the last place.
mlir::Value emitLog1p(Lanes &b, mlir::Value x);

/// Patterns for math ops on f32, and for math.log1p on f64; the errors are in
/// docs/numerics.md. With the flag `afn`, exp, tanh and erf get shorter forms.
void populateExponentialPatterns(mlir::RewritePatternSet &patterns);
void populateLogarithmPatterns(mlir::RewritePatternSet &patterns);
void populateTrigonometricPatterns(mlir::RewritePatternSet &patterns);

} // namespace kvern

#endif // KVERN_LIB_CODEGEN_MATHAPPROXIMATIONS_H
