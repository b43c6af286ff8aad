// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Failures of the runtime as exceptions of kvern.errors.
#ifndef KVERN_PYTHON_BINDINGS_RUNTIME_ERRORS_H
#define KVERN_PYTHON_BINDINGS_RUNTIME_ERRORS_H

#include "lib/Runtime/Result.h"

#include <string>

namespace kvern::python {

/// Throws the class named `name` of kvern.errors.
[[noreturn]] void raise(const char *name, const std::string &message);

/// Throws the exception of `status`, which is a failure.
[[noreturn]] void raise(const runtime::Status &status);

/// The value of a result; throws when there is none.
template <typename T> T unwrap(runtime::Result<T> result) {
  if (!result.ok()) {
    raise(result.status());
  }
  return std::move(*result);
}

} // namespace kvern::python

#endif // KVERN_PYTHON_BINDINGS_RUNTIME_ERRORS_H
