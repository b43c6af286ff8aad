// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds the values of a program's symbols from the shapes it is called with.
#ifndef KVERN_LIB_RUNTIME_SYMBOLBINDING_H
#define KVERN_LIB_RUNTIME_SYMBOLBINDING_H

#include "lib/Runtime/Manifest.h"

namespace kvern::runtime {

/// A shape given for one input; `dims` belongs to the caller.
struct ShapeRef {
  const int64_t *dims = nullptr;
  size_t rank = 0;
};

/// Binds the symbols of `program` from `shapes` (one per input, in order) into
/// `symbols`, which gets one entry per symbol (kUnbound where no input tells).
///
/// Static dims must match, a bare symbol takes its first size and must match it
/// everywhere else, an expression that is linear in one unbound symbol is
/// solved, any other is evaluated and compared. The order of inputs does not
/// matter. Failures name the input, the dim, both sizes, and the input that
/// bound the symbol.
Status bindSymbols(const ProgramSpec &program,
                   const std::vector<ShapeRef> &shapes,
                   std::vector<int64_t> &symbols);

} // namespace kvern::runtime

#endif // KVERN_LIB_RUNTIME_SYMBOLBINDING_H
