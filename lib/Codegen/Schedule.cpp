// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Codegen/Schedule.h"

using namespace mlir;

static constexpr llvm::StringLiteral kScheduleAttrName = "kvern.schedule";

void kvern::noteSchedule(Operation *op, const llvm::Twine &text) {
  auto kernel = dyn_cast<func::FuncOp>(op);
  if (!kernel) {
    kernel = op->getParentOfType<func::FuncOp>();
  }
  SmallVector<Attribute> lines;
  if (auto known = kernel->getAttrOfType<ArrayAttr>(kScheduleAttrName)) {
    llvm::append_range(lines, known);
  }
  Builder builder(kernel.getContext());
  Attribute line = builder.getStringAttr(text);
  if (!llvm::is_contained(lines, line)) {
    lines.push_back(line);
    kernel->setAttr(kScheduleAttrName, builder.getArrayAttr(lines));
  }
}

std::string kvern::getSchedule(func::FuncOp kernel) {
  std::string text;
  auto lines =
      kernel ? kernel->getAttrOfType<ArrayAttr>(kScheduleAttrName) : nullptr;
  if (!lines) {
    return text;
  }
  for (auto line : lines.getAsRange<StringAttr>()) {
    text += (text.empty() ? "" : "; ") + line.str();
  }
  return text;
}
