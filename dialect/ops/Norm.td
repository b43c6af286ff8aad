//===- Norm.td - Normalization -----------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_OPS_NORM_TD
#define KVERN_OPS_NORM_TD

include "dialect/KvernOpBase.td"

def Kvern_RmsNormOp : Kvern_ComputeOp<"rms_norm", "Norm"> {
  let summary = "Root mean square normalization";
  let description = [{
    Zhang and Sennrich, 2019, over the last axis:
    `r = x / sqrt(mean(x^2) + epsilon)`, computed in `f32` (`f64` for `f64`).
    The result is `cast(r * (weight + weight_offset))` with
    `multiply_before_cast`, else `cast(r) * (weight + weight_offset)`. `weight`
    is rank 1, as long as the last axis.

    Constraints:
  }] # Kvern_SameElementType # [{
    - rms_norm_c1: `weight` has shape [last size of x]
    - rms_norm_c2: x has rank 1 or more

    ```mlir
    %2 = kvern.rms_norm %0, %1 {epsilon = 1.0e-5 : f64} : (!kvern.tensor<[n, 64], f32, cpu:0>, !kvern.tensor<[64], f32, cpu:0>) -> !kvern.tensor<[n, 64], f32, cpu:0>
    ```
  }];
  let arguments = (ins Kvern_FloatTensor:$x, Kvern_FloatTensor:$weight,
                       F64Attr:$epsilon,
                       DefaultValuedAttr<F64Attr, "0.0">:$weight_offset,
                       UnitAttr:$multiply_before_cast);
  let results = (outs Kvern_AnyTensor:$result);
  let assemblyFormat =
      "$x `,` $weight attr-dict `:` functional-type(operands, results)";
}

def Kvern_LayerNormOp : Kvern_ComputeOp<"layer_norm", "Norm"> {
  let summary = "Layer normalization";
  let description = [{
    Ba et al., 2016, over the last axis:
    `(x - mean(x)) / sqrt(var(x) + epsilon) * gamma + beta`, computed in `f32`
    (`f64` for `f64`) with the biased variance. `gamma` and `beta` are rank 1,
    as long as the last axis; `beta` may be left out.

    Constraints:
  }] # Kvern_SameElementType # [{
    - layer_norm_c1: `gamma` and `beta` have shape [last size of x]
    - layer_norm_c2: x has rank 1 or more

    ```mlir
    %3 = kvern.layer_norm %0, %1, %2 {epsilon = 1.0e-5 : f64} : (!kvern.tensor<[n, 64], f32, cpu:0>, !kvern.tensor<[64], f32, cpu:0>, !kvern.tensor<[64], f32, cpu:0>) -> !kvern.tensor<[n, 64], f32, cpu:0>
    ```
  }];
  let arguments = (ins Kvern_FloatTensor:$x, Kvern_FloatTensor:$gamma,
                       Optional<Kvern_FloatTensor>:$beta, F64Attr:$epsilon);
  let results = (outs Kvern_AnyTensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

#endif // KVERN_OPS_NORM_TD
