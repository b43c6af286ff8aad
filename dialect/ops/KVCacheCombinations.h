//===- KVCacheCombinations.h - What caches can be --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one table of what a cache may hold and how it may be read. The verifiers
// ask it, and docs/kv-cache.md is written from it.
//
//===----------------------------------------------------------------------===//

#ifndef KVERN_DIALECT_OPS_KVCACHECOMBINATIONS_H
#define KVERN_DIALECT_OPS_KVCACHECOMBINATIONS_H

#include "mlir/IR/Types.h"

namespace kvern {

enum class CacheSupport {
  /// The result is that of dense attention over what was stored, and what is
  /// stored is what was given.
  Exact,
  /// The same, but what is stored differs from what was given by at most the
  /// bound.
  Bounded,
  Refused,
};

struct CacheVerdict {
  CacheSupport support = CacheSupport::Exact;
  /// The bound, or "expected ..., but got ...".
  std::string text;
};

/// A cache of such elements, `granularity` of which share a scale; 0 for none.
CacheVerdict judgeCache(mlir::Type elementType, int64_t granularity,
                        int64_t heads, int64_t headDim, bool latent);

/// Whether pages to the left of what the mask shows may be given to others.
CacheVerdict judgeEviction(llvm::StringRef maskVariant);

/// One line of the table.
struct CacheCombination {
  std::string elementType, mask, heads;
  bool isQuantized = false, isLatent = false, evicts = false;
  CacheVerdict verdict;
};

/// All lines, in one order.
std::vector<CacheCombination> listCacheCombinations(mlir::MLIRContext *context);

} // namespace kvern

#endif // KVERN_DIALECT_OPS_KVCACHECOMBINATIONS_H
