// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The passes of lib/Codegen, declared from Passes.td.
#ifndef KVERN_LIB_CODEGEN_PASSES_H
#define KVERN_LIB_CODEGEN_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir {
namespace affine {
class AffineDialect;
} // namespace affine
namespace arith {
class ArithDialect;
} // namespace arith
namespace bufferization {
class BufferizationDialect;
} // namespace bufferization
namespace linalg {
class LinalgDialect;
} // namespace linalg
namespace math {
class MathDialect;
} // namespace math
namespace memref {
class MemRefDialect;
} // namespace memref
namespace scf {
class SCFDialect;
} // namespace scf
namespace tensor {
class TensorDialect;
} // namespace tensor
namespace vector {
class VectorDialect;
} // namespace vector
} // namespace mlir

namespace kvern {
class KvernDialect;

#define GEN_PASS_DECL
#include "lib/Codegen/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "lib/Codegen/Passes.h.inc"
} // namespace kvern

#endif // KVERN_LIB_CODEGEN_PASSES_H
