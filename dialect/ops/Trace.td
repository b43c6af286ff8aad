//===- Trace.td - Marks for profiling ----------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_OPS_TRACE_TD
#define KVERN_OPS_TRACE_TD

include "dialect/KvernOpBase.td"

def Kvern_HostStepOp : Kvern_Op<"host.step"> {
  let summary = "A step of the program begins";
  let description = [{
    Step `index` of the manifest is the call of a kernel that follows. The runtime
    notes the time when it records a run, and returns at once otherwise.

    ```mlir
    kvern.host.step %frame[3] : !llvm.ptr
    ```
  }];
  let arguments = (ins AnyType:$frame, ConfinedAttr<I64Attr, [IntNonNegative]>:$index);
  let assemblyFormat = "$frame `[` $index `]` attr-dict `:` type($frame)";
}

#endif // KVERN_OPS_TRACE_TD
