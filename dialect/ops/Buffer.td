//===- Buffer.td - Memory changed in place -----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_OPS_BUFFER_TD
#define KVERN_OPS_BUFFER_TD

include "dialect/KvernOpBase.td"

def Kvern_BufferLoadOp : Kvern_Op<"buffer_load",
    [InferTypeOpAdaptor]> {
  let summary = "Snapshot of a buffer";
  let description = [{
    The contents of the buffer as they are now.

    ```mlir
    %1 = kvern.buffer_load %0 : (!kvern.buffer<[n], f32, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0>
    ```
  }];
  let arguments = (ins Arg<Kvern_AnyBuffer, "", [MemRead]>:$buffer);
  let results = (outs Kvern_AnyTensor:$result);
  let assemblyFormat = "$buffer attr-dict `:` functional-type(operands, results)";
}

def Kvern_BufferStoreOp : Kvern_Op<"buffer_store"> {
  let summary = "Overwrites a buffer";
  let description = [{
    The buffer holds the elements of `source` from now on.

    Constraints:

    - buffer_store_c1: `source` has the type that a load of the buffer gives

    ```mlir
    kvern.buffer_store %0, %1 : !kvern.buffer<[n], f32, cpu:0>, !kvern.tensor<[n], f32, cpu:0>
    ```
  }];
  let arguments = (ins Arg<Kvern_AnyBuffer, "", [MemWrite]>:$destination,
                       Kvern_AnyTensor:$source);
  let assemblyFormat =
      "$destination `,` $source attr-dict `:` qualified(type($destination)) `,` qualified(type($source))";
  let hasVerifier = 1;
}

def Kvern_BufferStoreSliceOp : Kvern_Op<"buffer_store_slice"> {
  let summary = "Overwrites a part of a buffer";
  let description = [{
    The part that `kvern.slice` with the same bounds would read holds the
    elements of `source`. The sizes of axes with run-time bounds are those of
    `source`.

    Constraints:

    - buffer_store_slice_c1: `source` has the type that the slice gives
    - those of `kvern.slice`

    ```mlir
    kvern.buffer_store_slice %0, %1 {starts = [#kvern.dim<0>], stops = [#kvern.dim<2>], steps = array<i64: 1>} : !kvern.buffer<[n], f32, cpu:0>, !kvern.tensor<[2], f32, cpu:0>
    ```
  }];
  let arguments = (ins Arg<Kvern_AnyBuffer, "", [MemWrite]>:$destination,
                       Kvern_AnyTensor:$source,
                       Variadic<Kvern_IndexTensor>:$bounds,
                       Kvern_SliceBounds:$starts, Kvern_SliceBounds:$stops,
                       DenseI64ArrayAttr:$steps);
  let assemblyFormat = "operands attr-dict `:` type(operands)";
  let hasVerifier = 1;
}

#endif // KVERN_OPS_BUFFER_TD
