//===- Inference.h - Shared by the result-type rules of the ops -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Result types are inferred here, in C++, and nowhere else. A rule that finds
// its operands wrong emits one diagnostic at the op's location, in the form
// "'kvern.add' op expected ..., but got ...".
//
//===----------------------------------------------------------------------===//

#ifndef KVERN_DIALECT_INFERENCE_H
#define KVERN_DIALECT_INFERENCE_H

#include "dialect/Kvern.h"

namespace kvern {

/// Where a rule reports to. Without a location it is silent.
class InferError {
public:
  InferError(std::optional<mlir::Location> location, llvm::StringRef opName)
      : location(location), opName(opName) {}

  template <typename... Args> llvm::LogicalResult operator()(Args &&...args) {
    if (location) {
      mlir::InFlightDiagnostic diagnostic = mlir::emitError(*location)
                                            << "'" << opName << "' op ";
      ((diagnostic << std::forward<Args>(args)), ...);
    }
    return llvm::failure();
  }

private:
  std::optional<mlir::Location> location;
  llvm::StringRef opName;
};

/// The text of a shape, for messages: `[batch, 64]`.
std::string toString(llvm::ArrayRef<DimAttr> shape);

/// Why there is no tensor of these sizes and elements; empty when there is one.
std::string getTypeError(llvm::ArrayRef<DimAttr> shape, mlir::Type elementType);

/// Adds the type of a tensor to `results`; fails when there is none.
llvm::LogicalResult addResult(InferError error, llvm::ArrayRef<DimAttr> shape,
                              mlir::Type elementType, DeviceAttr device,
                              llvm::SmallVectorImpl<mlir::Type> &results);
/// The same, with the element type and device of `like`.
llvm::LogicalResult addResult(InferError error, TensorType like,
                              llvm::ArrayRef<DimAttr> shape,
                              llvm::SmallVectorImpl<mlir::Type> &results);

/// The operands as tensors; fails when one is something else, which a verifier
/// has reported before.
llvm::FailureOr<llvm::SmallVector<TensorType>>
getTensorTypes(InferError error, mlir::ValueRange operands);

/// All operands on one device.
llvm::LogicalResult checkSameDevice(InferError error,
                                    llvm::ArrayRef<TensorType> types);
/// All operands of one element type.
llvm::LogicalResult checkSameElementType(InferError error,
                                         llvm::ArrayRef<TensorType> types);

/// The operands as tensors of one device.
llvm::FailureOr<llvm::SmallVector<TensorType>>
getTypesOnOneDevice(InferError error, mlir::ValueRange operands);

/// The operands as tensors of one device and element type.
llvm::FailureOr<llvm::SmallVector<TensorType>>
getUniformTypes(InferError error, mlir::ValueRange operands);

/// The two shapes aligned at the last axis; sizes equal, or one of them 1 or
/// absent.
llvm::FailureOr<llvm::SmallVector<DimAttr>>
broadcastShapes(InferError error, llvm::ArrayRef<DimAttr> lhs,
                llvm::ArrayRef<DimAttr> rhs);

/// `axis` in [0, rank).
llvm::LogicalResult checkAxis(InferError error, int64_t axis, int64_t rank);

/// The product of the sizes; null on overflow.
DimAttr getNumElements(mlir::MLIRContext *context,
                       llvm::ArrayRef<DimAttr> shape);

/// Whether a constant is small enough to be folded element by element.
inline bool isShapeArithmetic(mlir::ElementsAttr elements) {
  return elements.getNumElements() <= 1024;
}

/// ceil((stop - start) / step), 0 when that is negative; null on overflow.
DimAttr getSliceSize(DimAttr start, DimAttr stop, int64_t step);

/// The sizes that `kvern.slice` gives for these bounds.
llvm::FailureOr<llvm::SmallVector<DimAttr>>
inferSliceShape(InferError error, llvm::ArrayRef<DimAttr> shape,
                mlir::ArrayAttr starts, mlir::ArrayAttr stops,
                llvm::ArrayRef<int64_t> steps, mlir::ArrayAttr outDims,
                mlir::ValueRange bounds);

} // namespace kvern

#endif // KVERN_DIALECT_INFERENCE_H
