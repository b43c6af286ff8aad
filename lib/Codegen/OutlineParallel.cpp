// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Moves the bodies of parallel loops to functions that threads call.
//
// For each outermost scf.forall of a kernel:
//   1. iterations are counted, and `grain` of them become a task: enough work
//      to pay for a thread's attention. The sizes alone decide, so that a task
//      computes the same whatever the number of threads;
//   2. what the body uses is captured: constants and views are made anew in the
//      function, so that its memory arguments are whole buffers, apart from
//      each other like those of a kernel;
//   3. a temporary of the body becomes a block for each worker, allocated by
//   the
//      kernel, or lies on the stack of the function.
#include "dialect/ops/Parallel.h"
#include "lib/Codegen/EntrySizes.h"
#include "lib/Codegen/Kernel.h"
#include "lib/Codegen/LoopBuilder.h"
#include "lib/Codegen/Passes.h"
#include "lib/Codegen/WorkEstimate.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Transforms.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Transforms/RegionUtils.h"

namespace kvern {
#define GEN_PASS_DEF_OUTLINEPARALLEL
#include "lib/Codegen/Passes.h.inc"
} // namespace kvern

using namespace mlir;
using namespace kvern;

static constexpr int64_t kAlignment = 64;
/// Tasks that a loop becomes, as long as each is between the least work of a
/// task and so many times that.
static constexpr int64_t kTasks = 64, kLarge = 16;
/// Tasks that a loop has to be worth: with fewer, data that moves to the cache
/// of another core costs more than it gains.
static constexpr int64_t kLeastTasks = 16;

namespace {
/// Arithmetic on sizes that are not negative.
class IndexBuilder : public LoopBuilder {
public:
  using LoopBuilder::index;
  using LoopBuilder::LoopBuilder;

  Value index(OpFoldResult value) {
    return getValueOrCreateConstantIndexOp(*this, getLoc(), value);
  }
  Value div(Value a, Value b) { return createOrFold<arith::DivUIOp>(a, b); }
  Value ceilDiv(Value a, Value b) { return div(add(a, sub(b, index(1))), b); }
};

/// One loop on its way out of a kernel.
class Outliner {
public:
  Outliner(func::FuncOp kernel, scf::ForallOp loop, int64_t taskWork)
      : kernel(kernel), loop(loop), taskWork(taskWork), b(loop.getLoc(), loop) {
  }

  /// Counts iterations and tasks; whether there may be more than one task.
  bool plan();
  void outline(StringRef name);
  /// Leaves a loop nest in the kernel.
  void makeSequential();

private:
  void capture(Value value);
  void emitIterations(IndexBuilder &in, unsigned dim, Value from, Value to,
                      SmallVector<Value> &indices);
  void emitBody(IndexBuilder &in, ArrayRef<Value> indices);
  Operation *ancestorInEntry();
  /// Allocations of the body.
  SmallVector<Operation *> temporaries();
  void allocateForWorkers();
  void emitTemporaries(IndexBuilder &in, Value worker);

  func::FuncOp kernel;
  scf::ForallOp loop;
  int64_t taskWork;
  IndexBuilder b;
  /// Turns of each dimension; iterations of a task; tasks.
  SmallVector<Value> turns;
  Value count, grain, tasks;
  /// Operations on elements, of all iterations.
  Value allWork;

  /// What the function takes, and what is made anew in it, in order.
  SetVector<Value> captures;
  SetVector<Operation *> copies;
  bool capturesWholeBuffers = true;

  /// Memory of all workers for a temporary, and how much of it each has.
  struct Shared {
    memref::AllocOp temporary;
    Value memory, bytes;
  };
  SmallVector<Shared> shared;
  /// From values of the kernel to values of the function.
  IRMapping mapping;
};
} // namespace

bool Outliner::plan() {
  count = b.index(1);
  for (auto [from, to, step] :
       llvm::zip(loop.getMixedLowerBound(), loop.getMixedUpperBound(),
                 loop.getMixedStep())) {
    Value size = b.sub(b.index(to), b.index(from));
    turns.push_back(b.ceilDiv(b.max(size, b.index(0)), b.index(step)));
    count = b.mul(count, turns.back());
  }
  Block &entry = kernel.getBody().front();
  OpBuilder atEntry = OpBuilder::atBlockBegin(&entry);
  EntrySizes sizes(entry, atEntry);
  Value work = estimateWork(*loop.getBody(), sizes, atEntry);
  work = b.max(work, b.index(1));
  // Many threads get several tasks each, and large ones where there is enough.
  int64_t most = taskWork * kLarge;
  allWork = b.mul(work, count);
  Value share = b.div(allWork, b.index(kTasks));
  share = b.min(b.max(share, b.index(taskWork)), b.index(most));
  Value isLittle = b.createOrFold<arith::CmpIOp>(
      arith::CmpIPredicate::slt, allWork, b.index(taskWork * kLeastTasks));
  share = b.createOrFold<arith::SelectOp>(isLittle, b.max(allWork, b.index(1)),
                                          share);
  std::optional<int64_t> knownWork = getConstantIntValue(work);
  grain = knownWork && *knownWork >= most ? b.index(1) : b.ceilDiv(share, work);
  tasks = b.ceilDiv(count, grain);
  std::optional<int64_t> known = getConstantIntValue(tasks);
  return !known || *known > 1;
}

