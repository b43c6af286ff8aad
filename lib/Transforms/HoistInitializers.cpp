//===- HoistInitializers.cpp - Work on weights alone is done at load ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// 1. A call of a kernel whose operands are known at load (weights, large
//    constants, views of them, results of such calls) becomes a
//    `kvern.derived_weight`.
// 2. Its initializer is a graph that calls the kernel. Packs, of which a model
//    has one a matrix, share one kernel whose sizes are names.
//
//===----------------------------------------------------------------------===//

#include "dialect/Inference.h"
#include "dialect/ops/Derived.h"
#include "dialect/ops/Packed.h"
#include "lib/Support/DimNames.h"
#include "lib/Transforms/Passes.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

namespace kvern {
#define GEN_PASS_DEF_HOISTINITIALIZERS
#include "lib/Transforms/Passes.h.inc"
} // namespace kvern

using namespace mlir;
using namespace kvern;

/// Bytes of a tensor of static sizes.
static std::optional<int64_t> getBytes(Type type) {
  auto tensor = dyn_cast<kvern::TensorType>(type);
  DimAttr count =
      tensor ? getNumElements(type.getContext(), tensor.getShape()) : DimAttr();
  std::optional<int64_t> elements =
      count ? count.getStaticValue() : std::nullopt;
  if (!elements) {
    return std::nullopt;
  }
  return *elements *
         llvm::divideCeil(tensor.getElementType().getIntOrFloatBitWidth(), 8);
}

