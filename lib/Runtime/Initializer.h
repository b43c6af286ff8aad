// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs the code that derives a weight from others.
#ifndef KVERN_LIB_RUNTIME_INITIALIZER_H
#define KVERN_LIB_RUNTIME_INITIALIZER_H

#include "lib/Runtime/Executable.h"

namespace kvern::runtime {

/// Computes derived weight `weight` of `executable` from the data of its
/// inputs, on the threads that this one may use. Fails with Artifact when the
/// initializer does not give a tensor of the weight's shape, or as a run does.
Result<Memory::Ref> runInitializer(const Executable &executable, size_t weight,
                                   const std::vector<const void *> &inputs);

} // namespace kvern::runtime

#endif // KVERN_LIB_RUNTIME_INITIALIZER_H
