//===- Convolution.td - Windows that move over images ------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_OPS_CONVOLUTION_TD
#define KVERN_OPS_CONVOLUTION_TD

include "dialect/KvernOpBase.td"

// What all ops here demand of x and of the window that moves over it.
defvar Kvern_Window = [{
    - window_c1: x has a batch axis, a channel axis and the spatial ones
    - window_c2: there is a stride and a dilation of 1 or more for each spatial
      axis
    - window_c3: there are two paddings, of 0 or more, for each spatial axis}];
defvar Kvern_WindowFits = Kvern_Window # [{
    - window_c4: no padded axis is known to be shorter than the window
    - window_c5: the sizes of the result fit in 64 bits}];

defvar Kvern_Filter = [{
    - filter_c1: the layouts are those of the op
    - filter_c2: the filter has the rank of x, and static spatial sizes of 1 or
      more
    - filter_c3: x has as many channels as the filter reads
    - filter_c4: `bias` has shape [channels of the result]}];

/// Along spatial axis i: `dilation * (k - 1) + 1` elements of x that is padded
/// with `paddings[2 i]` elements before and `paddings[2 i + 1]` after it.
class Kvern_WindowOp<string mnemonic> : Kvern_ComputeOp<mnemonic, "Contraction"> {
  let results = (outs Kvern_AnyTensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

class Kvern_ForwardConvOp<string mnemonic, string input, string filter>
    : Kvern_WindowOp<mnemonic> {
  let arguments = (ins Kvern_NumberTensor:$x, Kvern_NumberTensor:$filter,
                       Optional<Kvern_NumberTensor>:$bias,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                       DenseI64ArrayAttr:$paddings,
                       DefaultValuedAttr<I64Attr, "1">:$groups,
                       DefaultValuedAttr<StrAttr, "\"" # input # "\"">:$input_layout,
                       DefaultValuedAttr<StrAttr, "\"" # filter # "\"">:$filter_layout);
  let hasCanonicalizer = 1;
}

def Kvern_Conv2dOp : Kvern_ForwardConvOp<"conv2d", "NHWC", "RSCF"> {
  let summary = "Convolution over two axes";
  let description = [{
    `result[n, y, x, f] = bias[f] + sum over r, s, c of
    padded[n, y * strides[0] + r * dilations[0], x * strides[1] + s * dilations[1],
    g * C + c] * filter[r, s, c, f]`, where `padded` is x with zeros around it,
    `C` the channels of a group, x's divided by `groups`, and `g` the group of f:
    filters are distributed over the groups in order. `f16` and `bf16` accumulate
    in `f32`; integers modulo 2^bits. A size of the result is
    `(size + before + after - dilation * (k - 1) - 1) floordiv stride + 1`.

    `input_layout`, of x and the result, is `NHWC` or `NCHW`; `filter_layout` is
    `RSCF` (height, width, channels of a group, filters) or `FCRS`.

    Constraints:
  }] # Kvern_SameElementType # Kvern_WindowFits # Kvern_Filter # [{
    - conv_c1: `groups` is 1 or more, and divides the number of filters; with more
      than one, the filter's sizes are static

    ```mlir
    %2 = kvern.conv2d %0, %1 {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, paddings = array<i64: 1, 1, 1, 1>} : (!kvern.tensor<[n, h, w, 8], f32, cpu:0>, !kvern.tensor<[3, 3, 8, 16], f32, cpu:0>) -> !kvern.tensor<[n, (h + 1) floordiv 2, (w + 1) floordiv 2, 16], f32, cpu:0>
    ```
  }];
}

def Kvern_Conv3dOp : Kvern_ForwardConvOp<"conv3d", "NDHWC", "QRSCF"> {
  let summary = "Convolution over three axes";
  let description = [{
    As `kvern.conv2d`, with the depth as the first spatial axis: x has layout
    `NDHWC` or `NCDHW`, the filter `QRSCF` or `FCQRS`.

    Constraints:
  }] # Kvern_SameElementType # Kvern_WindowFits # Kvern_Filter # [{
    - conv_c1: `groups` is 1 or more, and divides the number of filters; with more
      than one, the filter's sizes are static

    ```mlir
    %2 = kvern.conv3d %0, %1 {strides = array<i64: 1, 1, 1>, dilations = array<i64: 1, 1, 1>, paddings = array<i64: 0, 0, 0, 0, 0, 0>} : (!kvern.tensor<[n, 5, h, 9, 4], f32, cpu:0>, !kvern.tensor<[3, 1, 3, 4, 6], f32, cpu:0>) -> !kvern.tensor<[n, 3, h, 7, 6], f32, cpu:0>
    ```
  }];
}

