// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Code for one convolution on buffers.
//
// A register tile holds the sums of some pixels of a row by some vectors of
// filters. In the loops around it:
//   1. panels of filters, so that the part of the filter that a panel reads
//      stays in the second cache;
//   2. rows of pixels, register tiles along them;
//   3. the kernel, and the channels of one kernel offset; along a row of the
//      kernel these are one loop where x is contiguous.
#include "lib/Codegen/ConvolutionEmitter.h"

#include "lib/Codegen/Schedule.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace kvern;

Value ConvolutionEmitter::sizeOf(unsigned dim) {
  AffineExpr loop = getAffineDimExpr(dim, b.getContext());
  for (auto [operand, map] :
       llvm::zip(op->getOperands(), op.getIndexingMapsArray())) {
    if (auto axis = map.getResultPosition(loop)) {
      return b.sizeOf(operand, *axis);
    }
  }
  return {};
}

SmallVector<Value> ConvolutionEmitter::address(unsigned operand) {
  SmallVector<OpFoldResult> loops;
  for (Value index : point) {
    loops.push_back(index ? OpFoldResult(index) : b.getIndexAttr(0));
  }
  SmallVector<Value> result;
  AffineMap map = maps[operand];
  for (unsigned i = 0; i < map.getNumResults(); ++i) {
    result.push_back(getValueOrCreateConstantIndexOp(
        b, b.getLoc(),
        affine::makeComposedFoldedAffineApply(b, b.getLoc(), map.getSubMap(i),
                                              loops)));
  }
  return result;
}

bool ConvolutionEmitter::readsPanels() const {
  auto last = dyn_cast<AffineBinaryOpExpr>(maps[1].getResults().back());
  return last && last.getKind() == AffineExprKind::Mod;
}

/// `memory` with axes `axis` and the next as one; null if it cannot be had.
static Value collapse(RowBuilder &b, Value memory, unsigned axis) {
  auto type = cast<MemRefType>(memory.getType());
  SmallVector<ReassociationIndices> groups;
  for (unsigned i = 0; i < type.getRank(); ++i) {
    if (i == axis + 1) {
      groups.back().push_back(i);
    } else {
      groups.push_back({i});
    }
  }
  if (!memref::CollapseShapeOp::isGuaranteedCollapsible(type, groups)) {
    return {};
  }
  return memref::CollapseShapeOp::create(b, memory, groups);
}

void ConvolutionEmitter::mergeChannels() {
  const Convolution::Axis &row = conv.spatial.back();
  unsigned last = maps[0].getNumResults() - 1;
  std::optional<int64_t> channels, kernel;
  if (conv.channel) {
    channels = getConstantIntValue(sizes[*conv.channel]);
    kernel = getConstantIntValue(sizes[row.kernel]);
  }
  if (!channels || !kernel || conv.groupFilters != 0 || row.dilation != 1 ||
      row.position + 1 != last) {
    return;
  }
  AffineExpr along = b.getAffineDimExpr(*conv.channel);
  AffineExpr place = b.getAffineDimExpr(row.kernel);
  SmallVector<AffineExpr> filterExprs(maps[1].getResults());
  auto at = llvm::find(filterExprs, place);
  if (at == filterExprs.end() || at + 1 == filterExprs.end() ||
      *(at + 1) != along) {
    return;
  }
  Value flatFilter = collapse(b, filter, at - filterExprs.begin());
  Value flatX = flatFilter ? collapse(b, x, row.position) : Value();
  if (!flatX) {
    return;
  }
  filterExprs.erase(at);
  x = flatX;
  filter = flatFilter;
  SmallVector<AffineExpr> xExprs(maps[0].getResults().drop_back());
  xExprs.back() =
      b.getAffineDimExpr(row.result) * (row.stride * *channels) + along;
  maps[0] = AffineMap::get(maps[0].getNumDims(), 0, xExprs, b.getContext());
  maps[1] =
      AffineMap::get(maps[1].getNumDims(), 0, filterExprs, b.getContext());
  sizes[*conv.channel] = b.index(*channels * *kernel);
  llvm::erase(summed, row.kernel);
}

