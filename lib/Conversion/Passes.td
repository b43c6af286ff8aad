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

def ConvertHostToLLVM : Pass<"kvern-convert-host-to-llvm", "::mlir::ModuleOp"> {
  let summary = "Turns runtime requests into loads and calls";
  let description = [{
    Lowers the `kvern.host.*` ops: inputs, weights and dimension values are loads
    from the frame of the run, outputs and memory are calls of the runtime, and a
    check is a branch that reports and returns 1. Precondition: host programs are
    single blocks. Example: test/Conversion/host-to-llvm.mlir.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::cf::ControlFlowDialect",
                           "::mlir::LLVM::LLVMDialect"];
}

def MarkKernels : Pass<"kvern-mark-kernels", "::mlir::LLVM::LLVMFuncOp"> {
  let summary = "Says what LLVM may assume of kernels";
  let description = [{
    The pointers that a kernel gets do not alias: the host program passes inputs,
    results and scratch as separate memory. Kernels are internal to the object
    and are not inlined. Example: test/Conversion/mark-kernels.mlir.
  }];
}

#endif // KVERN_CONVERSION_PASSES_TD
