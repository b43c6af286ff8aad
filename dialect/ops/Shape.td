//===- Shape.td - The same elements in another shape -------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_OPS_SHAPE_TD
#define KVERN_OPS_SHAPE_TD

include "dialect/KvernOpBase.td"

def Kvern_ReshapeOp : Kvern_ComputeOp<"reshape", "View"> {
  let summary = "The same elements in another shape";
  let description = [{
    Row-major order is kept.

    Constraints:
  }] # Kvern_NotNegative # [{
    - reshape_c1: the numbers of elements fit in 64 bits
    - reshape_c2: the numbers of elements are provably equal

    ```mlir
    %1 = kvern.reshape %0 {shape = #kvern.shape<[n * 8, 8]>} : (!kvern.tensor<[n, 64], f32, cpu:0>) -> !kvern.tensor<[n * 8, 8], f32, cpu:0>
    ```
  }];
  let arguments = (ins Kvern_AnyTensor:$x, Kvern_ShapeAttr:$shape);
  let results = (outs Kvern_AnyTensor:$result);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Kvern_SqueezeOp : Kvern_ComputeOp<"squeeze", "View"> {
  let summary = "Drops an axis of size 1";
  let description = [{
    The elements without axis `axis`.

    Constraints:
  }] # Kvern_Axis # [{
    - squeeze_c1: the size of the axis is 1

    ```mlir
    %1 = kvern.squeeze %0 {axis = 1 : i64} : (!kvern.tensor<[n, 1], f32, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0>
    ```
  }];
  let arguments = (ins Kvern_AnyTensor:$x, I64Attr:$axis);
  let results = (outs Kvern_AnyTensor:$result);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
  let hasCanonicalizer = 1;
}

def Kvern_UnsqueezeOp : Kvern_ComputeOp<"unsqueeze", "View"> {
  let summary = "Inserts an axis of size 1";
  let description = [{
    `axis` is the place of the new axis in the result.

    Constraints:
  }] # Kvern_Axis # [{ + 1

    ```mlir
    %1 = kvern.unsqueeze %0 {axis = 0 : i64} : (!kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[1, n], f32, cpu:0>
    ```
  }];
  let arguments = (ins Kvern_AnyTensor:$x, I64Attr:$axis);
  let results = (outs Kvern_AnyTensor:$result);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
  let hasCanonicalizer = 1;
}

def Kvern_RebindOp : Kvern_ComputeOp<"rebind", "View"> {
  let summary = "Asserts sizes at run time";
  let description = [{
    The operand, with the sizes of `shape`. Names of `shape` that the graph has
    not met yet are bound to the sizes found; all others are checked when the
    graph runs, and `message` is part of the error.

    Constraints:
  }] # Kvern_NotNegative # [{
    - rebind_c1: `shape` has the rank of x
    - rebind_c2: no two sizes are known to differ

    ```mlir
    %1 = kvern.rebind %0 {shape = #kvern.shape<[tokens, 64]>, message = ""} : (!kvern.tensor<[b * s, 64], f32, cpu:0>) -> !kvern.tensor<[tokens, 64], f32, cpu:0>
    ```
  }];
  let arguments = (ins Kvern_AnyTensor:$x, Kvern_ShapeAttr:$shape,
                       DefaultValuedAttr<StrAttr, "\"\"">:$message);
  let results = (outs Kvern_AnyTensor:$result);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
}

def Kvern_BroadcastToOp : Kvern_ComputeOp<"broadcast_to", "Elementwise"> {
  let summary = "Repeats axes of size 1";
  let description = [{
    The shapes are aligned at the last axis.

    Constraints:
  }] # Kvern_NotNegative # [{
    - broadcast_to_c1: each size of x is 1 or that of `shape`

    ```mlir
    %1 = kvern.broadcast_to %0 {shape = #kvern.shape<[n, 64]>} : (!kvern.tensor<[1, 64], f32, cpu:0>) -> !kvern.tensor<[n, 64], f32, cpu:0>
    ```
  }];
  let arguments = (ins Kvern_AnyTensor:$x, Kvern_ShapeAttr:$shape);
  let results = (outs Kvern_AnyTensor:$result);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
}

def Kvern_PermuteOp : Kvern_ComputeOp<"permute", "Elementwise"> {
  let summary = "Reorders the axes";
  let description = [{
    Axis i of the result is axis `permutation[i]` of the operand.

    Constraints:

    - permute_c1: `permutation` holds each axis of x once

    ```mlir
    %1 = kvern.permute %0 {permutation = array<i64: 1, 0>} : (!kvern.tensor<[n, 64], f32, cpu:0>) -> !kvern.tensor<[64, n], f32, cpu:0>
    ```
  }];
  let arguments = (ins Kvern_AnyTensor:$x, DenseI64ArrayAttr:$permutation);
  let results = (outs Kvern_AnyTensor:$result);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Kvern_ConcatOp : Kvern_ComputeOp<"concat", "Movement"> {
  let summary = "Joins tensors along an axis";
  let description = [{
    The size of `axis` is the sum of those of the operands.

    Constraints:
  }] # Kvern_SameElementType # Kvern_Axis # [{
    - concat_c1: there is at least one operand
    - concat_c2: the operands have one rank
    - concat_c3: the size of `axis` fits in 64 bits
    - concat_c4: the other sizes are provably equal

    ```mlir
    %2 = kvern.concat %0, %1 {axis = 0 : i64} : (!kvern.tensor<[n, 4], f32, cpu:0>, !kvern.tensor<[m, 4], f32, cpu:0>) -> !kvern.tensor<[m + n, 4], f32, cpu:0>
    ```
  }];
  let arguments = (ins Variadic<Kvern_AnyTensor>:$inputs, I64Attr:$axis);
  let results = (outs Kvern_AnyTensor:$result);
  let assemblyFormat = "$inputs attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
}

