// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which ops of a kernel may share a loop nest, and along which loops.
#ifndef KVERN_LIB_CODEGEN_FUSIONGROUP_H
#define KVERN_LIB_CODEGEN_FUSIONGROUP_H

#include "lib/Codegen/Contraction.h"
#include "lib/Codegen/Convolution.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallSet.h"
#include <optional>

namespace kvern {

/// A linalg op on tensors and the producers that may be computed inside its
/// tiles. All are in one block.
class FusionGroup {
public:
  /// `isDone` names ops that belong to another group.
  FusionGroup(mlir::linalg::LinalgOp root,
              llvm::function_ref<bool(mlir::Operation *)> isDone);

  mlir::linalg::LinalgOp root() const { return rootOp; }
  /// Without the root, in no order.
  llvm::ArrayRef<mlir::Operation *> producers() const {
    return members.getArrayRef();
  }
  /// The matrix product of the group, which may be its root. A second one of
  /// the same rows, by equal loops, may be among the producers.
  std::optional<Contraction> &contraction() { return product; }
  /// The convolution of the group, which has no product then.
  std::optional<Convolution> &convolution() { return windows; }

  bool contains(mlir::Operation *op) const {
    return op == rootOp || members.contains(op);
  }

  /// The loop of the root that moves with loop `dim` of a member, if any.
  std::optional<unsigned> rootLoop(mlir::Operation *member,
                                   unsigned dim) const {
    return memberLoops.lookup(member)[dim];
  }
  /// The same for all loops of a member.
  llvm::ArrayRef<std::optional<unsigned>>
  rootLoops(mlir::Operation *member) const {
    return memberLoops.find(member)->second;
  }
  /// A member other than the product reduces along that loop of the root.
  bool reducesAlong(unsigned rootLoop) const {
    return reducedLoops.contains(rootLoop);
  }
  bool reducesAlongRoot() const { return !reducedLoops.empty(); }

private:
  void addProducers(llvm::function_ref<bool(mlir::Operation *)> isDone);
  /// Drops producers until the values that ops outside of the group read can
  /// be given out by loops that come after all that the group reads.
  void dropCycles();
  void followAxes();
  void followMember(mlir::linalg::LinalgOp member);

  using Axis = std::pair<mlir::Value, int64_t>;

  mlir::linalg::LinalgOp rootOp;
  llvm::SetVector<mlir::Operation *> members;
  std::optional<Contraction> product;
  std::optional<Convolution> windows;
  /// Root loop that an axis of a value moves with.
  llvm::DenseMap<Axis, unsigned> axisLoops;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<std::optional<unsigned>>>
      memberLoops;
  llvm::SmallSet<unsigned, 4> reducedLoops;
};

} // namespace kvern

#endif // KVERN_LIB_CODEGEN_FUSIONGROUP_H
