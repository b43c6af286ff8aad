//===- KvernOpBase.td - Base classes of the ops -------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_OP_BASE_TD
#define KVERN_OP_BASE_TD

include "dialect/KvernInterfaces.td"
include "dialect/KvernTypes.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Kvern_Op<string mnemonic, list<Trait> traits = []>
    : Op<Kvern_Dialect, mnemonic, traits>;

/// An op without side effects that becomes part of a kernel; `kind` names a
/// member of FusionKind. Its result types follow from its operands and
/// attributes.
class Kvern_ComputeOp<string mnemonic, string kind, list<Trait> traits = []>
    : Kvern_Op<mnemonic, [Pure, Kvern_FusionOpInterface, InferTypeOpAdaptor]
                         # traits> {
  let extraClassDeclaration = [{
    ::kvern::FusionKind getFusionKind() { return ::kvern::FusionKind::}]
    # kind # [{; }
  }];
}

/// The bounds of `kvern.slice`, one an axis.
def Kvern_SliceBounds : ArrayAttrBase<
    CPred<"::llvm::all_of(::llvm::cast<::mlir::ArrayAttr>($_self), "
          "[](::mlir::Attribute a) { return "
          "::llvm::isa<::kvern::DimAttr, ::mlir::UnitAttr>(a); })">,
    "bounds: dims, or unit for a run-time operand">;

#endif // KVERN_OP_BASE_TD
