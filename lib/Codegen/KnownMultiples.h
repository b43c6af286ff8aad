// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which sizes and indices are multiples of a number.
#ifndef KVERN_LIB_CODEGEN_KNOWNMULTIPLES_H
#define KVERN_LIB_CODEGEN_KNOWNMULTIPLES_H

#include "mlir/IR/Value.h"

namespace kvern {

/// Whether an index is known to be a multiple of `factor`, by how it is
/// computed: from constants, loop indices and sums, products, minima and
/// choices of these.
bool isMultiple(mlir::Value value, int64_t factor);

} // namespace kvern

#endif // KVERN_LIB_CODEGEN_KNOWNMULTIPLES_H
