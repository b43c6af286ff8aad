// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What kernel code generation needs to know of a CPU.
#ifndef KVERN_LIB_CODEGEN_CPUTARGET_H
#define KVERN_LIB_CODEGEN_CPUTARGET_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>
#include <vector>

namespace kvern {

/// A CPU by name, and the figures that decide tile sizes. Passes get the
/// figures as options; nothing asks the machine that compiles, except for the
/// target `host`.
struct CpuTarget {
  std::string triple = "x86_64-unknown-linux-gnu";
  std::string cpu = "x86-64";
  /// LLVM's spelling, e.g. "+avx2,+fma".
  std::string features;
  /// What the code may use: features of the CPU, and those added, less those
  /// taken away.
  std::vector<std::string> available;
  /// Width of a vector register.
  int64_t vectorBits = 128;
  /// Architectural vector registers.
  int64_t vectorRegisters = 16;
  /// Instructions for products of bytes; see parseIntegerDot.
  std::string integerDot = "none";
  /// Per core: data of the first level, and the second level.
  int64_t l1Bytes = 32 * 1024;
  int64_t l2Bytes = 512 * 1024;

  /// The target of that name. `features` adds to, or with a minus sign takes
  /// from, what the CPU has. An unknown name is the baseline of the triple.
  static CpuTarget get(llvm::StringRef triple, llvm::StringRef cpu,
                       llvm::StringRef features);

  /// Elements of a vector register.
  int64_t lanes(int64_t elementBytes) const {
    return vectorBits / 8 / elementBytes;
  }
  /// Vectors side by side in a row of a register tile: with many narrow
  /// registers four, so that a tile is about as high as it is wide.
  int64_t tileVectors() const {
    return vectorBits <= 128 && vectorRegisters >= 32 ? 4 : 2;
  }
  /// Columns of a panel of packed weights, whose products are accumulated in
  /// elements of `elementBytes`.
  int64_t panelColumns(int64_t elementBytes) const {
    return lanes(elementBytes) * tileVectors();
  }
};

} // namespace kvern

#endif // KVERN_LIB_CODEGEN_CPUTARGET_H
