//===- ProgramBuilder.cpp - Builds one host program -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Conversion/KvernToHost/ProgramBuilder.h"

#include "dialect/ops/Trace.h"
#include "lib/Support/StorageTypes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace kvern;

static ArrayRef<DimAttr> getShape(Type type) {
  if (auto tensor = dyn_cast<kvern::TensorType>(type)) {
    return tensor.getShape();
  }
  return cast<BufferType>(type).getShape();
}

static bool isView(Operation *op) {
  return isa<ReshapeOp, SqueezeOp, UnsqueezeOp, RebindOp>(op);
}

/// What a value is a view of.
static Value stripViews(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isView(op)) {
      break;
    }
    value = op->getOperand(0);
  }
  return value;
}

/// Whether initializers read a value, and nothing else.
static bool isReadAtLoadOnly(Value value) {
  return !value.use_empty() &&
         llvm::all_of(value.getUsers(), [](Operation *user) {
           return isa<DerivedWeightOp>(user) ||
                  (isView(user) && isReadAtLoadOnly(user->getResult(0)));
         });
}

ProgramBuilder::ProgramBuilder(func::FuncOp graph, const SymbolTable &kernels,
                               WeightTable &weights)
    : graph(graph), kernels(kernels), weightTable(weights), builder(graph) {}

LogicalResult ProgramBuilder::run() {
  if (failed(checkDevices())) {
    return failure();
  }
  MLIRContext *context = graph.getContext();
  auto pointer = LLVM::LLVMPointerType::get(context);
  // A graph may be named as a function of libm is.
  program = func::FuncOp::create(
      builder, graph.getLoc(), ("graph_" + graph.getSymName()).str(),
      builder.getFunctionType(pointer, builder.getI32Type()));
  builder.setInsertionPointToStart(program.addEntryBlock());
  frame = program.getArgument(0);

  bindInputs();
  Block &body = graph.getBody().front();
  auto terminator = cast<func::ReturnOp>(body.getTerminator());
  outputs.resize(terminator.getNumOperands());
  for (auto [i, value] : llvm::enumerate(terminator.getOperands())) {
    // A view of a value is written where the value is.
    outputOf.try_emplace(stripViews(value), i);
  }
  for (Operation &op : body) {
    if (failed(convert(op))) {
      return failure();
    }
  }
  program->setAttr("kvern.program", getManifest());
  return success();
}

LogicalResult ProgramBuilder::checkDevices() {
  auto check = [&](Location loc, Type type) -> LogicalResult {
    DeviceAttr device;
    if (auto tensor = dyn_cast<kvern::TensorType>(type)) {
      device = tensor.getDevice();
    } else if (auto buffer = dyn_cast<BufferType>(type)) {
      device = buffer.getDevice();
    }
    if (device && !(device.isCPU() && device.getId() == 0)) {
      return emitError(loc) << "expected all values on cpu:0, the device of "
                               "this target, but got one on "
                            << device.str();
    }
    return success();
  };
  for (BlockArgument argument : graph.getArguments()) {
    if (failed(check(graph.getLoc(), argument.getType()))) {
      return failure();
    }
  }
  for (Operation &op : graph.getBody().front()) {
    for (Type type : op.getResultTypes()) {
      if (failed(check(op.getLoc(), type))) {
        return failure();
      }
    }
  }
  return success();
}

void ProgramBuilder::bindInputs() {
  Location loc = graph.getLoc();
  for (BlockArgument argument : graph.getArguments()) {
    for (DimAttr dim : getShape(argument.getType())) {
      for (StringAttr name : dim.getSymbols()) {
        if (!dims.contains(name)) {
          dims.set(name,
                   HostSymbolOp::create(builder, loc, frame, symbols.size()));
          symbols.push_back(name);
        }
      }
    }
  }
  numInputSymbols = symbols.size();
  for (auto [i, argument] : llvm::enumerate(graph.getArguments())) {
    memory[argument] =
        HostInputOp::create(builder, loc, getMemRefType(argument.getType()),
                            frame, getDynamicSizes(loc, argument.getType()), i);
  }
}

