// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mlir-opt with kvern: `--kvern-stage=<name>` stands for `--kvern-to-<name>`.
#include "lib/Registration/Registration.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

int main(int argc, char **argv) {
  std::vector<std::string> arguments(argv, argv + argc);
  llvm::SmallVector<char *> pointers;
  for (std::string &argument : arguments) {
    llvm::StringRef rest = argument;
    if (rest.consume_front("-") && (rest.consume_front("-kvern-stage=") ||
                                    rest.consume_front("kvern-stage="))) {
      argument = ("--kvern-to-" + rest).str();
    }
    pointers.push_back(argument.data());
  }

  mlir::DialectRegistry registry;
  kvern::registerDialects(registry);
  kvern::registerPasses();
  return mlir::failed(mlir::MlirOptMain(static_cast<int>(pointers.size()),
                                        pointers.data(), "kvern's optimizer\n",
                                        registry));
}
