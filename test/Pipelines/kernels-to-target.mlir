// RUN: kvern-opt %s --kvern-kernels-to-loops | FileCheck %s --check-prefix=LOOPS
// RUN: kvern-opt %s --kvern-kernels-to-target=cpu=znver3 | FileCheck %s --check-prefix=TARGET
// RUN: kvern-opt %s --kvern-kernels-to-target=cpu=znver3 --mlir-timing 2>&1 | FileCheck %s --check-prefix=TIMING

// A kernel on its own, as the reproducer of a failure has it: from the form of
// stage `kernels` to its module at the end of `loops` and of `target`.

// LOOPS: module @host
// LOOPS: func.func private @kernel_neg(memref<?xf32>, memref<?xf32>, index {kvern.symbol = "d0"})
// LOOPS: module @kernel_neg
// LOOPS: func.func @kernel_neg
// LOOPS-NOT: tensor
// TARGET: module @kernel_neg
// TARGET: llvm.func @kernel_neg
// TIMING-DAG: Bufferize
// TIMING-DAG: ConvertVectorToLLVMPass
func.func private @kernel_neg(%x: memref<?xf32>, %y: memref<?xf32>, %n: index {kvern.symbol = "d0"}) attributes {kvern.kernel} {
  %0 = bufferization.to_tensor %x restrict : memref<?xf32> to tensor<?xf32>
  %1 = tensor.empty(%n) : tensor<?xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%0 : tensor<?xf32>) outs(%1 : tensor<?xf32>) {
  ^bb0(%in: f32, %out: f32):
    %3 = arith.negf %in : f32
    linalg.yield %3 : f32
  } -> tensor<?xf32>
  bufferization.materialize_in_destination %2 in restrict writable %y : (tensor<?xf32>, memref<?xf32>) -> ()
  return
}