def Kvern_StackOp : Kvern_ComputeOp<"stack", "Movement"> {
  let summary = "Joins tensors along a new axis";
  let description = [{
    `axis` is the place of the new axis in the result.

    Constraints:
  }] # Kvern_Axis # [{ + 1
    - stack_c1: there is at least one operand
    - stack_c2: the operands have one type

    ```mlir
    %2 = kvern.stack %0, %1 {axis = 0 : i64} : (!kvern.tensor<[n], f32, cpu:0>, !kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[2, n], f32, cpu:0>
    ```
  }];
  let arguments = (ins Variadic<Kvern_AnyTensor>:$inputs, I64Attr:$axis);
  let results = (outs Kvern_AnyTensor:$result);
  let assemblyFormat = "$inputs attr-dict `:` functional-type(operands, results)";
  let hasCanonicalizer = 1;
}

def Kvern_SplitOp : Kvern_ComputeOp<"split", "Movement"> {
  let summary = "Cuts a tensor along an axis";
  let description = [{
    Result i has size `sizes[i]` along `axis` and starts where result i - 1
    ends.

    Constraints:
  }] # Kvern_Axis # Kvern_NotNegative # [{
    - split_c1: the sum of the sizes fits in 64 bits
    - split_c2: the sizes add up to the size of the axis

    ```mlir
    %1:2 = kvern.split %0 {axis = 0 : i64, sizes = #kvern.shape<[1, 3]>} : (!kvern.tensor<[4, n], f32, cpu:0>) -> (!kvern.tensor<[1, n], f32, cpu:0>, !kvern.tensor<[3, n], f32, cpu:0>)
    ```
  }];
  let arguments = (ins Kvern_AnyTensor:$x, Kvern_ShapeAttr:$sizes,
                       I64Attr:$axis);
  let results = (outs Variadic<Kvern_AnyTensor>:$results);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
  let hasCanonicalizer = 1;
}

def Kvern_SliceOp : Kvern_ComputeOp<"slice", "Movement"> {
  let summary = "A regular part of a tensor";
  let description = [{
    Along axis i the elements `starts[i]`, `starts[i] + steps[i]`, ... before
    `stops[i]` (after it, for a negative step). Bounds are dims that count from
    0 and have no wrap-around: a bound below 0 or past the end is an error, found
    when the graph runs if it cannot be decided before. A bound given as `unit`
    is a run-time value: the next scalar of `bounds`, those of `starts` before
    those of `stops`; run-time bounds below 0 count from the end and are then
    clamped to the axis. The size of an axis with a run-time bound is named by
    `out_dims[i]`, and checked; `unit` there asks for the size to be inferred.

    Constraints:

    - slice_c1: each axis has a start, a stop, a step and an out_dim
    - slice_c2: there are as many `bounds` as `unit` among starts and stops
    - slice_c3: `bounds` are scalars
    - slice_c4: no step is 0 or -2^63
    - slice_c5: an axis with a run-time bound has a dim as its out_dim
    - slice_c6: the size of each axis fits in 64 bits
    - slice_c7: bounds are not known to be below 0 or past the end, unless nothing
      is read
    - slice_c8: no out_dim is known to differ from the size

    ```mlir
    %1 = kvern.slice %0 {starts = [#kvern.dim<1>], stops = [#kvern.dim<n>], steps = array<i64: 2>, out_dims = [unit]} : (!kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[n floordiv 2], f32, cpu:0>
    ```
  }];
  let arguments = (ins Kvern_AnyTensor:$x,
                       Variadic<Kvern_IndexTensor>:$bounds,
                       Kvern_SliceBounds:$starts, Kvern_SliceBounds:$stops,
                       DenseI64ArrayAttr:$steps, Kvern_SliceBounds:$out_dims);
  let results = (outs Kvern_AnyTensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
}

def Kvern_ShapeToTensorOp : Kvern_ComputeOp<"shape_to_tensor", "Constant"> {
  let summary = "Sizes as a tensor";
  let description = [{
    The sizes of `shape` as a rank-1 `i64` tensor.

    ```mlir
    %0 = kvern.shape_to_tensor {shape = #kvern.shape<[n, 64]>, device = #kvern.device<cpu:0>} : () -> !kvern.tensor<[2], i64, cpu:0>
    ```
  }];
  let arguments = (ins Kvern_ShapeAttr:$shape, Kvern_DeviceAttr:$device);
  let results = (outs Kvern_AnyTensor:$result);
  let assemblyFormat = "attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
}

#endif // KVERN_OPS_SHAPE_TD
