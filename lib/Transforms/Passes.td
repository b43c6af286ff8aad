//===- Passes.td - Graph-level passes -----------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_TRANSFORMS_PASSES_TD
#define KVERN_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def InlineSubgraphs : Pass<"kvern-inline-subgraphs", "::mlir::ModuleOp"> {
  let summary = "Replaces calls of subgraphs by their bodies";
  let description = [{
    Every `kvern.call` of a function that is not a kernel is replaced by the body
    of that function, its dimension names mapped to the caller's and its
    placeholder weights completed by the prefix of the call. Private functions
    that are no longer used are removed.

    Repeated blocks become equal kernels again in `kvern-form-kernels`, so
    inlining costs graph-level time only. Precondition: no recursion, which is
    reported as an error. Example: test/Transforms/inline-subgraphs.mlir.
  }];
}

def InsertChecks : Pass<"kvern-insert-checks", "::mlir::func::FuncOp"> {
  let summary = "Makes run-time conditions explicit";
  let description = [{
    Puts `kvern.check.*` ops before gathers (indices in range) and before slices
    whose bounds cannot be proven to lie within their axis. A condition that
    follows from sizes being non-negative is not checked. Example:
    test/Transforms/insert-checks.mlir.
  }];
  let dependentDialects = ["::kvern::KvernDialect"];
}

def DecomposeAttention : Pass<"kvern-decompose-attention", "::mlir::func::FuncOp"> {
  let summary = "Replaces attention by its definition";
  let description = [{
    `kvern.attention` becomes two products with a softmax in between, which has a
    matrix of all scores in memory. No stage does that: it is what the kernels of
    attention are compared with, and a way out for a target that has none.
    `kvern.ragged_attention` stays. Example: test/Transforms/decompose-attention.mlir.
  }];
  let dependentDialects = ["::kvern::KvernDialect"];
}

def DecomposeLatentAttention
    : Pass<"kvern-decompose-latent-attention", "::mlir::func::FuncOp"> {
  let summary = "Replaces latent attention by its absorbed form";
  let description = [{
    `kvern.latent_attention` with `absorbed` becomes products of each head with its part of
    `kv_b`, around `kvern.paged_attention` on the rows as they are stored.
    Example: test/Transforms/decompose-latent-attention.mlir.
  }];
  let dependentDialects = ["::kvern::KvernDialect"];
}

def DecomposeProjections : Pass<"kvern-decompose-projections", "::mlir::func::FuncOp"> {
  let summary = "Replaces projections that store by a product and a store";
  let description = [{
    `kvern.qkv_project_store` becomes one product, whose weight is packed like
    others, and `kvern.kv_store`. Example:
    test/Transforms/decompose-projections.mlir.
  }];
  let dependentDialects = ["::kvern::KvernDialect"];
}

def PackQuantized : Pass<"kvern-pack-quantized", "::mlir::func::FuncOp"> {
  let summary = "Bring quantized weights to the order in which products read them";
  let description = [{
    A `kvern.quantized_matmul` whose blocks are a weight or a constant becomes a
    `kvern.packed_quantized_matmul` of the weight's `kvern.pack_quantized`, of
    which there is one for each weight and encoding. Products with blocks that
    the program computes or gets as an input stay: they are carried out as defined.
    Where besides products only gathers of rows that become numbers read the
    weight, they read the pack too.
    Example: test/Transforms/pack-quantized.mlir.
  }];
  let dependentDialects = ["::kvern::KvernDialect"];
}

def FormKernels : Pass<"kvern-form-kernels", "::mlir::ModuleOp"> {
  let summary = "Groups ops into kernels";
  let description = [{
    Every compute op of a graph moves into a private function with the unit
    attribute `kvern.kernel`, reached by `kvern.call`. A kernel holds one root
    (contraction, reduction, norm or movement) or none, the elementwise ops that
    feed it, and the elementwise ops on its result. Two products of one operand
    whose results meet element by element (`silu(gate) * up`) are in one kernel,
    and a sum that is normalized is a second result of the norm's kernel when
    others read it too; else a kernel has one result. Weights, views, checks and
    large constants stay in the graph.

    Dimension names inside a kernel are `d0`, `d1`, ...; kernels that are then
    equal are one function. Example: test/Transforms/form-kernels.mlir.
  }];
  let dependentDialects = ["::kvern::KvernDialect"];
}

