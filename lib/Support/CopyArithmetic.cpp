// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Support/CopyArithmetic.h"

using namespace mlir;

Value kvern::copyArithmetic(Value value, OpBuilder &builder, IRMapping &mapping,
                            llvm::function_ref<bool(Operation *)> mayCopy) {
  if (Value known = mapping.lookupOrNull(value)) {
    return known;
  }
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumRegions() != 0 || !mayCopy(op)) {
    return {};
  }
  for (Value operand : op->getOperands()) {
    if (!copyArithmetic(operand, builder, mapping, mayCopy)) {
      return {};
    }
  }
  builder.clone(*op, mapping);
  return mapping.lookup(value);
}
