// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef KVERN_CONVERSION_PASSES_TD
#define KVERN_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertToHost : Pass<"kvern-convert-to-host", "::mlir::ModuleOp"> {
  let summary = "Turns graphs into programs for the runtime";
  let description = [{
    Each public function becomes `func.func @name(%frame: !llvm.ptr) -> i32` with
    the attribute `kvern.program`: what the manifest says of it. The program
    fetches inputs and weights from the frame, allocates results, checks
    run-time conditions and calls kernels; views cost nothing. The module gets
    `kvern.weights`, the weights and large constants of all its programs.

    Precondition: all compute is in kernels, which `kvern-convert-to-linalg` has
    lowered; all values are on `cpu:0`. Example:
    test/Conversion/kvern-to-host.mlir.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::func::FuncDialect",
                           "::mlir::LLVM::LLVMDialect",
                           "::mlir::memref::MemRefDialect"];
}

#endif // KVERN_CONVERSION_PASSES_TD
