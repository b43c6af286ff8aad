// RUN: kvern-opt %s --kvern-convert-to-linalg -split-input-file -verify-diagnostics

func.func private @element_type(%x: !kvern.tensor<[n], f8E4M3FN, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0> attributes {kvern.kernel} {
  // expected-error@+1 {{expected element type of '!kvern.tensor<[n], f8E4M3FN, cpu:0>' to be one that the CPU target supports (i1, i8 to i64, ui8 to ui64, f16, bf16, f32, f64), but got 'f8E4M3FN'}}
  %0 = kvern.cast %x {dtype = f32} : (!kvern.tensor<[n], f8E4M3FN, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0>
  return %0 : !kvern.tensor<[n], f32, cpu:0>
}

// -----

func.func private @device(%x: !kvern.tensor<[n], f32, gpu:1>) -> !kvern.tensor<[n], f32, gpu:1> attributes {kvern.kernel} {
  // expected-error@+1 {{expected device cpu, but got gpu:1}}
  %0 = kvern.negate %x : (!kvern.tensor<[n], f32, gpu:1>) -> !kvern.tensor<[n], f32, gpu:1>
  return %0 : !kvern.tensor<[n], f32, gpu:1>
}

// -----

// expected-error@+1 {{expected kernel arguments to be tensors or buffers, but got 'f32'}}
func.func private @argument(%x: f32) attributes {kvern.kernel} {
  return
}

// -----

// expected-error@+1 {{expected a kernel of one block, but got 2}}
func.func private @blocks() attributes {kvern.kernel} {
  cf.br ^next
^next:
  return
}

// -----

func.func private @weight() -> !kvern.tensor<[2], f32, cpu:0> attributes {kvern.kernel} {
  // expected-error@+1 {{failed to legalize operation 'kvern.weight'}}
  %0 = kvern.weight {name = "w"} : !kvern.tensor<[2], f32, cpu:0>
  return %0 : !kvern.tensor<[2], f32, cpu:0>
}

// -----

// expected-error@+1 {{expected a kernel to end with func.return}}
func.func private @terminator() attributes {kvern.kernel} {
  llvm.unreachable
}
