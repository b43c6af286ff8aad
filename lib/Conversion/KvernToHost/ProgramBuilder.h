//===- ProgramBuilder.h - Builds one host program --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_LIB_CONVERSION_KVERNTOHOST_PROGRAMBUILDER_H
#define KVERN_LIB_CONVERSION_KVERNTOHOST_PROGRAMBUILDER_H

#include "dialect/Kvern.h"
#include "lib/Conversion/KvernToHost/StepTable.h"
#include "lib/Conversion/KvernToHost/WeightTable.h"
#include "lib/Support/DimNames.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace kvern {

/// Turns a graph whose compute is all in kernels into a program for the
/// runtime: `func.func @graph_name(%frame: !llvm.ptr) -> i32`, which fetches
/// inputs and weights, allocates, checks, and calls kernels.
class ProgramBuilder {
public:
  ProgramBuilder(mlir::func::FuncOp graph, const mlir::SymbolTable &kernels,
                 WeightTable &weights);

  /// Puts the program before the graph and gives it the attribute
  /// `kvern.program`, the manifest of the program. Fails with a diagnostic.
  llvm::LogicalResult run();

private:
  llvm::LogicalResult checkDevices();
  void bindInputs();
  /// Fails when a dimension name of the op, or of `dim`, has no value yet.
  llvm::LogicalResult checkNames(mlir::Operation &op);
  llvm::LogicalResult checkNames(mlir::Operation *op, DimAttr dim);
  llvm::LogicalResult convert(mlir::Operation &op);
  llvm::LogicalResult convertCall(CallOp call);
  void convertView(mlir::Operation &op);
  llvm::LogicalResult convertRebind(RebindOp op);
  llvm::LogicalResult convertCheck(CheckSizesOp op);
  llvm::LogicalResult convertCheck(CheckIndicesOp op);
  llvm::LogicalResult convertCheck(CheckSliceOp op);
  void convertReturn(mlir::func::ReturnOp op);

  /// The memory for a result: that of an output when the value, or a view of
  /// it, is one; else an allocation.
  mlir::Value allocate(mlir::Value result);
  mlir::Value createOutput(mlir::Location loc, int64_t index);
  /// `memory` seen as a contiguous memref of another shape.
  mlir::Value viewAs(mlir::Location loc, mlir::Value memory, mlir::Type type);
  llvm::SmallVector<mlir::Value> getDynamicSizes(mlir::Location loc,
                                                 mlir::Type type);
  bool areKnown(mlir::Type type) const;
  void addCheck(mlir::Operation *op, mlir::Value condition,
                mlir::ValueRange values, llvm::StringRef kind,
                const llvm::Twine &message);
  mlir::Value constant(mlir::Location loc, int64_t value);
  /// The number in a tensor of one element.
  mlir::Value loadScalar(mlir::Location loc, mlir::Value tensor);
  mlir::DictionaryAttr getManifest();

  mlir::func::FuncOp graph;
  const mlir::SymbolTable &kernels;
  WeightTable &weightTable;
  mlir::OpBuilder builder;
  mlir::func::FuncOp program;
  mlir::Value frame;
  mlir::DenseMap<mlir::Value, mlir::Value> memory;
  DimValues dims;
  /// The outputs that a value is written to directly.
  llvm::DenseMap<mlir::Value, int64_t> outputOf;
  llvm::SmallVector<mlir::Value> outputs;
  /// The numbers of weights in the table.
  llvm::DenseMap<mlir::Value, int64_t> weightOf;
  llvm::SmallVector<int64_t> weights;
  llvm::SmallVector<mlir::Attribute> symbols;
  llvm::SmallVector<mlir::Attribute> checks;
  StepTable steps;
  int64_t numInputSymbols = 0;
};

} // namespace kvern

#endif // KVERN_LIB_CONVERSION_KVERNTOHOST_PROGRAMBUILDER_H
