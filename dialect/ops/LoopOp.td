//===- LoopOp.td - Ops with loops inside -------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_OPS_LOOPOP_TD
#define KVERN_OPS_LOOPOP_TD

include "dialect/KvernOpBase.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"

/// A computation with loops of its own, on builtin tensors or, without results,
/// on memrefs; the last operand is what the result is written to. These ops
/// appear in stage `kernels` and are gone in stage `loops`.
class Kvern_LoopOp<string mnemonic, list<Trait> traits = []>
    : Kvern_Op<"loop." # mnemonic,
               [DestinationStyleOpInterface,
                DeclareOpInterfaceMethods<MemoryEffectsOpInterface>] # traits> {
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getInitMutable(); }
  }];
}

defvar Kvern_LoopOperand = AnyTypeOf<[AnyRankedTensor, AnyStridedMemRef]>;

#endif // KVERN_OPS_LOOPOP_TD
