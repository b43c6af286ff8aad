//===- Contraction.td - Sums of products -------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_OPS_CONTRACTION_TD
#define KVERN_OPS_CONTRACTION_TD

include "dialect/KvernOpBase.td"

def Kvern_MatmulOp : Kvern_ComputeOp<"matmul", "Contraction"> {
  let summary = "Matrix product";
  let description = [{
    `result[..., m, n] = sum over k of lhs[..., m, k] * rhs[..., k, n]`. The
    leading axes broadcast. With `transpose_rhs` the right operand is stored as
    `[..., n, k]`. `f16` and `bf16` accumulate in `f32`; integers modulo 2^bits.

    Constraints:
  }] # Kvern_Broadcast # [{
    - matmul_c1: the operands have rank 2 or more
    - matmul_c2: the sizes along k are provably equal

    ```mlir
    %2 = kvern.matmul %0, %1 : (!kvern.tensor<[b, m, 64], f32, cpu:0>, !kvern.tensor<[64, 32], f32, cpu:0>) -> !kvern.tensor<[b, m, 32], f32, cpu:0>
    ```
  }];
  let arguments = (ins Kvern_NumberTensor:$lhs, Kvern_NumberTensor:$rhs,
                       UnitAttr:$transpose_rhs);
  let results = (outs Kvern_AnyTensor:$result);
  let assemblyFormat =
      "$lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
  let hasCanonicalizer = 1;
}

#endif // KVERN_OPS_CONTRACTION_TD
