// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef KVERN_CODEGEN_PASSES_TD
#define KVERN_CODEGEN_PASSES_TD

include "mlir/Pass/PassBase.td"

// From kernels on tensors to loops. All but kvern-expand-math act on kernels
// only: functions with the unit attribute `kvern.kernel`.

def FuseElementwise : Pass<"kvern-fuse-elementwise", "::mlir::func::FuncOp"> {
  let summary = "Fuse elementwise ops where nothing is computed twice";
  let description = [{
    Turns named linalg ops into generics, then fuses a `linalg.generic` of parallel loops into its consumer if

    - the consumer is no matrix product, or the producer only moves or widens
      elements, which packing does for nothing;
    - the consumer reads each element once, or the producer is cheap;
    - the consumer is the only one, or the producer only moves elements.

    An elementwise consumer of a matrix product that reads it element by element
    then computes in the product's output, so that no temporary is needed.

    Precondition: tensors. Example: `test/Codegen/fuse-elementwise.mlir`.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def CollapseRows : Pass<"kvern-collapse-rows", "::mlir::func::FuncOp"> {
  let summary = "Merge the leading axes of a product with one matrix";
  let description = [{
    A product of `[batch, sequence, k]` with one matrix `[n, k]` becomes one of
    `[batch * sequence, k]`: the matrix is packed or read once, not once a batch.
    What follows the product element by element is collapsed as well, down to the
    argument that the result is written to; if one of these ops cannot be, the
    product stays as it is.

    Precondition: tensors. Example: `test/Codegen/collapse-rows.mlir`.
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect",
    "::mlir::bufferization::BufferizationDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::memref::MemRefDialect",
    "::mlir::tensor::TensorDialect"];
}

def TileAndFuse : Pass<"kvern-tile-and-fuse", "::mlir::func::FuncOp"> {
  let summary = "Compute the ops of a kernel tile by tile in one loop nest";
  let description = [{
    The last op of a kernel becomes the root of a loop nest, in which its
    producers are computed as far as a tile needs them; ops that are left
    become roots of their own.

    - A matrix product, and what follows it element by element, runs by `rows` x
      `columns`; by `streamed-columns` when there are no more than `few-rows`
      rows, which a run-time test decides if it has to. The summed axis stays
      whole. What computes the product's inputs runs before.
    - Reductions, softmax, norms: the axes that are reduced stay whole, the last
      axis runs by `strip` if it is none of them, all others one by one.
    - Elementwise ops that could not become one op: rows by strips.

    A value that is also read outside of the nest is given out by it.

    Precondition: tensors, destination style. Guarantee: results unchanged; an op
    that has nothing to share a loop with is left as it is.
    Example: `test/Codegen/tile-and-fuse.mlir`.
  }];
  let options = [
    Option<"rows", "rows", "int64_t", "256", "Rows of a product's tile">,
    Option<"columns", "columns", "int64_t", "128",
           "Columns of a product's tile">,
    Option<"streamedColumns", "streamed-columns", "int64_t", "4096",
           "Columns of the tile of a product with few rows">,
    Option<"fewRows", "few-rows", "int64_t", "8",
           "Rows up to which a product is not packed">,
    Option<"strip", "strip", "int64_t", "1024",
           "Elements of a strip of the last axis">
  ];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect"];
}

def ResolveDims : Pass<"kvern-resolve-dims", "::mlir::func::FuncOp"> {
  let summary = "Replace sizes read from tensors by equal index arguments";
  let description = [{
    Collects which axes have equal sizes, from the operands of linalg ops, from
    sizes of `tensor.empty` and of slices, and from results that are written to
    arguments; then replaces `tensor.dim` and `memref.dim` by a constant, an
    index argument, or another value that is known to be that size.

    Guarantee: equal sizes become the same value where this can be seen, so that
    bufferization recognizes equal slices, and sizes of temporaries depend on
    arguments. Example: `test/Codegen/resolve-dims.mlir`.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def Bufferize : Pass<"kvern-bufferize", "::mlir::func::FuncOp"> {
  let summary = "Bufferize a kernel in place of its output arguments";
  let description = [{
    Removes `tensor.empty` where a value can be computed in the argument that it
    is written to, then runs one-shot bufferization. Unlike the upstream pass it
    runs on functions, so kernels bufferize in parallel.

    Precondition: arguments and results are buffers; results are written with
    `bufferization.materialize_in_destination`. Guarantee: no tensor is left.
    Example: `test/Codegen/bufferize.mlir`.
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect",
                           "::mlir::memref::MemRefDialect"];
}

def HoistAllocations : Pass<"kvern-hoist-allocations", "::mlir::func::FuncOp"> {
  let summary = "Move temporaries to the entry block, at their largest size";
  let description = [{
    Every `memref.alloc` moves to the start of the kernel. Static ones become
    `memref.alloca` until `max-stack-bytes` are used. One with a size that
    changes from tile to tile becomes bytes for the largest tile and a
    `memref.view` of the actual size; the bound comes from the operands of
    `affine.min` that depend on arguments and constants only.

    Guarantee: allocations are in the entry block, 64-byte aligned, never freed,
    with sizes computed from arguments and constants; otherwise an error.
    Example: `test/Codegen/hoist-allocations.mlir`.
  }];
  let options = [
    Option<"maxStackBytes", "max-stack-bytes", "int64_t", "32768",
           "Bytes of the stack that a kernel may use">
  ];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect"];
}

def LowerContraction : Pass<"kvern-lower-contraction", "::mlir::func::FuncOp"> {
  let summary = "Lower matrix products on buffers to loops over vectors";
  let description = [{
    Lowers each `linalg.generic` that is a matrix product, with operand axes in
    any order as long as the output's last axis is contiguous:

    - More than `few-rows` rows: blocks of both inputs are packed, elements
      widened, and multiplied by register tiles.
    - Few rows and rhs as [n, k]: dot products over four rows of rhs at a time.
    - Few rows and rhs as [k, n]: four scaled rows of rhs at a time are added.

    The number of rows is tested at run time if it has to be. Ends of axes are
    masked. A fill with zero before the product is not carried out. Accumulators
    are f32, f64 or integers; all other products are left for
    `kvern-lower-linalg`.

    Precondition: buffers. Guarantee: memory for packing is allocated in the
    entry block, of constant size. Example: `test/Codegen/lower-contraction.mlir`.
  }];
  let options = [
    Option<"vectorBits", "vector-bits", "int64_t", "256",
           "Width of a vector register">,
    Option<"vectorRegisters", "vector-registers", "int64_t", "16",
           "Number of vector registers">,
    Option<"fewRows", "few-rows", "int64_t", "8",
           "Rows up to which a product is not packed">,
    Option<"rows", "rows", "int64_t", "128", "Rows of a packed block">,
    Option<"columns", "columns", "int64_t", "128",
           "Columns of a packed block">,
    Option<"depth", "depth", "int64_t", "256",
           "Elements of the summed axis of a packed block, of 4 bytes each">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def LowerLinalg : Pass<"kvern-lower-linalg", "::mlir::func::FuncOp"> {
  let summary = "Lower linalg on buffers to loops that LLVM vectorizes";
  let description = [{
    Lowers each linalg op and `memref.copy` on buffers to `scf.for`. Loops that
    walk contiguous memory in all operands are merged; the innermost loop is the
    one along which most operands are contiguous. A reduction along the innermost
    loop is carried in registers, and its sum or product may be reassociated;
    otherwise it accumulates in memory, row by row.

    Guarantee: no linalg op on buffers is left.
    Example: `test/Codegen/lower-linalg.mlir`.
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect"];
}

def ExpandMath : Pass<"kvern-expand-math"> {
  let summary = "Expand functions of f32 into arithmetic that vectorizes";
  let description = [{
    `math.exp`, `log`, `log2`, `sin` and `cos` of f32, scalars and vectors, become
    polynomials within 2 units in the last place, as do `tanh`, `erf`, `expm1`,
    `log1p`, `asin` and `acos` within 7, by upstream's expansions. Denormals,
    infinities and NaN are kept. Beyond 2^50 the angle of `sin` and `cos` counts
    as 0. Extension from and rounding to bf16 become integer arithmetic, so that
    no run-time library is called, and divisions that round up or down become
    plain ones. All else, f64 among it, is left for calls of libm.

    Example: `test/Codegen/expand-math.mlir`.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect"];
}

#endif // KVERN_CODEGEN_PASSES_TD