LogicalResult ProgramBuilder::checkNames(Operation *op, DimAttr dim) {
  for (StringAttr name : dim.getSymbols()) {
    if (!dims.contains(name)) {
      return op->emitOpError("expected dimension ")
             << name << " to be a size of an input, or of a rebind or a "
             << "run-time slice before this op, but nothing gives it a value";
    }
  }
  return success();
}

LogicalResult ProgramBuilder::checkNames(Operation &op) {
  // These give names their values.
  if (isa<RebindOp, CheckSliceOp>(op)) {
    return success();
  }
  WalkResult result = WalkResult::advance();
  AttrTypeWalker walker;
  walker.addWalk([&](DimAttr dim) {
    result = failed(checkNames(&op, dim)) ? WalkResult::interrupt()
                                          : WalkResult::advance();
    return result;
  });
  walker.walk(op.getAttrDictionary());
  for (Type type : op.getResultTypes()) {
    if (!result.wasInterrupted()) {
      walker.walk(type);
    }
  }
  return failure(result.wasInterrupted());
}

LogicalResult ProgramBuilder::convert(Operation &op) {
  if (failed(checkNames(op))) {
    return failure();
  }
  Location loc = op.getLoc();
  auto addWeight = [&](int64_t index, Value value) {
    weightOf[value] = index;
    if (isReadAtLoadOnly(value)) {
      return success();
    }
    int64_t number = llvm::find(weights, index) - weights.begin();
    if (number == static_cast<int64_t>(weights.size())) {
      weights.push_back(index);
    }
    memory[value] = HostWeightOp::create(
        builder, loc, getMemRefType(value.getType()), frame, number);
    return success();
  };
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](WeightOp weight) -> LogicalResult {
        if (weight.getPlaceholder()) {
          return weight.emitOpError("expected placeholder weight ")
                 << weight.getName() << " to be completed by a call";
        }
        FailureOr<int64_t> index = weightTable.add(weight);
        return failed(index) ? failure() : addWeight(*index, weight);
      })
      .Case([&](ConstantOp constant) {
        return addWeight(weightTable.add(constant), constant);
      })
      .Case([&](DerivedWeightOp derived) {
        SmallVector<int64_t> inputs;
        for (Value input : derived.getWeights()) {
          inputs.push_back(weightOf.lookup(stripViews(input)));
        }
        return addWeight(weightTable.add(derived, inputs), derived.getResult());
      })
      .Case([&](CallOp call) { return convertCall(call); })
      .Case<ReshapeOp, SqueezeOp, UnsqueezeOp>([&](Operation *view) {
        convertView(*view);
        return success();
      })
      .Case([&](RebindOp rebind) { return convertRebind(rebind); })
      .Case<CheckSizesOp, CheckIndicesOp, CheckSliceOp>(
          [&](auto check) { return convertCheck(check); })
      .Case([&](func::ReturnOp terminator) {
        convertReturn(terminator);
        return success();
      })
      .Default([&](Operation *other) {
        return other->emitOpError("is not part of a kernel");
      });
}

LogicalResult ProgramBuilder::convertCall(CallOp call) {
  auto kernel = kernels.lookup<func::FuncOp>(call.getCallee());
  Location loc = call.getLoc();
  SmallVector<Value> operands;
  for (Value operand : call->getOperands()) {
    operands.push_back(memory.lookup(operand));
  }
  for (Value result : call.getResults()) {
    memory[result] = allocate(result);
    operands.push_back(memory[result]);
  }
  for (unsigned i = operands.size(); i < kernel.getNumArguments(); ++i) {
    auto name = kernel.getArgAttrOfType<StringAttr>(i, "kvern.symbol");
    auto dim = name && call.getDimsAttr()
                   ? call.getDimsAttr().getAs<DimAttr>(name)
                   : DimAttr();
    if (!dim) {
      return call.emitOpError("expected a dim for argument ")
             << i << " of @" << kernel.getSymName();
    }
    operands.push_back(dims.get(builder, loc, dim));
  }
  HostStepOp::create(builder, loc, frame, steps.add(call, kernel));
  func::CallOp::create(builder, loc, kernel, operands);
  return success();
}

