//===- Call.td - Subgraphs ---------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_OPS_CALL_TD
#define KVERN_OPS_CALL_TD

include "dialect/KvernOpBase.td"

include "mlir/IR/SymbolInterfaces.td"

def Kvern_CallOp : Kvern_Op<"call",
    [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Runs a subgraph or a kernel";
  let description = [{
    The operand types match the argument types of `callee` under one mapping
    from the callee's dimension names to dimensions of the caller; the result
    types are the callee's under the same mapping. `dims` gives the mapping, or
    the part of it that the arguments do not give. Placeholder weights of the
    callee are named `prefix` plus their own name.

    Constraints:

    - call_c1: `callee` is a function
    - call_c2: there are as many operands as arguments
    - call_c3: the values of `dims` are dims
    - call_c4: the operands have the types of the arguments under the mapping
    - call_c5: the result types of the callee are valid under the mapping
    - call_c6: the results have these types

    ```mlir
    %1 = kvern.call @block(%0) {prefix = "layers.0."} : (!kvern.tensor<[n, 64], f32, cpu:0>) -> !kvern.tensor<[n, 64], f32, cpu:0>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee,
                       Variadic<AnyType>:$operands,
                       DefaultValuedAttr<StrAttr, "\"\"">:$prefix,
                       OptionalAttr<DictionaryAttr>:$dims);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat =
      "$callee `(` $operands `)` attr-dict `:` functional-type($operands, results)";
}

#endif // KVERN_OPS_CALL_TD
