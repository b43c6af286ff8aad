// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs the code that derives a weight from others.
#ifndef KVERN_LIB_RUNTIME_INITIALIZER_H
#define KVERN_LIB_RUNTIME_INITIALIZER_H

#include "lib/Runtime/Executable.h"

#include <functional>

namespace kvern::runtime {

/// Computes derived weight `weight` of `executable` from the data of its
/// inputs, on the threads that this one may use. Fails with Artifact when the
/// initializer does not give a tensor of the weight's shape, or as a run does.
///
/// Where it can, it works on parts of a large first input, and calls `wasRead`
/// with each as soon as it is not needed any more.
Result<Memory::Ref>
runInitializer(const Executable &executable, size_t weight,
               const std::vector<const void *> &inputs,
               const std::function<void(const void *, uint64_t)> &wasRead);

} // namespace kvern::runtime

#endif // KVERN_LIB_RUNTIME_INITIALIZER_H
