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
      elements, which packing does for nothing; nor is it a convolution;
    - the consumer reads each element once, or the producer is cheap;
    - the consumer is the only one, or the producer only moves elements.

    A map that a reduction reads element by element, and others read too, is
    computed by the loop that reduces it: one generic with both results.
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

    - A matrix product, and what follows it element by element, runs by blocks
      that the sizes of registers and caches give (`ProductBlocking.h`), all of
      about the same number of rows. With few rows, which a run-time test finds
      out if it has to, blocks are as wide as makes them worth starting. The
      summed axis stays whole, and packed operands are cut between panels. What
      computes the product's inputs runs before. A second product of the same rows
      that meets the first runs by the same tiles.
    - A convolution runs by rows of pixels, as many as are worth a task, and by as
      many filters as half of the second cache holds.
    - Reductions, softmax, norms: the axes that are reduced stay whole, the last
      axis runs by `strip` if it is none of them, all others one by one.
    - Elementwise ops that could not become one op: rows by strips.

    A value that is also read outside of the nest is given out by it; what has
    several results is computed once a tile.

    Precondition: tensors, destination style. Guarantee: results unchanged; an op
    that has nothing to share a loop with is left as it is.
    Examples: `test/Codegen/tile-and-fuse.mlir`, `tile-and-fuse-twins.mlir`.
  }];
  let options = [
    Option<"vectorBits", "vector-bits", "int64_t", "256",
           "Width of a vector register">,
    Option<"vectorRegisters", "vector-registers", "int64_t", "16",
           "Number of vector registers">,
    Option<"l1Bytes", "l1-bytes", "int64_t", "32768",
           "Bytes of a core's first data cache">,
    Option<"l2Bytes", "l2-bytes", "int64_t", "524288",
           "Bytes of a core's second cache">,
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
  let summary = "Move temporaries out of loops, at their largest size";
  let description = [{
    Every `memref.alloc` moves to the start of the kernel, or of the outermost
    `scf.forall` around it. Static ones become `memref.alloca` until
    `max-stack-bytes` are used. One with a size that changes from tile to tile
    becomes bytes for the largest tile and a `memref.view` of the actual size; the
    bound comes from the operands of `affine.min` that depend on arguments and
    constants only.

    Guarantee: allocations are there, 64-byte aligned, never freed, with sizes
    computed from arguments and constants; otherwise an error.
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

    - rhs in panels, read at `(n floordiv P, k, n mod P)` with P a multiple of the
      vector's length: panels are multiplied where they lie, with the next one
      being prefetched. A few rows read several panels side by side. Rows of
      lhs are packed, unless their distance suits the cache.
    - A plain rhs and many rows: blocks of both inputs are packed, elements
      widened, and multiplied the same way.
    - Few rows and rhs as [n, k]: dot products over four rows of rhs at a time.
    - Few rows and rhs as [k, n]: four scaled rows of rhs at a time are added.

    Register tiles of fewer rows, two by two, take the rows that are left. The
    number of rows is tested at run time if it has to be. Ends of axes are
    masked. A fill with zero before the product is not carried out. Accumulators
    are f32, f64 or integers; all other products are left for
    `kvern-lower-linalg`. Sizes of blocks: `ProductBlocking.h`.

    Precondition: buffers. Guarantee: memory for packing is of constant size.
    Examples: `test/Codegen/lower-contraction.mlir`,
    `test/Codegen/lower-contraction-packed.mlir`.
  }];
  let options = [
    Option<"vectorBits", "vector-bits", "int64_t", "256",
           "Width of a vector register">,
    Option<"vectorRegisters", "vector-registers", "int64_t", "16",
           "Number of vector registers">,
    Option<"l1Bytes", "l1-bytes", "int64_t", "32768",
           "Bytes of a core's first data cache">,
    Option<"l2Bytes", "l2-bytes", "int64_t", "524288",
           "Bytes of a core's second cache">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def LowerAttention : Pass<"kvern-lower-attention", "::mlir::func::FuncOp"> {
  let summary = "Lower attention and rotary positions to loops over vectors";
  let description = [{
    Lowers `kvern.loop.attention` on buffers:

    - More than 16 rows, a row being a query of a head: blocks of rows in
      parallel. Keys and values are packed block by block, heads that share them
      are rows of one block, and what no row sees is skipped.
    - Few rows: chunks of keys in parallel, which are combined in their order.
      Keys and values are read once, as they are stored.
    - With offsets: sequences in parallel, each in one of these ways.

    The number of rows is tested at run time if it has to be. The softmax is
    computed block by block, with the exponential function expanded. Also lowers
    `kvern.loop.rope`: blocks of tokens in parallel.

    Precondition: buffers with contiguous rows. Guarantee: no `kvern.loop` op is
    left; parallel loops are `scf.forall`; temporaries are of constant size, or
    depend on `sizes`. Example: `test/Codegen/lower-attention.mlir`.
  }];
  let options = [
    Option<"vectorBits", "vector-bits", "int64_t", "256",
           "Width of a vector register">,
    Option<"vectorRegisters", "vector-registers", "int64_t", "16",
           "Number of vector registers">,
    Option<"l1Bytes", "l1-bytes", "int64_t", "32768",
           "Size of the first data cache">,
    Option<"l2Bytes", "l2-bytes", "int64_t", "524288",
           "Size of the second cache">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"];
}

def LowerSampling : Pass<"kvern-lower-sampling", "::mlir::func::FuncOp"> {
  let summary = "Lower sampling to loops over vectors";
  let description = [{
    Lowers `kvern.loop.sample_tokens` and `kvern.loop.filter_logits` on buffers,
    rows in parallel:

    - A row that takes the largest is read once, in registers.
    - Else what top-k, min-p and top-p keep is found without sorting: the logit
      at which it ends by bisection of the bits of floats, each turn over fewer
      candidates.

    Also lowers `kvern.loop.apply_penalties` and `kvern.loop.count_tokens`,
    entry by entry; entries and tokens out of range touch no memory.

    Precondition: buffers with contiguous rows. Guarantee: none of these ops is
    left; parallel loops are `scf.forall`. Example:
    `test/Codegen/lower-sampling.mlir`.
  }];
  let options = [
    Option<"vectorBits", "vector-bits", "int64_t", "256",
           "Width of a vector register">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"];
}

def LowerQuantizedProduct
    : Pass<"kvern-lower-quantized-product", "::mlir::func::FuncOp"> {
  let summary = "Lower products with quantized weights to loops over vectors";
  let description = [{
    Lowers `kvern.loop.quantized_product` on buffers, a block of rows at a time:

    - With instructions for products of bytes (`dot`): activations become integers
      of one digit of base 256 (`int8`) or of three (`exact`); products of bytes
      are added, and scaled once a group.
    - `exact` without `vnni` or `neon`, few rows: weights are widened to `f32` in
      registers while they are read.
    - `exact`, from `decoded-rows` rows on: a panel is widened to memory once, and
      multiplied with tiles of rows.

    One row runs along four panels of columns side by side; more rows in register
    tiles, which fetch the next panel. The number of rows is tested at run time if
    it has to be; rows that do not fill a tile run in tiles of smaller powers of
    two. The last run of panels may compute columns again. The end of the columns
    is masked. Rows are prepared, and runs of panels multiplied, in parallel loops.

    Precondition: buffers with contiguous rows. Guarantee: memory for activations
    is allocated in the entry block, that for a panel in a parallel loop; both are
    of constant size. Example: `test/Codegen/lower-quantized-product.mlir`.
  }];
  let options = [
    Option<"vectorBits", "vector-bits", "int64_t", "256",
           "Width of a vector register">,
    Option<"dot", "dot", "std::string", "\"none\"",
           "Instructions for products of bytes: none, maddubs, vnni, neon">,
    Option<"tileRows", "tile-rows", "int64_t", "4",
           "Rows of the largest register tile, a power of two">,
    Option<"decodedRows", "decoded-rows", "int64_t", "8",
           "Rows from which on a panel of weights is widened first">,
    Option<"blockRows", "block-rows", "int64_t", "64",
           "Rows that are prepared at a time">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def LowerConvolution : Pass<"kvern-lower-convolution", "::mlir::func::FuncOp"> {
  let summary = "Lower convolutions on buffers to loops over vectors";
  let description = [{
    Lowers each `linalg.generic` that is a convolution of f32 or f64 sums, with
    channels and filters last and a static number of filters: pixels of a row by
    vectors of filters are summed in registers, over the kernel and the channels.
    The filter is read where it lies, `[r, s, channels, filters]`, or in panels,
    at `(f floordiv P, r, s, c, f mod P)`. Where each filter sees one channel,
    its own, vectors of channels are multiplied by vectors of filters. All else is
    left for `kvern-lower-linalg`. A fill with zero before the op is not carried out.

    Precondition: buffers; x is padded.
    Example: `test/Codegen/lower-convolution.mlir`.
  }];
  let options = [
    Option<"vectorBits", "vector-bits", "int64_t", "256",
           "Width of a vector register">,
    Option<"vectorRegisters", "vector-registers", "int64_t", "16",
           "Number of vector registers">
  ];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def LowerLinalg : Pass<"kvern-lower-linalg", "::mlir::func::FuncOp"> {
  let summary = "Lower linalg on buffers to loops over vectors";
  let description = [{
    Lowers each linalg op and `memref.copy` on buffers to `scf.for`. Loops that
    walk contiguous memory in all operands are merged; the innermost loop is the
    one along which most operands are contiguous. A reduction along the innermost
    loop is carried in registers, and its sum or product may be reassociated;
    otherwise it accumulates in memory, row by row. An op that is not in a loop,
    and not known to be small, gets an `scf.forall` over its parallel loops, by
    strips of the last one, so that threads can share it.

    The innermost loop runs by vectors of `vector-bits` if all operands are
    contiguous along it: several a turn while the body is small, then single
    ones, then the end, which is masked where the target masks for free. What
    does not change along the loop is computed before it. All else is left as
    loops over elements; so is everything for `vector-bits=0`.

    Guarantee: no linalg op on buffers is left.
    Examples: `test/Codegen/lower-linalg.mlir`, `lower-linalg-vectors.mlir`.
  }];
  let options = [
    Option<"vectorBits", "vector-bits", "int64_t", "256",
           "Width of a vector register">
  ];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def OutlineParallel : Pass<"kvern-outline-parallel", "::mlir::ModuleOp"> {
  let summary = "Move the bodies of parallel loops to functions for threads";
  let description = [{
    Each outermost `scf.forall` of a kernel becomes a `kvern.host.parallel_for`
    and a private function `<kernel>_loop<number>`, a kernel like any other, that
    runs one task: some iterations, with at least `task-work` operations on
    elements, as estimated from the sizes; less work than 16 times that is one
    task. A loop
    that is known to be a single task, and one within another, becomes `scf.for`.

    What a task computes depends on the sizes only, so results are the same bits
    for every number of threads. Allocations in the body become memory of the
    kernel, one block for each of the `kvern.host.workers`; those on the stack
    move to the function.

    Precondition: no linalg op is left; allocations are at the start of the body
    (`kvern-hoist-allocations`). Guarantee: no `scf.forall` is left.
    Example: `test/Codegen/outline-parallel.mlir`.
  }];
  let options = [
    Option<"taskWork", "task-work", "int64_t", "65536",
           "Operations on elements that are worth a task of their own">
  ];
  let dependentDialects = [
    "::kvern::KvernDialect", "::mlir::arith::ArithDialect",
    "::mlir::func::FuncDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect"];
}

def ExposeScratch : Pass<"kvern-expose-scratch", "::mlir::ModuleOp"> {
  let summary = "Let the caller of a kernel allocate its temporaries";
  let description = [{
    Allocations in the entry block of a kernel become its last arguments. A
    companion, a private function with the attribute `kvern.scratch`, says what
    the caller has to pass there: it takes the index arguments of the kernel and
    returns the allocations. `kvern-plan-workspace` copies it before each call.

    Precondition: their sizes follow from the index arguments.
    Example: `test/Codegen/expose-scratch.mlir`.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect",
                           "::mlir::memref::MemRefDialect"];
}

def ExpandMath : Pass<"kvern-expand-math"> {
  let summary = "Expand functions of f32 into arithmetic that vectorizes";
  let description = [{
    `math.exp`, `expm1`, `log`, `log2`, `log1p`, `sin`, `cos`, `tanh`, `erf`,
    `atanh` and `powf` of f32, scalars and vectors, become polynomials without
    branches, `asin` and `acos` by upstream's expansions; docs/numerics.md has
    the errors. With the flag `afn`, `tanh` and `erf` become shorter quotients of
    polynomials, and `exp` has no denormal results. Otherwise denormals, infinities and NaN are kept. Beyond 2^50 the angle of
    `sin` and `cos` counts as 0. Extension from and rounding to bf16 become
    integer arithmetic, so that no run-time library is called, and divisions that
    round up or down become plain ones. All else, f64 among it, is left for calls
    of libm.

    Example: `test/Codegen/expand-math.mlir`.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect"];
}

#endif // KVERN_CODEGEN_PASSES_TD
