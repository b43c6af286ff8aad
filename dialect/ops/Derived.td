//===- Derived.td - Weights computed at load ----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Made by kvern-hoist-initializers; no Python API stages them.
//
//===----------------------------------------------------------------------===//

#ifndef KVERN_OPS_DERIVED_TD
#define KVERN_OPS_DERIVED_TD

include "dialect/KvernOpBase.td"

include "mlir/IR/SymbolInterfaces.td"

def Kvern_DerivedWeightOp : Kvern_Op<"derived_weight",
    [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "A weight that is computed when the model is loaded";
  let description = [{
    What `initializer`, a graph of one result, makes of `weights`: weights, large
    constants, other derived weights, or views of them. The initializer runs once,
    at load; runs of the graph read its result.

    Constraints:

    - derived_weight_c1: the sizes are static
    - derived_weight_c2: `initializer` is a function
    - derived_weight_c3: the result has the type of its only result

    and those of `kvern.call` on the operands.

    ```mlir
    %1 = kvern.derived_weight @initialize_pack(%0) : (!kvern.tensor<[100, 64], f32, cpu:0>) -> !kvern.tensor<[7, 64, 16], f32, cpu:0>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$initializer,
                       Variadic<Kvern_AnyTensor>:$weights);
  let results = (outs Kvern_AnyTensor:$result);
  let hasVerifier = 1;
  let assemblyFormat =
      "$initializer `(` $weights `)` attr-dict `:` functional-type($weights, results)";
}

#endif // KVERN_OPS_DERIVED_TD
