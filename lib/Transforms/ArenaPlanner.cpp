//===- ArenaPlanner.cpp - Places values of a host program -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// 1. A value lives from where it is allocated to the last op that uses it or a
//    view of it.
// 2. Sizes are numbers times the same dynamic sizes, or cannot be compared. Of
//    those that can be, the largest comes first; each takes the first slot
//    whose values all live at other times, so a slot is never too small for it
//    (the greedy rule of Pisarchyk and Lee, "Efficient Memory Management for
//    Deep Neural Net Inference", 2020).
// 3. The arena is the slots one after the other, each rounded up to 64 bytes.
//
//===----------------------------------------------------------------------===//

#include "lib/Transforms/ArenaPlanner.h"

#include "dialect/Kvern.h"
#include "dialect/ops/Parallel.h"
#include "lib/Support/CopyArithmetic.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace kvern;

/// Null when the value depends on anything but arithmetic on leaves.
static Value rematerialize(Value value, OpBuilder &builder,
                           IRMapping &mapping) {
  return copyArithmetic(value, builder, mapping, [](Operation *op) {
    return isa<arith::ArithDialect>(op->getDialect()) ||
           isa<HostSymbolOp, HostWorkersOp>(op);
  });
}

namespace {

/// A size in bytes as a number times dynamic sizes, which are sorted.
struct SizeKey {
  int64_t factor;
  SmallVector<Value> sizes;

  void multiply(Value size);
};

/// A value that is to be placed.
struct Tenant {
  memref::AllocOp alloc;
  SizeKey key;
  Value bytes;
  /// Positions in the program, both included.
  int64_t start, end;
  size_t slot = 0;
};

struct Slot {
  Value bytes;
  SmallVector<const Tenant *> tenants;

  bool isFreeFor(const Tenant &tenant) const {
    return llvm::none_of(tenants, [&](const Tenant *other) {
      return other->start <= tenant.end && tenant.start <= other->end;
    });
  }
};

class ArenaPlanner {
public:
  explicit ArenaPlanner(func::FuncOp program)
      : program(program), entry(OpBuilder::atBlockBegin(&getBody())),
        frame(program.getArgument(0)) {
    leaves.map(frame, frame);
  }

  void run();

private:
  Block &getBody() { return program.getBody().front(); }
  void numberOps();
  int64_t getLastUse(Value value) const;
  static SizeKey getKey(memref::AllocOp alloc);
  /// The size in bytes, computed where the builder stands; null when it is not
  /// known there.
  static Value getBytes(memref::AllocOp alloc, OpBuilder &builder,
                        IRMapping &mapping);
  void allocateDuringRun(memref::AllocOp alloc);
  void assignSlots();
  /// Where each slot begins, and at the end the size of the arena.
  SmallVector<Value> getOffsets();
  void createCompanion(Value bytes);
  void replaceByView(memref::AllocOp alloc, Value memory, Value offset);

  func::FuncOp program;
  OpBuilder entry;
  IRMapping leaves;
  Value frame;
  DenseMap<Operation *, int64_t> positions;
  SmallVector<Tenant> tenants;
  SmallVector<Slot> slots;
};

} // namespace

void SizeKey::multiply(Value size) {
  APInt constant;
  if (matchPattern(size, m_ConstantInt(&constant))) {
    factor *= constant.getSExtValue();
  } else if (auto product = size.getDefiningOp<arith::MulIOp>()) {
    multiply(product.getLhs());
    multiply(product.getRhs());
  } else {
    sizes.push_back(size);
  }
}

