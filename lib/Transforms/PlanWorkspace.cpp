//===- PlanWorkspace.cpp - One arena for all intermediate values ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// 1. An allocation in the entry block of a kernel becomes an argument; each
// call
//    allocates it before the call, from the sizes it passes.
// 2. Each allocation of the host program has a lifetime: from where it stands
// to
//    the last op that uses it or a view of it. In program order it takes the
//    first slot that is free by then and large enough: one of the same size
//    expression, or the smallest of those with a number as size. The arena is
//    the slots one after the other, each rounded up to 64 bytes.
// 3. What does not follow from the input sizes is left to the runtime.
//
//===----------------------------------------------------------------------===//

#include "dialect/Kvern.h"
#include "lib/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace kvern {
#define GEN_PASS_DEF_PLANWORKSPACE
#include "lib/Transforms/Passes.h.inc"
} // namespace kvern

using namespace mlir;
using namespace kvern;

/// Copies of index arithmetic at another place. `mapping` gives the leaves.
/// Null when the value depends on anything but arithmetic on leaves.
static Value rematerialize(Value value, OpBuilder &builder,
                           IRMapping &mapping) {
  if (Value known = mapping.lookupOrNull(value)) {
    return known;
  }
  Operation *op = value.getDefiningOp();
  bool isArithmetic =
      op && op->getNumRegions() == 0 &&
      (isa<arith::ArithDialect>(op->getDialect()) || isa<HostSymbolOp>(op));
  if (!isArithmetic) {
    return {};
  }
  for (Value operand : op->getOperands()) {
    if (!rematerialize(operand, builder, mapping)) {
      return {};
    }
  }
  builder.clone(*op, mapping);
  return mapping.lookup(value);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

static LogicalResult passScratch(func::FuncOp kernel,
                                 ArrayRef<func::CallOp> calls) {
  auto allocations =
      llvm::to_vector(kernel.getBody().front().getOps<memref::AllocOp>());
  for (memref::AllocOp alloc : allocations) {
    for (func::CallOp call : calls) {
      OpBuilder builder(call);
      IRMapping mapping;
      mapping.map(kernel.getArguments().take_front(call.getNumOperands()),
                  call.getOperands());
      SmallVector<Value> sizes;
      for (Value size : alloc.getDynamicSizes()) {
        sizes.push_back(rematerialize(size, builder, mapping));
        if (!sizes.back()) {
          return alloc.emitOpError("has a size that the caller cannot know");
        }
      }
      Value scratch =
          memref::AllocOp::create(builder, alloc.getLoc(), alloc.getType(),
                                  sizes, alloc.getAlignmentAttr());
      call.getOperandsMutable().append(scratch);
    }
    unsigned index = kernel.getNumArguments();
    if (failed(kernel.insertArgument(index, alloc.getType(), {},
                                     alloc.getLoc()))) {
      return failure();
    }
    alloc.replaceAllUsesWith(kernel.getArgument(index));
    alloc.erase();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The host program
//===----------------------------------------------------------------------===//

namespace {

/// A size in bytes as a number times dynamic sizes.
struct SizeKey {
  int64_t factor;
  SmallVector<Value> sizes;

  bool isStatic() const { return sizes.empty(); }
  bool operator==(const SizeKey &other) const {
    return factor == other.factor && sizes == other.sizes;
  }
};

struct Slot {
  SizeKey key;
  Value bytes;
  /// The position after which it is free again.
  int64_t freeAfter;
};

class ArenaPlanner {
public:
  explicit ArenaPlanner(func::FuncOp program) : program(program) {}
  void run();

private:
  void numberOps();
  int64_t getLastUse(Value value) const;
  SizeKey getKey(memref::AllocOp alloc) const;
  /// The size in bytes, computed where the builder stands; null when it is not
  /// known there.
  Value getBytes(memref::AllocOp alloc, OpBuilder &builder,
                 IRMapping &mapping) const;
  size_t takeSlot(const SizeKey &key, Value bytes, int64_t start, int64_t end);

  func::FuncOp program;
  DenseMap<Operation *, int64_t> positions;
  SmallVector<Slot> slots;
};

} // namespace

void ArenaPlanner::numberOps() {
  int64_t next = 0;
  for (Operation &op : program.getBody().front()) {
    op.walk([&](Operation *inner) { positions[inner] = next; });
    ++next;
  }
}

int64_t ArenaPlanner::getLastUse(Value value) const {
  int64_t last = positions.lookup(value.getDefiningOp());
  for (Operation *user : value.getUsers()) {
    last = std::max(last, positions.lookup(user));
    for (Value result : user->getResults()) {
      if (isa<BaseMemRefType>(result.getType())) {
        last = std::max(last, getLastUse(result));
      }
    }
  }
  return last;
}

SizeKey ArenaPlanner::getKey(memref::AllocOp alloc) const {
  MemRefType type = alloc.getType();
  // i1 takes a byte.
  int64_t factor =
      llvm::divideCeil(type.getElementType().getIntOrFloatBitWidth(), 8);
  for (int64_t size : type.getShape()) {
    factor *= ShapedType::isDynamic(size) ? 1 : size;
  }
  SizeKey key{factor, llvm::to_vector(alloc.getDynamicSizes())};
  llvm::sort(key.sizes, [](Value a, Value b) {
    return a.getAsOpaquePointer() < b.getAsOpaquePointer();
  });
  return key;
}

Value ArenaPlanner::getBytes(memref::AllocOp alloc, OpBuilder &builder,
                             IRMapping &mapping) const {
  SizeKey key = getKey(alloc);
  Location loc = alloc.getLoc();
  Value bytes = arith::ConstantIndexOp::create(builder, loc, key.factor);
  for (Value size : alloc.getDynamicSizes()) {
    Value here = rematerialize(size, builder, mapping);
    if (!here) {
      return {};
    }
    bytes = builder.createOrFold<arith::MulIOp>(loc, bytes, here);
  }
  return bytes;
}

size_t ArenaPlanner::takeSlot(const SizeKey &key, Value bytes, int64_t start,
                              int64_t end) {
  std::optional<size_t> best;
  for (auto [i, slot] : llvm::enumerate(slots)) {
    if (slot.freeAfter >= start) {
      continue;
    }
    if (slot.key == key) {
      best = i;
      break;
    }
    if (slot.key.isStatic() && key.isStatic() &&
        slot.key.factor >= key.factor &&
        (!best || slot.key.factor < slots[*best].key.factor)) {
      best = i;
    }
  }
  if (!best) {
    best = slots.size();
    slots.push_back({key, bytes, end});
  }
  slots[*best].freeAfter = end;
  return *best;
}

void ArenaPlanner::run() {
  Block &block = program.getBody().front();
  auto allocations = llvm::to_vector(block.getOps<memref::AllocOp>());
  if (allocations.empty()) {
    return;
  }
  numberOps();
  Value frame = program.getArgument(0);
  auto bytesType = MemRefType::get({ShapedType::kDynamic},
                                   IntegerType::get(program.getContext(), 8));

  OpBuilder entry = OpBuilder::atBlockBegin(&block);
  IRMapping mapping;
  mapping.map(frame, frame);
  SmallVector<std::pair<memref::AllocOp, size_t>> placed;
  for (memref::AllocOp alloc : allocations) {
    Value bytes = getBytes(alloc, entry, mapping);
    if (bytes) {
      size_t slot = takeSlot(getKey(alloc), bytes, positions.lookup(alloc),
                             getLastUse(alloc));
      placed.emplace_back(alloc, slot);
      continue;
    }
    OpBuilder builder(alloc);
    IRMapping here;
    for (Value size : alloc.getDynamicSizes()) {
      here.map(size, size);
    }
    Value memory = HostAllocOp::create(builder, alloc.getLoc(), bytesType,
                                       frame, getBytes(alloc, builder, here));
    Value zero = arith::ConstantIndexOp::create(builder, alloc.getLoc(), 0);
    alloc.replaceAllUsesWith(
        memref::ViewOp::create(builder, alloc.getLoc(), alloc.getType(), memory,
                               zero, alloc.getDynamicSizes())
            .getResult());
    alloc.erase();
  }

  Location loc = program.getLoc();
  constexpr int64_t alignment = 64;
  Value offset = arith::ConstantIndexOp::create(entry, loc, 0);
  SmallVector<Value> offsets;
  for (const Slot &slot : slots) {
    offsets.push_back(offset);
    Value mask = arith::ConstantIndexOp::create(entry, loc, -alignment);
    Value bias = arith::ConstantIndexOp::create(entry, loc, alignment - 1);
    Value rounded = entry.createOrFold<arith::AndIOp>(
        loc, entry.createOrFold<arith::AddIOp>(loc, slot.bytes, bias), mask);
    offset = entry.createOrFold<arith::AddIOp>(loc, offset, rounded);
  }
  if (placed.empty()) {
    return;
  }
  Value arena = HostWorkspaceOp::create(entry, loc, bytesType, frame, offset);
  for (auto [alloc, slot] : placed) {
    OpBuilder builder(alloc);
    alloc.replaceAllUsesWith(
        memref::ViewOp::create(builder, alloc.getLoc(), alloc.getType(), arena,
                               offsets[slot], alloc.getDynamicSizes())
            .getResult());
    alloc.erase();
  }
}

namespace {

struct PlanWorkspace : kvern::impl::PlanWorkspaceBase<PlanWorkspace> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    llvm::MapVector<func::FuncOp, SmallVector<func::CallOp>> calls;
    getOperation().walk([&](func::CallOp call) {
      auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
      if (callee && callee->hasAttr("kvern.kernel") && !callee.isExternal()) {
        calls[callee].push_back(call);
      }
    });
    for (auto &[kernel, sites] : calls) {
      if (failed(passScratch(kernel, sites))) {
        return signalPassFailure();
      }
    }
    for (auto program : getOperation().getOps<func::FuncOp>()) {
      if (program->hasAttr("kvern.program")) {
        ArenaPlanner(program).run();
      }
    }
  }
};

} // namespace
