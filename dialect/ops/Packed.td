//===- Packed.td - Products with packed operands ------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Made by kvern-pack-weights; no Python API stages them.
//
//===----------------------------------------------------------------------===//

#ifndef KVERN_OPS_PACKED_TD
#define KVERN_OPS_PACKED_TD

include "dialect/KvernOpBase.td"

def Kvern_PackOp : Kvern_ComputeOp<"pack", "Movement"> {
  let summary = "Matrix in panels of columns";
  let description = [{
    `result[p, k, j] = x[k, p * panel + j]`, or zero where `p * panel + j` is not
    below the number of columns `n`: `x` of sizes `[k, n]` becomes
    `[ceil(n / panel), k, panel]`. With `transposed`, `x` is stored as `[n, k]`.
    What a product reads for `panel` adjacent columns of its result then lies
    together, in the order in which it is read.

    Constraints:

    - pack_c1: `x` has rank 2, and no size of it is 0
    - pack_c2: `panel` is from 1 to 1024

    ```mlir
    %1 = kvern.pack %0 {panel = 16 : i64, transposed} : (!kvern.tensor<[100, 64], f32, cpu:0>) -> !kvern.tensor<[7, 64, 16], f32, cpu:0>
    ```
  }];
  let arguments = (ins Kvern_NumberTensor:$x, I64Attr:$panel,
                       UnitAttr:$transposed);
  let results = (outs Kvern_AnyTensor:$result);
  let assemblyFormat =
      "$x attr-dict `:` functional-type(operands, results)";
}

def Kvern_PackedMatmulOp : Kvern_ComputeOp<"packed_matmul", "Contraction"> {
  let summary = "Matrix product with a packed right operand";
  let description = [{
    `result[..., m, n] = sum over k of lhs[..., m, k] * panels[n / P, k, n mod P]`
    for `n` below `columns`, where `panels`, of sizes `[ceil(columns / P), k, P]`,
    is what `kvern.pack` makes of a matrix of that many columns. `f16` and `bf16`
    accumulate in `f32`; integers modulo 2^bits. Panels of `f16` or `bf16` may
    also meet a `lhs` of `f32`: their elements are widened, which is exact, when
    they are read.

    Constraints:
  }] # Kvern_SameDevice # [{
    - packed_matmul_c1: `lhs` has rank 2 or more
    - packed_matmul_c2: `panels` has rank 3 and static sizes of 1 or more
    - packed_matmul_c3: the sizes along k are provably equal
    - packed_matmul_c4: `columns` fills all panels but a part of the last
    - packed_matmul_c5: `panels` has the element type of `lhs`, or `f16` or `bf16`
      where that is `f32`

    ```mlir
    %2 = kvern.packed_matmul %0, %1 {columns = 100 : i64} : (!kvern.tensor<[b, m, 64], f32, cpu:0>, !kvern.tensor<[7, 64, 16], f32, cpu:0>) -> !kvern.tensor<[b, m, 100], f32, cpu:0>
    ```
  }];
  let arguments = (ins Kvern_NumberTensor:$lhs, Kvern_NumberTensor:$panels,
                       I64Attr:$columns);
  let results = (outs Kvern_AnyTensor:$result);
  let assemblyFormat =
      "$lhs `,` $panels attr-dict `:` functional-type(operands, results)";
}

def Kvern_PackedGatherOp : Kvern_ComputeOp<"packed_gather", "Movement"> {
  let summary = "Columns of a packed matrix, picked by index";
  let description = [{
    `result[i..., k] = panels[c / P, k, c mod P]` with `c = indices[i...]`, where
    `panels`, of sizes `[ceil(columns / P), k, P]`, is what `kvern.pack` makes of
    a matrix of that many columns: with a matrix that was packed `transposed`,
    what `kvern.gather` of its rows gives. A negative index counts from the end.

    Made by kvern-pack-weights of gathers whose indices have been checked, so
    that a table which is multiplied too is in memory once.

    Constraints:
  }] # Kvern_SameDevice # [{
    - packed_gather_c1: `panels` has rank 3 and static sizes of 1 or more
    - packed_gather_c2: `columns` fills all panels but a part of the last

    ```mlir
    %2 = kvern.packed_gather %0, %1 {columns = 100 : i64} : (!kvern.tensor<[7, 64, 16], f32, cpu:0>, !kvern.tensor<[n], i64, cpu:0>) -> !kvern.tensor<[n, 64], f32, cpu:0>
    ```
  }];
  let arguments = (ins Kvern_NumberTensor:$panels, Kvern_IndexTensor:$indices,
                       I64Attr:$columns);
  let results = (outs Kvern_AnyTensor:$result);
  let assemblyFormat =
      "$panels `,` $indices attr-dict `:` functional-type(operands, results)";
}

#endif // KVERN_OPS_PACKED_TD
