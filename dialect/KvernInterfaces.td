//===- KvernInterfaces.td - What passes ask of an op --------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_INTERFACES_TD
#define KVERN_INTERFACES_TD

include "mlir/IR/OpBase.td"

def Kvern_FusionOpInterface : OpInterface<"FusionOpInterface"> {
  let cppNamespace = "::kvern";
  let description = [{
    How an op behaves when kernels are formed: what loop structure it needs and
    therefore what may share a loop nest with it.
  }];
  let methods = [
    InterfaceMethod<
      "The loop structure of this op.",
      "::kvern::FusionKind", "getFusionKind">
  ];
}

#endif // KVERN_INTERFACES_TD
