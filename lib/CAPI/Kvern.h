// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// C API of the dialect: dimensions, shapes, devices, types, calls.
//
// An attribute or type of the wrong kind is a programming error, except where
// a function asks for the kind. Names are views of memory owned by the context.
#ifndef KVERN_LIB_CAPI_KVERN_H
#define KVERN_LIB_CAPI_KVERN_H

#include "mlir-c/IR.h"
#include "mlir-c/Support.h"

#ifdef __cplusplus
extern "C" {
#endif

//===----------------------------------------------------------------------===//
// Dimensions
//===----------------------------------------------------------------------===//

typedef enum KvernDimOp {
  KvernDimAdd,
  KvernDimMul,
  KvernDimFloorDiv,
  KvernDimCeilDiv,
  KvernDimMod,
} KvernDimOp;

MLIR_CAPI_EXPORTED bool kvernAttributeIsADim(MlirAttribute attr);
MLIR_CAPI_EXPORTED MlirTypeID kvernDimAttrGetTypeID(void);
MLIR_CAPI_EXPORTED MlirAttribute kvernDimAttrGetStatic(MlirContext context,
                                                       int64_t value);
/// `name` is not empty.
MLIR_CAPI_EXPORTED MlirAttribute kvernDimAttrGetSymbol(MlirContext context,
                                                       MlirStringRef name);
/// Null on overflow and on division by zero.
MLIR_CAPI_EXPORTED MlirAttribute kvernDimAttrCombine(KvernDimOp op,
                                                     MlirAttribute lhs,
                                                     MlirAttribute rhs);
/// Whether the dimension is a number, which is then stored in `value`.
MLIR_CAPI_EXPORTED bool kvernDimAttrGetStaticValue(MlirAttribute dim,
                                                   int64_t *value);
/// The name of a dimension that is just one; else an empty string.
MLIR_CAPI_EXPORTED MlirStringRef kvernDimAttrGetSymbolName(MlirAttribute dim);
MLIR_CAPI_EXPORTED intptr_t kvernDimAttrGetNumSymbols(MlirAttribute dim);
MLIR_CAPI_EXPORTED MlirStringRef kvernDimAttrGetSymbolAt(MlirAttribute dim,
                                                         intptr_t index);
/// Every `names[i]` replaced by `dims[i]`; null on overflow and on division by
/// zero.
MLIR_CAPI_EXPORTED MlirAttribute
kvernDimAttrSubstitute(MlirAttribute dim, intptr_t count,
                       const MlirStringRef *names, const MlirAttribute *dims);
/// The expression without `#kvern.dim<...>`.
MLIR_CAPI_EXPORTED void kvernDimAttrPrintExpr(MlirAttribute dim,
                                              MlirStringCallback callback,
                                              void *userData);

//===----------------------------------------------------------------------===//
// Shapes and devices
//===----------------------------------------------------------------------===//

MLIR_CAPI_EXPORTED bool kvernAttributeIsAShape(MlirAttribute attr);
MLIR_CAPI_EXPORTED MlirTypeID kvernShapeAttrGetTypeID(void);
MLIR_CAPI_EXPORTED MlirAttribute kvernShapeAttrGet(MlirContext context,
                                                   intptr_t rank,
                                                   const MlirAttribute *dims);
MLIR_CAPI_EXPORTED intptr_t kvernShapeAttrGetRank(MlirAttribute shape);
MLIR_CAPI_EXPORTED MlirAttribute kvernShapeAttrGetDim(MlirAttribute shape,
                                                      intptr_t axis);

MLIR_CAPI_EXPORTED bool kvernAttributeIsADevice(MlirAttribute attr);
MLIR_CAPI_EXPORTED MlirTypeID kvernDeviceAttrGetTypeID(void);
MLIR_CAPI_EXPORTED MlirAttribute kvernDeviceAttrGet(MlirContext context,
                                                    bool isGPU, int64_t id);
MLIR_CAPI_EXPORTED bool kvernDeviceAttrIsGPU(MlirAttribute device);
MLIR_CAPI_EXPORTED int64_t kvernDeviceAttrGetId(MlirAttribute device);

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

MLIR_CAPI_EXPORTED bool kvernTypeIsATensor(MlirType type);
MLIR_CAPI_EXPORTED bool kvernTypeIsABuffer(MlirType type);
MLIR_CAPI_EXPORTED MlirTypeID kvernTensorTypeGetTypeID(void);
MLIR_CAPI_EXPORTED MlirTypeID kvernBufferTypeGetTypeID(void);
/// Null, after a diagnostic at `location`, when the type would be invalid.
MLIR_CAPI_EXPORTED MlirType kvernTensorTypeGetChecked(MlirLocation location,
                                                      intptr_t rank,
                                                      const MlirAttribute *dims,
                                                      MlirType elementType,
                                                      MlirAttribute device);
MLIR_CAPI_EXPORTED MlirType kvernBufferTypeGetChecked(MlirLocation location,
                                                      intptr_t rank,
                                                      const MlirAttribute *dims,
                                                      MlirType elementType,
                                                      MlirAttribute device);
/// Of a tensor or a buffer.
MLIR_CAPI_EXPORTED intptr_t kvernShapedTypeGetRank(MlirType type);
MLIR_CAPI_EXPORTED MlirAttribute kvernShapedTypeGetDim(MlirType type,
                                                       intptr_t axis);
MLIR_CAPI_EXPORTED MlirType kvernShapedTypeGetElementType(MlirType type);
MLIR_CAPI_EXPORTED MlirAttribute kvernShapedTypeGetDevice(MlirType type);

/// What a paged cache holds; `granularity` is 0 without scales.
typedef struct {
  MlirAttribute sequences;
  int64_t layers, pageSize, heads, headDim;
  bool isLatent;
  MlirType elementType;
  int64_t granularity;
  MlirAttribute device;
} KvernPagedCache;
MLIR_CAPI_EXPORTED bool kvernTypeIsAPagedCache(MlirType type);
MLIR_CAPI_EXPORTED MlirTypeID kvernPagedCacheTypeGetTypeID(void);
MLIR_CAPI_EXPORTED KvernPagedCache kvernPagedCacheTypeGet(MlirType type);

/// A line of the table of what caches can be; `support` is 0 for exact, 1 for
/// bounded, 2 for refused, and `text` the bound or the reason.
typedef struct {
  MlirStringRef elementType, mask, heads;
  bool isQuantized, evicts;
  int support;
  MlirStringRef text;
} KvernCacheCombination;
MLIR_CAPI_EXPORTED void kvernListCacheCombinations(
    MlirContext context,
    void (*callback)(const KvernCacheCombination *line, void *userData),
    void *userData);

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// Calls `callback` with each result type of a `kvern.call` of `callee` (a
/// func.func) on operands of the given types. Fails, after a diagnostic at
/// `location`, when they do not match its arguments.
MLIR_CAPI_EXPORTED MlirLogicalResult kvernInferCallResults(
    MlirOperation callee, intptr_t count, const MlirType *operands,
    MlirLocation location, void (*callback)(MlirType type, void *userData),
    void *userData);

#ifdef __cplusplus
}
#endif

#endif // KVERN_LIB_CAPI_KVERN_H
