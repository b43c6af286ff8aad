// RUN: kvern-opt %s -canonicalize -cse | FileCheck %s

!x = !kvern.tensor<[n], f32, cpu:0>
!i = !kvern.tensor<[n], i32, cpu:0>
!s = !kvern.tensor<[], f32, cpu:0>
!si = !kvern.tensor<[], i32, cpu:0>

// CHECK-LABEL: func.func @identity_float
func.func @identity_float(%x: !x) -> (!x, !x, !x, !x, !x) {
  // x + 0.0 is not x where x is -0.0.
  // CHECK-DAG: %[[ZERO:.*]] = kvern.constant {{.*}} dense<0.000000e+00>
  // CHECK-DAG: %[[SUM:.*]] = kvern.add %arg0, %[[ZERO]]
  // CHECK: return %[[SUM]], %arg0, %arg0, %arg0, %arg0
  %zero = kvern.constant {value = dense<0.0> : tensor<f32>, device = #kvern.device<cpu:0>} : () -> !s
  %one = kvern.constant {value = dense<1.0> : tensor<f32>, device = #kvern.device<cpu:0>} : () -> !s
  %0 = kvern.add %x, %zero : (!x, !s) -> !x
  %1 = kvern.sub %x, %zero : (!x, !s) -> !x
  %2 = kvern.mul %x, %one : (!x, !s) -> !x
  %3 = kvern.mul %one, %x : (!s, !x) -> !x
  %4 = kvern.div %x, %one : (!x, !s) -> !x
  return %0, %1, %2, %3, %4 : !x, !x, !x, !x, !x
}

// CHECK-LABEL: func.func @identity_integer
func.func @identity_integer(%x: !i) -> (!i, !i, !i, !i, !i) {
  // CHECK-NEXT: return %arg0, %arg0, %arg0, %arg0, %arg0
  %zero = kvern.constant {value = dense<0> : tensor<i32>, device = #kvern.device<cpu:0>} : () -> !si
  %one = kvern.constant {value = dense<1> : tensor<i32>, device = #kvern.device<cpu:0>} : () -> !si
  %0 = kvern.add %zero, %x : (!si, !i) -> !i
  %1 = kvern.sub %x, %zero : (!i, !si) -> !i
  %2 = kvern.mul %x, %one : (!i, !si) -> !i
  %3 = kvern.div %x, %one : (!i, !si) -> !i
  %4 = kvern.cast %3 {dtype = i32} : (!i) -> !i
  return %0, %1, %2, %3, %4 : !i, !i, !i, !i, !i
}

// An operand that broadcasts is not the result.
// CHECK-LABEL: func.func @broadcast
func.func @broadcast(%x: !si) -> !kvern.tensor<[4], i32, cpu:0> {
  // CHECK: %[[SUM:.*]] = kvern.add %arg0
  // CHECK: return %[[SUM]]
  %zero = kvern.constant {value = dense<0> : tensor<4xi32>, device = #kvern.device<cpu:0>} : () -> !kvern.tensor<[4], i32, cpu:0>
  %0 = kvern.add %x, %zero : (!si, !kvern.tensor<[4], i32, cpu:0>) -> !kvern.tensor<[4], i32, cpu:0>
  return %0 : !kvern.tensor<[4], i32, cpu:0>
}

!b = !kvern.tensor<[3], i8, cpu:0>
!u = !kvern.tensor<[3], ui8, cpu:0>

// CHECK-LABEL: func.func @signed
func.func @signed() -> (!b, !b, !b, !b) {
  // CHECK-DAG: %[[SUM:.*]] = kvern.constant {{.*}} dense<[127, 127, -5]>
  // CHECK-DAG: %[[DIFFERENCE:.*]] = kvern.constant {{.*}} dense<[-127, 127, -9]>
  // CHECK-DAG: %[[PRODUCT:.*]] = kvern.constant {{.*}} dense<[-128, 0, -14]>
  // CHECK-DAG: %[[QUOTIENT:.*]] = kvern.constant {{.*}} dense<[-128, 0, -3]>
  // CHECK: return %[[SUM]], %[[DIFFERENCE]], %[[PRODUCT]], %[[QUOTIENT]]
  %a = kvern.constant {value = dense<[-128, 127, -7]> : tensor<3xi8>, device = #kvern.device<cpu:0>} : () -> !b
  %c = kvern.constant {value = dense<[-1, 0, 2]> : tensor<3xi8>, device = #kvern.device<cpu:0>} : () -> !b
  %0 = kvern.add %a, %c : (!b, !b) -> !b
  %1 = kvern.sub %a, %c : (!b, !b) -> !b
  %2 = kvern.mul %a, %c : (!b, !b) -> !b
  %3 = kvern.div %a, %c : (!b, !b) -> !b
  return %0, %1, %2, %3 : !b, !b, !b, !b
}

// CHECK-LABEL: func.func @unsigned
func.func @unsigned() -> (!u, !kvern.tensor<[3], i16, cpu:0>) {
  // CHECK-DAG: %[[DIV:.*]] = kvern.constant {{.*}} dense<[127, 0, 1]> : tensor<3xui8>
  // CHECK-DAG: %[[WIDE:.*]] = kvern.constant {{.*}} dense<[255, 5, 200]> : tensor<3xi16>
  // CHECK: return %[[DIV]], %[[WIDE]]
  %a = kvern.constant {value = dense<[255, 5, 200]> : tensor<3xui8>, device = #kvern.device<cpu:0>} : () -> !u
  %c = kvern.constant {value = dense<[2, 0, 200]> : tensor<3xui8>, device = #kvern.device<cpu:0>} : () -> !u
  %0 = kvern.div %a, %c : (!u, !u) -> !u
  %1 = kvern.cast %a {dtype = i16} : (!u) -> !kvern.tensor<[3], i16, cpu:0>
  return %0, %1 : !u, !kvern.tensor<[3], i16, cpu:0>
}

// CHECK-LABEL: func.func @cast
func.func @cast() -> (!kvern.tensor<[2], i8, cpu:0>, !kvern.tensor<[2], i64, cpu:0>, !kvern.tensor<[2], i1, cpu:0>, !kvern.tensor<[2], f32, cpu:0>) {
  // Only integers are folded, and not to bool, which is no remainder.
  // CHECK-DAG: %[[X:.*]] = kvern.constant {{.*}} dense<[-1, 300]> : tensor<2xi32>
  // CHECK-DAG: %[[NARROW:.*]] = kvern.constant {{.*}} dense<[-1, 44]> : tensor<2xi8>
  // CHECK-DAG: %[[WIDE:.*]] = kvern.constant {{.*}} dense<[-1, 300]> : tensor<2xi64>
  // CHECK-DAG: %[[BOOL:.*]] = kvern.cast %[[X]] {dtype = i1}
  // CHECK-DAG: %[[FLOAT:.*]] = kvern.cast %[[X]] {dtype = f32}
  // CHECK: return %[[NARROW]], %[[WIDE]], %[[BOOL]], %[[FLOAT]]
  %x = kvern.constant {value = dense<[-1, 300]> : tensor<2xi32>, device = #kvern.device<cpu:0>} : () -> !kvern.tensor<[2], i32, cpu:0>
  %0 = kvern.cast %x {dtype = i8} : (!kvern.tensor<[2], i32, cpu:0>) -> !kvern.tensor<[2], i8, cpu:0>
  %1 = kvern.cast %x {dtype = i64} : (!kvern.tensor<[2], i32, cpu:0>) -> !kvern.tensor<[2], i64, cpu:0>
  %2 = kvern.cast %x {dtype = i1} : (!kvern.tensor<[2], i32, cpu:0>) -> !kvern.tensor<[2], i1, cpu:0>
  %3 = kvern.cast %x {dtype = f32} : (!kvern.tensor<[2], i32, cpu:0>) -> !kvern.tensor<[2], f32, cpu:0>
  return %0, %1, %2, %3 : !kvern.tensor<[2], i8, cpu:0>, !kvern.tensor<[2], i64, cpu:0>, !kvern.tensor<[2], i1, cpu:0>, !kvern.tensor<[2], f32, cpu:0>
}

!large = !kvern.tensor<[10000000000], i64, cpu:0>

// Data is not folded; that would have to be stored.
// CHECK-LABEL: func.func @large
func.func @large() -> !large {
  // CHECK: kvern.add
  %x = kvern.constant {value = dense<1> : tensor<10000000000xi64>, device = #kvern.device<cpu:0>} : () -> !large
  %0 = kvern.add %x, %x : (!large, !large) -> !large
  return %0 : !large
}

// CHECK-LABEL: func.func @common
func.func @common(%x: !x, %y: !x) -> !x {
  // CHECK-NEXT: %[[SUM:.*]] = kvern.add %arg0, %arg1
  // CHECK-NEXT: %[[PRODUCT:.*]] = kvern.mul %[[SUM]], %[[SUM]]
  // CHECK-NEXT: return %[[PRODUCT]]
  %0 = kvern.add %x, %y : (!x, !x) -> !x
  %1 = kvern.add %y, %x : (!x, !x) -> !x
  %2 = kvern.exp %y : (!x) -> !x
  %3 = kvern.mul %0, %1 : (!x, !x) -> !x
  return %3 : !x
}
