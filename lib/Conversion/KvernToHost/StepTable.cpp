//===- StepTable.cpp - The kernel calls of a program ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Conversion/KvernToHost/StepTable.h"

#include "dialect/ops/Call.h"

using namespace mlir;
using namespace kvern;

SmallVector<std::string> kvern::getLines(Location loc) {
  SmallVector<std::string> lines;
  loc->walk([&](Location inner) {
    if (auto file = dyn_cast<FileLineColLoc>(inner)) {
      std::string line =
          (file.getFilename().getValue() + ":" + Twine(file.getLine())).str();
      if (!llvm::is_contained(lines, line)) {
        lines.push_back(std::move(line));
      }
    }
    return WalkResult::advance();
  });
  return lines;
}

int64_t StepTable::add(CallOp call, func::FuncOp kernel) {
  Builder builder(call.getContext());
  SmallVector<std::string> lines = getLines(call.getLoc());
  SmallVector<StringRef> texts(lines.begin(), lines.end());
  SmallVector<NamedAttribute> entries = {
      builder.getNamedAttr("kernel", kernel.getSymNameAttr()),
      builder.getNamedAttr("lines", builder.getStrArrayAttr(texts))};
  if (auto work = kernel->getAttrOfType<DictionaryAttr>("kvern.work")) {
    DimMapping names;
    if (DictionaryAttr dims = call.getDimsAttr()) {
      for (NamedAttribute dim : dims) {
        names[dim.getName()] = cast<DimAttr>(dim.getValue());
      }
    }
    for (NamedAttribute entry : work) {
      auto dim = dyn_cast<DimAttr>(entry.getValue());
      if (!dim) {
        entries.push_back(entry);
      } else if (DimAttr here = dim.substitute(names)) {
        entries.emplace_back(entry.getName(), here);
      }
    }
  }
  steps.push_back(builder.getDictionaryAttr(entries));
  return steps.size() - 1;
}

ArrayAttr StepTable::getAttr(MLIRContext *context) const {
  return ArrayAttr::get(context, steps);
}
