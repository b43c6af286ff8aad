// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef KVERN_CONVERSION_PASSES_TD
#define KVERN_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertToLinalg : Pass<"kvern-convert-to-linalg", "::mlir::func::FuncOp"> {
  let summary = "Lowers kernels to linalg on builtin tensors";
  let description = [{
    In a function with the unit attribute `kvern.kernel`, every kvern op becomes
    linalg, tensor, arith and math ops in destination style; other functions, and
    the calls of kernels, stay as they are. The arguments of the kernel are then
    its inputs as memrefs, one memref for each result, and one index for each
    dimension name that occurs in the kernel, in the order of their spelling and
    marked `kvern.symbol`. It returns nothing.

    - An elementwise op is one `linalg.generic` whose result map is the identity.
      Broadcasting, `broadcast_to` and `permute` are maps of operands; constants
      of one repeated value are constants of its body.
    - A matrix product is one `linalg.generic` of a multiplication and an
      addition; its loops are the batch axes, m, n and k.
    - A reduction is one `linalg.generic` whose result lacks the axis; softmax and
      the norms are such reductions and elementwise ops on their results.
    - `f16` and `bf16` are computed and accumulated in `f32`, and rounded once an
      op. Integer operations have a defined result for every input. Only sums and
      products along an axis may be reordered.
    - A concatenation writes each operand into its part of one tensor; a slice
      is a `tensor.extract_slice`, or reads single elements when it runs backwards.

    Precondition: a kernel is one block without weights and checks, on `cpu`
    devices, of `i1`, `i8` to `i64`, `ui8` to `ui64`, `f16`, `bf16`, `f32` and
    `f64`. Sizes, indices and bounds have been checked before it is called.
    Later passes have to expand `arith.floordivsi`, `arith.ceildivsi` and the
    math ops. Examples: test/Conversion/kvern-to-linalg.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::bufferization::BufferizationDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

def ConvertToHost : Pass<"kvern-convert-to-host", "::mlir::ModuleOp"> {
  let summary = "Turns graphs into programs for the runtime";
  let description = [{
    Each public function becomes `func.func @graph_name(%frame: !llvm.ptr) -> i32` with
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
    check is a branch that reports and returns 1. A parallel loop calls the runtime
    with a function that takes its captured values from a struct; a single task
    is called directly. Precondition: host programs are single blocks. Examples:
    test/Conversion/host-to-llvm.mlir, test/Conversion/parallel-for.mlir.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::cf::ControlFlowDialect",
                           "::mlir::func::FuncDialect",
                           "::mlir::LLVM::LLVMDialect",
                           "::mlir::scf::SCFDialect"];
}

def MarkKernels : Pass<"kvern-mark-kernels", "::mlir::LLVM::LLVMFuncOp"> {
  let summary = "Says what LLVM may assume of kernels";
  let description = [{
    The pointers that a kernel gets do not alias: the host program passes inputs,
    results and scratch as separate memory. Example: test/Conversion/mark-kernels.mlir.
  }];
}

#endif // KVERN_CONVERSION_PASSES_TD
