// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kvern._runtime: buffers, executables and models, without MLIR.
#include "lib/Runtime/CpuFeatures.h"
#include "python/bindings/runtime/Buffer.h"
#include "python/bindings/runtime/Executable.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

NB_MODULE(_runtime, m) {
  m.doc() = "Buffers, executables and models.";
  kvern::python::bindBuffer(m);
  kvern::python::bindExecutable(m);
  kvern::python::bindWeightSet(m);
  kvern::python::bindModel(m);
  m.def("host_cpu_features", &kvern::runtime::hostCpuFeatures);
  m.def("host_cpu_brand", &kvern::runtime::hostCpuBrand);
}
