// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The counter-based generator of random numbers, as arithmetic.
#ifndef KVERN_LIB_SUPPORT_PHILOX_H
#define KVERN_LIB_SUPPORT_PHILOX_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace kvern {

/// The first two words of Philox 4x32-10 with key `seed` and the counter
/// (position, stream, 0), the first in the upper half. All values are `i64`.
///
/// J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random
/// numbers: as easy as 1, 2, 3" (2011).
mlir::Value emitPhilox(mlir::ImplicitLocOpBuilder &builder, mlir::Value seed,
                       mlir::Value position, int64_t stream);

/// The upper bits of `emitPhilox` as a number from 0 to below 1: 24 for `f32`,
/// 53 for `f64`.
mlir::Value emitUniform(mlir::ImplicitLocOpBuilder &builder,
                        mlir::FloatType type, mlir::Value seed,
                        mlir::Value position, int64_t stream);

} // namespace kvern

#endif // KVERN_LIB_SUPPORT_PHILOX_H
