// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python/bindings/DialectModule.h"

#include "lib/CAPI/Kvern.h"

#include "mlir-c/Diagnostics.h"
#include "mlir/Bindings/Python/NanobindAdaptors.h"

#include <optional>
#include <string>
#include <vector>

namespace nb = nanobind;
using namespace mlir::python::nanobind_adaptors;

namespace {

void append(MlirStringRef text, void *out) {
  static_cast<std::string *>(out)->append(text.data, text.length);
}

std::string toString(MlirStringRef text) {
  return std::string(text.data, text.length);
}

MlirStringRef toRef(const std::string &text) {
  return mlirStringRefCreate(text.data(), text.size());
}

/// Collects the diagnostics of a context while it lives.
class Diagnostics {
public:
  explicit Diagnostics(MlirContext context) : context(context) {
    id = mlirContextAttachDiagnosticHandler(context, handle, this, nullptr);
  }
  ~Diagnostics() { mlirContextDetachDiagnosticHandler(context, id); }
  Diagnostics(const Diagnostics &) = delete;

  std::string text;

private:
  static MlirLogicalResult handle(MlirDiagnostic diagnostic, void *self) {
    std::string &text = static_cast<Diagnostics *>(self)->text;
    if (!text.empty()) {
      text += '\n';
    }
    mlirDiagnosticPrint(diagnostic, append, &text);
    for (intptr_t i = 0, e = mlirDiagnosticGetNumNotes(diagnostic); i < e;
         ++i) {
      text += "\nnote: ";
      mlirDiagnosticPrint(mlirDiagnosticGetNote(diagnostic, i), append, &text);
    }
    return mlirLogicalResultSuccess();
  }