void ProgramBuilder::convertView(Operation &op) {
  Value result = op.getResult(0);
  if (isReadAtLoadOnly(result) && weightOf.contains(stripViews(result))) {
    return;
  }
  memory[result] =
      viewAs(op.getLoc(), memory.lookup(op.getOperand(0)), result.getType());
}

LogicalResult ProgramBuilder::convertRebind(RebindOp op) {
  Location loc = op.getLoc();
  for (auto [axis, sizes] : llvm::enumerate(llvm::zip_equal(
           getShape(op.getX().getType()), getShape(op.getType())))) {
    auto [from, to] = sizes;
    if (from == to) {
      continue;
    }
    Value got = dims.get(builder, loc, from);
    if (StringAttr name = to.getSymbolName(); name && !dims.contains(name)) {
      dims.set(name, got);
      symbols.push_back(name);
      continue;
    }
    if (failed(checkNames(op, to))) {
      return failure();
    }
    Value want = dims.get(builder, loc, to);
    Value same = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                       got, want);
    addCheck(op, same, {got, want}, "shape",
             "expected size " + to.str() + " = {1} at axis " + Twine(axis) +
                 ", but got " + from.str() + " = {0}" +
                 (op.getMessage().empty() ? "" : ": ") + op.getMessage());
  }
  convertView(*op);
  return success();
}

/// "n = {0}", or just the number.
static std::string describe(DimAttr dim, int value) {
  return dim.isStatic() ? dim.str()
                        : dim.str() + " = {" + std::to_string(value) + "}";
}

LogicalResult ProgramBuilder::convertCheck(CheckSizesOp op) {
  Location loc = op.getLoc();
  Value lhs = dims.get(builder, loc, op.getLhs());
  Value rhs = dims.get(builder, loc, op.getRhs());
  auto predicate =
      op.getAtMost() ? arith::CmpIPredicate::sle : arith::CmpIPredicate::eq;
  Value holds = arith::CmpIOp::create(builder, loc, predicate, lhs, rhs);
  addCheck(op, holds, {lhs, rhs}, "bounds",
           "expected " + op.getSubject() + ", but got " +
               describe(op.getLhs(), 0) + " and " + describe(op.getRhs(), 1));
  return success();
}

LogicalResult ProgramBuilder::convertCheck(CheckIndicesOp op) {
  Location loc = op.getLoc();
  Value lowest = loadScalar(loc, op.getLowest());
  Value highest = loadScalar(loc, op.getHighest());
  Value size = dims.get(builder, loc, op.getSize());
  Value bottom = arith::SubIOp::create(builder, loc, constant(loc, 0), size);
  Value above = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge,
                                      lowest, bottom);
  Value below = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                      highest, size);
  Value holds = arith::AndIOp::create(builder, loc, above, below);
  addCheck(op, holds, {lowest, highest, size}, "index",
           "expected indices from -{2} to below {2}, the size of axis " +
               Twine(op.getAxis()) + ", but got values from {0} to {1}");
  return success();
}

