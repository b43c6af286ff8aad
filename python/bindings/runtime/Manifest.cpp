// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Manifests as Python dicts.
#include "python/bindings/runtime/Buffer.h"
#include "python/bindings/runtime/Errors.h"
#include "python/bindings/runtime/Executable.h"

#include <algorithm>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace kvern::runtime;

namespace kvern::python {
namespace {

// Declared before toList, which cannot find them through the runtime's types.
nb::dict toPython(const DimExpr &dim);
nb::dict toPython(const InputSpec &input);
nb::dict toPython(const OutputSpec &output);
nb::dict toPython(const WeightSpec &weight);
nb::dict toPython(const CheckSpec &check);
nb::dict toPython(const StepSpec &step);
nb::dict toPython(const ProgramSpec &program);

template <typename Items> nb::list toList(const Items &items) {
  nb::list list;
  for (const auto &item : items) {
    list.append(toPython(item));
  }
  return list;
}

nb::dict toPython(const DimExpr &dim) {
  nb::list terms;
  for (const DimExpr::Term &term : dim.terms) {
    terms.append(nb::make_tuple(static_cast<int>(term.op), term.value));
  }
  nb::dict dict;
  dict["text"] = dim.text;
  dict["terms"] = terms;
  return dict;
}

nb::dict toPython(const InputSpec &input) {
  nb::dict dict;
  dict["name"] = input.name;
  dict["kind"] = input.kind == InputKind::Buffer ? "buffer" : "tensor";
  dict["dtype"] = static_cast<int>(input.dtype);
  dict["device"] = input.device;
  dict["dims"] = toList(input.dims);
  return dict;
}

nb::dict toPython(const OutputSpec &output) {
  nb::dict dict;
  dict["name"] = output.name;
  dict["dtype"] = static_cast<int>(output.dtype);
  dict["device"] = output.device;
  dict["dims"] = toList(output.dims);
  return dict;
}

nb::dict toPython(const WeightSpec &weight) {
  nb::dict dict;
  dict["name"] = weight.name;
  dict["dtype"] = static_cast<int>(weight.dtype);
  dict["shape"] = weight.shape;
  dict["align"] = weight.align;
  dict["is_external"] = weight.isExternal();
  if (weight.isDerived()) {
    dict["initializer"] = weight.initializer;
    nb::list inputs;
    for (const WeightInput &input : weight.inputs) {
      inputs.append(nb::make_tuple(input.weight, input.shape));
    }
    dict["inputs"] = inputs;
  }
  return dict;
}

nb::dict toPython(const CheckSpec &check) {
  nb::dict dict;
  dict["kind"] = check.kind;
  dict["op"] = check.op;
  dict["location"] = check.location;
  dict["message"] = check.message;
  return dict;
}

nb::dict toPython(const StepSpec &step) {
  nb::dict dict;
  dict["kernel"] = step.kernel;
  dict["ops"] = step.ops;
  dict["lines"] = step.lines;
  dict["schedule"] = step.schedule;
  dict["flops"] = toPython(step.flops);
  dict["bytes"] = toPython(step.bytes);
  return dict;
}

nb::dict toPython(const ProgramSpec &program) {
  nb::dict dict;
  dict["name"] = program.name;
  dict["fingerprint"] = program.fingerprint;
  dict["rows_per_block"] = program.rowsPerBlock;
  dict["entry_symbol"] = program.entrySymbol;
  dict["workspace_symbol"] = program.workspaceSymbol;
  dict["symbols"] = program.symbols;
  dict["num_input_symbols"] = program.numInputSymbols;
  dict["inputs"] = toList(program.inputs);
  dict["outputs"] = toList(program.outputs);
  dict["weights"] = program.weights;
  dict["checks"] = toList(program.checks);
  dict["steps"] = toList(program.steps);
  return dict;
}

/// The field `name` of `dict`, or `fallback`.
template <typename T>
T get(const nb::dict &dict, const char *name, T fallback) {
  return dict.contains(name) ? nb::cast<T>(dict[name]) : fallback;
}

DimExpr dimFromPython(nb::handle dim, const std::vector<std::string> &symbols) {
  if (nb::isinstance<nb::int_>(dim)) {
    return DimExpr::constant(nb::cast<int64_t>(dim));
  }
  if (nb::isinstance<nb::str>(dim)) {
    std::string name = nb::cast<std::string>(dim);
    auto found = std::find(symbols.begin(), symbols.end(), name);
    if (found == symbols.end()) {
      raise("ArtifactError", "the program has no symbol '" + name + "'");
    }
    return DimExpr::symbol(found - symbols.begin(), name);
  }
  nb::dict dict = nb::cast<nb::dict>(dim);
  DimExpr expr;
  expr.text = get<std::string>(dict, "text", "");
  for (nb::handle term : nb::cast<nb::list>(dict["terms"])) {
    nb::tuple pair = nb::cast<nb::tuple>(term);
    expr.terms.push_back({static_cast<DimExpr::Op>(nb::cast<int>(pair[0])),
                          nb::cast<int64_t>(pair[1])});
  }
  return expr;
}

/// Fills the fields that inputs and outputs share.
template <typename Spec>
Spec tensorFromPython(const nb::dict &dict,
                      const std::vector<std::string> &symbols) {
  Spec spec;
  spec.name = nb::cast<std::string>(dict["name"]);
  spec.dtype = checkDType(nb::cast<int>(dict["dtype"]));
  spec.device = get<std::string>(dict, "device", "cpu:0");
  for (nb::handle dim : nb::cast<nb::list>(dict["dims"])) {
    spec.dims.push_back(dimFromPython(dim, symbols));
  }
  return spec;
}

ProgramSpec programFromPython(const nb::dict &dict) {
  ProgramSpec program;
  program.name = nb::cast<std::string>(dict["name"]);
  program.fingerprint = get<std::string>(dict, "fingerprint", "");
  program.rowsPerBlock = get<int64_t>(dict, "rows_per_block", 0);
  program.entrySymbol = get<std::string>(dict, "entry_symbol", program.name);
  program.workspaceSymbol = get<std::string>(dict, "workspace_symbol", "");
  program.symbols = get<std::vector<std::string>>(dict, "symbols", {});
  program.numInputSymbols = get<uint32_t>(
      dict, "num_input_symbols", static_cast<uint32_t>(program.symbols.size()));
  program.weights = get<std::vector<uint32_t>>(dict, "weights", {});
  for (nb::handle item : get<nb::list>(dict, "inputs", {})) {
    nb::dict input = nb::cast<nb::dict>(item);
    program.inputs.push_back(
        tensorFromPython<InputSpec>(input, program.symbols));
    program.inputs.back().kind =
        get<std::string>(input, "kind", "tensor") == "buffer"
            ? InputKind::Buffer
            : InputKind::Tensor;
  }
  for (nb::handle item : get<nb::list>(dict, "outputs", {})) {
    program.outputs.push_back(tensorFromPython<OutputSpec>(
        nb::cast<nb::dict>(item), program.symbols));
  }
  for (nb::handle item : get<nb::list>(dict, "checks", {})) {
    nb::dict check = nb::cast<nb::dict>(item);
    program.checks.push_back({get<std::string>(check, "kind", ""),
                              get<std::string>(check, "op", ""),
                              get<std::string>(check, "location", ""),
                              get<std::string>(check, "message", "")});
  }
  return program;
}

} // namespace

nb::dict toPython(const Manifest &manifest) {
  nb::dict dict;
  dict["kvern_version"] = manifest.kvernVersion;
  dict["triple"] = manifest.triple;
  dict["cpu"] = manifest.cpu;
  dict["cpu_features"] = manifest.cpuFeatures;
  dict["weights"] = toList(manifest.weights);
  dict["programs"] = toList(manifest.programs);
  dict["initializers"] = toList(manifest.initializers);
  return dict;
}

std::optional<int64_t> evaluateDim(nb::dict dim,
                                   const std::vector<int64_t> &symbols) {
  DimExpr expr = dimFromPython(dim, /*symbols=*/{});
  if (!expr.isWellFormed(symbols.size())) {
    raise("ArtifactError", "malformed dim '" + expr.text + "'");
  }
  return expr.evaluate(symbols);
}

Manifest manifestFromPython(nb::dict dict) {
  Manifest manifest;
  manifest.kvernVersion = get<std::string>(dict, "kvern_version", "");
  manifest.triple =
      get<std::string>(dict, "triple", "x86_64-unknown-linux-gnu");
  manifest.cpu = get<std::string>(dict, "cpu", "");
  manifest.cpuFeatures =
      get<std::vector<std::string>>(dict, "cpu_features", {});
  for (nb::handle item : get<nb::list>(dict, "weights", {})) {
    nb::dict weight = nb::cast<nb::dict>(item);
    WeightSpec spec;
    spec.name = nb::cast<std::string>(weight["name"]);
    spec.dtype = checkDType(nb::cast<int>(weight["dtype"]));
    spec.shape = nb::cast<std::vector<int64_t>>(weight["shape"]);
    spec.align = get<uint64_t>(weight, "align", dtypeSize(spec.dtype));
    spec.initializer = get<int32_t>(weight, "initializer", -1);
    for (nb::handle input : get<nb::list>(weight, "inputs", {})) {
      nb::tuple pair = nb::cast<nb::tuple>(input);
      spec.inputs.push_back({nb::cast<uint32_t>(pair[0]),
                             nb::cast<std::vector<int64_t>>(pair[1])});
    }
    manifest.weights.push_back(std::move(spec));
  }
  for (nb::handle item : nb::cast<nb::list>(dict["programs"])) {
    manifest.programs.push_back(programFromPython(nb::cast<nb::dict>(item)));
  }
  for (nb::handle item : get<nb::list>(dict, "initializers", {})) {
    manifest.initializers.push_back(
        programFromPython(nb::cast<nb::dict>(item)));
  }
  return manifest;
}

} // namespace kvern::python