  MlirContext context;
  MlirDiagnosticHandlerID id;
};

void requireDim(MlirAttribute attr) {
  if (!kvernAttributeIsADim(attr)) {
    throw nb::type_error("expected a DimAttr");
  }
}

void requireDims(const std::vector<MlirAttribute> &dims) {
  for (MlirAttribute dim : dims) {
    requireDim(dim);
  }
}

MlirAttribute requireDimResult(MlirAttribute result) {
  if (mlirAttributeIsNull(result)) {
    throw nb::value_error(
        "dimension overflows 64 bits, divides by zero or is too long");
  }
  return result;
}

MlirAttribute combine(const std::string &kind, MlirAttribute lhs,
                      MlirAttribute rhs) {
  requireDim(lhs);
  requireDim(rhs);
  KvernDimOp op;
  if (kind == "add") {
    op = KvernDimAdd;
  } else if (kind == "mul") {
    op = KvernDimMul;
  } else if (kind == "floordiv") {
    op = KvernDimFloorDiv;
  } else if (kind == "ceildiv") {
    op = KvernDimCeilDiv;
  } else if (kind == "mod") {
    op = KvernDimMod;
  } else {
    throw nb::value_error(("unknown operation on dimensions: " + kind).c_str());
  }
  int64_t divisor;
  if (op != KvernDimAdd && op != KvernDimMul &&
      kvernDimAttrGetStaticValue(rhs, &divisor) && divisor == 0) {
    PyErr_SetString(PyExc_ZeroDivisionError, "dimension divided by zero");
    throw nb::python_error();
  }
  return requireDimResult(kvernDimAttrCombine(op, lhs, rhs));
}

void addAttributes(nb::module_ &m) {
  mlir_attribute_subclass(m, "DimAttr", kvernAttributeIsADim,
                          kvernDimAttrGetTypeID)
      .def_staticmethod(
          "get_static",
          [](int64_t value, MlirContext context) {
            return kvernDimAttrGetStatic(context, value);
          },
          nb::arg("value"), nb::arg("context") = nb::none())
      .def_staticmethod(
          "get_symbol",
          [](const std::string &name, MlirContext context) {
            if (name.empty()) {
              throw nb::value_error(
                  "expected a dimension name that is not empty");
            }
            return kvernDimAttrGetSymbol(context, toRef(name));
          },
          nb::arg("name"), nb::arg("context") = nb::none())
      .def_staticmethod("combine", combine, nb::arg("kind"), nb::arg("lhs"),
                        nb::arg("rhs"))
      .def_property_readonly("static_value",
                             [](MlirAttribute self) -> std::optional<int64_t> {
                               int64_t value;
                               if (kvernDimAttrGetStaticValue(self, &value)) {
                                 return value;
                               }
                               return std::nullopt;
                             })
      .def_property_readonly(
          "symbol_name",
          [](MlirAttribute self) -> std::optional<std::string> {
            MlirStringRef name = kvernDimAttrGetSymbolName(self);
            if (name.length == 0) {
              return std::nullopt;
            }
            return toString(name);
          })
      .def_property_readonly(
          "symbols",
          [](MlirAttribute self) {
            std::vector<std::string> names;
            for (intptr_t i = 0, e = kvernDimAttrGetNumSymbols(self); i < e;
                 ++i) {
              names.push_back(toString(kvernDimAttrGetSymbolAt(self, i)));
            }
            return names;
          })
      .def_property_readonly("expr_str",
                             [](MlirAttribute self) {
                               std::string text;
                               kvernDimAttrPrintExpr(self, append, &text);
                               return text;
                             })
      .def(
          "substitute",
          [](MlirAttribute self, nb::dict mapping) {
            std::vector<std::string> names;
            std::vector<MlirAttribute> dims;
            for (auto [name, dim] : mapping) {
              names.push_back(nb::cast<std::string>(name));
              dims.push_back(nb::cast<MlirAttribute>(dim));
            }
            requireDims(dims);
            std::vector<MlirStringRef> refs;
            for (const std::string &name : names) {
              refs.push_back(toRef(name));
            }
            return requireDimResult(kvernDimAttrSubstitute(
                self, refs.size(), refs.data(), dims.data()));
          },
          nb::arg("mapping"));

  mlir_attribute_subclass(m, "ShapeAttr", kvernAttributeIsAShape,
                          kvernShapeAttrGetTypeID)
      .def_staticmethod(
          "get",
          [](const std::vector<MlirAttribute> &dims, MlirContext context) {
            requireDims(dims);
            return kvernShapeAttrGet(context, dims.size(), dims.data());
          },
          nb::arg("dims"), nb::arg("context") = nb::none())
      .def_property_readonly("dims", [](MlirAttribute self) {
        std::vector<MlirAttribute> dims;
        for (intptr_t i = 0, e = kvernShapeAttrGetRank(self); i < e; ++i) {
          dims.push_back(kvernShapeAttrGetDim(self, i));
        }
        return dims;
      });

  mlir_attribute_subclass(m, "DeviceAttr", kvernAttributeIsADevice,
                          kvernDeviceAttrGetTypeID)
      .def_staticmethod(
          "get",
          [](const std::string &kind, int64_t id, MlirContext context) {
            if (kind != "cpu" && kind != "gpu") {
              throw nb::value_error(
                  ("expected device `cpu` or `gpu`, but got `" + kind + "`")
                      .c_str());
            }
            if (id < 0) {
              throw nb::value_error("expected a device index of 0 or more");
            }
            return kvernDeviceAttrGet(context, kind == "gpu", id);
          },
          nb::arg("kind"), nb::arg("id"), nb::arg("context") = nb::none())
      .def_property_readonly("kind",
                             [](MlirAttribute self) {
                               return kvernDeviceAttrIsGPU(self) ? "gpu"
                                                                 : "cpu";
                             })
      .def_property_readonly(
          "id", [](MlirAttribute self) { return kvernDeviceAttrGetId(self); });
}

void addType(nb::module_ &m, const char *name, bool (*isA)(MlirType),
             MlirTypeID (*getTypeID)(),
             MlirType (*getChecked)(MlirLocation, intptr_t,
                                    const MlirAttribute *, MlirType,
                                    MlirAttribute)) {
  mlir_type_subclass(m, name, isA, getTypeID)
      .def_staticmethod(
          "get",
          [getChecked](const std::vector<MlirAttribute> &shape,
                       MlirType elementType, MlirAttribute device) {
            requireDims(shape);
            if (!kvernAttributeIsADevice(device)) {
              throw nb::type_error("expected a DeviceAttr");
            }
            MlirContext context = mlirTypeGetContext(elementType);
            Diagnostics diagnostics(context);
            MlirType type =
                getChecked(mlirLocationUnknownGet(context), shape.size(),
                           shape.data(), elementType, device);
            if (mlirTypeIsNull(type)) {
              throw nb::value_error(diagnostics.text.c_str());
            }
            return type;
          },
          nb::arg("shape"), nb::arg("element_type"), nb::arg("device"))
      .def_property_readonly(
          "shape",
          [](MlirType self) {
            std::vector<MlirAttribute> dims;
            for (intptr_t i = 0, e = kvernShapedTypeGetRank(self); i < e; ++i) {
              dims.push_back(kvernShapedTypeGetDim(self, i));
            }
            return dims;
          })
      .def_property_readonly(
          "element_type",
          [](MlirType self) { return kvernShapedTypeGetElementType(self); })
      .def_property_readonly("device", [](MlirType self) {
        return kvernShapedTypeGetDevice(self);
      });
}

void addPagedCacheType(nb::module_ &m) {
  auto cls = mlir_type_subclass(m, "PagedCacheType", kvernTypeIsAPagedCache,
                                kvernPagedCacheTypeGetTypeID);
  auto field = [&](const char *name, auto member) {
    cls.def_property_readonly(name, [member](MlirType self) {
      return kvernPagedCacheTypeGet(self).*member;
    });
  };
  field("sequences", &KvernPagedCache::sequences);
  field("layers", &KvernPagedCache::layers);
  field("page_size", &KvernPagedCache::pageSize);
  field("heads", &KvernPagedCache::heads);
  field("head_dim", &KvernPagedCache::headDim);
  field("is_latent", &KvernPagedCache::isLatent);
  field("element_type", &KvernPagedCache::elementType);
  field("granularity", &KvernPagedCache::granularity);
  field("device", &KvernPagedCache::device);
}

/// Lines (element type, mask, heads, quantized, evicts, support, text).
nb::list listCacheCombinations(MlirContext context) {
  nb::list lines;
  kvernListCacheCombinations(
      context,
      [](const KvernCacheCombination *line, void *out) {
        const char *support[] = {"exact", "bounded", "refused"};
        static_cast<nb::list *>(out)->append(nb::make_tuple(
            toString(line->elementType), toString(line->mask),
            toString(line->heads), line->isQuantized, line->evicts,
            support[line->support], toString(line->text)));
      },
      &lines);
  return lines;
}

std::vector<MlirType> inferCall(MlirOperation callee,
                                const std::vector<MlirType> &operands,
                                MlirLocation location) {
  if (mlirOperationIsNull(callee) ||
      toString(mlirIdentifierStr(mlirOperationGetName(callee))) !=
          "func.func") {
    throw nb::type_error("expected a func.func as the callee");
  }
  Diagnostics diagnostics(mlirOperationGetContext(callee));
  std::vector<MlirType> results;
  MlirLogicalResult status = kvernInferCallResults(
      callee, operands.size(), operands.data(), location,
      [](MlirType type, void *out) {
        static_cast<std::vector<MlirType> *>(out)->push_back(type);
      },
      &results);
  if (mlirLogicalResultIsFailure(status)) {
    throw nb::value_error(diagnostics.text.c_str());
  }
  return results;
}

} // namespace

void kvern::python::addDialectTypes() {
  auto m = nb::module_::import_(MAKE_MLIR_PYTHON_QUALNAME("_mlir_libs._kvern"));
  addAttributes(m);
  addType(m, "TensorType", kvernTypeIsATensor, kvernTensorTypeGetTypeID,
          kvernTensorTypeGetChecked);
  addType(m, "BufferType", kvernTypeIsABuffer, kvernBufferTypeGetTypeID,
          kvernBufferTypeGetChecked);
  addPagedCacheType(m);
  m.def("list_cache_combinations", listCacheCombinations, nb::arg("context"));
  m.def("infer_call", inferCall, nb::arg("callee"), nb::arg("operands"),
        nb::arg("location") = nb::none());
}
