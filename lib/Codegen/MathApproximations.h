// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions of f32 as arithmetic without branches or calls.
#ifndef KVERN_LIB_CODEGEN_MATHAPPROXIMATIONS_H
#define KVERN_LIB_CODEGEN_MATHAPPROXIMATIONS_H

#include "mlir/IR/PatternMatch.h"

namespace kvern {

/// math.exp, log, log2, sin and cos of f32 scalars and vectors. Within 2 units
/// in the last place everywhere, denormals, infinities and NaN included; sin
/// and cos for arguments up to 2^48. Also math.log1p of f64, by way of
/// math.log.
void populateMathApproximationPatterns(mlir::RewritePatternSet &patterns);

} // namespace kvern

#endif // KVERN_LIB_CODEGEN_MATHAPPROXIMATIONS_H
