//===- WeightTable.cpp - The weights of a module --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Conversion/KvernToHost/WeightTable.h"

using namespace mlir;
using namespace kvern;

int64_t WeightTable::append(ArrayRef<NamedAttribute> entry,
                            MLIRContext *context) {
  entries.push_back(DictionaryAttr::get(context, entry));
  return entries.size() - 1;
}

FailureOr<int64_t> WeightTable::add(WeightOp weight) {
  auto [it, inserted] = byName.try_emplace(
      weight.getNameAttr(), Entry{static_cast<int64_t>(entries.size()),
                                  weight.getType(), weight.getLoc()});
  if (!inserted) {
    const Entry &first = it->second;
    if (first.type == weight.getType()) {
      return first.index;
    }
    InFlightDiagnostic diagnostic = weight.emitOpError()
                                    << "expected weight " << weight.getName()
                                    << " to have one type, but got "
                                    << weight.getType();
    diagnostic.attachNote(first.location) << "first as " << first.type;
    return diagnostic;
  }
  Builder builder(weight.getContext());
  SmallVector<NamedAttribute> entry = {
      builder.getNamedAttr("name", weight.getNameAttr()),
      builder.getNamedAttr("type", TypeAttr::get(weight.getType()))};
  if (auto alignment = weight.getAlignmentAttr()) {
    entry.push_back(builder.getNamedAttr("align", alignment));
  }
  return append(entry, weight.getContext());
}

int64_t WeightTable::add(ConstantOp constant) {
  auto [it, inserted] =
      byValue.try_emplace(constant.getValue(), entries.size());
  if (!inserted) {
    return it->second;
  }
  Builder builder(constant.getContext());
  return append(
      {builder.getNamedAttr(
           "name", builder.getStringAttr("constant." + Twine(it->second))),
       builder.getNamedAttr("type", TypeAttr::get(constant.getType())),
       builder.getNamedAttr("value", constant.getValue())},
      constant.getContext());
}

int64_t WeightTable::add(DerivedWeightOp derived, ArrayRef<int64_t> inputs) {
  Builder builder(derived.getContext());
  SmallVector<NamedAttribute> entry = {
      builder.getNamedAttr("initializer",
                           derived.getInitializerAttr().getAttr()),
      builder.getNamedAttr("inputs", builder.getDenseI64ArrayAttr(inputs)),
      builder.getNamedAttr(
          "input_types",
          builder.getTypeArrayAttr(llvm::to_vector<4>(
              llvm::map_range(derived.getWeights(),
                              [](Value weight) { return weight.getType(); })))),
      builder.getNamedAttr("type",
                           TypeAttr::get(derived.getResult().getType()))};
  auto [it, inserted] =
      byValue.try_emplace(builder.getDictionaryAttr(entry), entries.size());
  if (!inserted) {
    return it->second;
  }
  // "initialize_pack(layers.0.weight)"; names must differ.
  std::string name = (derived.getInitializer() + "(").str();
  for (int64_t input : inputs) {
    auto source = cast<DictionaryAttr>(entries[input]);
    name += (name.back() == '(' ? "" : ", ") +
            source.getAs<StringAttr>("name").getValue().str();
  }
  name += ")";
  if (!derivedNames.insert(name).second) {
    name += "#" + std::to_string(entries.size());
  }
  entry.push_back(builder.getNamedAttr("name", builder.getStringAttr(name)));
  return append(entry, derived.getContext());
}

ArrayAttr WeightTable::getAttr(MLIRContext *context) const {
  return ArrayAttr::get(context, entries);
}
