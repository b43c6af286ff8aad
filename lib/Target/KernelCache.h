// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled kernels, kept in memory and on disk.
#ifndef KVERN_LIB_TARGET_KERNELCACHE_H
#define KVERN_LIB_TARGET_KERNELCACHE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <memory>
#include <string>

namespace kvern {

/// All that the rest of a program needs of a kernel.
struct CompiledKernel {
  /// ELF object that defines the kernel.
  std::string object;
  /// IR of its companion (KernelModules.h); empty when it needs no scratch.
  std::string scratch;
  /// How it is carried out, for reports.
  std::string schedule;
};

/// The name of a kernel by content, of 64 hexadecimal digits.
std::string getKernelKey(llvm::ArrayRef<llvm::StringRef> facts);

/// Finds compiled kernels by key: in the memory of the process, which holds the
/// 256 MB used last, then in `folder`, unless that is empty. Files are written
/// under another name and renamed, so several processes may use one folder; a
/// file that is damaged counts as absent, and one that cannot be written is no
/// error. Thread-safe.
class KernelCache {
public:
  /// The one of the process.
  static KernelCache &get();

  /// Null when there is none. `fromDisk` says where it was.
  std::shared_ptr<const CompiledKernel>
  lookup(llvm::StringRef key, llvm::StringRef folder, bool &fromDisk);
  void store(llvm::StringRef key, llvm::StringRef folder,
             std::shared_ptr<const CompiledKernel> kernel);
  /// Forgets what is in memory.
  void clear();

private:
  KernelCache();
  struct Table;
  std::unique_ptr<Table> table;
};

} // namespace kvern

#endif // KVERN_LIB_TARGET_KERNELCACHE_H
