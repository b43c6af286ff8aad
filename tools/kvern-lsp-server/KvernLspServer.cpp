// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mlir-lsp-server with kvern: diagnostics, definitions and completion for .mlir
// files.
#include "lib/Registration/Registration.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  kvern::registerDialects(registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