LogicalResult ProgramBuilder::convertCheck(CheckSliceOp op) {
  Location loc = op.getLoc();
  for (Attribute bound :
       {Attribute(op.getSizeAttr()), op.getStart(), op.getStop()}) {
    if (auto dim = dyn_cast<DimAttr>(bound);
        dim && failed(checkNames(op, dim))) {
      return failure();
    }
  }
  Value size = dims.get(builder, loc, op.getSize());
  Value zero = constant(loc, 0);
  int64_t step = op.getStep();
  // Where a bound may lie: [0, size] going up, [-1, size - 1] going down.
  Value low = constant(loc, step > 0 ? 0 : -1);
  Value high = step > 0
                   ? size
                   : arith::SubIOp::create(builder, loc, size, constant(loc, 1))
                         .getResult();
  unsigned next = 0;
  auto getBound = [&](Attribute bound) -> Value {
    if (auto dim = dyn_cast<DimAttr>(bound)) {
      return dims.get(builder, loc, dim);
    }
    Value value = loadScalar(loc, op.getBounds()[next++]);
    Value isNegative = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::slt, value, zero);
    Value wrapped = arith::AddIOp::create(builder, loc, value, size);
    value = arith::SelectOp::create(builder, loc, isNegative, wrapped, value);
    value = arith::MaxSIOp::create(builder, loc, value, low);
    return arith::MinSIOp::create(builder, loc, value, high);
  };
  Value start = getBound(op.getStart());
  Value stop = getBound(op.getStop());
  Value span = step > 0 ? arith::SubIOp::create(builder, loc, stop, start)
                        : arith::SubIOp::create(builder, loc, start, stop);
  span = arith::MaxSIOp::create(builder, loc, span, zero);
  Value count = arith::CeilDivSIOp::create(builder, loc, span,
                                           constant(loc, std::abs(step)));
  DimAttr named = op.getCount();
  if (StringAttr name = named.getSymbolName(); name && !dims.contains(name)) {
    dims.set(name, count);
    symbols.push_back(name);
    return success();
  }
  if (failed(checkNames(op, named))) {
    return failure();
  }
  Value want = dims.get(builder, loc, named);
  Value same = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                     count, want);
  addCheck(op, same, {count, want}, "bounds",
           "expected a slice of size " + named.str() + " = {1} at axis " +
               Twine(op.getAxis()) + ", but the run-time bounds give {0}");
  return success();
}

void ProgramBuilder::convertReturn(func::ReturnOp op) {
  Location loc = op.getLoc();
  for (auto [i, value] : llvm::enumerate(op.getOperands())) {
    if (!outputs[i]) {
      Value target = createOutput(loc, i);
      memref::CopyOp::create(builder, loc, memory.lookup(value), target);
    }
  }
  Value ok =
      arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(0));
  func::ReturnOp::create(builder, loc, ok);
}

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

bool ProgramBuilder::areKnown(Type type) const {
  return llvm::all_of(getShape(type), [&](DimAttr dim) {
    return llvm::all_of(dim.getSymbols(),
                        [&](StringAttr name) { return dims.contains(name); });
  });
}

Value ProgramBuilder::createOutput(Location loc, int64_t index) {
  Type type = graph.getResultTypes()[index];
  outputs[index] =
      HostOutputOp::create(builder, loc, getMemRefType(type), frame,
                           getDynamicSizes(loc, type), index);
  return outputs[index];
}

Value ProgramBuilder::allocate(Value result) {
  Location loc = result.getLoc();
  if (auto it = outputOf.find(result);
      it != outputOf.end() && areKnown(graph.getResultTypes()[it->second])) {
    return viewAs(loc, createOutput(loc, it->second), result.getType());
  }
  constexpr int64_t alignment = 64;
  return memref::AllocOp::create(builder, loc, getMemRefType(result.getType()),
                                 getDynamicSizes(loc, result.getType()),
                                 builder.getI64IntegerAttr(alignment));
}

Value ProgramBuilder::viewAs(Location loc, Value source, Type type) {
  MemRefType target = getMemRefType(type);
  if (source.getType() == target) {
    return source;
  }
  ArrayRef<DimAttr> shape = getShape(type);
  SmallVector<OpFoldResult> sizes = dims.getFoldResults(builder, loc, shape);
  SmallVector<OpFoldResult> strides(shape.size());
  DimAttr stride = DimAttr::getStatic(graph.getContext(), 1);
  for (int64_t axis = shape.size() - 1; axis >= 0; --axis) {
    strides[axis] = dims.getFoldResult(builder, loc, stride);
    bool isZero = shape[axis].isStatic(0);
    stride = stride * shape[axis];
    if (isZero) {
      stride = DimAttr::getStatic(graph.getContext(), 0);
    }
  }
  return memref::ReinterpretCastOp::create(
      builder, loc, target, source, builder.getIndexAttr(0), sizes, strides);
}