/// The op of the entry block that is or holds the loop: what the kernel
/// allocates for it goes before that.
Operation *Outliner::ancestorInEntry() {
  Operation *op = loop;
  while (op->getBlock() != &kernel.getBody().front()) {
    op = op->getParentOp();
  }
  return op;
}

void Outliner::makeSequential() {
  Operation *before = ancestorInEntry();
  for (Operation *op : temporaries()) {
    op->moveBefore(before);
  }
  IRRewriter rewriter(loop);
  (void)scf::forallToForLoop(rewriter, loop);
}

SmallVector<Operation *> Outliner::temporaries() {
  SmallVector<Operation *> found;
  for (Operation &op : *loop.getBody()) {
    if (isa<memref::AllocOp, memref::AllocaOp>(op)) {
      found.push_back(&op);
    }
  }
  return found;
}

void Outliner::capture(Value value) {
  if (captures.contains(value)) {
    return;
  }
  Operation *op = value.getDefiningOp();
  bool isCopied = op &&
                  (op->hasTrait<OpTrait::ConstantLike>() ||
                   isa<ViewLikeOpInterface, memref::GetGlobalOp>(op)) &&
                  op->getNumRegions() == 0 && isPure(op);
  if (isCopied) {
    llvm::for_each(op->getOperands(), [&](Value v) { capture(v); });
    copies.insert(op);
    return;
  }
  if (isa<MemRefType>(value.getType())) {
    capturesWholeBuffers &=
        op ? isa<memref::AllocOp, memref::AllocaOp>(op)
           : cast<BlockArgument>(value).getOwner()->isEntryBlock() &&
                 isa<func::FuncOp>(value.getParentBlock()->getParentOp());
  }
  captures.insert(value);
}

/// Loops over the iterations [from, to) of the dimensions from `dim` in.
void Outliner::emitIterations(IndexBuilder &in, unsigned dim, Value from,
                              Value to, SmallVector<Value> &indices) {
  if (dim == turns.size()) {
    emitBody(in, indices);
    return;
  }
  // Iterations of one turn of this dimension.
  Value inner = in.index(1);
  for (Value size : llvm::drop_begin(turns, dim + 1)) {
    inner = in.mul(inner, mapping.lookup(size));
  }
  bool isSingle = getConstantIntValue(grain) == 1;
  OpBuilder::InsertionGuard guard(in);
  Value index;
  if (isSingle) {
    index = in.div(from, inner);
  } else {
    auto turn = scf::ForOp::create(in, in.div(from, inner),
                                   in.ceilDiv(to, inner), in.index(1));
    in.setInsertionPoint(turn.getBody()->getTerminator());
    index = turn.getInductionVar();
  }
  indices.push_back(index);
  Value done = in.mul(index, inner);
  Value first = in.sub(from, done), last = in.sub(to, done);
  if (!isSingle) {
    first = in.max(first, in.index(0));
    last = in.min(last, inner);
  }
  emitIterations(in, dim + 1, first, last, indices);
  indices.pop_back();
}

void Outliner::emitBody(IndexBuilder &in, ArrayRef<Value> indices) {
  auto inFunction = [&](OpFoldResult value) {
    auto captured = dyn_cast<Value>(value);
    return captured ? mapping.lookup(captured) : in.index(value);
  };
  for (auto [argument, index, from, step] :
       llvm::zip(loop.getInductionVars(), indices, loop.getMixedLowerBound(),
                 loop.getMixedStep())) {
    mapping.map(argument,
                in.add(inFunction(from), in.mul(index, inFunction(step))));
  }
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (!isa<memref::AllocOp, memref::AllocaOp>(op)) {
      in.clone(op, mapping);
    }
  }
}

