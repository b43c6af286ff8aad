// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/CAPI/Kvern.h"

#include "dialect/Kvern.h"
#include "dialect/ops/Call.h"
#include "dialect/ops/KVCacheCombinations.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "mlir/CAPI/Utils.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using kvern::BufferType;
using kvern::DeviceAttr;
using kvern::DeviceKind;
using kvern::DimAttr;
using kvern::PagedCacheType;
using kvern::ShapeAttr;
using KvernTensorType = kvern::TensorType;

static DimAttr unwrapDim(MlirAttribute attr) {
  return cast<DimAttr>(unwrap(attr));
}

static SmallVector<DimAttr> unwrapDims(intptr_t rank,
                                       const MlirAttribute *dims) {
  SmallVector<DimAttr> result;
  for (intptr_t i = 0; i < rank; ++i) {
    result.push_back(unwrapDim(dims[i]));
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Dimensions
//===----------------------------------------------------------------------===//

bool kvernAttributeIsADim(MlirAttribute attr) {
  return isa<DimAttr>(unwrap(attr));
}

MlirTypeID kvernDimAttrGetTypeID() { return wrap(DimAttr::getTypeID()); }

MlirAttribute kvernDimAttrGetStatic(MlirContext context, int64_t value) {
  return wrap(DimAttr::getStatic(unwrap(context), value));
}

MlirAttribute kvernDimAttrGetSymbol(MlirContext context, MlirStringRef name) {
  return wrap(DimAttr::getSymbol(unwrap(context), unwrap(name)));
}

MlirAttribute kvernDimAttrCombine(KvernDimOp op, MlirAttribute lhs,
                                  MlirAttribute rhs) {
  auto combine = [&](AffineExprKind kind) {
    return wrap(DimAttr::combine(kind, unwrapDim(lhs), unwrapDim(rhs)));
  };
  switch (op) {
  case KvernDimAdd:
    return combine(AffineExprKind::Add);
  case KvernDimMul:
    return combine(AffineExprKind::Mul);
  case KvernDimFloorDiv:
    return combine(AffineExprKind::FloorDiv);
  case KvernDimCeilDiv:
    return combine(AffineExprKind::CeilDiv);
  case KvernDimMod:
    return combine(AffineExprKind::Mod);
  }
  return {};
}

bool kvernDimAttrGetStaticValue(MlirAttribute dim, int64_t *value) {
  std::optional<int64_t> result = unwrapDim(dim).getStaticValue();
  if (result) {
    *value = *result;
  }
  return result.has_value();
}

MlirStringRef kvernDimAttrGetSymbolName(MlirAttribute dim) {
  StringAttr name = unwrapDim(dim).getSymbolName();
  return wrap(name ? name.getValue() : StringRef());
}

intptr_t kvernDimAttrGetNumSymbols(MlirAttribute dim) {
  return unwrapDim(dim).getSymbols().size();
}

MlirStringRef kvernDimAttrGetSymbolAt(MlirAttribute dim, intptr_t index) {
  return wrap(unwrapDim(dim).getSymbols()[index].getValue());
}

MlirAttribute kvernDimAttrSubstitute(MlirAttribute dim, intptr_t count,
                                     const MlirStringRef *names,
                                     const MlirAttribute *dims) {
  DimAttr attr = unwrapDim(dim);
  DenseMap<StringAttr, DimAttr> mapping;
  for (intptr_t i = 0; i < count; ++i) {
    mapping[StringAttr::get(attr.getContext(), unwrap(names[i]))] =
        unwrapDim(dims[i]);
  }
  return wrap(attr.substitute(mapping));
}

void kvernDimAttrPrintExpr(MlirAttribute dim, MlirStringCallback callback,
                           void *userData) {
  mlir::detail::CallbackOstream stream(callback, userData);
  unwrapDim(dim).printExpr(stream);
}

//===----------------------------------------------------------------------===//
// Shapes and devices
//===----------------------------------------------------------------------===//

bool kvernAttributeIsAShape(MlirAttribute attr) {
  return isa<ShapeAttr>(unwrap(attr));
}

MlirTypeID kvernShapeAttrGetTypeID() { return wrap(ShapeAttr::getTypeID()); }

MlirAttribute kvernShapeAttrGet(MlirContext context, intptr_t rank,
                                const MlirAttribute *dims) {
  return wrap(ShapeAttr::get(unwrap(context), unwrapDims(rank, dims)));
}

intptr_t kvernShapeAttrGetRank(MlirAttribute shape) {
  return cast<ShapeAttr>(unwrap(shape)).getDims().size();
}

MlirAttribute kvernShapeAttrGetDim(MlirAttribute shape, intptr_t axis) {
  return wrap(cast<ShapeAttr>(unwrap(shape)).getDims()[axis]);
}

bool kvernAttributeIsADevice(MlirAttribute attr) {
  return isa<DeviceAttr>(unwrap(attr));
}

MlirTypeID kvernDeviceAttrGetTypeID() { return wrap(DeviceAttr::getTypeID()); }

MlirAttribute kvernDeviceAttrGet(MlirContext context, bool isGPU, int64_t id) {
  return wrap(DeviceAttr::get(unwrap(context),
                              isGPU ? DeviceKind::GPU : DeviceKind::CPU, id));
}

bool kvernDeviceAttrIsGPU(MlirAttribute device) {
  return !cast<DeviceAttr>(unwrap(device)).isCPU();
}

int64_t kvernDeviceAttrGetId(MlirAttribute device) {
  return cast<DeviceAttr>(unwrap(device)).getId();
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

bool kvernTypeIsATensor(MlirType type) {
  return isa<KvernTensorType>(unwrap(type));
}

bool kvernTypeIsABuffer(MlirType type) { return isa<BufferType>(unwrap(type)); }

MlirTypeID kvernTensorTypeGetTypeID() {
  return wrap(KvernTensorType::getTypeID());
}

MlirTypeID kvernBufferTypeGetTypeID() { return wrap(BufferType::getTypeID()); }

template <typename ShapedT>
static MlirType getChecked(MlirLocation location, intptr_t rank,
                           const MlirAttribute *dims, MlirType elementType,
                           MlirAttribute device) {
  Location loc = unwrap(location);
  SmallVector<DimAttr> shape = unwrapDims(rank, dims);
  return wrap(ShapedT::getChecked([&] { return emitError(loc); },
                                  loc.getContext(), ArrayRef<DimAttr>(shape),
                                  unwrap(elementType),
                                  cast<DeviceAttr>(unwrap(device))));
}

MlirType kvernTensorTypeGetChecked(MlirLocation location, intptr_t rank,
                                   const MlirAttribute *dims,
                                   MlirType elementType, MlirAttribute device) {
  return getChecked<KvernTensorType>(location, rank, dims, elementType, device);
}

MlirType kvernBufferTypeGetChecked(MlirLocation location, intptr_t rank,
                                   const MlirAttribute *dims,
                                   MlirType elementType, MlirAttribute device) {
  return getChecked<BufferType>(location, rank, dims, elementType, device);
}

static ArrayRef<DimAttr> getShape(MlirType type) {
  if (auto buffer = dyn_cast<BufferType>(unwrap(type))) {
    return buffer.getShape();
  }
  return cast<KvernTensorType>(unwrap(type)).getShape();
}

intptr_t kvernShapedTypeGetRank(MlirType type) { return getShape(type).size(); }

MlirAttribute kvernShapedTypeGetDim(MlirType type, intptr_t axis) {
  return wrap(getShape(type)[axis]);
}

MlirType kvernShapedTypeGetElementType(MlirType type) {
  if (auto buffer = dyn_cast<BufferType>(unwrap(type))) {
    return wrap(buffer.getElementType());
  }
  return wrap(cast<KvernTensorType>(unwrap(type)).getElementType());
}

MlirAttribute kvernShapedTypeGetDevice(MlirType type) {
  if (auto buffer = dyn_cast<BufferType>(unwrap(type))) {
    return wrap(buffer.getDevice());
  }
  return wrap(cast<KvernTensorType>(unwrap(type)).getDevice());
}

bool kvernTypeIsAPagedCache(MlirType type) {
  return isa<PagedCacheType>(unwrap(type));
}

MlirTypeID kvernPagedCacheTypeGetTypeID() {
  return wrap(PagedCacheType::getTypeID());
}

KvernPagedCache kvernPagedCacheTypeGet(MlirType type) {
  auto cache = cast<PagedCacheType>(unwrap(type));
  return {wrap(cache.getSequences()),   cache.getLayers(),
          cache.getPageSize(),          cache.getHeads(),
          cache.getHeadDim(),           cache.getLatent(),
          wrap(cache.getElementType()), cache.getGranularity(),
          wrap(cache.getDevice())};
}

void kvernListCacheCombinations(MlirContext context,
                                void (*callback)(const KvernCacheCombination *,
                                                 void *),
                                void *userData) {
  for (const auto &line : kvern::listCacheCombinations(unwrap(context))) {
    KvernCacheCombination view = {wrap(StringRef(line.elementType)),
                                  wrap(StringRef(line.mask)),
                                  wrap(StringRef(line.heads)),
                                  line.isQuantized,
                                  line.evicts,
                                  static_cast<int>(line.verdict.support),
                                  wrap(StringRef(line.verdict.text))};
    callback(&view, userData);
  }
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

MlirLogicalResult
kvernInferCallResults(MlirOperation callee, intptr_t count,
                      const MlirType *operands, MlirLocation location,
                      void (*callback)(MlirType type, void *userData),
                      void *userData) {
  SmallVector<Type> types;
  for (intptr_t i = 0; i < count; ++i) {
    types.push_back(unwrap(operands[i]));
  }
  Location loc = unwrap(location);
  FailureOr<SmallVector<Type>> results =
      kvern::inferCallResults(cast<func::FuncOp>(unwrap(callee)), types,
                              /*given=*/{}, [&] { return emitError(loc); });
  if (failed(results)) {
    return mlirLogicalResultFailure();
  }
  for (Type type : *results) {
    callback(wrap(type), userData);
  }
  return mlirLogicalResultSuccess();
}
