// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef KVERN_PYTHON_BINDINGS_COMPILEMODULE_H
#define KVERN_PYTHON_BINDINGS_COMPILEMODULE_H

#include <nanobind/nanobind.h>

namespace kvern::python {
/// Adds the compiler's entry points to `m`.
void populateCompile(nanobind::module_ &m);
} // namespace kvern::python

#endif // KVERN_PYTHON_BINDINGS_COMPILEMODULE_H
