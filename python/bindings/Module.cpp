// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kvern._mlir._mlir_libs._kvern: the dialect's types and attributes, the
// compiler.
#include "lib/CAPI/Registration.h"
#include "python/bindings/CompileModule.h"
#include "python/bindings/DialectModule.h"

#include "mlir/Bindings/Python/Nanobind.h"
#include "mlir/Bindings/Python/NanobindAdaptors.h"

namespace nb = nanobind;

NB_MODULE(_kvern, m) {
  m.doc() = "The kvern dialect and its compiler.";
  kvernRegisterPasses();
  kvern::python::populateCompile(m);

  // Not now: their base classes are still being loaded when this module is.
  m.def("add_dialect_types", kvern::python::addDialectTypes);
  m.def(
      "register_dialects",
      [](MlirDialectRegistry registry) { kvernRegisterDialects(registry); },
      nb::arg("registry"));
  // Building an op of a dialect that is not loaded ends the process.
  m.def(
      "context_init_hook",
      [](MlirContext context) {
        for (const char *name : {"kvern", "func"}) {
          mlirContextGetOrLoadDialect(context,
                                      mlirStringRefCreateFromCString(name));
        }
      },
      nb::arg("context"));
}
