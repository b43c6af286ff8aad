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
  auto [it, inserted] =
      byName.try_emplace(weight.getNameAttr(), entries.size(), weight);
  auto [index, first] = it->second;
  if (!inserted) {
    if (first.getType() == weight.getType()) {
      return index;
    }
    InFlightDiagnostic diagnostic = weight.emitOpError()
                                    << "expected weight " << weight.getName()
                                    << " to have one type, but got "
                                    << weight.getType();
    diagnostic.attachNote(first.getLoc()) << "first as " << first.getType();
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

ArrayAttr WeightTable::getAttr(MLIRContext *context) const {
  return ArrayAttr::get(context, entries);
}
