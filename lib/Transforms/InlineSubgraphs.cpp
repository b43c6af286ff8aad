//===- InlineSubgraphs.cpp - Calls of subgraphs become their bodies -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/ops/Call.h"
#include "lib/Transforms/Passes.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/IRMapping.h"

namespace kvern {
#define GEN_PASS_DEF_INLINESUBGRAPHS
#include "lib/Transforms/Passes.h.inc"
} // namespace kvern

using namespace mlir;
using namespace kvern;

namespace {

struct InlineSubgraphs : kvern::impl::InlineSubgraphsBase<InlineSubgraphs> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (auto graph : getOperation().getOps<func::FuncOp>()) {
      if (graph.isPublic() && failed(inlineCalls(graph, symbols))) {
        return signalPassFailure();
      }
    }
    for (auto function :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      if (function.isPrivate() && !function->hasAttr("kvern.kernel")) {
        symbols.erase(function);
      }
    }
  }

  /// Calls that the inlined bodies bring in are met in their turn, since a body
  /// is put where its call stood.
  LogicalResult inlineCalls(func::FuncOp graph, const SymbolTable &symbols) {
    constexpr int maxDepth = 64;
    for (int depth = 0; depth < maxDepth; ++depth) {
      SmallVector<CallOp> calls;
      graph.walk([&](CallOp call) {
        auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
        if (callee && !callee->hasAttr("kvern.kernel")) {
          calls.push_back(call);
        }
      });
      if (calls.empty()) {
        return success();
      }
      for (CallOp call : calls) {
        if (failed(inlineCall(
                call, symbols.lookup<func::FuncOp>(call.getCallee())))) {
          return failure();
        }
      }
    }
    return graph.emitError("subgraphs are nested more than ")
           << maxDepth << " deep, or call themselves";
  }

  LogicalResult inlineCall(CallOp call, func::FuncOp callee) {
    FailureOr<DimMapping> dims =
        matchArguments(callee, call->getOperandTypes(), call.getDimsAttr(),
                       [&] { return call.emitOpError(); });
    if (failed(dims)) {
      return failure();
    }
    if (callee.isExternal()) {
      return call.emitOpError("expected a body for @") << callee.getSymName();
    }
    std::string invalid;
    AttrTypeReplacer replacer;
    replacer.addReplacement(
        [&](Type type) -> std::optional<std::pair<Type, WalkResult>> {
          if (!isa<kvern::TensorType, BufferType>(type)) {
            return std::nullopt;
          }
          Type replaced = substitute(type, *dims);
          if (!replaced && invalid.empty()) {
            llvm::raw_string_ostream(invalid) << type;
          }
          return std::make_pair(replaced ? replaced : type, WalkResult::skip());
        });
    replacer.addReplacement(
        [&](DimAttr dim) -> std::optional<std::pair<Attribute, WalkResult>> {
          DimAttr replaced = dim.substitute(*dims);
          return std::make_pair(Attribute(replaced ? replaced : dim),
                                WalkResult::skip());
        });

    OpBuilder builder(call);
    IRMapping mapping;
    mapping.map(callee.getArguments(), call->getOperands());
    for (Operation &op : callee.getBody().front().without_terminator()) {
      Operation *clone = builder.clone(op, mapping);
      replacer.recursivelyReplaceElementsIn(clone, /*replaceAttrs=*/true,
                                            /*replaceLocs=*/false,
                                            /*replaceTypes=*/true);
      if (!invalid.empty()) {
        return call.emitOpError("expected valid sizes in @")
               << callee.getSymName() << " for " << invalid;
      }
      if (auto weight = dyn_cast<WeightOp>(clone);
          weight && weight.getPlaceholder()) {
        weight.setName((call.getPrefix() + weight.getName()).str());
        weight.setPlaceholder(false);
      } else if (auto inner = dyn_cast<CallOp>(clone);
                 inner && !call.getPrefix().empty() &&
                 !inner.getPrefix().empty()) {
        // A prefix inside a subgraph is relative to the prefix of its call.
        inner.setPrefix((call.getPrefix() + inner.getPrefix()).str());
      }
    }
    Operation *terminator = callee.getBody().front().getTerminator();
    for (auto [result, value] :
         llvm::zip_equal(call.getResults(), terminator->getOperands())) {
      result.replaceAllUsesWith(mapping.lookupOrDefault(value));
    }
    call.erase();
    return success();
  }
};

} // namespace
