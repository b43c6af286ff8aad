//===- Elementwise.td - One element at a time --------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_OPS_ELEMENTWISE_TD
#define KVERN_OPS_ELEMENTWISE_TD

include "dialect/KvernOpBase.td"

/// `infer` is a function of dialect/ops/Elementwise.cpp that gives the result
/// type.
class Kvern_ElementwiseOp<string mnemonic, string infer, list<Trait> traits = []>
    : Kvern_ComputeOp<mnemonic, "Elementwise", traits> {
  let results = (outs Kvern_AnyTensor:$result);
  let assemblyFormat =
      "operands attr-dict `:` functional-type(operands, results)";
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(
        ::mlir::MLIRContext *context,
        ::std::optional<::mlir::Location> location, Adaptor adaptor,
        ::llvm::SmallVectorImpl<::mlir::Type> &results) {
      return ::kvern::}] # infer # [{(
          location, getOperationName(), adaptor.getOperands(), results);
    }
  }];
}

//===----------------------------------------------------------------------===//
// One operand
//===----------------------------------------------------------------------===//

class Kvern_UnaryOp<string mnemonic, Type operand, string what, string formula>
    : Kvern_ElementwiseOp<mnemonic, "inferSameType"> {
  let summary = what;
  let description = "\n    " # formula # [{

    The result has the shape and element type of the operand. `f16` and `bf16`
    are computed in `f32`.

    ```mlir
    %1 = kvern.}] # mnemonic # [{ %0 : (!kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0>
    ```
  }];
  let arguments = (ins operand:$x);
}

class Kvern_FloatUnaryOp<string mnemonic, string what, string formula>
    : Kvern_UnaryOp<mnemonic, Kvern_FloatTensor, what, formula>;
class Kvern_NumberUnaryOp<string mnemonic, string what, string formula>
    : Kvern_UnaryOp<mnemonic, Kvern_NumberTensor, what, formula>;

def Kvern_AcosOp : Kvern_FloatUnaryOp<"acos", "Arc cosine",
    "`acos(clamp(x, -1, 1))`, in radians from 0 to pi.">;
def Kvern_AtanhOp : Kvern_FloatUnaryOp<"atanh", "Inverse hyperbolic tangent",
    "`atanh(x)`, for x from -1 to 1.">;
def Kvern_CeilOp : Kvern_FloatUnaryOp<"ceil", "Ceiling",
    "The smallest integer that is not below x.">;
def Kvern_CosOp : Kvern_FloatUnaryOp<"cos", "Cosine",
    "`cos(x)`, x in radians.">;
def Kvern_ErfOp : Kvern_FloatUnaryOp<"erf", "Error function",
    "`erf(x) = 2 / sqrt(pi) * integral of exp(-t^2) from 0 to x`.">;
def Kvern_ExpOp : Kvern_FloatUnaryOp<"exp", "Exponential",
    "`e^x`.">;
def Kvern_FloorOp : Kvern_FloatUnaryOp<"floor", "Floor",
    "The largest integer that is not above x.">;
def Kvern_LogOp : Kvern_FloatUnaryOp<"log", "Natural logarithm",
    "`ln(x)`; NaN below 0 and minus infinity at 0.">;
def Kvern_Log1pOp : Kvern_FloatUnaryOp<"log1p", "Logarithm of 1 + x",
    "`ln(1 + x)`, accurate near 0.">;
def Kvern_RoundOp : Kvern_FloatUnaryOp<"round", "Nearest integer",
    "The nearest integer; halfway cases go to the even one.">;
def Kvern_RsqrtOp : Kvern_FloatUnaryOp<"rsqrt", "Reciprocal square root",
    "`1 / sqrt(x)`.">;
def Kvern_SigmoidOp : Kvern_FloatUnaryOp<"sigmoid", "Logistic function",
    "`1 / (1 + e^-x)`.">;
def Kvern_SiluOp : Kvern_FloatUnaryOp<"silu", "Sigmoid linear unit",
    "`x / (1 + e^-x)` (Elfwing et al., 2017).">;
def Kvern_SinOp : Kvern_FloatUnaryOp<"sin", "Sine",
    "`sin(x)`, x in radians.">;
def Kvern_SqrtOp : Kvern_FloatUnaryOp<"sqrt", "Square root",
    "`sqrt(x)`; NaN below 0.">;
def Kvern_TanhOp : Kvern_FloatUnaryOp<"tanh", "Hyperbolic tangent",
    "`tanh(x)`.">;
def Kvern_TruncOp : Kvern_FloatUnaryOp<"trunc", "Truncation",
    "The integer part of x.">;
def Kvern_AbsOp : Kvern_NumberUnaryOp<"abs", "Absolute value",
    "`|x|`. The smallest signed integer is its own absolute value.">;
