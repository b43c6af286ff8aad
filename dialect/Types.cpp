//===- Types.cpp - Shapes, devices, tensors, buffers ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Inference.h"
#include "dialect/ops/KVCacheCombinations.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace kvern;

#define GET_ATTRDEF_CLASSES
#include "dialect/KvernAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialect/KvernTypes.cpp.inc"

void KvernDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialect/KvernAttrs.cpp.inc"
      >();
}

void KvernDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialect/KvernTypes.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// `[` (dim (`,` dim)*)? `]`
static ParseResult parseDims(AsmParser &parser,
                             SmallVectorImpl<DimAttr> &dims) {
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Square, [&]() -> ParseResult {
        FailureOr<DimAttr> dim = DimAttr::parseExpr(parser);
        if (failed(dim)) {
          return failure();
        }
        dims.push_back(*dim);
        return success();
      });
}

std::string ShapeAttr::str() const { return toString(getDims()); }

Attribute ShapeAttr::parse(AsmParser &parser, Type) {
  SmallVector<DimAttr> dims;
  if (parser.parseLess() || parseDims(parser, dims) || parser.parseGreater()) {
    return {};
  }
  return get(parser.getContext(), dims);
}

void ShapeAttr::print(AsmPrinter &printer) const {
  printer << '<' << toString(getDims()) << '>';
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

/// (`cpu` | `gpu`) `:` integer
static FailureOr<DeviceAttr> parseDevice(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef kind;
  int64_t id;
  if (parser.parseKeyword(&kind)) {
    return failure();
  }
  if (kind != "cpu" && kind != "gpu") {
    return parser.emitError(loc, "expected device `cpu` or `gpu`, but got `")
           << kind << '`';
  }
  if (parser.parseColon() || parser.parseInteger(id)) {
    return failure();
  }
  if (id < 0) {
    return parser.emitError(loc,
                            "expected a device index of 0 or more, but got ")
           << id;
  }
  return DeviceAttr::get(parser.getContext(),
                         kind == "cpu" ? DeviceKind::CPU : DeviceKind::GPU, id);
}

std::string DeviceAttr::str() const {
  return (isCPU() ? "cpu:" : "gpu:") + std::to_string(getId());
}

Attribute DeviceAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess()) {
    return {};
  }
  FailureOr<DeviceAttr> device = parseDevice(parser);
  if (failed(device) || parser.parseGreater()) {
    return {};
  }
  return *device;
}

void DeviceAttr::print(AsmPrinter &printer) const {
  printer << '<' << str() << '>';
}

//===----------------------------------------------------------------------===//
// Tensors and buffers
//===----------------------------------------------------------------------===//

static bool isElementType(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type)) {
    switch (integer.getWidth()) {
    case 1:
      return integer.isSignless();
    case 8:
    case 16:
    case 32:
    case 64:
      return !integer.isSigned();
    default:
      return false;
    }
  }
  return isa<Float16Type, BFloat16Type, Float32Type, Float64Type,
             Float4E2M1FNType, Float8E8M0FNUType, Float8E4M3FNType,
             Float8E4M3FNUZType, Float8E5M2Type, Float8E5M2FNUZType>(type);
}

std::string kvern::getTypeError(ArrayRef<DimAttr> shape, Type elementType) {
  std::string text;
  llvm::raw_string_ostream os(text);
  // type_c1
  if (!isElementType(elementType)) {
    os << "expected an element type of i1, i8 to i64, ui8 to ui64, f16, bf16, "
          "f32, f64 or an 8- or 4-bit float, but got '"
       << elementType << "'";
    return text;
  }
  // Below this, bytes and strides can be counted in 63 bits.
  constexpr int64_t maxElements = int64_t(1) << 60;
  int64_t elements = 1;
  bool overflows = false;
  for (auto [axis, dim] : llvm::enumerate(shape)) {
    std::optional<int64_t> size = dim.getStaticValue();
    if (!size) {
      continue;
    }
    // type_c2
    if (*size < 0) {
      os << "expected sizes of 0 or more, but got " << *size << " at axis "
         << axis;
      return text;
    }
    overflows |= *size != 0 && (llvm::MulOverflow(elements, *size, elements) ||
                                elements >= maxElements);
  }
  // type_c3
  if (overflows) {
    os << "expected less than 2^60 elements, but got " << toString(shape);
  }
  return text;
}

static LogicalResult verifyShaped(function_ref<InFlightDiagnostic()> emitError,
                                  ArrayRef<DimAttr> shape, Type elementType) {
  std::string text = getTypeError(shape, elementType);
  return text.empty() ? success() : emitError() << text;
}

