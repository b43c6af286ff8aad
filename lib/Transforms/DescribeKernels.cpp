//===- DescribeKernels.cpp - What a kernel does, for reports --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Inference.h"
#include "dialect/ops/Convolution.h"
#include "dialect/ops/KVCache.h"
#include "dialect/ops/Packed.h"
#include "dialect/ops/Pooling.h"
#include "dialect/ops/Quant.h"
#include "dialect/ops/Sampling.h"
#include "lib/Transforms/Passes.h"

#include "llvm/ADT/TypeSwitch.h"

namespace kvern {
#define GEN_PASS_DEF_DESCRIBEKERNELS
#include "lib/Transforms/Passes.h.inc"
} // namespace kvern

using namespace mlir;
using namespace kvern;

static ArrayRef<DimAttr> getShape(Value value) {
  if (auto tensor = dyn_cast<kvern::TensorType>(value.getType())) {
    return tensor.getShape();
  }
  return cast<BufferType>(value.getType()).getShape();
}

static DimAttr getElements(Value value) {
  return getNumElements(value.getContext(), getShape(value));
}

/// A size that has overflowed stays null.
static DimAttr times(DimAttr a, DimAttr b) {
  return a && b ? a * b : DimAttr();
}
static DimAttr times(DimAttr a, int64_t b) { return a ? a * b : DimAttr(); }
static DimAttr plus(DimAttr a, DimAttr b) { return a && b ? a + b : DimAttr(); }

/// Additions and multiplications of the definition; functions such as exp count
/// as one, movement as none. Attention counts pairs that a mask leaves out.
static DimAttr getFlops(Operation *op) {
  auto none = DimAttr::getStatic(op->getContext(), 0);
  if (op->getNumResults() == 0) {
    return none;
  }
  if (isa<PagedCacheOp>(op)) {
    return none;
  }
  DimAttr results = getElements(op->getResult(0));
  return llvm::TypeSwitch<Operation *, DimAttr>(op)
      .Case<MatmulOp, PackedMatmulOp, QuantizedMatmulOp,
            PackedQuantizedMatmulOp>([&](auto product) {
        return times(times(results, getShape(product.getLhs()).back()), 2);
      })
      .Case<Conv2dOp, Conv3dOp>([&](auto conv) {
        // A filter element is used once for each place; all filters together
        // are the elements of `filter`.
        DimAttr filters = getElements(conv.getFilter());
        ArrayRef<DimAttr> shape = getShape(conv.getResult());
        bool last = conv.getInputLayout().ends_with("C");
        DimAttr places = shape.front();
        for (DimAttr size :
             last ? shape.drop_front().drop_back() : shape.drop_front(2)) {
          places = times(places, size);
        }
        return times(times(places, filters), 2);
      })
      .Case([&](PackedConvOp conv) {
        // Each result takes what lies between the panels and their columns.
        DimAttr depth =
            getNumElements(op->getContext(),
                           getShape(conv.getPanels()).drop_front().drop_back());
        return times(times(results, depth), 2);
      })
      .Case([&](Conv2dTransposeOp conv) {
        // Each pixel of x is multiplied by the whole filter.
        ArrayRef<DimAttr> x = getShape(conv.getX());
        bool last = isChannelsLast(conv.getInputLayout());
        DimAttr pixels = x.front();
        for (DimAttr size :
             last ? x.drop_front().drop_back() : x.drop_front(2)) {
          pixels = times(pixels, size);
        }
        return times(times(pixels, getElements(conv.getFilter())), 2);
      })
      .Case<MaxPool2dOp, AvgPool2dOp>([&](auto pool) {
        DimAttr rows = times(results, pool.getKernelSize()[0]);
        return times(rows, pool.getKernelSize()[1]);
      })
      .Case([&](AttentionOp attention) {
        DimAttr keys = getShape(attention.getK())[1];
        DimAttr work = plus(getElements(attention.getQ()), results);
        return times(times(work, keys), 2);
      })
      .Case<RaggedAttentionOp, PagedAttentionOp, LatentAttentionOp>(
          [&](Operation *) { return results; })
      .Case([&](SampleTokensOp sample) {
        return getElements(sample.getLogits());
      })
      .Case([&](CountTokensOp) { return none; })
      .Default([&](Operation *) {
        auto fusible = dyn_cast<FusionOpInterface>(op);
        switch (fusible ? fusible.getFusionKind() : FusionKind::View) {
        case FusionKind::Elementwise:
          return results;
        case FusionKind::Contraction:
          return results;
        case FusionKind::Reduction:
          return getElements(op->getOperand(0));
        case FusionKind::Norm:
          return times(getElements(op->getOperand(0)), 5);
        default:
          return none;
        }
      });
}

/// Bytes of a value in memory; i1 takes one an element.
static DimAttr getBytes(Type type) {
  auto bytes = [&](ArrayRef<DimAttr> shape, Type element) {
    int64_t size = llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
    return times(getNumElements(type.getContext(), shape), size);
  };
  if (auto tensor = dyn_cast<kvern::TensorType>(type)) {
    return bytes(tensor.getShape(), tensor.getElementType());
  }
  auto buffer = cast<BufferType>(type);
  return bytes(buffer.getShape(), buffer.getElementType());
}

/// What a kernel reads of an argument: of a table that rows are gathered from,
/// only those rows. Null for a cache, of which no one knows.
static DimAttr getBytesRead(BlockArgument argument) {
  DimAttr gathered = DimAttr::getStatic(argument.getContext(), 0);
  for (Operation *user : argument.getUsers()) {
    if (isa<PagedCacheOp>(user) && isa<BufferType>(argument.getType())) {
      return {};
    }
    if (!isa<GatherOp, PackedGatherOp, PackedQuantizedGatherOp>(user) ||
        user->getOperand(0) != argument) {
      return getBytes(argument.getType());
    }
    gathered = plus(gathered, getBytes(user->getResult(0).getType()));
  }
  return gathered;
}

namespace {

struct DescribeKernels : kvern::impl::DescribeKernelsBase<DescribeKernels> {
  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    if (kernel.isExternal() || !kernel->hasAttr("kvern.kernel")) {
      return;
    }
    Builder builder(&getContext());
    SmallVector<Attribute> ops;
    DimAttr flops = DimAttr::getStatic(&getContext(), 0), bytes = flops;
    for (Operation &op : kernel.getBody().front().without_terminator()) {
      if (!isa<ConstantOp, PagedCacheOp>(op)) {
        ops.push_back(builder.getStringAttr(op.getName().getStringRef()));
      }
      flops = plus(flops, getFlops(&op));
    }
    for (BlockArgument argument : kernel.getArguments()) {
      bytes = plus(bytes, getBytesRead(argument));
    }
    for (Type type : kernel.getResultTypes()) {
      bytes = plus(bytes, getBytes(type));
    }
    // What cannot be counted is left out.
    SmallVector<NamedAttribute> entries = {
        builder.getNamedAttr("ops", builder.getArrayAttr(ops))};
    if (flops) {
      entries.push_back(builder.getNamedAttr("flops", flops));
    }
    if (bytes) {
      entries.push_back(builder.getNamedAttr("bytes", bytes));
    }
    kernel->setAttr("kvern.work", builder.getDictionaryAttr(entries));
  }
};

} // namespace
