// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the machine can do at most, measured.
#ifndef KVERN_LIB_RUNTIME_MACHINELIMITS_H
#define KVERN_LIB_RUNTIME_MACHINELIMITS_H

#include <cstdint>

namespace kvern::runtime {

struct MachineLimits {
  /// f32 fused multiply-adds from registers, two operations each, of all
  /// threads together.
  double flopsPerSecond = 0;
  /// Reading memory that no cache holds.
  double bytesPerSecond = 0;
};

/// Measures for about a third of a second, on `threads` threads; 0 lets the
/// runtime choose. The figures are the best of several tries.
MachineLimits measureMachineLimits(int64_t threads);

} // namespace kvern::runtime

#endif // KVERN_LIB_RUNTIME_MACHINELIMITS_H