/// Whether an element of the result takes longer to compute than to read.
static bool isCostly(func::FuncOp kernel) {
  return kernel
      .walk([](Operation *op) {
        return isa<CosOp, SinOp>(op) ? WalkResult::interrupt()
                                     : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether the result may stay in memory instead of being computed in each run.
static bool isWorthKeeping(CallOp call, func::FuncOp kernel) {
  // Tables of positions have a row for each token of the longest context.
  const int64_t kSmall = isCostly(kernel) ? 1 << 30 : 16 << 20;
  constexpr int64_t kGrowth = 4;
  int64_t read = 0;
  for (Type type : call->getOperandTypes()) {
    read += getBytes(type).value_or(0);
  }
  std::optional<int64_t> written = getBytes(call.getResult(0).getType());
  return written && (*written <= kSmall || *written / kGrowth <= read);
}

/// The same for functions that do the same.
static std::string getFingerprint(func::FuncOp kernel) {
  auto copy = cast<func::FuncOp>(kernel->clone());
  copy.setName("kernel");
  std::string text;
  llvm::raw_string_ostream os(text);
  copy.print(os);
  copy.erase();
  auto hash = llvm::SHA256::hash(llvm::arrayRefFromStringRef(text));
  return llvm::toHex(ArrayRef(hash).take_front(16), /*LowerCase=*/true);
}

namespace {

struct HoistInitializers
    : kvern::impl::HoistInitializersBase<HoistInitializers> {
  void runOnOperation() override {
    SymbolTable table(getOperation());
    symbols = &table;
    auto graphs = llvm::to_vector(llvm::make_filter_range(
        getOperation().getOps<func::FuncOp>(), [](func::FuncOp function) {
          return function.isPublic() && !function.isExternal() &&
                 !function->hasAttr(initializerAttrName);
        }));
    for (func::FuncOp graph : graphs) {
      hoistFrom(graph.getBody().front());
    }
    eraseUnusedKernels();
  }

private:
  void hoistFrom(Block &block);
  /// The kernel to run at load in place of `call`; null when there is none.
  func::FuncOp getKernel(CallOp call);
  func::FuncOp getInitializer(func::FuncOp kernel, CallOp call);
  func::FuncOp getPackKernel(func::FuncOp kernel, PackOp pack);
  void eraseUnusedKernels();

  SymbolTable *symbols = nullptr;
  /// By their text without sizes.
  llvm::StringMap<func::FuncOp> packKernels;
  llvm::DenseMap<Operation *, func::FuncOp> initializers;
};

} // namespace

/// The op, when it is the only one of a kernel.
static PackOp getLonePack(func::FuncOp kernel) {
  Block &body = kernel.getBody().front();
  return llvm::hasNItems(body, 2) ? dyn_cast<PackOp>(body.front()) : PackOp();
}

func::FuncOp HoistInitializers::getPackKernel(func::FuncOp kernel,
                                              PackOp pack) {
  auto type = cast<kvern::TensorType>(pack.getX().getType());
  std::string key;
  llvm::raw_string_ostream(key)
      << type.getElementType() << ' ' << type.getDevice().str() << ' '
      << pack->getAttrDictionary();
  func::FuncOp &generic = packKernels[key];
  if (generic) {
    return generic;
  }
  MLIRContext *context = &getContext();
  OpBuilder builder(kernel);
  kvern::TensorType named = type.withShape(
      {DimAttr::getSymbol(context, "d0"), DimAttr::getSymbol(context, "d1")});
  generic = func::FuncOp::create(kernel.getLoc(), kernel.getSymName(),
                                 builder.getFunctionType(named, {}));
  generic.setPrivate();
  generic->setAttr(kernelAttrName, builder.getUnitAttr());
  builder.setInsertionPointToStart(generic.addEntryBlock());
  auto copy = PackOp::create(builder, pack.getLoc(), generic.getArgument(0),
                             pack.getPanel(), pack.getTransposed());
  func::ReturnOp::create(builder, pack.getLoc(), copy->getResults());
  generic.setType(builder.getFunctionType(named, copy->getResultTypes()));
  symbols->insert(generic, Block::iterator(kernel));
  return generic;
}

func::FuncOp HoistInitializers::getKernel(CallOp call) {
  auto kernel = symbols->lookup<func::FuncOp>(call.getCallee());
  if (!kernel || kernel.isExternal() || !kernel->hasAttr(kernelAttrName) ||
      call->getNumResults() != 1 || !isWorthKeeping(call, kernel)) {
    return {};
  }
  if (PackOp pack = getLonePack(kernel)) {
    return getPackKernel(kernel, pack);
  }
  // Its sizes must follow from those of its operands, and be known at load.
  bool isSized = kernel.getArgumentTypes() == call->getOperandTypes() &&
                 (!call.getDimsAttr() || call.getDimsAttr().empty());
  return isSized ? kernel : func::FuncOp();
}

func::FuncOp HoistInitializers::getInitializer(func::FuncOp kernel,
                                               CallOp call) {
  func::FuncOp &initializer = initializers[kernel];
  if (initializer) {
    return initializer;
  }
  StringRef name = kernel.getSymName();
  name.consume_front("kernel_");
  OpBuilder builder(kernel);
  Location loc = call.getLoc();
  initializer = func::FuncOp::create(loc, ("initialize_" + name).str(),
                                     kernel.getFunctionType());
  initializer->setAttr(initializerAttrName,
                       builder.getStringAttr(getFingerprint(kernel)));
  // Each panel is made of rows of its own.
  if (PackOp pack = getLonePack(kernel); pack && pack.getTransposed()) {
    initializer->setAttr(rowsAttrName, pack.getPanelAttr());
  }
  Block *body = initializer.addEntryBlock();
  builder.setInsertionPointToStart(body);
  SmallVector<NamedAttribute> dims;
  for (StringAttr dim : collectDimNames(kernel)) {
    dims.emplace_back(dim, DimAttr::getSymbol(&getContext(), dim.getValue()));
  }
  auto inner = CallOp::create(builder, loc, kernel.getResultTypes(),
                              kernel.getSymName(), body->getArguments(),
                              /*prefix=*/"", builder.getDictionaryAttr(dims));
  func::ReturnOp::create(builder, loc, inner.getResults());
  symbols->insert(initializer, Block::iterator(kernel));
  return initializer;
}

void HoistInitializers::hoistFrom(Block &block) {
  llvm::DenseSet<Value> known;
  auto isKnown = [&](Value value) { return known.contains(value); };
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (isa<WeightOp, ConstantOp>(op)) {
      known.insert(op.getResult(0));
      continue;
    }
    if (op.getNumResults() != 1 || !getBytes(op.getResult(0).getType()) ||
        !llvm::all_of(op.getOperands(), isKnown)) {
      continue;
    }
    if (isa<ReshapeOp, SqueezeOp, UnsqueezeOp, RebindOp>(op)) {
      known.insert(op.getResult(0));
      continue;
    }
    auto call = dyn_cast<CallOp>(op);
    func::FuncOp kernel = call ? getKernel(call) : func::FuncOp();
    if (!kernel) {
      continue;
    }
    OpBuilder builder(call);
    auto derived = DerivedWeightOp::create(
        builder, call.getLoc(), call.getResult(0).getType(),
        getInitializer(kernel, call).getSymName(), call->getOperands());
    call.getResult(0).replaceAllUsesWith(derived.getResult());
    call.erase();
    known.insert(derived.getResult());
  }
}

void HoistInitializers::eraseUnusedKernels() {
  llvm::DenseSet<StringAttr> called;
  getOperation().walk(
      [&](CallOp call) { called.insert(call.getCalleeAttr().getAttr()); });
  for (auto kernel :
       llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
    if (kernel->hasAttr(kernelAttrName) && kernel.isPrivate() &&
        !called.contains(kernel.getSymNameAttr())) {
      kernel.erase();
    }
  }
}