def Kvern_NegateOp : Kvern_NumberUnaryOp<"negate", "Negation",
    "`-x`, modulo 2^bits for integers.">;
def Kvern_ReluOp : Kvern_NumberUnaryOp<"relu", "Rectified linear unit",
    "`max(x, 0)`.">;

def Kvern_GeluOp : Kvern_ComputeOp<"gelu", "Elementwise"> {
  let summary = "Gaussian error linear unit";
  let description = [{
    Hendrycks and Gimpel, 2016. By `approximate`:

    - `none`: `x / 2 * (1 + erf(x / sqrt(2)))`
    - `tanh`: `x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))`
    - `quick`: `x * sigmoid(1.702 x)`

    Constraints:

    - gelu_c1: `approximate` is one of those

    ```mlir
    %1 = kvern.gelu %0 {approximate = "tanh"} : (!kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0>
    ```
  }];
  let arguments = (ins Kvern_FloatTensor:$x,
                       DefaultValuedAttr<StrAttr, "\"none\"">:$approximate);
  let results = (outs Kvern_AnyTensor:$result);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

class Kvern_PredicateOp<string mnemonic, string what, string formula>
    : Kvern_ElementwiseOp<mnemonic, "inferPredicate"> {
  let summary = what;
  let description = "\n    " # formula # [{ The result is `i1` in the shape of the operand.

    ```mlir
    %1 = kvern.}] # mnemonic # [{ %0 : (!kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[n], i1, cpu:0>
    ```
  }];
  let arguments = (ins Kvern_FloatTensor:$x);
}

def Kvern_IsInfOp : Kvern_PredicateOp<"is_inf", "Test for infinity",
    "True where x is plus or minus infinity.">;
def Kvern_IsNanOp : Kvern_PredicateOp<"is_nan", "Test for not-a-number",
    "True where x is NaN.">;

def Kvern_LogicalNotOp : Kvern_UnaryOp<"logical_not", Kvern_BoolTensor,
    "Logical negation", "True where x is false."> {
  let description = [{
    True where x is false.

    ```mlir
    %1 = kvern.logical_not %0 : (!kvern.tensor<[n], i1, cpu:0>) -> !kvern.tensor<[n], i1, cpu:0>
    ```
  }];
}

def Kvern_CastOp : Kvern_ComputeOp<"cast", "Elementwise"> {
  let summary = "Change of element type";
  let description = [{
    Converts each element to `dtype`. To a narrower float: round to nearest
    even. Float to integer: towards zero; what does not fit saturates and NaN
    gives 0. Integer to integer: modulo 2^bits. To `i1`: `x != 0`.

    Constraints:

    - cast_c1: `dtype` is an element type of tensors

    ```mlir
    %1 = kvern.cast %0 {dtype = bf16} : (!kvern.tensor<[n], f32, cpu:0>) -> !kvern.tensor<[n], bf16, cpu:0>
    ```
  }];
  let arguments = (ins Kvern_AnyTensor:$x, TypeAttr:$dtype);
  let results = (outs Kvern_AnyTensor:$result);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Two operands
//===----------------------------------------------------------------------===//

class Kvern_BinaryOpBase<string mnemonic, string infer, Type operand,
                         list<Trait> traits>
    : Kvern_ElementwiseOp<mnemonic, infer, traits> {
  let arguments = (ins operand:$lhs, operand:$rhs);
}

class Kvern_BinaryOp<string mnemonic, Type operand, string what, string formula,
                     list<Trait> traits = []>
    : Kvern_BinaryOpBase<mnemonic, "inferBroadcast", operand, traits> {
  let summary = what;
  let description = "\n    " # formula # [{

    The operands have one element type and one device; their shapes are aligned
    at the last axis and broadcast.

    Constraints:
  }] # Kvern_Broadcast # [{

    ```mlir
    %2 = kvern.}] # mnemonic # [{ %0, %1 : (!kvern.tensor<[n, 4], f32, cpu:0>, !kvern.tensor<[4], f32, cpu:0>) -> !kvern.tensor<[n, 4], f32, cpu:0>
    ```
  }];
}

class Kvern_CompareOp<string mnemonic, Type operand, string what, string formula,
                      list<Trait> traits = []>
    : Kvern_BinaryOpBase<mnemonic, "inferCompare", operand, traits> {
  let summary = what;
  let description = "\n    " # formula # [{

    Broadcasts like `kvern.add`; the result is `i1`. A comparison with NaN is
    false, except that NaN is not equal to anything.

    Constraints:
  }] # Kvern_Broadcast # [{

    ```mlir
    %2 = kvern.}] # mnemonic # [{ %0, %1 : (!kvern.tensor<[n, 4], f32, cpu:0>, !kvern.tensor<[4], f32, cpu:0>) -> !kvern.tensor<[n, 4], i1, cpu:0>
    ```
  }];
}