LogicalResult ConvolutionEmitter::emit(bool overwritesOutput) {
  overwrites = overwritesOutput;
  for (unsigned dim = 0; dim < op.getNumLoops(); ++dim) {
    sizes[dim] = sizeOf(dim);
  }
  std::optional<int64_t> filters = getConstantIntValue(sizes[conv.filter]);
  bool inPanels = readsPanels();
  AffineExpr loop = b.getAffineDimExpr(conv.filter);
  if (!filters || llvm::is_contained(sizes, Value()) ||
      !cast<MemRefType>(filter.getType()).isLastDimUnitStride() ||
      !cast<MemRefType>(out.getType()).isLastDimUnitStride() ||
      (!inPanels && maps[1].getResults().back() != loop) ||
      (!conv.channel && !conv.isDepthwise())) {
    return failure();
  }
  if (inPanels) {
    int64_t panel = cast<MemRefType>(filter.getType()).getShape().back();
    if (panel % b.lanes != 0 || panel / b.lanes > blocking.vectors) {
      return failure();
    }
    blocking.vectors = panel / b.lanes;
  }

  for (const Convolution::Axis &axis : conv.spatial) {
    summed.push_back(axis.kernel);
  }
  if (conv.channel) {
    summed.push_back(*conv.channel);
  }
  mergeChannels();
  // No panel crosses from one group to the next.
  bool isGrouped = conv.groupFilters != 0 && !conv.isDepthwise();
  int64_t group = isGrouped ? conv.groupFilters : *filters;
  noteSchedule(op, "convolution: " +
                       Twine(conv.isDepthwise() ? "channel by channel"
                             : inPanels         ? "packed filter"
                                                : "filter in place") +
                       ", register tiles " + Twine(blocking.pixels) + "x" +
                       Twine(blocking.vectors * b.lanes));
  b.loop(b.index(0), b.index(*filters), group,
         [&](Value from) { emitPanels(from, group); });
  return success();
}

void ConvolutionEmitter::emitPanels(Value from, int64_t filters) {
  int64_t panel = blocking.vectors * b.lanes;
  int64_t whole = filters - filters % panel;
  SmallVector<unsigned> loops(conv.batch);
  for (const Convolution::Axis &axis : llvm::drop_end(conv.spatial)) {
    loops.push_back(axis.result);
  }
  b.loop(b.index(0), b.index(whole), panel, [&](Value first) {
    point[conv.filter] = b.add(from, first);
    emitRows(loops, panel);
  });
  if (whole != filters) {
    point[conv.filter] = b.add(from, whole);
    emitRows(loops, filters - whole);
  }
}

void ConvolutionEmitter::emitRows(ArrayRef<unsigned> loops, int64_t filters) {
  if (loops.empty()) {
    emitRow(filters);
    return;
  }
  b.loop(b.index(0), sizes[loops.front()], 1, [&](Value index) {
    point[loops.front()] = index;
    emitRows(loops.drop_front(), filters);
  });
}

/// Register tiles along a row of pixels, all of about the same length.
void ConvolutionEmitter::emitRow(int64_t filters) {
  unsigned along = conv.spatial.back().result;
  Value width = sizes[along];
  auto tile = [&](Value at, int64_t pixels) {
    point[along] = at;
    emitTile(pixels, filters);
  };
  if (std::optional<int64_t> known = getConstantIntValue(width)) {
    int64_t tiles = llvm::divideCeil(*known, blocking.pixels);
    int64_t pixels = llvm::divideCeil(*known, std::max<int64_t>(tiles, 1));
    int64_t whole = pixels == 0 ? 0 : *known - *known % pixels;
    if (whole != 0) {
      b.loop(b.index(0), b.index(whole), pixels,
             [&](Value at) { tile(at, pixels); });
    }
    if (whole != *known) {
      tile(b.index(whole), *known - whole);
    }
    return;
  }
  Value done = b.roundDown(width, blocking.pixels);
  b.loop(b.index(0), done, blocking.pixels,
         [&](Value at) { tile(at, blocking.pixels); });
  // What is left, in powers of two.
  for (int64_t pixels = llvm::bit_floor(static_cast<uint64_t>(blocking.pixels));
       pixels >= 1; pixels /= 2) {
    Value rest = b.roundDown(b.sub(width, done), pixels);
    b.loop(b.index(0), rest, pixels,
           [&](Value at) { tile(b.add(done, at), pixels); });
    done = b.add(done, rest);
  }
}

void ConvolutionEmitter::emitTile(int64_t pixels, int64_t filters) {
  Value zero = b.splat(0.0);
  SmallVector<Value> sums(pixels * vectorsOf(filters), zero);
  store(pixels, filters, sum(summed, pixels, filters, sums));
}

