// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: kvern-opt %s -verify-diagnostics -split-input-file

func.func @host_parallel_for_c1(%n: index) {
  // expected-error @+1 {{expected 'body' to be a function without results}}
  kvern.host.parallel_for @body, %n, %n()
  return
}
func.func private @body(index, index) -> index

// -----

func.func @host_parallel_for_c1_missing(%n: index) {
  // expected-error @+1 {{expected 'body' to be a function without results}}
  kvern.host.parallel_for @body, %n, %n()
  return
}

// -----

func.func @host_parallel_for_c2(%n: index, %x: memref<4xf32>) {
  // expected-error @+1 {{expected 'body' to take ('memref<4xf32>', 'index', 'index'), but it takes ('index', 'index')}}
  kvern.host.parallel_for @body, %n, %n(%x) : memref<4xf32>
  return
}
func.func private @body(index, index)