def HoistInitializers : Pass<"kvern-hoist-initializers", "::mlir::ModuleOp"> {
  let summary = "Moves work on weights alone to the load of the model";
  let description = [{
    A call of a kernel of one result whose operands are weights, large constants,
    views of them, or derived weights, becomes a `kvern.derived_weight`, unless
    its result would take much more memory than what it is made of; tables of sines
    and cosines may take up to 1 GiB. The initializer is a public function with the attribute `kvern.initializer`; with
    `kvern.rows` it may run on parts of a large weight. All packs of one element
    type and layout share one kernel. Kernels that nobody calls any more are
    removed.

    Precondition: `kvern-form-kernels` has run. Example:
    test/Transforms/hoist-initializers.mlir.
  }];
  let dependentDialects = ["::kvern::KvernDialect"];
}

def IsolateKernels : Pass<"kvern-isolate-kernels", "::mlir::ModuleOp"> {
  let summary = "One module for each kernel, and one for the host program";
  let description = [{
    Each kernel moves to a module of its own, of its name; everything else to the
    module `host`, where declarations take the place of the kernels. The passes
    that follow run on these modules in parallel, and each becomes an object file
    of its own. A module that holds nothing but modules stays as it is.
    Example: test/Transforms/isolate-kernels.mlir.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect"];
}

def PackWeights : Pass<"kvern-pack-weights", "::mlir::func::FuncOp"> {
  let summary = "Products read weights in the order they need";
  let description = [{
    A `kvern.matmul` whose right operand is a matrix that is known when the model
    is loaded (a weight, a large constant, or what ops that depend on nothing else
    make of them) becomes a `kvern.packed_matmul` that reads a `kvern.pack` of it.
    There is one pack for all products with one matrix. Where besides them only
    gathers of rows read the matrix, as they do a tied embedding, they read the
    pack; any other op goes on reading the matrix itself, which then stays in
    memory beside its pack. A matrix of `f16` or `bf16` that is widened for the
    product is packed as it is stored. Small matrices and those whose last panel
    would be mostly padding are left as they are.
    Likewise a `kvern.conv2d` or `kvern.conv3d` of one group becomes a
    `kvern.packed_conv`, its filter packed as the matrix with one column a filter.

    Precondition: canonical form, in which transpositions of the right operand
    are part of the product. Examples: test/Transforms/pack-weights.mlir,
    test/Transforms/pack-filters.mlir.
  }];
  let dependentDialects = ["::kvern::KvernDialect"];
  let options = [
    Option<"panelBits", "panel-bits", "int64_t", /*default=*/"512",
           "Width of the sums for a row of a panel">
  ];
}

def DescribeKernels : Pass<"kvern-describe-kernels", "::mlir::func::FuncOp"> {
  let summary = "Notes what a kernel computes and moves";
  let description = [{
    Gives a kernel the attribute `kvern.work`: the names of its ops, and the
    floating-point operations and bytes of one call as sizes over the dimension
    names of the kernel. The host program hands them to the runtime, for reports.

    Precondition: kvern ops. Example: test/Transforms/describe-kernels.mlir.
  }];
  let dependentDialects = ["::kvern::KvernDialect"];
}

def PlanWorkspace : Pass<"kvern-plan-workspace", "::mlir::ModuleOp"> {
  let summary = "One arena for all intermediate values";
  let description = [{
    What the companions made by `kvern-expose-scratch` allocate is allocated by
    the host program and passed to the kernels; the companions are then erased.
    Then every `memref.alloc` of the host program becomes a view
    of one arena: two values share memory when their lifetimes are apart and
    their sizes are the same expression, or numbers of which the second is not
    larger. What depends on values read during the run is allocated by
    `kvern.host.alloc` instead. Example: test/Transforms/plan-workspace.mlir.
  }];
  let dependentDialects = ["::kvern::KvernDialect", "::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect"];
}

def VerifyStage : Pass<"kvern-verify-stage", "::mlir::ModuleOp"> {
  let summary = "Checks what a stage guarantees";
  let description = [{
    Runs the verifiers, then fails with the first op that the named stage does not
    allow: `graph` and
    `optimized` hold kvern and func ops; `kernels` no kvern compute op;
    `loops` no tensor; `target` only the LLVM dialect. Example:
    test/Pipelines/verify-stage.mlir.
  }];
  let options = [
    Option<"stage", "stage", "std::string", /*default=*/"",
           "graph, optimized, kernels, loops or target">
  ];
}

#endif // KVERN_TRANSFORMS_PASSES_TD
