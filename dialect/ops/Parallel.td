//===- Parallel.td - Loops on the threads of a run ---------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Made by kvern-outline-parallel in stage `loops`; gone in stage `target`.
//
//===----------------------------------------------------------------------===//

#ifndef KVERN_OPS_PARALLEL_TD
#define KVERN_OPS_PARALLEL_TD

include "dialect/KvernOpBase.td"

include "mlir/IR/SymbolInterfaces.td"

def Kvern_HostWorkersOp : Kvern_Op<"host.workers", [Pure]> {
  let summary = "The number of threads of a run";
  let description = [{
    At least 1, and the same during all of the run. Only sizes of temporaries
    may depend on it, results may not.

    ```mlir
    %n = kvern.host.workers
    ```
  }];
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
}

def Kvern_HostParallelForOp : Kvern_Op<"host.parallel_for",
    [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Calls of a function on the threads of a run";
  let description = [{
    Calls `body` with `captures`, a task and a worker for each task from 0 to
    below `tasks`, in any order, and ends when all calls have. The worker is from
    0 to below `kvern.host.workers`, and no two calls that run at the same time
    have the same. `work` is about how many operations on elements all calls
    carry out together; small loops do not wake threads that sleep.

    Constraints:

    - host_parallel_for_c1: `body` is a function without results
    - host_parallel_for_c2: its arguments have the types of `captures`, and two
      more are indices

    ```mlir
    kvern.host.parallel_for @body, %tasks, %work(%x, %y) : memref<?xf32>, memref<?xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$body, Index:$tasks,
                       Index:$work, Variadic<AnyType>:$captures);
  let assemblyFormat =
      "$body `,` $tasks `,` $work `(` $captures `)` attr-dict (`:` type($captures)^)?";
}

#endif // KVERN_OPS_PARALLEL_TD
