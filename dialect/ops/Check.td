//===- Check.td - Conditions known only at run time ---------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_OPS_CHECK_TD
#define KVERN_OPS_CHECK_TD

include "dialect/KvernOpBase.td"

/// What an op needs to be true and the compiler cannot prove. These ops are
/// made by `kvern-insert-checks`; a check that fails ends the run with an error
/// at the op's location.
class Kvern_CheckOp<string mnemonic> : Kvern_Op<"check." # mnemonic>;

def Kvern_CheckSizesOp : Kvern_CheckOp<"sizes"> {
  let summary = "Compares two sizes";
  let description = [{
    Holds when `lhs` is equal to `rhs`, or, with `at_most`, not above it.
    `subject` says in the error what was expected.

    ```mlir
    kvern.check.sizes {lhs = #kvern.dim<5>, rhs = #kvern.dim<n>, at_most, subject = "the slice of axis 0 to stop within the axis"}
    ```
  }];
  let arguments = (ins Kvern_DimAttr:$lhs, Kvern_DimAttr:$rhs,
                       UnitAttr:$at_most, StrAttr:$subject);
  let assemblyFormat = "attr-dict";
}

def Kvern_CheckIndicesOp : Kvern_CheckOp<"indices"> {
  let summary = "Indices within a size";
  let description = [{
    Holds when `-size <= lowest` and `highest < size`.

    Constraints:

    - check_indices_c1: `lowest` and `highest` are `i64` tensors of one element

    ```mlir
    kvern.check.indices %0, %1 {size = #kvern.dim<1000>, axis = 0 : i64} : !kvern.tensor<[1], i64, cpu:0>, !kvern.tensor<[1], i64, cpu:0>
    ```
  }];
  let arguments = (ins Kvern_IndexTensor:$lowest, Kvern_IndexTensor:$highest,
                       Kvern_DimAttr:$size, I64Attr:$axis);
  let assemblyFormat =
      "$lowest `,` $highest attr-dict `:` qualified(type($lowest)) `,` qualified(type($highest))";
  let hasVerifier = 1;
}

def Kvern_CheckSliceOp : Kvern_CheckOp<"slice"> {
  let summary = "Run-time slice bounds";
  let description = [{
    Brings the bounds of one axis into range as `kvern.slice` does and binds or
    checks the name of its size: `count` is bound to the number of elements when
    it is a name that has no value yet; else it must be equal to it. A bound that
    is `unit` is the next of `bounds`.

    Constraints:

    - check_slice_c1: there are as many `bounds` as bounds that are `unit`
    - check_slice_c2: `bounds` are scalars
    - check_slice_c3: `step` is not 0 or -2^63

    ```mlir
    kvern.check.slice %0 {size = #kvern.dim<n>, start = #kvern.dim<0>, stop = unit, step = 1 : i64, count = #kvern.dim<m>, axis = 0 : i64} : !kvern.tensor<[], i64, cpu:0>
    ```
  }];
  let arguments = (ins Variadic<Kvern_IndexTensor>:$bounds, Kvern_DimAttr:$size,
                       Kvern_SliceBound:$start, Kvern_SliceBound:$stop,
                       I64Attr:$step, Kvern_DimAttr:$count, I64Attr:$axis);
  let assemblyFormat = "$bounds attr-dict (`:` type($bounds)^)?";
  let hasVerifier = 1;
}

#endif // KVERN_OPS_CHECK_TD
