// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Python classes of executables, weights and models.
#ifndef KVERN_PYTHON_BINDINGS_RUNTIME_EXECUTABLE_H
#define KVERN_PYTHON_BINDINGS_RUNTIME_EXECUTABLE_H

#include "lib/Runtime/Manifest.h"

#include <nanobind/nanobind.h>

namespace kvern::python {

/// A manifest as nested dicts and lists, field by field; a dim is
/// {"text": str, "terms": [(op, value), ...]}.
nanobind::dict toPython(const runtime::Manifest &manifest);

/// The inverse; fields with a default may be left out, and a dim may also be an
/// int (a size) or a str (a symbol of the program).
runtime::Manifest manifestFromPython(nanobind::dict manifest);

/// The value of a dim of a manifest; nothing when a symbol that it needs has
/// none (below 0), on overflow, or on division by zero.
std::optional<int64_t> evaluateDim(nanobind::dict dim,
                                   const std::vector<int64_t> &symbols);

void bindExecutable(nanobind::module_ &m);
void bindModel(nanobind::module_ &m);
void bindWeightSet(nanobind::module_ &m);

} // namespace kvern::python

#endif // KVERN_PYTHON_BINDINGS_RUNTIME_EXECUTABLE_H
