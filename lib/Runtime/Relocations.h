// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Relocations of x86-64.
#ifndef KVERN_LIB_RUNTIME_RELOCATIONS_H
#define KVERN_LIB_RUNTIME_RELOCATIONS_H

#include "lib/Runtime/CodeImage.h"

namespace kvern::runtime {

/// The operand is an address of 32 bits.
bool isAbsolute32(uint32_t type);
/// The operand is a distance of 32 bits to a symbol, or to a stub for it.
bool isRelative32(uint32_t type);
/// The operand is a distance to the symbol's entry in the GOT.
bool isThroughGot(uint32_t type);

/// Writes the GOT entries and the stubs of an object whose symbols have their
/// addresses, then applies its relocations. Fails for those that are not known,
/// do not fit or lie outside their section.
Status relocate(const PlacedObject &object, const CodeImage &image);

} // namespace kvern::runtime

#endif // KVERN_LIB_RUNTIME_RELOCATIONS_H
