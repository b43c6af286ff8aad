// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Target/CompileReport.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <ctime>

using namespace mlir;
using namespace kvern;

static double secondsBetween(CompileReport::Clock::time_point from,
                             CompileReport::Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

double kvern::getThreadSeconds() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) +
         static_cast<double>(time.tv_nsec) * 1e-9;
}

StringRef kvern::getPartName(Operation *op) {
  for (; op; op = op->getParentOp()) {
    auto module = dyn_cast<ModuleOp>(op);
    if (module && module.getSymName()) {
      return *module.getSymName();
    }
  }
  return "graph";
}

PartReport &CompileReport::getPart(StringRef name) { return parts[name]; }

void CompileReport::endStage(StringRef name) {
  std::lock_guard<std::mutex> lock(mutex);
  Clock::time_point now = Clock::now();
  stages.emplace_back(name, secondsBetween(stageStart, now));
  stageStart = now;
}

void CompileReport::addSeconds(StringRef part, StringRef pass, double seconds) {
  std::lock_guard<std::mutex> lock(mutex);
  getPart(part).passes[pass] += seconds;
}

void CompileReport::setSource(StringRef part, StringRef source) {
  std::lock_guard<std::mutex> lock(mutex);
  getPart(part).source = source.str();
}

void CompileReport::setObjectBytes(StringRef part, uint64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  getPart(part).objectBytes = bytes;
}

void CompileReport::setFailed(StringRef part) {
  std::lock_guard<std::mutex> lock(mutex);
  failed.insert(part.str());
}

std::string CompileReport::toJson() const {
  std::lock_guard<std::mutex> lock(mutex);
  llvm::json::Object stageTable, partTable;
  for (const auto &[name, seconds] : stages) {
    stageTable[name] = seconds;
  }
  for (const auto &entry : parts) {
    const PartReport &part = entry.second;
    llvm::json::Object passes;
    for (const auto &[pass, seconds] : part.passes) {
      passes[pass] = seconds;
    }
    partTable[entry.first()] = llvm::json::Object{
        {"source", part.source},
        {"object_bytes", static_cast<int64_t>(part.objectBytes)},
        {"passes", std::move(passes)}};
  }
  llvm::json::Array order;
  for (const auto &[name, seconds] : stages) {
    order.push_back(name);
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  os << llvm::json::Value(
      llvm::json::Object{{"seconds", secondsBetween(start, Clock::now())},
                         {"stage_names", std::move(order)},
                         {"stages", std::move(stageTable)},
                         {"parts", std::move(partTable)}});
  return text;
}

namespace {

class Stopwatch : public PassInstrumentation {
public:
  explicit Stopwatch(CompileReport &report) : report(report) {}

  // The pass manager calls these one at a time, before and after on the thread
  // that runs the pass. A pass object runs on one op at a time: threads have
  // copies of their own.
  void runBeforePass(Pass *pass, Operation *) override {
    starts[pass] = getThreadSeconds();
  }
  void runAfterPass(Pass *pass, Operation *op) override { stop(pass, op); }
  void runAfterPassFailed(Pass *pass, Operation *op) override {
    stop(pass, op);
    if (!pass->getArgument().empty()) {
      report.setFailed(getPartName(op));
    }
  }

private:
  void stop(Pass *pass, Operation *op) {
    // The adaptors that run nested pipelines have no argument.
    if (!pass->getArgument().empty()) {
      report.addSeconds(getPartName(op), pass->getArgument(),
                        getThreadSeconds() - starts[pass]);
    }
  }

  CompileReport &report;
  llvm::DenseMap<Pass *, double> starts;
};

} // namespace

std::unique_ptr<PassInstrumentation> CompileReport::createInstrumentation() {
  return std::make_unique<Stopwatch>(*this);
}
