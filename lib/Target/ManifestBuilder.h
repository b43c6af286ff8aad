//===- ManifestBuilder.h - From attributes to a manifest --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_LIB_TARGET_MANIFESTBUILDER_H
#define KVERN_LIB_TARGET_MANIFESTBUILDER_H

#include "lib/Codegen/CpuTarget.h"
#include "lib/Runtime/Manifest.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace kvern {

/// What a manifest says, and the constants that go with it.
struct ManifestContents {
  runtime::Manifest manifest;
  /// By weight; null for those bound at load.
  llvm::SmallVector<mlir::ElementsAttr> constants;
};

/// Reads `kvern.weights` of the module and `kvern.program` of its functions.
llvm::Expected<ManifestContents> buildManifest(mlir::ModuleOp module,
                                               const CpuTarget &target,
                                               llvm::StringRef version);

} // namespace kvern

#endif // KVERN_LIB_TARGET_MANIFESTBUILDER_H
