//===- Host.td - Between the runtime and the kernels --------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_OPS_HOST_TD
#define KVERN_OPS_HOST_TD

include "dialect/KvernOpBase.td"

def Kvern_Frame : Type<CPred<"::llvm::isa<::mlir::LLVM::LLVMPointerType>($_self)">,
                       "pointer to the frame of a run",
                       "::mlir::LLVM::LLVMPointerType">;

def Kvern_HostIndex : ConfinedAttr<I64Attr, [IntNonNegative]>;

/// What the host program asks of the runtime. These ops appear in stage
/// `kernels` and are gone in stage `target`.
class Kvern_HostOp<string mnemonic, list<Trait> traits = []>
    : Kvern_Op<"host." # mnemonic, traits>;

def Kvern_HostSymbolOp : Kvern_HostOp<"symbol", [Pure]> {
  let summary = "The value of a dimension name";
  let description = [{
    Names are numbered as in the manifest of the program.

    ```mlir
    %n = kvern.host.symbol %frame[0] : !llvm.ptr
    ```
  }];
  let arguments = (ins Kvern_Frame:$frame, Kvern_HostIndex:$index);
  let results = (outs Index:$result);
  let assemblyFormat = "$frame `[` $index `]` attr-dict `:` qualified(type($frame))";
}

def Kvern_HostInputOp : Kvern_HostOp<"input", [Pure]> {
  let summary = "The memory of an input";
  let description = [{
    Input `index` of the program; `sizes` are its dynamic sizes.

    Constraints:

    - host_input_c1: there is one size for each dynamic size of the result

    ```mlir
    %x = kvern.host.input %frame[0](%n) : !llvm.ptr -> memref<?x64xf32>
    ```
  }];
  let arguments = (ins Kvern_Frame:$frame, Variadic<Index>:$sizes,
                       Kvern_HostIndex:$index);
  let results = (outs AnyMemRef:$result);
  let hasVerifier = 1;
  let assemblyFormat =
      "$frame `[` $index `]` `(` $sizes `)` attr-dict `:` qualified(type($frame)) `->` type($result)";
}

def Kvern_HostWeightOp : Kvern_HostOp<"weight", [Pure]> {
  let summary = "The memory of a weight or large constant";
  let description = [{
    Weight `index` of the program.

    Constraints:

    - host_weight_c1: the sizes are static

    ```mlir
    %w = kvern.host.weight %frame[3] : !llvm.ptr -> memref<32x64xf32>
    ```
  }];
  let arguments = (ins Kvern_Frame:$frame, Kvern_HostIndex:$index);
  let results = (outs AnyMemRef:$result);
  let hasVerifier = 1;
  let assemblyFormat =
      "$frame `[` $index `]` attr-dict `:` qualified(type($frame)) `->` type($result)";
}

def Kvern_HostOutputOp : Kvern_HostOp<"output"> {
  let summary = "Memory for an output";
  let description = [{
    Asks the runtime for the memory of output `index`; `sizes` are its dynamic
    sizes.

    Constraints:

    - host_output_c1: there is one size for each dynamic size of the result

    ```mlir
    %y = kvern.host.output %frame[0](%n) : !llvm.ptr -> memref<?x32xf32>
    ```
  }];
  let arguments = (ins Kvern_Frame:$frame, Variadic<Index>:$sizes,
                       Kvern_HostIndex:$index);
  let results = (outs Res<AnyMemRef, "", [MemAlloc]>:$result);
  let hasVerifier = 1;
  let assemblyFormat =
      "$frame `[` $index `]` `(` $sizes `)` attr-dict `:` qualified(type($frame)) `->` type($result)";
}

def Kvern_HostWorkspaceOp : Kvern_HostOp<"workspace"> {
  let summary = "The planned arena";
  let description = [{
    Memory for every intermediate value whose size follows from the inputs; the
    runtime keeps it between runs.

    ```mlir
    %a = kvern.host.workspace %frame, %bytes : !llvm.ptr -> memref<?xi8>
    ```
  }];
  let arguments = (ins Kvern_Frame:$frame, Index:$bytes);
  let results = (outs Res<MemRefRankOf<[I8], [1]>, "", [MemAlloc]>:$result);
  let assemblyFormat =
      "$frame `,` $bytes attr-dict `:` qualified(type($frame)) `->` type($result)";
}

def Kvern_HostAllocOp : Kvern_HostOp<"alloc"> {
  let summary = "Memory until the end of the run";
  let description = [{
    For values whose size is known only during the run.

    ```mlir
    %t = kvern.host.alloc %frame, %bytes : !llvm.ptr -> memref<?xi8>
    ```
  }];
  let arguments = (ins Kvern_Frame:$frame, Index:$bytes);
  let results = (outs Res<MemRefRankOf<[I8], [1]>, "", [MemAlloc]>:$result);
  let assemblyFormat =
      "$frame `,` $bytes attr-dict `:` qualified(type($frame)) `->` type($result)";
}

def Kvern_HostCheckOp : Kvern_HostOp<"check"> {
  let summary = "Ends the run unless a condition holds";
  let description = [{
    When `condition` is false, reports check `index` of the manifest with up to
    three values, and the run returns at once.

    Constraints:

    - host_check_c1: there are at most three values

    ```mlir
    kvern.host.check %frame, %ok[2](%got, %want) : !llvm.ptr
    ```
  }];
  let arguments = (ins Kvern_Frame:$frame, I1:$condition,
                       Variadic<Index>:$values, Kvern_HostIndex:$index);
  let hasVerifier = 1;
  let assemblyFormat =
      "$frame `,` $condition `[` $index `]` `(` $values `)` attr-dict `:` qualified(type($frame))";
}

#endif // KVERN_OPS_HOST_TD
