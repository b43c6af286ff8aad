//===- KvernAttrs.td - Dimensions, shapes, devices ----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_ATTRS_TD
#define KVERN_ATTRS_TD

include "dialect/KvernDialect.td"
include "mlir/IR/AttrTypeBase.td"

class Kvern_Attr<string name, string attrMnemonic>
    : AttrDef<Kvern_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def Kvern_DimAttr : Kvern_Attr<"Dim", "dim"> {
  let summary = "The size of one axis";
  let description = [{
    An integer, a name, or an expression over names, held canonical: a sum of
    coefficient times product of names, so that two spellings of one size are
    one attribute. A `floordiv` that does not divide out stays as a factor, in
    lowest terms: `(n * 6 + 5) floordiv 4` is `n + n floordiv 2 + 1`. `a mod b`
    is `a - b * (a floordiv b)`. Names are sorted; `expr` is an affine (or, with
    products of names, semi-affine) expression over them as symbols. Expressions
    of more than 500 operands and operators, or with more than 32 divisions
    within each other, are refused.

    ```mlir
    #kvern.dim<64>
    #kvern.dim<batch>
    #kvern.dim<batch * 5 + 1>
    #kvern.dim<(height + 1) floordiv 2>
    ```
  }];
  let parameters = (ins
    ArrayRefParameter<"::mlir::StringAttr", "names in use, sorted">:$symbols,
    "::mlir::AffineExpr":$expr
  );
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// A number.
    static DimAttr getStatic(::mlir::MLIRContext *context, int64_t value);
    /// A name. Equal names are equal sizes.
    static DimAttr getSymbol(::mlir::MLIRContext *context,
                             ::llvm::StringRef name);
    /// The canonical form of `expr` over `symbols`, which may be unsorted and
    /// hold unused names. Null when a coefficient overflows 64 bits, a divisor
    /// is zero or the result is too long.
    static DimAttr getCanonical(::mlir::MLIRContext *context,
                                ::llvm::ArrayRef<::mlir::StringAttr> symbols,
                                ::mlir::AffineExpr expr);

    /// lhs `kind` rhs, where `kind` is Add, Mul, FloorDiv, CeilDiv or Mod. Null
    /// as for `getCanonical`.
    static DimAttr combine(::mlir::AffineExprKind kind, DimAttr lhs,
                           DimAttr rhs);
    DimAttr operator+(DimAttr rhs) const;
    DimAttr operator-(DimAttr rhs) const;
    DimAttr operator*(DimAttr rhs) const;
    DimAttr operator+(int64_t rhs) const;
    DimAttr operator*(int64_t rhs) const;

    /// The number when there are no names in it.
    ::std::optional<int64_t> getStaticValue() const;
    bool isStatic() const { return getStaticValue().has_value(); }
    bool isStatic(int64_t value) const { return getStaticValue() == value; }
    /// The name when it is just one; null otherwise.
    ::mlir::StringAttr getSymbolName() const;
    /// Every name replaced by what `mapping` gives for it; names without an
    /// entry stay. Null as for `getCanonical`.
    DimAttr substitute(
        const ::llvm::DenseMap<::mlir::StringAttr, DimAttr> &mapping) const;

    /// The bare expression, without `#kvern.dim<...>`.
    void printExpr(::llvm::raw_ostream &os) const;
    ::std::string str() const;
    /// Parses a bare expression.
    static ::mlir::FailureOr<DimAttr> parseExpr(::mlir::AsmParser &parser);
  }];
}

def Kvern_ShapeAttr : Kvern_Attr<"Shape", "shape"> {
  let summary = "A list of dimensions";
  let description = [{
    ```mlir
    #kvern.shape<[batch, 64]>
    ```
  }];
  let parameters = (ins OptionalArrayRefParameter<"DimAttr">:$dims);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    ::std::string str() const;
  }];
}

def Kvern_DeviceAttr : Kvern_Attr<"Device", "device"> {
  let summary = "Where a value lives";
  let description = [{
    A kind (`cpu` or `gpu`) and an index.

    ```mlir
    #kvern.device<cpu:0>
    ```
  }];
  let parameters = (ins "::kvern::DeviceKind":$kind, "int64_t":$id);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    ::std::string str() const;
    bool isCPU() const { return getKind() == DeviceKind::CPU; }
  }];
}

#endif // KVERN_ATTRS_TD
