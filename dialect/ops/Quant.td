//===- Quant.td - Products with quantized weights -----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_OPS_QUANT_TD
#define KVERN_OPS_QUANT_TD

include "dialect/KvernOpBase.td"
include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"

defvar Kvern_Encoding = [{
    `encoding` says how a row of weights is stored: blocks of `group` elements,
    each the `f16` scale `d`, the `f16` minimum `m` if there is one, and the bits
    `q` of the elements; an element is `d * (q - zero) + m`.

    | encoding | bits | group | zero | minimum |
    |---|---|---|---|---|
    | `q8_0` | 8, signed | 32 | 0 | no |
    | `q4_0` | 4 | 32 | 8 | no |
    | `q4_1` | 4 | 32 | 0 | yes |
    | `int8_g<group>` | 8, signed | 32, 64 or 128 | 0 | no |
    | `int8_g<group>_min` | 8 | 32, 64 or 128 | 0 | yes |
    | `int4_g<group>` | 4 | 32, 64 or 128 | 8 | no |
    | `int4_g<group>_min` | 4 | 32, 64 or 128 | 0 | yes |

    The first three are those of GGUF. Of 4 bits, the first half of a group is in
    the low halves of the bytes, the second in the high ones.
}];

defvar Kvern_EncodingConstraints = [{
    - encoding_c1: the encoding is one of those
    - encoding_c2: the last size is static, and a multiple of a block's bytes
}];

defvar Kvern_Activations = [{
    `activations` says what is multiplied, with B the largest multiple of `group`
    up to 128 that divides k, and X the largest `|lhs|` of B adjacent elements:

    - `exact`: the activations as `f32`, or, where that takes less time, as
      integers of 24 bits: rounded to multiples of `X / 4128768`. Sums are of
      `f32` or exact. The error is that of a product of `f32`, plus at most
      `X * 1.3e-7` times the sum of `|weights|`, for each B elements of k.
    - `int8`: the activations rounded to multiples of `X / 127`, so that products
      are those of bytes. The error is at most `X / 254` times the sum of
      `|weights|`, for each B elements of k, plus that of the sums.

    An element of lhs that is not finite makes its row of the result so.
}];

defvar Kvern_ActivationsConstraint = [{
    - activations_c1: `activations` is `exact` or `int8`
}];

def Kvern_ByteTensor : Kvern_TensorOf<"$_elt.isUnsignedInteger(8)", "ui8">;

def Kvern_QuantizedMatmulOp
    : Kvern_ComputeOp<"quantized_matmul", "Contraction"> {
  let summary = "Matrix product with quantized weights";
  let description = [{
    `result[..., m, n] = sum over k of lhs[..., m, k] * weights[n, k]`, where row
    n of `blocks` holds row n of the weights. Sums are of `f32`, whatever the
    element type of lhs and result.

  }] # Kvern_Encoding # [{
  }] # Kvern_Activations # [{

    Constraints:
  }] # Kvern_SameDevice # [{
  }] # Kvern_EncodingConstraints # Kvern_ActivationsConstraint # [{
    - quantized_matmul_c1: `lhs` has rank 2 or more, of `f32`, `bf16` or `f16`
    - quantized_matmul_c2: `blocks` has rank 2
    - quantized_matmul_c3: the last size of `lhs` is the number of elements that a
      row of `blocks` holds

    ```mlir
    %2 = kvern.quantized_matmul %0, %1 {activations = "exact", encoding = "q4_0"} : (!kvern.tensor<[m, 64], f32, cpu:0>, !kvern.tensor<[100, 36], ui8, cpu:0>) -> !kvern.tensor<[m, 100], f32, cpu:0>
    ```
  }];
  let arguments = (ins Kvern_FloatTensor:$lhs, Kvern_ByteTensor:$blocks,
                       StrAttr:$encoding, StrAttr:$activations);
  let results = (outs Kvern_AnyTensor:$result);
  let assemblyFormat =
      "$lhs `,` $blocks attr-dict `:` functional-type(operands, results)";
}

