//===- GraphBuilder.h - Ops of graphs by what they do ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_LIB_TRANSFORMS_GRAPHBUILDER_H
#define KVERN_LIB_TRANSFORMS_GRAPHBUILDER_H

#include "dialect/Kvern.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace kvern {

/// What the passes share that replace an op by others of the graph.
class GraphBuilder : public mlir::ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  static llvm::ArrayRef<DimAttr> shapeOf(mlir::Value value) {
    return llvm::cast<TensorType>(value.getType()).getShape();
  }
  DimAttr dim(int64_t size) { return DimAttr::getStatic(getContext(), size); }

  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<DimAttr> shape);
  mlir::Value permute(mlir::Value value, llvm::ArrayRef<int64_t> order);
  /// Elements from `from` to below `to` along an axis.
  mlir::Value slice(mlir::Value value, size_t axis, int64_t from, int64_t to);
};

} // namespace kvern

#endif // KVERN_LIB_TRANSFORMS_GRAPHBUILDER_H
