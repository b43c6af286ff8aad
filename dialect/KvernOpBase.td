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

/// What ops of several operands demand of them; part of their descriptions.
defvar Kvern_SameDevice = [{
    - device_c1: the operands are on one device}];
defvar Kvern_SameElementType = Kvern_SameDevice # [{
    - element_type_c1: the operands have one element type}];
defvar Kvern_Broadcast = Kvern_SameElementType # [{
    - broadcast_c1: two sizes are provably equal, or one of them is 1 or absent}];
defvar Kvern_Axis = [{
    - axis_c1: `axis` is from 0 to below the rank}];
defvar Kvern_NotNegative = [{
    - shape_c1: the sizes given are 0 or more}];

/// One bound of `kvern.check.slice`.
def Kvern_SliceBound : Attr<
    CPred<"::llvm::isa<::kvern::DimAttr, ::mlir::UnitAttr>($_self)">,
    "bound: a dim, or unit for a run-time operand"> {
  let storageType = "::mlir::Attribute";
  let returnType = "::mlir::Attribute";
  let convertFromStorage = "$_self";
}

/// The bounds of `kvern.slice`, one an axis.
def Kvern_SliceBounds : ArrayAttrBase<
    And<[CPred<"::llvm::isa<::mlir::ArrayAttr>($_self)">,
         CPred<"::llvm::all_of(::llvm::cast<::mlir::ArrayAttr>($_self), "
               "[](::mlir::Attribute a) { return "
               "::llvm::isa<::kvern::DimAttr, ::mlir::UnitAttr>(a); })">]>,
    "bounds: dims, or unit for a run-time operand">;

#endif // KVERN_OP_BASE_TD
