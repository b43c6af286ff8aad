//===- Executable.cpp - Writes executables --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Target/Executable.h"

#include "lib/Runtime/Executable.h"
#include "lib/Target/ManifestBuilder.h"

#include "mlir/IR/DialectResourceBlobManager.h"

#include <deque>

using namespace mlir;
using namespace kvern;

/// The elements as they lie in memory, row-major. Bytes that are not held by
/// the attribute itself are put into `storage`.
static llvm::Expected<ArrayRef<char>>
getBytes(ElementsAttr value, std::deque<std::vector<char>> &storage) {
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value)) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob) {
      return llvm::createStringError("a constant has lost its data");
    }
    return blob->getData();
  }
  auto dense = dyn_cast<DenseElementsAttr>(value);
  if (!dense) {
    return llvm::createStringError("a constant is not dense");
  }
  bool isBool = dense.getElementType().isInteger(1);
  if (!isBool && !dense.isSplat()) {
    return dense.getRawData();
  }
  std::vector<char> &bytes = storage.emplace_back();
  if (isBool) {
    for (bool element : dense.getValues<bool>()) {
      bytes.push_back(element);
    }
  } else {
    ArrayRef<char> element = dense.getRawData();
    for (int64_t i = 0, e = dense.getNumElements(); i < e; ++i) {
      bytes.insert(bytes.end(), element.begin(), element.end());
    }
  }
  return ArrayRef<char>(bytes);
}

llvm::Expected<std::string> kvern::emitExecutable(ModuleOp module,
                                                  const CpuTarget &target,
                                                  StringRef version,
                                                  ArrayRef<StringRef> objects) {
  auto contents = buildManifest(module, target, version);
  if (!contents) {
    return contents.takeError();
  }
  std::deque<std::vector<char>> storage;
  std::vector<runtime::ConstantData> constants;
  for (auto [i, value] : llvm::enumerate(contents->constants)) {
    if (!value) {
      continue;
    }
    auto bytes = getBytes(value, storage);
    if (!bytes) {
      return bytes.takeError();
    }
    constants.push_back(
        {static_cast<uint32_t>(i), bytes->data(), bytes->size()});
  }
  std::vector<std::string_view> views(objects.begin(), objects.end());
  return runtime::writeExecutable(std::move(contents->manifest), constants,
                                  views);
}
