//===- HostTarget.h - The processor of this process -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_LIB_PIPELINES_HOSTTARGET_H
#define KVERN_LIB_PIPELINES_HOSTTARGET_H

#include "lib/Codegen/CpuTarget.h"

namespace kvern {

/// The target named `cpu` and `features`; "host" is the processor that this
/// process runs on, with all its features.
CpuTarget resolveTarget(llvm::StringRef cpu, llvm::StringRef features);

} // namespace kvern

#endif // KVERN_LIB_PIPELINES_HOSTTARGET_H
