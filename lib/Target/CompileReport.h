// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where the time of a compilation went.
#ifndef KVERN_LIB_TARGET_COMPILEREPORT_H
#define KVERN_LIB_TARGET_COMPILEREPORT_H

#include "mlir/Pass/PassInstrumentation.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include <chrono>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace kvern {

/// What is known of a kernel, or of the host program.
struct PartReport {
  /// "compiled", "memory" or "disk": where the object came from.
  std::string source = "compiled";
  uint64_t objectBytes = 0;
  /// Seconds of processor time by pass; LLVM's three steps are
  /// `llvm-translate`, `llvm-optimize` and `llvm-codegen`.
  llvm::MapVector<llvm::StringRef, double> passes;
};

/// Processor time since the thread began, in seconds. Unlike time on the clock
/// it does not grow when other threads and processes want the processor.
double getThreadSeconds();

/// Seconds of a compilation: by stage on the clock, by kernel and pass on the
/// processor. The stages follow each other; parts are worked on in parallel.
/// Thread-safe.
class CompileReport {
public:
  using Clock = std::chrono::steady_clock;

  /// Ends a stage, which began where the one before it ended.
  void endStage(llvm::StringRef name);
  void addSeconds(llvm::StringRef part, llvm::StringRef pass, double seconds);
  void setSource(llvm::StringRef part, llvm::StringRef source);
  void setObjectBytes(llvm::StringRef part, uint64_t bytes);
  void setFailed(llvm::StringRef part);

  /// The parts in which a pass failed.
  const std::set<std::string> &getFailedParts() const { return failed; }

  /// The report as JSON: `seconds`, `stages`, `parts`.
  std::string toJson() const;

  /// Measures the passes of one pass manager, and notes where they fail. The
  /// report must outlive it.
  std::unique_ptr<mlir::PassInstrumentation> createInstrumentation();

private:
  PartReport &getPart(llvm::StringRef name);

  mutable std::mutex mutex;
  Clock::time_point start = Clock::now();
  Clock::time_point stageStart = start;
  std::vector<std::pair<std::string, double>> stages;
  /// In the order in which they were first named, which differs from run to
  /// run; the JSON is sorted.
  llvm::StringMap<PartReport> parts;
  std::set<std::string> failed;
};

/// The part that an op belongs to: the name of the innermost module with one,
/// or "graph".
llvm::StringRef getPartName(mlir::Operation *op);

} // namespace kvern

#endif // KVERN_LIB_TARGET_COMPILEREPORT_H
