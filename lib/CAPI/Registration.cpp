// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/CAPI/Registration.h"

#include "lib/Registration/Registration.h"

#include "mlir/CAPI/IR.h"

void kvernRegisterDialects(MlirDialectRegistry registry) {
  kvern::registerDialects(*unwrap(registry));
}

void kvernRegisterPasses() { kvern::registerPasses(); }
