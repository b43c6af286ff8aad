//===- Indexing.td - Elements by index ---------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_OPS_INDEXING_TD
#define KVERN_OPS_INDEXING_TD

include "dialect/KvernOpBase.td"

def Kvern_GatherOp : Kvern_ComputeOp<"gather", "Movement"> {
  let summary = "Slices picked by index";
  let description = [{
    `result[a..., i..., b...] = x[a..., indices[i...], b...]`, where a are the
    axes before `axis` and b those after it (ONNX Gather). A negative index
    counts from the end; an index out of range is an error when the graph runs.

    Constraints:
  }] # Kvern_SameDevice # Kvern_Axis # [{

    ```mlir
    %2 = kvern.gather %0, %1 {axis = 0 : i64} : (!kvern.tensor<[1000, 64], f32, cpu:0>, !kvern.tensor<[n], i64, cpu:0>) -> !kvern.tensor<[n, 64], f32, cpu:0>
    ```
  }];
  let arguments = (ins Kvern_AnyTensor:$x, Kvern_IndexTensor:$indices,
                       I64Attr:$axis);
  let results = (outs Kvern_AnyTensor:$result);
  let assemblyFormat =
      "$x `,` $indices attr-dict `:` functional-type(operands, results)";
}

#endif // KVERN_OPS_INDEXING_TD