void Outliner::allocateForWorkers() {
  IndexBuilder in(loop.getLoc(), ancestorInEntry());
  auto byteType = MemRefType::get({ShapedType::kDynamic}, in.getI8Type());
  for (Operation *op : temporaries()) {
    auto temporary = dyn_cast<memref::AllocOp>(op);
    if (!temporary) {
      continue;
    }
    MemRefType type = temporary.getType();
    Type element = type.getElementType();
    int64_t elements = 1;
    for (int64_t size : type.getShape()) {
      elements *= ShapedType::isDynamic(size) ? 1 : size;
    }
    Value bytes = in.index(
        elements * (element.isIntOrFloat()
                        ? llvm::divideCeil(element.getIntOrFloatBitWidth(), 8)
                        : 8));
    for (Value size : temporary.getDynamicSizes()) {
      bytes = in.mul(bytes, size);
    }
    bytes =
        in.mul(in.ceilDiv(bytes, in.index(kAlignment)), in.index(kAlignment));
    Value total = in.mul(bytes, HostWorkersOp::create(in));
    Value memory = memref::AllocOp::create(in, byteType, total,
                                           in.getI64IntegerAttr(kAlignment));
    shared.push_back({temporary, memory, bytes});
  }
}

void Outliner::emitTemporaries(IndexBuilder &in, Value worker) {
  for (auto &[temporary, memory, bytes] : shared) {
    SmallVector<Value> sizes;
    for (Value size : temporary.getDynamicSizes()) {
      sizes.push_back(mapping.lookup(size));
    }
    Value offset = in.mul(worker, mapping.lookup(bytes));
    Value view = memref::ViewOp::create(in, temporary.getType(),
                                        mapping.lookup(memory), offset, sizes);
    mapping.map(temporary.getResult(), view);
  }
  for (Operation *op : temporaries()) {
    if (isa<memref::AllocaOp>(op)) {
      in.clone(*op, mapping);
    }
  }
}

void Outliner::outline(StringRef name) {
  allocateForWorkers();
  SetVector<Value> used;
  getUsedValuesDefinedAbove(loop.getRegion(), used);
  used.insert_range(turns);
  used.insert_range(loop.getDynamicLowerBound());
  used.insert_range(loop.getDynamicStep());
  used.insert(count);
  used.insert(grain);
  for (Shared &block : shared) {
    used.insert(block.memory);
    used.insert(block.bytes);
  }
  llvm::for_each(used, [&](Value value) { capture(value); });

  SmallVector<Type> types(ValueRange(captures.getArrayRef()).getTypes());
  types.append({b.getIndexType(), b.getIndexType()});
  auto function =
      func::FuncOp::create(loop.getLoc(), name, b.getFunctionType(types, {}));
  function.setPrivate();
  if (capturesWholeBuffers) {
    function->setAttr(kKernelAttrName, b.getUnitAttr());
  }
  kernel->getBlock()->getOperations().insert(std::next(kernel->getIterator()),
                                             function);
  Block *body = function.addEntryBlock();
  IndexBuilder in(loop.getLoc(), b.getContext());
  in.setInsertionPointToStart(body);
  mapping.map(captures.getArrayRef(),
              body->getArguments().take_front(captures.size()));
  for (Operation *op : copies) {
    in.clone(*op, mapping);
  }
  Value task = body->getArgument(captures.size());
  emitTemporaries(in, body->getArguments().back());
  Value from = in.mul(task, mapping.lookup(grain));
  Value to = in.min(in.add(from, mapping.lookup(grain)), mapping.lookup(count));
  SmallVector<Value> indices;
  emitIterations(in, 0, from, to, indices);
  func::ReturnOp::create(in);

  HostParallelForOp::create(b, name, tasks, allWork, captures.getArrayRef());
  loop.erase();
}

namespace {
struct OutlineParallelPass
    : kvern::impl::OutlineParallelBase<OutlineParallelPass> {
  using OutlineParallelBase::OutlineParallelBase;

  void runOnOperation() override {
    for (auto kernel : llvm::to_vector(getOperation().getOps<func::FuncOp>())) {
      if (isKernel(kernel)) {
        outlineLoops(kernel);
      }
    }
  }

  void outlineLoops(func::FuncOp kernel) {
    SmallVector<scf::ForallOp> loops;
    IRRewriter rewriter(&getContext());
    // Inner loops first.
    kernel.walk([&](scf::ForallOp loop) {
      if (loop->getParentOfType<scf::ForallOp>()) {
        rewriter.setInsertionPoint(loop);
        (void)scf::forallToForLoop(rewriter, loop);
      } else {
        loops.push_back(loop);
      }
    });
    for (auto [number, loop] : llvm::enumerate(loops)) {
      Outliner outliner(kernel, loop, taskWork);
      if (outliner.plan()) {
        outliner.outline((kernel.getSymName() + "_loop" + Twine(number)).str());
      } else {
        outliner.makeSequential();
      }
    }
  }
};
} // namespace
