// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Expands functions of f32 into arithmetic that LLVM can vectorize.
#include "lib/Codegen/MathApproximations.h"
#include "lib/Codegen/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/StringSet.h"

namespace kvern {
#define GEN_PASS_DEF_EXPANDMATH
#include "lib/Codegen/Passes.h.inc"
} // namespace kvern

using namespace mlir;

namespace {
struct ExpandMathPass : kvern::impl::ExpandMathBase<ExpandMathPass> {
  void runOnOperation() override {
    // Upstream's are within 7 units in the last place for these only.
    static const llvm::StringSet<> upstream = {
        math::AcosOp::getOperationName(), math::AsinOp::getOperationName()};
    RewritePatternSet patterns(&getContext());
    kvern::populateExponentialPatterns(patterns);
    kvern::populateLogarithmPatterns(patterns);
    kvern::populateTrigonometricPatterns(patterns);
    populateMathPolynomialApproximationPatterns(
        patterns, [](StringRef name) { return upstream.contains(name); });
    // Not arith-expand: LLVM knows the maximum of a loop only as an intrinsic.
    arith::populateCeilFloorDivExpandOpsPatterns(patterns);
    arith::populateExpandBFloat16Patterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns)))) {
      signalPassFailure();
    }
  }
};
} // namespace
