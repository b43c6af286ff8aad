//===- KvernDialect.td - The kvern dialect ------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_DIALECT_TD
#define KVERN_DIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/DialectBase.td"

def Kvern_Dialect : Dialect {
  let name = "kvern";
  let cppNamespace = "::kvern";
  let summary = "Neural-network graphs with named dimensions.";
  let description = [{
    The dialect holds a neural network as its author wrote it: one op for each
    operation of the Python API, on tensors whose sizes are numbers, names or
    expressions over names. A graph is a public `func.func` on these types;
    repeated blocks are private functions reached through `kvern.call`.

    Integers without a sign (`i32`) are signed; unsigned ones are spelled out
    (`ui32`). `i1` is the boolean type.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let dependentDialects = ["::mlir::func::FuncDialect"];
  let extraClassDeclaration = [{
    void registerAttributes();
    void registerTypes();
    // One a family; each is defined beside the ops it registers.
    void registerElementwiseOps();
    void registerContractionOps();
    void registerReductionOps();
    void registerNormOps();
    void registerShapeOps();
    void registerIndexingOps();
    void registerConstantOps();
    void registerCallOps();
    void registerBufferOps();
    void registerCheckOps();
    void registerHostOps();
    void registerPackedOps();
    void registerDerivedOps();
    void registerAttentionOps();
    void registerKVCacheOps();
    void registerSamplingOps();
    void registerConvolutionOps();
    void registerPoolingOps();
    void registerQuantOps();
    void registerParallelOps();
    void registerTraceOps();
  }];
}

#endif // KVERN_DIALECT_TD
