// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The parts of a program after kvern-isolate-kernels, and what joins them.
//
// The root module holds a module `host` with the host program and declarations
// of the kernels it calls, and a module a kernel, of the kernel's name. Between
// kvern-expose-scratch and kvern-plan-workspace, a kernel with temporaries has
// a companion: a function from the kernel's index arguments to the temporaries,
// which the caller is to allocate and pass after all other arguments.
#ifndef KVERN_LIB_SUPPORT_KERNELMODULES_H
#define KVERN_LIB_SUPPORT_KERNELMODULES_H

#include "llvm/ADT/StringRef.h"

namespace kvern {

/// The name of the module with the host program.
inline constexpr llvm::StringLiteral hostModuleName = "host";
/// The attribute of a companion: the symbol of its kernel.
inline constexpr llvm::StringLiteral scratchAttrName = "kvern.scratch";
/// What a companion's name adds to that of its kernel.
inline constexpr llvm::StringLiteral scratchSuffix = "_scratch";

} // namespace kvern

#endif // KVERN_LIB_SUPPORT_KERNELMODULES_H
