//===- Pooling.td - Pools, and padding ---------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_OPS_POOLING_TD
#define KVERN_OPS_POOLING_TD

include "dialect/ops/Window.td"

// With ceil_mode a last window that is not whole belongs to the result, if it
// starts in x or in the padding before it.
defvar Kvern_Pool = Kvern_WindowFits # [{
    - pool_c1: there are two kernel sizes of 1 or more
    - pool_c2: each padding is shorter than the window}];

def Kvern_MaxPool2dOp : Kvern_WindowOp<"max_pool2d"> {
  let summary = "Largest element of each window";
  let description = [{
    `result[n, y, x, c]` is the largest of `x[n, y * strides[0] + r * dilations[0]
    - paddings[0], x * strides[1] + s * dilations[1] - paddings[2], c]` over r and
    s below `kernel_size`, where these are inside; NaN if one is. x is `NHWC`. A
    size of the result is `(size + before + after - dilation * (k - 1) - 1)
    floordiv stride + 1`, or with `ceil_mode` rounded up, but no window starts
    behind x.

    Constraints:
  }] # Kvern_Pool # [{

    ```mlir
    %1 = kvern.max_pool2d %0 {kernel_size = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, paddings = array<i64: 0, 0, 0, 0>} : (!kvern.tensor<[n, h, w, 8], f32, cpu:0>) -> !kvern.tensor<[n, h floordiv 2, w floordiv 2, 8], f32, cpu:0>
    ```
  }];
  let arguments = (ins Kvern_NumberTensor:$x, DenseI64ArrayAttr:$kernel_size,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                       DenseI64ArrayAttr:$paddings, UnitAttr:$ceil_mode);
}

def Kvern_AvgPool2dOp : Kvern_WindowOp<"avg_pool2d"> {
  let summary = "Mean of each window";
  let description = [{
    The mean of the elements that `kvern.max_pool2d` takes the largest of,
    accumulated in `f32` for `f16` and `bf16`. With `count_boundary`, the padding
    counts as zeros, but not what a window has beyond the padding after x; a
    window without elements is 0.

    Constraints:
  }] # Kvern_Pool # [{

    ```mlir
    %1 = kvern.avg_pool2d %0 {kernel_size = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, paddings = array<i64: 1, 1, 1, 1>, count_boundary} : (!kvern.tensor<[n, h, w, 8], f32, cpu:0>) -> !kvern.tensor<[n, h, w, 8], f32, cpu:0>
    ```
  }];
  let arguments = (ins Kvern_FloatTensor:$x, DenseI64ArrayAttr:$kernel_size,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                       DenseI64ArrayAttr:$paddings, UnitAttr:$ceil_mode,
                       UnitAttr:$count_boundary);
}

def Kvern_PadOp : Kvern_ComputeOp<"pad", "Movement"> {
  let summary = "Elements around a tensor";
  let description = [{
    x with `paddings[2 i]` elements before and `paddings[2 i + 1]` after it along
    axis i. They are `value` with mode `constant`, the nearest element of x with
    `edge`, and x mirrored at its first and last element, which are not repeated,
    with `reflect`.

    Constraints:
  }] # Kvern_SameElementType # [{
    - pad_c1: there are two paddings, of 0 or more, for each axis
    - pad_c2: the mode is one of the three
    - pad_c3: there is a scalar `value` with mode `constant` only
    - pad_c4: no padding is known to be longer than x has elements to repeat: size
      - 1 for `reflect`; for `edge`, the size is not 0
    - pad_c5: the sizes of the result fit in 64 bits

    ```mlir
    %1 = kvern.pad %0 {paddings = array<i64: 0, 0, 1, 2>, mode = "edge"} : (!kvern.tensor<[n, 8], f32, cpu:0>) -> !kvern.tensor<[n, 11], f32, cpu:0>
    ```
  }];
  let arguments = (ins Kvern_AnyTensor:$x, Optional<Kvern_AnyTensor>:$value,
                       DenseI64ArrayAttr:$paddings, StrAttr:$mode);
  let results = (outs Kvern_AnyTensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

#endif // KVERN_OPS_POOLING_TD