void ArenaPlanner::numberOps() {
  int64_t next = 0;
  for (Operation &op : getBody()) {
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

/// The bytes of a type with 1 in place of each dynamic size.
static int64_t getStaticBytes(MemRefType type) {
  // i1 takes a byte.
  int64_t bytes =
      llvm::divideCeil(type.getElementType().getIntOrFloatBitWidth(), 8);
  for (int64_t size : type.getShape()) {
    bytes *= ShapedType::isDynamic(size) ? 1 : size;
  }
  return bytes;
}

SizeKey ArenaPlanner::getKey(memref::AllocOp alloc) {
  SizeKey key{getStaticBytes(alloc.getType()), {}};
  for (Value size : alloc.getDynamicSizes()) {
    key.multiply(size);
  }
  llvm::sort(key.sizes, [](Value a, Value b) {
    return a.getAsOpaquePointer() < b.getAsOpaquePointer();
  });
  return key;
}

Value ArenaPlanner::getBytes(memref::AllocOp alloc, OpBuilder &builder,
                             IRMapping &mapping) {
  Location loc = alloc.getLoc();
  Value bytes = arith::ConstantIndexOp::create(builder, loc,
                                               getStaticBytes(alloc.getType()));
  for (Value size : alloc.getDynamicSizes()) {
    Value here = rematerialize(size, builder, mapping);
    if (!here) {
      return {};
    }
    bytes = builder.createOrFold<arith::MulIOp>(loc, bytes, here);
  }
  return bytes;
}

void ArenaPlanner::replaceByView(memref::AllocOp alloc, Value memory,
                                 Value offset) {
  OpBuilder builder(alloc);
  alloc.replaceAllUsesWith(
      memref::ViewOp::create(builder, alloc.getLoc(), alloc.getType(), memory,
                             offset, alloc.getDynamicSizes())
          .getResult());
  alloc.erase();
}

static MemRefType getBytesType(MLIRContext *context) {
  return MemRefType::get({ShapedType::kDynamic}, IntegerType::get(context, 8));
}

void ArenaPlanner::allocateDuringRun(memref::AllocOp alloc) {
  OpBuilder builder(alloc);
  IRMapping here;
  for (Value size : alloc.getDynamicSizes()) {
    here.map(size, size);
  }
  Value memory = HostAllocOp::create(builder, alloc.getLoc(),
                                     getBytesType(program.getContext()), frame,
                                     getBytes(alloc, builder, here));
  Value zero = arith::ConstantIndexOp::create(builder, alloc.getLoc(), 0);
  replaceByView(alloc, memory, zero);
}

void ArenaPlanner::assignSlots() {
  // Classes of sizes that can be compared, in program order of the first.
  SmallVector<SmallVector<Tenant *>> classes;
  for (Tenant &tenant : tenants) {
    auto *found = llvm::find_if(classes, [&](ArrayRef<Tenant *> members) {
      return members.front()->key.sizes == tenant.key.sizes;
    });
    if (found == classes.end()) {
      found = &classes.emplace_back();
    }
    found->push_back(&tenant);
  }
  for (SmallVector<Tenant *> &members : classes) {
    llvm::stable_sort(members, [](const Tenant *a, const Tenant *b) {
      return a->key.factor > b->key.factor;
    });
    size_t first = slots.size();
    for (Tenant *tenant : members) {
      tenant->slot = first;
      while (tenant->slot < slots.size() &&
             !slots[tenant->slot].isFreeFor(*tenant)) {
        ++tenant->slot;
      }
      if (tenant->slot == slots.size()) {
        slots.push_back({tenant->bytes, {}});
      }
      slots[tenant->slot].tenants.push_back(tenant);
    }
  }
}

SmallVector<Value> ArenaPlanner::getOffsets() {
  constexpr int64_t alignment = 64;
  Location loc = program.getLoc();
  SmallVector<Value> offsets = {arith::ConstantIndexOp::create(entry, loc, 0)};
  for (const Slot &slot : slots) {
    Value mask = arith::ConstantIndexOp::create(entry, loc, -alignment);
    Value bias = arith::ConstantIndexOp::create(entry, loc, alignment - 1);
    Value rounded = entry.createOrFold<arith::AndIOp>(
        loc, entry.createOrFold<arith::AddIOp>(loc, slot.bytes, bias), mask);
    offsets.push_back(
        entry.createOrFold<arith::AddIOp>(loc, offsets.back(), rounded));
  }
  return offsets;
}

void ArenaPlanner::createCompanion(Value bytes) {
  StringRef graph = program.getSymName();
  graph.consume_front("graph_");
  OpBuilder builder(program);
  Location loc = program.getLoc();
  auto companion = func::FuncOp::create(
      builder, loc, ("workspace_" + graph).str(),
      builder.getFunctionType(frame.getType(), builder.getI64Type()));
  builder.setInsertionPointToStart(companion.addEntryBlock());
  IRMapping mapping;
  mapping.map(frame, companion.getArgument(0));
  Value same = rematerialize(bytes, builder, mapping);
  Value result =
      arith::IndexCastOp::create(builder, loc, builder.getI64Type(), same);
  func::ReturnOp::create(builder, loc, result);
  program->setAttr(workspaceAttrName, FlatSymbolRefAttr::get(companion));
}

void ArenaPlanner::run() {
  numberOps();
  for (memref::AllocOp alloc :
       llvm::to_vector(getBody().getOps<memref::AllocOp>())) {
    Value bytes = getBytes(alloc, entry, leaves);
    if (!bytes) {
      allocateDuringRun(alloc);
      continue;
    }
    tenants.push_back({alloc, getKey(alloc), bytes, positions.lookup(alloc),
                       getLastUse(alloc)});
  }
  if (tenants.empty()) {
    return;
  }
  assignSlots();
  SmallVector<Value> offsets = getOffsets();
  Value arena = HostWorkspaceOp::create(entry, program.getLoc(),
                                        getBytesType(program.getContext()),
                                        frame, offsets.back());
  for (const Tenant &tenant : tenants) {
    replaceByView(tenant.alloc, arena, offsets[tenant.slot]);
  }
  createCompanion(offsets.back());
}

void kvern::planArena(func::FuncOp program) { ArenaPlanner(program).run(); }