def Kvern_DequantizeOp : Kvern_ComputeOp<"dequantize", "Movement"> {
  let summary = "Quantized elements as numbers";
  let description = [{
    `result[..., k]` is element k of a row of `blocks`, in `f32`.

  }] # Kvern_Encoding # [{

    Besides, `q4_k` and `q6_k` of GGUF, with blocks of 256 elements in groups that
    have scales of their own.

    Constraints:

    - dequantize_c1: `blocks` has rank 1 or more
  }] # Kvern_EncodingConstraints # [{

    ```mlir
    %1 = kvern.dequantize %0 {encoding = "q8_0"} : (!kvern.tensor<[n, 68], ui8, cpu:0>) -> !kvern.tensor<[n, 64], f32, cpu:0>
    ```
  }];
  let arguments = (ins Kvern_ByteTensor:$blocks, StrAttr:$encoding);
  let results = (outs Kvern_AnyTensor:$result);
  let assemblyFormat =
      "$blocks attr-dict `:` functional-type(operands, results)";
}

def Kvern_PackQuantizedOp : Kvern_ComputeOp<"pack_quantized", "Movement"> {
  let summary = "Quantized weights in panels of 16 rows";
  let description = [{
    The blocks of 16 rows side by side: `[n, k / group * bytes]` becomes
    `[ceil(n / 16), k / group, 16 * bytes]`. For each group, the 16 scales; the 16
    minima, if there are any; then, four bytes of each of the 16 rows at a time,
    the elements. The sign bit of signed elements is flipped, so that all are
    unsigned. Rows that there are not have only zeros.

    Made by kvern-pack-quantized.

  }] # Kvern_Encoding # [{

    Constraints:

    - pack_quantized_c1: `blocks` has rank 2 and static sizes of 1 or more
  }] # Kvern_EncodingConstraints # [{

    ```mlir
    %1 = kvern.pack_quantized %0 {encoding = "q4_0"} : (!kvern.tensor<[100, 36], ui8, cpu:0>) -> !kvern.tensor<[7, 2, 288], ui8, cpu:0>
    ```
  }];
  let arguments = (ins Kvern_ByteTensor:$blocks, StrAttr:$encoding);
  let results = (outs Kvern_AnyTensor:$result);
  let assemblyFormat =
      "$blocks attr-dict `:` functional-type(operands, results)";
}

def Kvern_PackedQuantizedMatmulOp
    : Kvern_ComputeOp<"packed_quantized_matmul", "Contraction"> {
  let summary = "Matrix product with packed quantized weights";
  let description = [{
    `kvern.quantized_matmul`, where `panels` is what `kvern.pack_quantized` makes
    of the blocks of `columns` rows. Made by kvern-pack-quantized.

  }] # Kvern_Encoding # [{

    Constraints:
  }] # Kvern_SameDevice # [{
  }] # Kvern_ActivationsConstraint # [{
    - packed_quantized_matmul_c1: `lhs` has rank 2 or more, of `f32`, `bf16` or
      `f16`
    - packed_quantized_matmul_c2: `panels` has static sizes
      `[ceil(columns / 16), k / group, 16 * bytes]` with k the last size of `lhs`

    ```mlir
    %2 = kvern.packed_quantized_matmul %0, %1 {activations = "int8", columns = 100 : i64, encoding = "q4_0"} : (!kvern.tensor<[m, 64], f32, cpu:0>, !kvern.tensor<[7, 2, 288], ui8, cpu:0>) -> !kvern.tensor<[m, 100], f32, cpu:0>
    ```
  }];
  let arguments = (ins Kvern_FloatTensor:$lhs, Kvern_ByteTensor:$panels,
                       StrAttr:$encoding, StrAttr:$activations,
                       I64Attr:$columns);
  let results = (outs Kvern_AnyTensor:$result);
  let assemblyFormat =
      "$lhs `,` $panels attr-dict `:` functional-type(operands, results)";
}

