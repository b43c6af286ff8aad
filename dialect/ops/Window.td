//===- Window.td - What convolutions and pools have in common *- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_OPS_WINDOW_TD
#define KVERN_OPS_WINDOW_TD

include "dialect/KvernOpBase.td"

// What ops with a window demand of x and of the window that moves over it.
defvar Kvern_Window = [{
    - window_c1: x has a batch axis, a channel axis and the spatial ones
    - window_c2: there is a stride and a dilation of 1 or more for each spatial
      axis
    - window_c3: there are two paddings, of 0 or more, for each spatial axis}];
defvar Kvern_WindowFits = Kvern_Window # [{
    - window_c4: no padded axis is known to be shorter than the window
    - window_c5: the sizes of the result fit in 64 bits}];

/// Along spatial axis i: `dilation * (k - 1) + 1` elements of x that is padded
/// with `paddings[2 i]` elements before and `paddings[2 i + 1]` after it.
class Kvern_WindowOp<string mnemonic> : Kvern_ComputeOp<mnemonic, "Contraction"> {
  let results = (outs Kvern_AnyTensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

#endif // KVERN_OPS_WINDOW_TD