/// `<` dims `,` element-type `,` device `>`
template <typename ShapedT> static Type parseShaped(AsmParser &parser) {
  SmallVector<DimAttr> shape;
  Type elementType;
  if (parser.parseLess() || parseDims(parser, shape) || parser.parseComma() ||
      parser.parseType(elementType) || parser.parseComma()) {
    return {};
  }
  FailureOr<DeviceAttr> device = parseDevice(parser);
  if (failed(device) || parser.parseGreater()) {
    return {};
  }
  return ShapedT::getChecked(
      [&] { return parser.emitError(parser.getNameLoc()); },
      parser.getContext(), ArrayRef<DimAttr>(shape), elementType, *device);
}

template <typename ShapedT>
static void printShaped(AsmPrinter &printer, ShapedT type) {
  printer << '<' << toString(type.getShape()) << ", " << type.getElementType()
          << ", " << type.getDevice().str() << '>';
}

LogicalResult
kvern::TensorType::verify(function_ref<InFlightDiagnostic()> emitError,
                          ArrayRef<DimAttr> shape, Type elementType,
                          DeviceAttr) {
  return verifyShaped(emitError, shape, elementType);
}
Type kvern::TensorType::parse(AsmParser &parser) {
  return parseShaped<kvern::TensorType>(parser);
}
void kvern::TensorType::print(AsmPrinter &printer) const {
  printShaped(printer, *this);
}
kvern::TensorType kvern::TensorType::withShape(ArrayRef<DimAttr> shape) const {
  return get(shape, getElementType(), getDevice());
}
kvern::TensorType kvern::TensorType::withElementType(Type elementType) const {
  return get(getShape(), elementType, getDevice());
}

LogicalResult BufferType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<DimAttr> shape, Type elementType,
                                 DeviceAttr) {
  return verifyShaped(emitError, shape, elementType);
}
Type BufferType::parse(AsmParser &parser) {
  return parseShaped<BufferType>(parser);
}
void BufferType::print(AsmPrinter &printer) const {
  printShaped(printer, *this);
}
kvern::TensorType BufferType::asTensor() const {
  return kvern::TensorType::get(getShape(), getElementType(), getDevice());
}

//===----------------------------------------------------------------------===//
// Caches
//===----------------------------------------------------------------------===//

LogicalResult
PagedCacheType::verify(function_ref<InFlightDiagnostic()> emitError,
                       DimAttr sequences, int64_t layers, int64_t pageSize,
                       int64_t heads, int64_t headDim, bool latent,
                       Type elementType, int64_t granularity, DeviceAttr) {
  // paged_cache_type_c1
  if (layers <= 0 || pageSize <= 0 || heads <= 0 || headDim <= 0) {
    return emitError() << "expected layers, page_size, heads and head_dim "
                          "above 0, but got "
                       << layers << ", " << pageSize << ", " << heads << " and "
                       << headDim;
  }
  // paged_cache_type_c2
  CacheVerdict verdict =
      judgeCache(elementType, granularity, heads, headDim, latent);
  if (verdict.support == CacheSupport::Refused) {
    return emitError() << verdict.text;
  }
  return success();
}

/// `, ` name ` = ` integer
static ParseResult parseNumber(AsmParser &parser, StringRef name,
                               int64_t &number) {
  return failure(parser.parseKeyword(name) || parser.parseEqual() ||
                 parser.parseInteger(number) || parser.parseComma());
}

Type PagedCacheType::parse(AsmParser &parser) {
  SmallVector<DimAttr> sequences;
  int64_t layers, pageSize, heads, headDim, granularity = 0;
  Type elementType;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parseDims(parser, sequences) ||
      parser.parseComma() || parseNumber(parser, "layers", layers) ||
      parseNumber(parser, "page_size", pageSize) ||
      parseNumber(parser, "heads", heads) ||
      parseNumber(parser, "head_dim", headDim)) {
    return {};
  }
  bool latent = succeeded(parser.parseOptionalKeyword("latent"));
  if ((latent && parser.parseComma()) || parser.parseType(elementType) ||
      parser.parseComma()) {
    return {};
  }
  if (succeeded(parser.parseOptionalKeyword("scales")) &&
      (parser.parseEqual() || parser.parseInteger(granularity) ||
       parser.parseComma())) {
    return {};
  }
  FailureOr<DeviceAttr> device = parseDevice(parser);
  if (failed(device) || parser.parseGreater()) {
    return {};
  }
  if (sequences.size() != 1) {
    parser.emitError(loc, "expected one number of sequences, but got ")
        << sequences.size();
    return {};
  }
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(),
                    sequences[0], layers, pageSize, heads, headDim, latent,
                    elementType, granularity, *device);
}

void PagedCacheType::print(AsmPrinter &printer) const {
  printer << '<' << toString(getSequences()) << ", layers = " << getLayers()
          << ", page_size = " << getPageSize() << ", heads = " << getHeads()
          << ", head_dim = " << getHeadDim() << (getLatent() ? ", latent" : "")
          << ", " << getElementType();
  if (isQuantized()) {
    printer << ", scales = " << getGranularity();
  }
  printer << ", " << getDevice().str() << '>';
}