class Kvern_LogicalOp<string mnemonic, string what, string formula>
    : Kvern_BinaryOpBase<mnemonic, "inferBroadcast", Kvern_BoolTensor,
                         [Commutative]> {
  let summary = what;
  let description = "\n    " # formula # [{ Broadcasts like `kvern.add`.

    Constraints:
  }] # Kvern_Broadcast # [{

    ```mlir
    %2 = kvern.}] # mnemonic # [{ %0, %1 : (!kvern.tensor<[n], i1, cpu:0>, !kvern.tensor<[n], i1, cpu:0>) -> !kvern.tensor<[n], i1, cpu:0>
    ```
  }];
}

def Kvern_AddOp : Kvern_BinaryOp<"add", Kvern_NumberTensor, "Sum",
    "`lhs + rhs`, modulo 2^bits for integers.", [Commutative]> {
  let hasFolder = 1;
}
def Kvern_SubOp : Kvern_BinaryOp<"sub", Kvern_NumberTensor, "Difference",
    "`lhs - rhs`, modulo 2^bits for integers."> {
  let hasFolder = 1;
}
def Kvern_MulOp : Kvern_BinaryOp<"mul", Kvern_NumberTensor, "Product",
    "`lhs * rhs`, modulo 2^bits for integers.", [Commutative]> {
  let hasFolder = 1;
}
def Kvern_DivOp : Kvern_BinaryOp<"div", Kvern_NumberTensor, "Quotient",
    "`lhs / rhs`. Integers are divided towards zero; an integer divided by zero gives 0."> {
  let hasFolder = 1;
}
def Kvern_FloorDivOp : Kvern_BinaryOp<"floor_div", Kvern_NumberTensor, "Quotient rounded down",
    "`floor(lhs / rhs)`. An integer divided by zero gives 0.">;
def Kvern_ModOp : Kvern_BinaryOp<"mod", Kvern_NumberTensor, "Remainder",
    "`lhs - floor(lhs / rhs) * rhs`, with the sign of rhs. An integer modulo zero gives 0.">;
def Kvern_PowOp : Kvern_BinaryOp<"pow", Kvern_NumberTensor, "Power",
    "`lhs ^ rhs`. Integers: modulo 2^bits; a negative exponent gives 0 unless lhs is 1 or -1.">;
def Kvern_MaxOp : Kvern_BinaryOp<"max", Kvern_NumberTensor, "Larger of two",
    "`max(lhs, rhs)`; NaN when either is NaN.", [Commutative]>;
def Kvern_MinOp : Kvern_BinaryOp<"min", Kvern_NumberTensor, "Smaller of two",
    "`min(lhs, rhs)`; NaN when either is NaN.", [Commutative]>;

def Kvern_EqualOp : Kvern_CompareOp<"equal", Kvern_AnyTensor, "Equality",
    "True where lhs and rhs are equal.", [Commutative]>;
def Kvern_NotEqualOp : Kvern_CompareOp<"not_equal", Kvern_AnyTensor, "Inequality",
    "True where lhs and rhs differ.", [Commutative]>;
def Kvern_GreaterOp : Kvern_CompareOp<"greater", Kvern_NumberTensor, "Greater than",
    "True where lhs is above rhs.">;
def Kvern_GreaterEqualOp : Kvern_CompareOp<"greater_equal", Kvern_NumberTensor, "Greater than or equal",
    "True where lhs is not below rhs.">;

def Kvern_LogicalAndOp : Kvern_LogicalOp<"logical_and", "Conjunction",
    "True where both are true.">;
def Kvern_LogicalOrOp : Kvern_LogicalOp<"logical_or", "Disjunction",
    "True where at least one is true.">;
def Kvern_LogicalXorOp : Kvern_LogicalOp<"logical_xor", "Exclusive disjunction",
    "True where exactly one is true.">;

def Kvern_WhereOp : Kvern_ElementwiseOp<"where", "inferWhere"> {
  let summary = "Choice between two";
  let description = [{
    `x` where `condition` is true, else `y`. All three broadcast; `x` and `y`
    have one element type.

    Constraints:
  }] # Kvern_Broadcast # [{

    ```mlir
    %3 = kvern.where %0, %1, %2 : (!kvern.tensor<[n], i1, cpu:0>, !kvern.tensor<[n], f32, cpu:0>, !kvern.tensor<[], f32, cpu:0>) -> !kvern.tensor<[n], f32, cpu:0>
    ```
  }];
  let arguments = (ins Kvern_BoolTensor:$condition, Kvern_AnyTensor:$x,
                       Kvern_AnyTensor:$y);
}

#endif // KVERN_OPS_ELEMENTWISE_TD
