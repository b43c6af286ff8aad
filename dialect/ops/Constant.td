//===- Constant.td - Values known before the run -----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_OPS_CONSTANT_TD
#define KVERN_OPS_CONSTANT_TD

include "dialect/KvernOpBase.td"

include "mlir/IR/BuiltinAttributes.td"

def Kvern_ConstantOp : Kvern_ComputeOp<"constant", "Constant", [ConstantLike]> {
  let summary = "A literal tensor";
  let description = [{
    The elements of `value`, on `device`.

    Constraints:

    - constant_c1: `value` has a tensor type of static shape without an encoding
    - constant_c2: `value` is `dense` or `dense_resource`
    - constant_c3: there is a tensor type of its shape and element type

    ```mlir
    %0 = kvern.constant {value = dense<[1.0, 2.0]> : tensor<2xf32>, device = #kvern.device<cpu:0>} : () -> !kvern.tensor<[2], f32, cpu:0>
    ```
  }];
  let arguments = (ins ElementsAttr:$value, Kvern_DeviceAttr:$device);
  let results = (outs Kvern_AnyTensor:$result);
  let assemblyFormat = "attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
}

def Kvern_RangeOp : Kvern_ComputeOp<"range", "Elementwise"> {
  let summary = "Equally spaced numbers";
  let description = [{
    `start + i * step` for i from 0 to `size - 1`. `start` and `step` are
    numbers of the element type of the result.

    Constraints:

    - range_c1: `start` and `step` have one type
    - range_c2: `start` and `step` are numbers
    - range_c3: there is a tensor type of that size and element type

    ```mlir
    %0 = kvern.range {start = 0 : i64, step = 1 : i64, size = #kvern.dim<n>, device = #kvern.device<cpu:0>} : () -> !kvern.tensor<[n], i64, cpu:0>
    ```
  }];
  let arguments = (ins TypedAttrInterface:$start, TypedAttrInterface:$step,
                       Kvern_DimAttr:$size, Kvern_DeviceAttr:$device);
  let results = (outs Kvern_AnyTensor:$result);
  let assemblyFormat = "attr-dict `:` functional-type(operands, results)";
}

def Kvern_WeightOp : Kvern_Op<"weight", [Pure, Kvern_FusionOpInterface]> {
  let summary = "A named tensor that is bound when the model is loaded";
  let description = [{
    Its data comes by `name` from the weights registry. In a subgraph a
    `placeholder` is completed by the `prefix` of the call. `alignment` is that of
    its memory, in bytes.

    Constraints:

    - weight_c1: `name` is not empty
    - weight_c2: the sizes are static

    ```mlir
    %0 = kvern.weight {name = "layers.0.weight"} : !kvern.tensor<[32, 64], f32, cpu:0>
    ```
  }];
  let arguments = (ins StrAttr:$name, UnitAttr:$placeholder,
                       OptionalAttr<IntValidAlignment<I64Attr>>:$alignment);
  let results = (outs Kvern_AnyTensor:$result);
  let assemblyFormat = "attr-dict `:` qualified(type($result))";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::kvern::FusionKind getFusionKind() { return ::kvern::FusionKind::Constant; }
  }];
}

#endif // KVERN_OPS_CONSTANT_TD
