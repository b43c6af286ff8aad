// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which innermost loops of a linalg.generic can run by vectors.
#include "lib/Codegen/VectorLoop.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace kvern;

using vector::CombiningKind;

static bool hasUnitStride(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  return succeeded(type.getStridesAndOffset(strides, offset)) &&
         !strides.empty() && strides.back() == 1;
}

bool VectorLoop::matchOperands() {
  MLIRContext *context = op.getContext();
  for (OpOperand &operand : op->getOpOperands()) {
    if (!follows(operand)) {
      continue;
    }
    AffineMap map = op.getMatchingIndexingMap(&operand);
    auto type = dyn_cast<MemRefType>(operand.get().getType());
    if (!type || !hasUnitStride(type) ||
        map.getResults().back() != getAffineDimExpr(dim, context) ||
        llvm::any_of(map.getResults().drop_back(), [&](AffineExpr expr) {
          return expr.isFunctionOfDim(dim);
        })) {
      return false;
    }
  }
  // A value that the loop overwrites again and again.
  return llvm::all_of(llvm::enumerate(isCarried), [&](auto output) {
    return output.value() || follows(*op.getDpsInitOperand(output.index()));
  });
}

/// A load of elements side by side: a row that an index selects.
bool VectorLoop::matchLoad(memref::LoadOp load) {
  if (load.getIndices().empty() || !hasUnitStride(load.getMemRefType())) {
    return false;
  }
  auto last = load.getIndices().back().getDefiningOp<linalg::IndexOp>();
  return last && last.getDim() == dim &&
         llvm::all_of(load.getIndices().drop_back(),
                      [&](Value index) { return isUniform.contains(index); });
}

/// Becomes vector instructions; functions of f64 become calls, one an element.
static bool hasVectorForm(Operation *inner) {
  return !isa<math::MathDialect>(inner->getDialect()) ||
         !inner->getResult(0).getType().isF64() ||
         isa<math::AbsFOp, math::CeilOp, math::CopySignOp, math::FloorOp,
             math::FmaOp, math::RoundEvenOp, math::RsqrtOp, math::SqrtOp,
             math::TruncOp>(inner);
}

bool VectorLoop::matchBody() {
  for (OpOperand *input : op.getDpsInputOperands()) {
    if (!follows(*input)) {
      isUniform.insert(op.getMatchingBlockArgument(input));
    }
  }
  auto isVectorElement = [](Type type) {
    return VectorType::isValidElementType(type);
  };
  for (Operation &inner : op.getBody()->without_terminator()) {
    // Values from outside of the body are uniform too.
    for (Value operand : inner.getOperands()) {
      if (operand.getParentBlock() != op.getBody()) {
        isUniform.insert(operand);
      }
    }
    if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
      if (index.getDim() != dim) {
        isUniform.insert(index);
      }
      continue;
    }
    if (auto load = dyn_cast<memref::LoadOp>(inner)) {
      if (!matchLoad(load)) {
        return false;
      }
      continue;
    }
    if (!isPure(&inner) || inner.getNumRegions() != 0 ||
        !llvm::all_of(inner.getResultTypes(), isVectorElement)) {
      return false;
    }
    if (llvm::all_of(inner.getOperands(), [&](Value operand) {
          return isUniform.contains(operand);
        })) {
      isUniform.insert_range(inner.getResults());
      continue;
    }
    if (!OpTrait::hasElementwiseMappableTraits(&inner) ||
        inner.getNumResults() != 1 || !hasVectorForm(&inner)) {
      return false;
    }
  }
  return true;
}

std::optional<VectorLoop::Combiner> VectorLoop::matchCombiner(BlockArgument sum,
                                                              Value result) {
  Operation *combiner = result.getDefiningOp();
  if (!combiner) {
    return std::nullopt;
  }
  // x > m ? x : m, which lets a NaN x go.
  if (auto select = dyn_cast<arith::SelectOp>(combiner)) {
    auto compare = select.getCondition().getDefiningOp<arith::CmpFOp>();
    if (!compare || select.getFalseValue() != sum || compare.getRhs() != sum ||
        compare.getLhs() != select.getTrueValue() ||
        llvm::range_size(sum.getUses()) != 2 ||
        compare.getPredicate() != arith::CmpFPredicate::OGT) {
      return std::nullopt;
    }
    auto type = cast<FloatType>(sum.getType());
    auto lowest = FloatAttr::get(
        type, APFloat::getInf(type.getFloatSemantics(), /*Negative=*/true));
    // So there is none among the partial results.
    auto noNaN = arith::FastMathFlagsAttr::get(sum.getContext(),
                                               arith::FastMathFlags::nnan);
    return Combiner{CombiningKind::MAXNUMF, lowest, noNaN};
  }
  if (!sum.hasOneUse() || *sum.user_begin() != combiner) {
    return std::nullopt;
  }
  std::optional<CombiningKind> kind =
      llvm::TypeSwitch<Operation *, std::optional<CombiningKind>>(combiner)
          .Case<arith::AddFOp, arith::AddIOp>(
              [](auto) { return CombiningKind::ADD; })
          .Case<arith::MulFOp, arith::MulIOp>(
              [](auto) { return CombiningKind::MUL; })
          .Case([](arith::MaximumFOp) { return CombiningKind::MAXIMUMF; })
          .Case([](arith::MinimumFOp) { return CombiningKind::MINIMUMF; })
          .Case([](arith::MaxSIOp) { return CombiningKind::MAXSI; })
          .Case([](arith::MinSIOp) { return CombiningKind::MINSI; })
          .Case([](arith::MaxUIOp) { return CombiningKind::MAXUI; })
          .Case([](arith::MinUIOp) { return CombiningKind::MINUI; })
          .Default([](auto) { return std::nullopt; });
  std::optional<TypedAttr> neutral = arith::getNeutralElement(combiner);
  if (!kind || !neutral) {
    return std::nullopt;
  }
  arith::FastMathFlagsAttr fastMath;
  if (auto math = dyn_cast<arith::ArithFastMathInterface>(combiner)) {
    fastMath = math.getFastMathFlagsAttr();
  }
  return Combiner{*kind, *neutral, fastMath};
}

