// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Raising of exceptions.
#include "python/bindings/runtime/Errors.h"

#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace kvern::python {
namespace {

const char *className(runtime::ErrorKind kind) {
  switch (kind) {
  case runtime::ErrorKind::Artifact:
    return "ArtifactError";
  case runtime::ErrorKind::Weight:
    return "WeightError";
  case runtime::ErrorKind::Input:
    return "InputError";
  case runtime::ErrorKind::InputCount:
    return "InputTypeError";
  case runtime::ErrorKind::Execution:
    return "ExecutionError";
  case runtime::ErrorKind::Memory:
    return "OutOfMemoryError";
  case runtime::ErrorKind::File:
    return "FileError";
  case runtime::ErrorKind::None:
    break;
  }
  return "KvernError";
}

} // namespace

void raise(const char *name, const std::string &message) {
  nb::object type = nb::module_::import_("kvern.errors").attr(name);
  PyErr_SetString(type.ptr(), message.c_str());
  throw nb::python_error();
}

void raise(const runtime::Status &status) {
  raise(className(status.kind()), status.message());
}

} // namespace kvern::python
