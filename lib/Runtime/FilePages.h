// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gives memory back that only repeats what a file holds.
#ifndef KVERN_LIB_RUNTIME_FILEPAGES_H
#define KVERN_LIB_RUNTIME_FILEPAGES_H

#include <cstdint>

namespace kvern::runtime {

/// Takes the whole pages of [data, data + bytes) that are those of a mapped
/// file out of this process; they come back when they are read again. Pages
/// with contents of their own (allocated, or written in a copy-on-write
/// mapping) stay, so nothing is ever lost, unless another thread writes to them
/// for the first time meanwhile. Does nothing where the system does not tell
/// pages apart.
void forgetFilePages(const void *data, uint64_t bytes);

} // namespace kvern::runtime

#endif // KVERN_LIB_RUNTIME_FILEPAGES_H
