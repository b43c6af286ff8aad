// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What kernel code generation needs to know of a CPU.
#ifndef KVERN_LIB_CODEGEN_CPUTARGET_H
#define KVERN_LIB_CODEGEN_CPUTARGET_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>

namespace kvern {

/// A CPU by name, and the figures that decide tile sizes. Passes get the
/// figures as options; nothing asks the machine that compiles.
struct CpuTarget {
  std::string triple = "x86_64-unknown-linux-gnu";
  std::string cpu = "x86-64";
  /// LLVM's spelling, e.g. "+avx2,+fma".
  std::string features;
  /// Width of a vector register.
  int64_t vectorBits = 128;
  /// Architectural vector registers.
  int64_t vectorRegisters = 16;
  /// Per core.
  int64_t l1Bytes = 32 * 1024;
  int64_t l2Bytes = 512 * 1024;

  /// The target of that name. `features` adds to, or with a minus sign takes
  /// from, what the CPU has. An unknown name is the baseline of the triple.
  static CpuTarget get(llvm::StringRef triple, llvm::StringRef cpu,
                       llvm::StringRef features);
};

} // namespace kvern

#endif // KVERN_LIB_CODEGEN_CPUTARGET_H