SmallVector<Value> ConvolutionEmitter::sum(ArrayRef<unsigned> loops,
                                           int64_t pixels, int64_t filters,
                                           ValueRange sums) {
  if (loops.empty()) {
    return multiply(pixels, filters, sums);
  }
  unsigned dim = loops.front();
  auto emitLoop = [&](Value from, Value to, int64_t unroll, ValueRange init) {
    return b.loop(from, to, unroll, init, [&](Value index, ValueRange carried) {
      SmallVector<Value> next(carried);
      for (int64_t i = 0; i < unroll; ++i) {
        point[dim] = b.add(index, i);
        next = sum(loops.drop_front(), pixels, filters, next);
      }
      return next;
    });
  };
  Value size = sizes[dim];
  constexpr int64_t kUnroll = 4;
  std::optional<int64_t> known = getConstantIntValue(size);
  if (loops.size() > 1 || (known && *known < kUnroll)) {
    return emitLoop(b.index(0), size, 1, sums);
  }
  Value whole = b.roundDown(size, kUnroll);
  SmallVector<Value> result = emitLoop(b.index(0), whole, kUnroll, sums);
  if (known && *known % kUnroll == 0) {
    return result;
  }
  return emitLoop(whole, size, 1, result);
}

Value ConvolutionEmitter::extend(Value value) {
  Type type = getElementTypeOrSelf(value.getType());
  if (type == b.element) {
    return value;
  }
  Type wide = isa<VectorType>(value.getType()) ? Type(b.vector) : b.element;
  return arith::ExtFOp::create(b, wide, value);
}

/// A mask of the first `length` lanes.
static Value getMask(RowBuilder &b, int64_t length) {
  return vector::ConstantMaskOp::create(
      b, VectorType::get(b.lanes, b.getI1Type()), ArrayRef<int64_t>{length});
}

Value ConvolutionEmitter::loadVector(Value memory, SmallVector<Value> indices,
                                     int64_t length) {
  auto type = VectorType::get(b.lanes, getElementTypeOrSelf(memory.getType()));
  if (length == b.lanes) {
    return extend(vector::LoadOp::create(b, type, memory, indices));
  }
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(type));
  return extend(vector::MaskedLoadOp::create(b, type, memory, indices,
                                             getMask(b, length), zero));
}

/// Adds the products of one kernel offset and channel.
SmallVector<Value> ConvolutionEmitter::multiply(int64_t pixels, int64_t filters,
                                                ValueRange sums) {
  int64_t vectors = vectorsOf(filters);
  unsigned along = conv.spatial.back().result;
  bool inPanels = readsPanels();
  auto atVector = [&](SmallVector<Value> indices, int64_t vector) {
    indices.back() = b.add(indices.back(), vector * b.lanes);
    return indices;
  };
  SmallVector<Value> weights;
  SmallVector<Value> weightAddress = address(1);
  for (int64_t v = 0; v < vectors; ++v) {
    // Panels have zeros behind the last filter.
    weights.push_back(loadVector(filter, atVector(weightAddress, v),
                                 inPanels ? b.lanes : lanesOf(filters, v)));
  }
  SmallVector<Value> result(sums);
  Value first = point[along];
  for (int64_t pixel = 0; pixel < pixels; ++pixel) {
    point[along] = b.add(first, pixel);
    SmallVector<Value> indices = address(0);
    Value factor;
    if (!conv.isDepthwise()) {
      factor = b.splat(b.loadElement(x, indices));
    }
    for (int64_t v = 0; v < vectors; ++v) {
      Value value =
          factor ? factor
                 : loadVector(x, atVector(indices, v), lanesOf(filters, v));
      Value &total = result[pixel * vectors + v];
      total = b.multiplyAdd(value, weights[v], total);
    }
  }
  point[along] = first;
  return result;
}

void ConvolutionEmitter::store(int64_t pixels, int64_t filters,
                               ValueRange sums) {
  int64_t vectors = vectorsOf(filters);
  unsigned along = conv.spatial.back().result;
  Value first = point[along];
  for (int64_t pixel = 0; pixel < pixels; ++pixel) {
    point[along] = b.add(first, pixel);
    SmallVector<Value> indices = address(2);
    Value column = indices.back();
    for (int64_t v = 0; v < vectors; ++v) {
      indices.back() = b.add(column, v * b.lanes);
      int64_t length = lanesOf(filters, v);
      Value value = sums[pixel * vectors + v];
      if (!overwrites) {
        value = b.plus(loadVector(out, indices, length), value);
      }
      if (length == b.lanes) {
        vector::StoreOp::create(b, value, out, indices);
      } else {
        vector::MaskedStoreOp::create(b, out, indices, getMask(b, length),
                                      value);
      }
    }
  }
  point[along] = first;
}
