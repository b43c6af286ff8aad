// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tells contents apart: a hash that runs at the speed of memory.
#ifndef KVERN_LIB_RUNTIME_CONTENTHASH_H
#define KVERN_LIB_RUNTIME_CONTENTHASH_H

#include <cstddef>
#include <string>

namespace kvern::runtime {

/// 128 bits as hexadecimal digits. Two contents that differ by accident have
/// different ones; it is no defence against contents made to collide.
std::string contentHash(const void *data, size_t size);

} // namespace kvern::runtime

#endif // KVERN_LIB_RUNTIME_CONTENTHASH_H
