//===- Reduction.td - Along one axis -----------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_OPS_REDUCTION_TD
#define KVERN_OPS_REDUCTION_TD

include "dialect/KvernOpBase.td"

class Kvern_ReductionOp<string mnemonic, string infer, Type operand, string what,
                        string formula>
    : Kvern_ComputeOp<mnemonic, "Reduction"> {
  let summary = what;
  let description = "\n    " # formula # [{

    `axis` counts from 0. `f16` and `bf16` are accumulated in `f32`.

    Constraints:
  }] # Kvern_Axis # !if(!eq(infer, "inferArgReduction"), [{
    - arg_reduction_c1: the axis is not known to be empty}], "") # [{

    ```mlir
    %1 = kvern.}] # mnemonic # [{ %0 {axis = 1 : i64} : (!kvern.tensor<[n, 64], f32, cpu:0>) -> }]
    # !if(!eq(infer, "inferSameShape"),
          "!kvern.tensor<[n, 64], f32, cpu:0>",
          !if(!eq(infer, "inferArgReduction"),
              "!kvern.tensor<[n, 1], i64, cpu:0>",
              "!kvern.tensor<[n, 1], f32, cpu:0>")) # [{
    ```
  }];
  let arguments = (ins operand:$x, I64Attr:$axis);
  let results = (outs Kvern_AnyTensor:$result);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(
        ::mlir::MLIRContext *context,
        ::std::optional<::mlir::Location> location, Adaptor adaptor,
        ::llvm::SmallVectorImpl<::mlir::Type> &results) {
      return ::kvern::}] # infer # [{(
          location, getOperationName(), adaptor.getX(), adaptor.getAxis(),
          results);
    }
  }];
}

def Kvern_SumOp : Kvern_ReductionOp<"sum", "inferReduction", Kvern_NumberTensor, "Sum along an axis",
    "The sum of the elements along `axis`, which stays with size 1; 0 when the axis is empty.">;
def Kvern_MeanOp : Kvern_ReductionOp<"mean", "inferReduction", Kvern_FloatTensor, "Mean along an axis",
    "The mean of the elements along `axis`, which stays with size 1; NaN when the axis is empty.">;
def Kvern_ProdOp : Kvern_ReductionOp<"prod", "inferReduction", Kvern_NumberTensor, "Product along an axis",
    "The product of the elements along `axis`, which stays with size 1; 1 when the axis is empty.">;
def Kvern_ReduceMaxOp : Kvern_ReductionOp<"reduce_max", "inferReduction", Kvern_NumberTensor, "Maximum along an axis",
    "The largest element along `axis`, which stays with size 1; NaN wins. The lowest value of the element type when the axis is empty.">;
def Kvern_ReduceMinOp : Kvern_ReductionOp<"reduce_min", "inferReduction", Kvern_NumberTensor, "Minimum along an axis",
    "The smallest element along `axis`, which stays with size 1; NaN wins. The highest value of the element type when the axis is empty.">;
def Kvern_ArgmaxOp : Kvern_ReductionOp<"argmax", "inferArgReduction", Kvern_NumberTensor, "Place of the maximum",
    "The index (`i64`) of the first largest element along `axis`, which stays with size 1. NaN counts as largest.">;
def Kvern_ArgminOp : Kvern_ReductionOp<"argmin", "inferArgReduction", Kvern_NumberTensor, "Place of the minimum",
    "The index (`i64`) of the first smallest element along `axis`, which stays with size 1. NaN counts as smallest.">;
def Kvern_SoftmaxOp : Kvern_ReductionOp<"softmax", "inferSameShape", Kvern_FloatTensor, "Softmax",
    "`exp(x - m) / sum(exp(x - m))` along `axis`, where m is the maximum along it.">;
def Kvern_LogsoftmaxOp : Kvern_ReductionOp<"logsoftmax", "inferSameShape", Kvern_FloatTensor, "Logarithm of softmax",
    "`x - m - ln(sum(exp(x - m)))` along `axis`, where m is the maximum along it.">;

#endif // KVERN_OPS_REDUCTION_TD