/// Matches `best = better ? x : best, at = better ? index : at`, where `better`
/// depends on x and best only.
bool VectorLoop::matchSearch() {
  if (isCarried.size() != 2 || !isCarried[0] || !isCarried[1]) {
    return false;
  }
  Operation *yield = op.getBody()->getTerminator();
  auto value = yield->getOperand(0).getDefiningOp<arith::SelectOp>();
  auto index = yield->getOperand(1).getDefiningOp<arith::SelectOp>();
  BlockArgument best = op.getRegionOutputArgs()[0];
  BlockArgument at = op.getRegionOutputArgs()[1];
  if (!value || !index || value.getCondition() != index.getCondition() ||
      value.getFalseValue() != best || index.getFalseValue() != at ||
      !at.hasOneUse() || !at.getType().isInteger(64)) {
    return false;
  }
  auto place = index.getTrueValue().getDefiningOp<arith::IndexCastOp>();
  auto loop = place ? place.getIn().getDefiningOp<linalg::IndexOp>()
                    : linalg::IndexOp();
  if (!loop || loop.getDim() != dim) {
    return false;
  }
  SmallVector<Value> worklist{value.getCondition()};
  while (!worklist.empty()) {
    Value next = worklist.pop_back_val();
    if (next == best || next == value.getTrueValue() ||
        isUniform.contains(next)) {
      continue;
    }
    Operation *def = next.getDefiningOp();
    if (!def || !OpTrait::hasElementwiseMappableTraits(def)) {
      return false;
    }
    llvm::append_range(worklist, def->getOperands());
  }
  search = Search{value.getCondition(), value.getTrueValue(), best};
  return true;
}

bool VectorLoop::matchCombiners() {
  if (matchSearch()) {
    combiners.resize(2);
    return true;
  }
  auto yield = cast<linalg::YieldOp>(op.getBody()->getTerminator());
  for (auto [index, carried] : llvm::enumerate(isCarried)) {
    if (!carried) {
      continue;
    }
    std::optional<Combiner> combiner =
        matchCombiner(op.getRegionOutputArgs()[index], yield.getOperand(index));
    if (!combiner) {
      return false;
    }
    combiners.push_back(*combiner);
  }
  return true;
}

void VectorLoop::chooseShape(int64_t vectorBits) {
  unsigned widest = 0, narrowest = 64;
  auto add = [&](Type type) {
    type = getElementTypeOrSelf(type);
    unsigned bits = type.isIntOrFloat() ? type.getIntOrFloatBitWidth() : 64;
    widest = std::max(widest, bits);
    narrowest = std::min(narrowest, bits);
  };
  for (OpOperand &operand : op->getOpOperands()) {
    if (follows(operand)) {
      add(operand.get().getType());
    }
  }
  // Functions become about this many operations.
  constexpr int64_t kFunction = 16;
  int64_t operations = 0;
  for (Operation &inner : op.getBody()->without_terminator()) {
    for (Type type : inner.getResultTypes()) {
      if (isa<FloatType>(type)) {
        widest = std::max(widest, type.getIntOrFloatBitWidth());
      }
    }
    if (auto load = dyn_cast<memref::LoadOp>(inner)) {
      add(load.getType());
    }
    operations += isa<math::MathDialect>(inner.getDialect()) ? kFunction : 1;
  }
  lanes = vectorBits / std::max(widest, 8u);
  // AVX-512 masks everything for free, AVX2 elements of 4 bytes and more.
  masks = vectorBits >= 512 || (vectorBits >= 256 && narrowest >= 32);
  // Several sums hide the time of an addition.
  bool carries = !combiners.empty();
  unroll = operations <= 8 ? 4 : operations <= 16 ? 2 : carries ? 2 : 1;
}

FailureOr<VectorLoop> VectorLoop::match(linalg::GenericOp op, unsigned dim,
                                        ArrayRef<bool> isCarried,
                                        int64_t vectorBits) {
  VectorLoop loop(op, dim, isCarried);
  bool isSingle = op.getStaticLoopRanges()[dim] == 1;
  if (vectorBits == 0 || isSingle || !loop.matchOperands() ||
      !loop.matchBody() || !loop.matchCombiners()) {
    return failure();
  }
  loop.chooseShape(vectorBits);
  return loop;
}
