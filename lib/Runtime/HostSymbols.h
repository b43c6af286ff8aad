// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions that generated code may call.
#ifndef KVERN_LIB_RUNTIME_HOSTSYMBOLS_H
#define KVERN_LIB_RUNTIME_HOSTSYMBOLS_H

#include <string_view>

namespace kvern::runtime {

/// The address of `name` among the runtime's entry points (Abi.h), the memory
/// functions and the mathematical functions of C; null for any other name.
void *lookupHostSymbol(std::string_view name);

} // namespace kvern::runtime

#endif // KVERN_LIB_RUNTIME_HOSTSYMBOLS_H