SmallVector<Value> ProgramBuilder::getDynamicSizes(Location loc, Type type) {
  return dims.getDynamicSizes(builder, loc, getShape(type));
}

Value ProgramBuilder::constant(Location loc, int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

Value ProgramBuilder::loadScalar(Location loc, Value tensor) {
  Value source = memory.lookup(tensor);
  SmallVector<Value> indices(cast<MemRefType>(source.getType()).getRank(),
                             constant(loc, 0));
  Value element = memref::LoadOp::create(builder, loc, source, indices);
  Type index = builder.getIndexType();
  bool isUnsigned = cast<kvern::TensorType>(tensor.getType())
                        .getElementType()
                        .isUnsignedInteger();
  if (isUnsigned) {
    return arith::IndexCastUIOp::create(builder, loc, index, element);
  }
  return arith::IndexCastOp::create(builder, loc, index, element);
}

/// "model.py:12", of the innermost file location.
static std::string getFileAndLine(Location loc) {
  SmallVector<std::string> lines = getLines(loc);
  return lines.empty() ? "" : lines.front();
}

/// The op that the user wrote and a check was made for.
static StringRef getCheckedOp(Operation *check) {
  if (auto name = check->getAttrOfType<StringAttr>(checkedOpAttrName)) {
    return name.getValue();
  }
  return llvm::TypeSwitch<Operation *, StringRef>(check)
      .Case([](CheckIndicesOp) { return GatherOp::getOperationName(); })
      .Case<CheckSizesOp, CheckSliceOp>(
          [](auto) { return SliceOp::getOperationName(); })
      .Default([](Operation *op) { return op->getName().getStringRef(); });
}

void ProgramBuilder::addCheck(Operation *op, Value condition, ValueRange values,
                              StringRef kind, const Twine &message) {
  HostCheckOp::create(builder, op->getLoc(), frame, condition, values,
                      checks.size());
  auto text = [&](const Twine &value) { return builder.getStringAttr(value); };
  checks.push_back(builder.getDictionaryAttr(
      {builder.getNamedAttr("kind", text(kind)),
       builder.getNamedAttr("op", text(getCheckedOp(op))),
       builder.getNamedAttr("location", text(getFileAndLine(op->getLoc()))),
       builder.getNamedAttr("message", text(message))}));
}

DictionaryAttr ProgramBuilder::getManifest() {
  Builder attrs(graph.getContext());
  auto types = [&](TypeRange range) {
    return attrs.getTypeArrayAttr(llvm::to_vector(range));
  };
  auto initializer = graph->getAttrOfType<StringAttr>(initializerAttrName);
  auto rows = graph->getAttrOfType<IntegerAttr>(rowsAttrName);
  return attrs.getDictionaryAttr(
      {attrs.getNamedAttr("name", graph.getSymNameAttr()),
       attrs.getNamedAttr("initializer",
                          initializer ? initializer : attrs.getStringAttr("")),
       attrs.getNamedAttr("rows", rows ? rows : attrs.getI64IntegerAttr(0)),
       attrs.getNamedAttr("symbols", attrs.getArrayAttr(symbols)),
       attrs.getNamedAttr("num_input_symbols",
                          attrs.getI64IntegerAttr(numInputSymbols)),
       attrs.getNamedAttr("inputs", types(graph.getArgumentTypes())),
       attrs.getNamedAttr("outputs", types(graph.getResultTypes())),
       attrs.getNamedAttr("weights", attrs.getDenseI64ArrayAttr(weights)),
       attrs.getNamedAttr("checks", attrs.getArrayAttr(checks)),
       attrs.getNamedAttr("steps", steps.getAttr(graph.getContext()))});
}
