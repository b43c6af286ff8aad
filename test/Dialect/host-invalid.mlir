// RUN: kvern-opt %s -verify-diagnostics -split-input-file

func.func @host_input_c1(%frame: !llvm.ptr, %n: index) {
  // expected-error @+1 {{'kvern.host.input' op expected 2 sizes for 'memref<?x?xf32>', but got 1}}
  %0 = kvern.host.input %frame[0](%n) : !llvm.ptr -> memref<?x?xf32>
  return
}

// -----

func.func @host_output_c1(%frame: !llvm.ptr, %n: index) {
  // expected-error @+1 {{'kvern.host.output' op expected 0 sizes for 'memref<4xf32>', but got 1}}
  %0 = kvern.host.output %frame[0](%n) : !llvm.ptr -> memref<4xf32>
  return
}

// -----

func.func @host_weight_c1(%frame: !llvm.ptr) {
  // expected-error @+1 {{'kvern.host.weight' op expected static sizes, but got 'memref<?xf32>'}}
  %0 = kvern.host.weight %frame[0] : !llvm.ptr -> memref<?xf32>
  return
}

// -----

func.func @host_check_c1(%frame: !llvm.ptr, %n: index, %ok: i1) {
  // expected-error @+1 {{'kvern.host.check' op expected at most 3 values, but got 4}}
  kvern.host.check %frame, %ok[0](%n, %n, %n, %n) : !llvm.ptr
  return
}

// -----

func.func @index_attribute(%frame: !llvm.ptr) {
  // expected-error @+1 {{'kvern.host.symbol' op attribute 'index' failed to satisfy constraint: 64-bit signless integer attribute whose value is non-negative}}
  %0 = kvern.host.symbol %frame[-1] : !llvm.ptr
  return
}

// -----

func.func @frame_operand(%frame: index) {
  // expected-error @+1 {{'kvern.host.symbol' op operand #0 must be pointer to the frame of a run, but got 'index'}}
  %0 = kvern.host.symbol %frame[0] : index
  return
}

// -----

func.func @workspace_result(%frame: !llvm.ptr, %n: index) {
  // expected-error @+1 {{'kvern.host.workspace' op result #0 must be 1D memref of 8-bit signless integer values, but got 'memref<?xf32>'}}
  %0 = kvern.host.workspace %frame, %n : !llvm.ptr -> memref<?xf32>
  return
}
