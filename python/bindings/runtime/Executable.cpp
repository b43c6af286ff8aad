// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Opening and writing of executables.
#include "python/bindings/runtime/Executable.h"

#include "lib/Runtime/Executable.h"
#include "python/bindings/runtime/Errors.h"

#include <cstring>
#include <map>

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace kvern::runtime;

namespace kvern::python {
namespace {

std::shared_ptr<Executable> open(const std::string &path) {
  Result<Executable::Ref> executable = [&] {
    nb::gil_scoped_release nogil;
    return Executable::open(path.c_str());
  }();
  return std::const_pointer_cast<Executable>(unwrap(std::move(executable)));
}

std::shared_ptr<Executable> fromBytes(nb::bytes bytes) {
  Memory::Ref memory = Memory::allocate(bytes.size());
  if (!memory) {
    raise("OutOfMemoryError", "no memory for an executable of " +
                                  std::to_string(bytes.size()) + " bytes");
  }
  std::memcpy(memory->data(), bytes.data(), bytes.size());
  return std::const_pointer_cast<Executable>(
      unwrap(Executable::fromMemory(std::move(memory))));
}

nb::bytes write(nb::dict manifestDict, std::vector<nb::bytes> objects,
                std::map<uint32_t, nb::bytes> constants) {
  Manifest manifest = manifestFromPython(manifestDict);
  std::vector<ConstantData> data;
  for (const auto &[weight, bytes] : constants) {
    if (weight >= manifest.weights.size()) {
      raise("ArtifactError",
            "the manifest has no weight " + std::to_string(weight));
    }
    data.push_back({weight, bytes.data(), bytes.size()});
  }
  std::vector<std::string_view> views;
  for (const nb::bytes &object : objects) {
    views.emplace_back(object.c_str(), object.size());
  }
  std::string file = writeExecutable(std::move(manifest), data, views);
  return nb::bytes(file.data(), file.size());
}

} // namespace

void bindExecutable(nb::module_ &m) {
  nb::class_<Executable>(m, "Executable",
                         "An executable file, checked and mapped.")
      .def_static("open", &open, nb::arg("path"))
      .def_static("from_bytes", &fromBytes, nb::arg("data"))
      .def_prop_ro(
          "manifest",
          [](const Executable &self) { return toPython(self.manifest()); })
      .def("to_bytes", [](const Executable &self) {
        return nb::bytes(self.bytes().data(), self.bytes().size());
      });
  m.def("evaluate_dim", &evaluateDim, nb::arg("dim"), nb::arg("symbols"));
  m.def("write_executable", &write, nb::arg("manifest"), nb::arg("objects"),
        nb::arg("constants") = std::map<uint32_t, nb::bytes>());
}

} // namespace kvern::python
