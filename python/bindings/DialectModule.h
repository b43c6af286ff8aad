// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The dialect's part of the extension module _kvern.
#ifndef KVERN_PYTHON_BINDINGS_DIALECTMODULE_H
#define KVERN_PYTHON_BINDINGS_DIALECTMODULE_H

namespace kvern::python {

/// Adds the attributes and types of the dialect, and infer_call, to the module;
/// call it once, when MLIR's `ir` module has been loaded.
void addDialectTypes();

} // namespace kvern::python

#endif // KVERN_PYTHON_BINDINGS_DIALECTMODULE_H
