// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sizes of the tiles of a matrix product on tensors.
#ifndef KVERN_LIB_CODEGEN_PRODUCTTILES_H
#define KVERN_LIB_CODEGEN_PRODUCTTILES_H

#include "lib/Codegen/Contraction.h"
#include "lib/Codegen/ProductBlocking.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace kvern {

/// Tiles that are tasks of their own: each reads its part of rhs once, and its
/// part of the output stays in the second cache. They depend on sizes of the
/// product and the target, so that results do on nothing else.
class ProductTiles {
public:
  ProductTiles(Contraction &product, const CpuTarget &target);

  /// Equal parts of all rows, of whole register tiles.
  mlir::OpFoldResult rows(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::OpFoldResult rows) const;
  /// Whole panels; more of them for few rows.
  mlir::OpFoldResult columns(mlir::OpBuilder &builder, mlir::Location loc,
                             mlir::OpFoldResult rows) const;

private:
  ProductBlocking blocking;
  int64_t fewRows, wideColumns;
};

/// Tiles that read part of a panel of packed rhs get slices of whole panels:
/// what follows the last column is zero.
void readWholePanels(mlir::func::FuncOp function);

} // namespace kvern

#endif // KVERN_LIB_CODEGEN_PRODUCTTILES_H
