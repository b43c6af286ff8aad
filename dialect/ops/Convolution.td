//===- Convolution.td - Convolutions -----------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_OPS_CONVOLUTION_TD
#define KVERN_OPS_CONVOLUTION_TD

include "dialect/ops/Window.td"

defvar Kvern_Filter = [{
    - filter_c1: the layouts are those of the op
    - filter_c2: the filter has the rank of x, and static spatial sizes of 1 or
      more
    - filter_c3: x has as many channels as the filter reads
    - filter_c4: `bias` has shape [channels of the result]}];

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

#endif // KVERN_OPS_CONVOLUTION_TD
