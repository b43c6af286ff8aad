// RUN: kvern-opt %s -kvern-isolate-kernels | FileCheck %s
// RUN: kvern-opt %s -kvern-isolate-kernels -kvern-isolate-kernels | FileCheck %s

// What is no kernel stays together; each kernel gets a module of its name.

// CHECK: module attributes {kvern.weights = []}
// CHECK-NEXT: module @host
// CHECK-NEXT: func.func @program
// CHECK: call @kernel(%{{.*}})
// CHECK: func.func private @kernel(memref<4xf32>) attributes {kvern.kernel}
// CHECK: func.func private @elsewhere(memref<4xf32>) attributes {kvern.kernel}
// CHECK: module @kernel
// CHECK-NEXT: func.func @kernel(%{{.*}}: memref<4xf32>) attributes {kvern.kernel}
module attributes {kvern.weights = []} {
  func.func @program(%x: memref<4xf32>) attributes {kvern.program = {}} {
    call @kernel(%x) : (memref<4xf32>) -> ()
    call @elsewhere(%x) : (memref<4xf32>) -> ()
    return
  }
  func.func private @kernel(%x: memref<4xf32>) attributes {kvern.kernel} {
    return
  }
  func.func private @elsewhere(memref<4xf32>) attributes {kvern.kernel}
}
