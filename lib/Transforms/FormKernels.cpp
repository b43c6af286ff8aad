//===- FormKernels.cpp - Groups ops into kernels --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// 1. Free producers (broadcasts, ranges, small constants) are copied to each of
//    their users, so that they never force a value into memory.
// 2. The remaining ops are grouped (FusionGroups.h).
// 3. Each group becomes a function. Dimension names are renumbered in order of
//    appearance, so that groups which differ in names only give equal text, and
//    equal text is one function.
//
//===----------------------------------------------------------------------===//

#include "dialect/ops/Call.h"
#include "dialect/ops/KVCache.h"
#include "lib/Transforms/FusionGroups.h"
#include "lib/Transforms/Passes.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

namespace kvern {
#define GEN_PASS_DEF_FORMKERNELS
#include "lib/Transforms/Passes.h.inc"
} // namespace kvern

using namespace mlir;
using namespace kvern;

/// One copy of every broadcast, range and cache for each use.
static void copyFreeProducers(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (isa<PagedCacheOp>(op) && op.use_empty()) {
      op.erase();
      continue;
    }
    if (!isa<BroadcastToOp, RangeOp, PagedCacheOp>(op)) {
      continue;
    }
    OpBuilder builder(&op);
    for (OpOperand &use :
         llvm::make_early_inc_range(llvm::drop_begin(op.getUses()))) {
      use.set(builder.clone(op)->getResult(0));
    }
  }
}

/// "kernel_matmul_add_relu", of at most five ops. The prefix keeps it apart
/// from the functions of libm.
static std::string getBaseName(const FusionGroup &group) {
  std::string name = "kernel";
  for (Operation *op : ArrayRef(group.ops).take_front(5)) {
    if (!isa<PagedCacheOp>(op)) {
      name += "_" + op->getName().stripDialect().str();
    }
  }
  return name;
}

namespace {

class KernelOutliner {
public:
  explicit KernelOutliner(ModuleOp module) : symbols(module) {}

  /// Replaces the ops of the group by a call of the kernel they become.
  void outline(const FusionGroup &group);

private:
  func::FuncOp buildFunction(const FusionGroup &group,
                             ArrayRef<Value> operands);
  /// Renames the dimensions of `kernel` and returns old names by new ones.
  static DictionaryAttr renumberDims(func::FuncOp kernel);

  SymbolTable symbols;
  llvm::StringMap<func::FuncOp> kernels;
};

} // namespace

func::FuncOp KernelOutliner::buildFunction(const FusionGroup &group,
                                           ArrayRef<Value> operands) {
  Operation *last = group.getLast();
  OpBuilder builder(last->getContext());
  SmallVector<Value> values = group.getResults();
  auto type = builder.getFunctionType(TypeRange(operands), TypeRange(values));
  // A fixed name, since the text identifies the kernel.
  auto kernel = func::FuncOp::create(last->getLoc(), "kernel", type);
  kernel.setPrivate();
  kernel->setAttr("kvern.kernel", builder.getUnitAttr());
  Block *body = kernel.addEntryBlock();
  builder.setInsertionPointToStart(body);
  IRMapping mapping;
  mapping.map(operands, body->getArguments());
  for (Operation *op : group.ops) {
    for (OpOperand &use : op->getOpOperands()) {
      if (!mapping.contains(use.get()) && isInlined(use)) {
        builder.clone(*use.get().getDefiningOp(), mapping);
      }
    }
    builder.clone(*op, mapping);
  }
  SmallVector<Value> results;
  for (Value result : values) {
    results.push_back(mapping.lookup(result));
  }
  func::ReturnOp::create(builder, last->getLoc(), results);
  return kernel;
}

DictionaryAttr KernelOutliner::renumberDims(func::FuncOp kernel) {
  MLIRContext *context = kernel.getContext();
  DimMapping renamed;
  SmallVector<NamedAttribute> originals;
  AttrTypeReplacer replacer;
  replacer.addReplacement(
      [&](DimAttr dim) -> std::optional<std::pair<Attribute, WalkResult>> {
        for (StringAttr name : dim.getSymbols()) {
          auto [it, inserted] = renamed.try_emplace(name);
          if (inserted) {
            std::string fresh = "d" + std::to_string(originals.size());
            it->second = DimAttr::getSymbol(context, fresh);
            originals.emplace_back(
                StringAttr::get(context, fresh),
                DimAttr::getSymbol(context, name.getValue()));
          }
        }
        return std::make_pair(Attribute(dim.substitute(renamed)),
                              WalkResult::skip());
      });
  replacer.recursivelyReplaceElementsIn(kernel, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
  return DictionaryAttr::get(context, originals);
}

void KernelOutliner::outline(const FusionGroup &group) {
  llvm::SmallPtrSet<Operation *, 8> members(group.ops.begin(), group.ops.end());
  llvm::SetVector<Value> operands;
  for (Operation *op : group.ops) {
    for (OpOperand &use : op->getOpOperands()) {
      Operation *def = use.get().getDefiningOp();
      if (!(def && members.contains(def)) && !isInlined(use)) {
        operands.insert(use.get());
      }
    }
  }
  func::FuncOp kernel = buildFunction(group, operands.getArrayRef());
  DictionaryAttr dims = renumberDims(kernel);
  std::string text;
  llvm::raw_string_ostream os(text);
  kernel.print(os);
  auto [it, inserted] = kernels.try_emplace(text, kernel);
  if (inserted) {
    kernel.setName(getBaseName(group));
    symbols.insert(kernel);
  } else {
    kernel.erase();
  }

  Operation *last = group.getLast();
  OpBuilder builder(last);
  // Of all ops, the last first: errors and reports name it.
  SmallVector<Location> lines;
  for (Operation *op : llvm::reverse(group.ops)) {
    lines.push_back(op->getLoc());
  }
  Location loc = FusedLoc::get(builder.getContext(), lines);
  SmallVector<Value> results = group.getResults();
  auto call = CallOp::create(builder, loc, TypeRange(results),
                             it->second.getSymName(), operands.getArrayRef(),
                             /*prefix=*/"", dims);
  for (auto [from, to] : llvm::zip_equal(results, call.getResults())) {
    from.replaceAllUsesWith(to);
  }
  for (Operation *op : llvm::reverse(group.ops)) {
    op->erase();
  }
}

namespace {

struct FormKernels : kvern::impl::FormKernelsBase<FormKernels> {
  void runOnOperation() override {
    KernelOutliner outliner(getOperation());
    auto graphs = llvm::to_vector(getOperation().getOps<func::FuncOp>());
    for (func::FuncOp graph : graphs) {
      if (graph.isExternal() || graph->hasAttr("kvern.kernel")) {
        continue;
      }
      Block &block = graph.getBody().front();
      copyFreeProducers(block);
      for (const auto &group : formFusionGroups(block)) {
        outliner.outline(*group);
      }
      // Constants that now live in the kernels only.
      for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
        if (isInlinedConstant(&op) && op.use_empty()) {
          op.erase();
        }
      }
    }
  }
};

} // namespace
