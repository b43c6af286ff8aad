// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Eight independent lanes of multiply and shift; every step is a bijection of
// its lane, so a change of one word always changes that lane.
#include "lib/Runtime/ContentHash.h"

#include <cstdint>
#include <cstdio>
#include <cstring>

namespace kvern::runtime {
namespace {

constexpr uint64_t kMultipliers[2] = {0x9e3779b97f4a7c15, 0xc2b2ae3d27d4eb4f};
constexpr size_t kLanes = 8;

uint64_t mix(uint64_t state, uint64_t word, uint64_t multiplier) {
  state = (state ^ word) * multiplier;
  return state ^ (state >> 29);
}

} // namespace

std::string contentHash(const void *data, size_t size) {
  const uint8_t *bytes = static_cast<const uint8_t *>(data);
  uint64_t lanes[kLanes];
  for (size_t i = 0; i < kLanes; ++i) {
    lanes[i] = mix(size, i + 1, kMultipliers[0]);
  }
  auto add = [&](const uint8_t *block) {
    uint64_t words[kLanes];
    std::memcpy(words, block, sizeof(words));
    for (size_t i = 0; i < kLanes; ++i) {
      lanes[i] = mix(lanes[i], words[i], kMultipliers[i % 2]);
    }
  };
  size_t position = 0;
  for (; size - position >= sizeof(lanes); position += sizeof(lanes)) {
    add(bytes + position);
  }
  uint8_t rest[sizeof(lanes)] = {};
  if (size != position) {
    std::memcpy(rest, bytes + position, size - position);
  }
  add(rest);

  char text[33];
  for (size_t half = 0; half < 2; ++half) {
    uint64_t state = half;
    for (uint64_t lane : lanes) {
      state = mix(state, lane, kMultipliers[half]);
    }
    state ^= state >> 32;
    std::snprintf(text + 16 * half, 17, "%016llx",
                  static_cast<unsigned long long>(state));
  }
  return text;
}

} // namespace kvern::runtime