def Kvern_PackedQuantizedGatherOp
    : Kvern_ComputeOp<"packed_quantized_gather", "Movement"> {
  let summary = "Rows of packed quantized weights as numbers, picked by index";
  let description = [{
    `result[i..., k]`, in `f32`, is element k of row `indices[i...]` of the blocks
    of `rows` rows that `kvern.pack_quantized` made `panels` of: what
    `kvern.dequantize` makes of `kvern.gather`. A negative index counts from the
    end.

    Made by kvern-pack-quantized of gathers whose indices have been checked, so
    that a table which is multiplied too is in memory once.

  }] # Kvern_Encoding # [{

    Constraints:
  }] # Kvern_SameDevice # [{
    - packed_quantized_gather_c1: `panels` has static sizes
      `[ceil(rows / 16), k / group, 16 * bytes]`

    ```mlir
    %2 = kvern.packed_quantized_gather %0, %1 {encoding = "q4_0", rows = 100 : i64} : (!kvern.tensor<[7, 2, 288], ui8, cpu:0>, !kvern.tensor<[n], i64, cpu:0>) -> !kvern.tensor<[n, 64], f32, cpu:0>
    ```
  }];
  let arguments = (ins Kvern_ByteTensor:$panels, Kvern_IndexTensor:$indices,
                       StrAttr:$encoding, I64Attr:$rows);
  let results = (outs Kvern_AnyTensor:$result);
  let assemblyFormat =
      "$panels `,` $indices attr-dict `:` functional-type(operands, results)";
}

/// An op that emits its own loops: on builtin tensors, with the new value of
/// `out` as its result, or on memrefs. All operands but `out` are only read.
class Kvern_LoopQuantOp<string mnemonic>
    : Kvern_Op<"loop." # mnemonic, [
        DestinationStyleOpInterface,
        DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
        DeclareOpInterfaceMethods<BufferizableOpInterface,
            ["bufferizesToMemoryRead", "bufferizesToMemoryWrite",
             "getAliasingValues", "bufferize"]>]> {
  let results = (outs Variadic<AnyRankedTensor>:$result);
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getOutMutable(); }
  }];
}

def Kvern_LoopPackQuantizedOp : Kvern_LoopQuantOp<"pack_quantized"> {
  let summary = "Quantized weights in panels of 16 rows, in a kernel";
  let description = [{
    Writes `kvern.pack_quantized` of `blocks` to `out`. Operands are builtin
    tensors or memrefs; on tensors, the result is the new value of `out`.

    Constraints:

    - loop_pack_quantized_c1: the encoding is known, `blocks` and `out` are of
      `i8`, and of the sizes that `kvern.pack_quantized` has
    - loop_pack_quantized_c2: all operands are tensors, and there is a result, or
      all are memrefs, and there is none

    ```mlir
    kvern.loop.pack_quantized %0, %1 {encoding = "q4_0"} : (memref<100x36xi8>, memref<7x2x288xi8>) -> ()
    ```
  }];
  let arguments = (ins AnyShaped:$blocks, AnyShaped:$out, StrAttr:$encoding);
  let assemblyFormat =
      "$blocks `,` $out attr-dict `:` functional-type(operands, results)";
}

def Kvern_LoopQuantizedProductOp : Kvern_LoopQuantOp<"quantized_product"> {
  let summary = "Product with packed quantized weights, in a kernel";
  let description = [{
    Writes `kvern.packed_quantized_matmul` of `lhs` and `panels` to `out`, whose
    last size is the number of columns. Operands are builtin tensors or memrefs;
    on tensors, the result is the new value of `out`.

    Constraints:

    - loop_quantized_product_c1: the encoding is known, `lhs` and `out` have one
      rank of 2 or more and one element type, `panels` is of rank 3, of `i8`, and
      its last two sizes are those of the encoding and the last size of `lhs`
    - loop_quantized_product_c2: all operands are tensors, and there is a result,
      or all are memrefs, and there is none

    ```mlir
    kvern.loop.quantized_product %0, %1, %2 {activations = "exact", encoding = "q4_0"} : (memref<?x64xf32>, memref<7x2x288xi8>, memref<?x100xf32>) -> ()
    ```
  }];
  let arguments = (ins AnyShaped:$lhs, AnyShaped:$panels, AnyShaped:$out,
                       StrAttr:$encoding, StrAttr:$activations);
  let assemblyFormat = [{
    $lhs `,` $panels `,` $out attr-dict `:` functional-type(operands, results)
  }];
}

#endif // KVERN_OPS_QUANT_TD