def Kvern_PackedConvOp : Kvern_WindowOp<"packed_conv"> {
  let summary = "Convolution with a packed filter";
  let description = [{
    `kvern.conv2d` or `kvern.conv3d`, by the rank of x, with one group, channels
    last, and the filter `panels[f / P, r, s, c, f mod P]` for f below `filters`:
    what `kvern.pack` makes of a filter with filters last, with its rows given back
    their axes. Made by `kvern-pack-weights`.

    Constraints:
  }] # Kvern_SameElementType # Kvern_WindowFits # [{
    - packed_conv_c1: `panels` has one axis more than x, and static sizes of 1 or
      more
    - packed_conv_c2: x has the channels of `panels`
    - packed_conv_c3: `filters` fills all panels but a part of the last
    - packed_conv_c4: `bias` has shape [filters]

    ```mlir
    %2 = kvern.packed_conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, paddings = array<i64: 1, 1, 1, 1>, filters = 40 : i64} : (!kvern.tensor<[n, h, w, 8], f32, cpu:0>, !kvern.tensor<[3, 3, 3, 8, 16], f32, cpu:0>) -> !kvern.tensor<[n, h, w, 40], f32, cpu:0>
    ```
  }];
  let arguments = (ins Kvern_NumberTensor:$x, Kvern_NumberTensor:$panels,
                       Optional<Kvern_NumberTensor>:$bias,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                       DenseI64ArrayAttr:$paddings, I64Attr:$filters);
}

def Kvern_Conv2dTransposeOp : Kvern_WindowOp<"conv2d_transpose"> {
  let summary = "Transposed convolution over two axes";
  let description = [{
    The gradient of `kvern.conv2d` with respect to its input: element
    `[n, i, j, c]` of x adds `x[n, i, j, c] * filter[r, s, f, c]` to
    `[n, i * strides[0] + r * dilations[0] - paddings[0],
    j * strides[1] + s * dilations[1] - paddings[2], f]` of the result, which
    starts as the bias or zero. What falls outside is dropped. A size of the
    result is `(size - 1) * stride + dilation * (k - 1) + 1 - before - after +
    output_padding`.

    `input_layout`, of x and the result, is `NHWC` or `NCHW`; `filter_layout` is
    `RSCF` (height, width, channels of the result, channels of x), `FCRS` or, made
    by canonicalization, `reversed`: height and width from their ends, channels of
    x, channels of the result.

    Constraints:
  }] # Kvern_SameElementType # Kvern_Window # Kvern_Filter # [{
    - window_c5: the sizes of the result fit in 64 bits
    - conv_transpose_c1: there is an output padding for each spatial axis, of 0 or
      more and below the stride or the dilation
    - conv_transpose_c2: no spatial size of the result is known to be below 1

    ```mlir
    %2 = kvern.conv2d_transpose %0, %1 {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, paddings = array<i64: 0, 0, 0, 0>, output_paddings = array<i64: 0, 0>} : (!kvern.tensor<[n, h, w, 8], f32, cpu:0>, !kvern.tensor<[2, 2, 4, 8], f32, cpu:0>) -> !kvern.tensor<[n, h * 2, w * 2, 4], f32, cpu:0>
    ```
  }];
  let arguments = (ins Kvern_NumberTensor:$x, Kvern_NumberTensor:$filter,
                       Optional<Kvern_NumberTensor>:$bias,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                       DenseI64ArrayAttr:$paddings,
                       DenseI64ArrayAttr:$output_paddings,
                       DefaultValuedAttr<StrAttr, "\"NHWC\"">:$input_layout,
                       DefaultValuedAttr<StrAttr, "\"RSCF\"">:$filter_layout);
  let hasCanonicalizer = 1;
}

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

#endif // KVERN_OPS_CONVOLUTION_TD
