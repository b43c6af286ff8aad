// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef KVERN_CONVERSION_PASSES_TD
#define KVERN_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

#endif // KVERN_CONVERSION_PASSES_TD
