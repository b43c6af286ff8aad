// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Detection of x86-64 features by cpuid and xgetbv.
#include "lib/Runtime/CpuFeatures.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace kvern::runtime {
namespace {

#if defined(__x86_64__)

enum Register { EAX, EBX, ECX, EDX };

/// The register state that the operating system must save for a feature.
enum class State { None, Avx, Avx512, Amx };

struct Feature {
  const char *name;
  uint32_t leaf;
  uint32_t subleaf;
  Register reg;
  unsigned bit;
  State state;
};

/// Source: Intel SDM volume 2 (CPUID), AMD APM volume 3 appendix E.
constexpr Feature kFeatures[] = {
    {"sse3", 1, 0, ECX, 0, State::None},
    {"pclmul", 1, 0, ECX, 1, State::None},
    {"ssse3", 1, 0, ECX, 9, State::None},
    {"fma", 1, 0, ECX, 12, State::Avx},
    {"cx16", 1, 0, ECX, 13, State::None},
    {"sse4.1", 1, 0, ECX, 19, State::None},
    {"sse4.2", 1, 0, ECX, 20, State::None},
    {"movbe", 1, 0, ECX, 22, State::None},
    {"popcnt", 1, 0, ECX, 23, State::None},
    {"aes", 1, 0, ECX, 25, State::None},
    {"avx", 1, 0, ECX, 28, State::Avx},
    {"f16c", 1, 0, ECX, 29, State::Avx},
    {"rdrnd", 1, 0, ECX, 30, State::None},
    {"cx8", 1, 0, EDX, 8, State::None},
    {"cmov", 1, 0, EDX, 15, State::None},
    {"mmx", 1, 0, EDX, 23, State::None},
    {"fxsr", 1, 0, EDX, 24, State::None},
    {"sse", 1, 0, EDX, 25, State::None},
    {"sse2", 1, 0, EDX, 26, State::None},
    {"bmi", 7, 0, EBX, 3, State::None},
    {"avx2", 7, 0, EBX, 5, State::Avx},
    {"bmi2", 7, 0, EBX, 8, State::None},
    {"avx512f", 7, 0, EBX, 16, State::Avx512},
    {"avx512dq", 7, 0, EBX, 17, State::Avx512},
    {"rdseed", 7, 0, EBX, 18, State::None},
    {"adx", 7, 0, EBX, 19, State::None},
    {"avx512ifma", 7, 0, EBX, 21, State::Avx512},
    {"clflushopt", 7, 0, EBX, 23, State::None},
    {"clwb", 7, 0, EBX, 24, State::None},
    {"avx512cd", 7, 0, EBX, 28, State::Avx512},
    {"sha", 7, 0, EBX, 29, State::None},
    {"avx512bw", 7, 0, EBX, 30, State::Avx512},
    {"avx512vl", 7, 0, EBX, 31, State::Avx512},
    {"avx512vbmi", 7, 0, ECX, 1, State::Avx512},
    {"avx512vbmi2", 7, 0, ECX, 6, State::Avx512},
    {"gfni", 7, 0, ECX, 8, State::None},
    {"vaes", 7, 0, ECX, 9, State::Avx},
    {"vpclmulqdq", 7, 0, ECX, 10, State::Avx},
    {"avx512vnni", 7, 0, ECX, 11, State::Avx512},
    {"avx512bitalg", 7, 0, ECX, 12, State::Avx512},
    {"avx512vpopcntdq", 7, 0, ECX, 14, State::Avx512},
    {"avx512vp2intersect", 7, 0, EDX, 8, State::Avx512},
    {"amx-bf16", 7, 0, EDX, 22, State::Amx},
    {"avx512fp16", 7, 0, EDX, 23, State::Avx512},
    {"amx-tile", 7, 0, EDX, 24, State::Amx},
    {"amx-int8", 7, 0, EDX, 25, State::Amx},
    {"avxvnni", 7, 1, EAX, 4, State::Avx},
    {"avx512bf16", 7, 1, EAX, 5, State::Avx512},
    {"avxifma", 7, 1, EAX, 23, State::Avx},
    {"avxvnniint8", 7, 1, EDX, 4, State::Avx},
    {"avxneconvert", 7, 1, EDX, 5, State::Avx},
    {"avxvnniint16", 7, 1, EDX, 10, State::Avx},
    {"sahf", 0x80000001, 0, ECX, 0, State::None},
    {"lzcnt", 0x80000001, 0, ECX, 5, State::None},
    {"sse4a", 0x80000001, 0, ECX, 6, State::None},
    {"prfchw", 0x80000001, 0, ECX, 8, State::None},
    {"64bit", 0x80000001, 0, EDX, 29, State::None},
};

uint64_t enabledStates() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & (1u << 27))) {
    return 0;
  }
  uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<uint64_t>(high) << 32) | low;
}

bool isEnabled(State state, uint64_t enabled) {
  // XCR0: 1 SSE, 2 AVX, 5-7 opmask and ZMM, 17-18 tiles.
  uint64_t mask = 0;
  switch (state) {
  case State::None:
    break;
  case State::Avx:
    mask = 0x6;
    break;
  case State::Avx512:
    mask = 0xe6;
    break;
  case State::Amx:
    mask = 0x60000;
    break;
  }
  return (enabled & mask) == mask;
}

std::vector<std::string> detect() {
  std::vector<std::string> found;
  uint64_t enabled = enabledStates();
  for (const Feature &feature : kFeatures) {
    unsigned regs[4] = {};
    if (__get_cpuid_count(feature.leaf, feature.subleaf, &regs[EAX], &regs[EBX],
                          &regs[ECX], &regs[EDX]) &&
        (regs[feature.reg] >> feature.bit & 1) &&
        isEnabled(feature.state, enabled)) {
      found.push_back(feature.name);
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<std::string> listKnown() {
  std::vector<std::string> names;
  for (const Feature &feature : kFeatures) {
    names.push_back(feature.name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string readBrand() {
  unsigned regs[12] = {};
  for (unsigned i = 0; i < 3; ++i) {
    unsigned *part = regs + 4 * i;
    if (!__get_cpuid(0x80000002 + i, &part[EAX], &part[EBX], &part[ECX],
                     &part[EDX])) {
      return "";
    }
  }
  const char *text = reinterpret_cast<const char *>(regs);
  return std::string(text, strnlen(text, sizeof(regs)));
}

#else

std::vector<std::string> detect() { return {}; }
std::vector<std::string> listKnown() { return {}; }
std::string readBrand() { return ""; }

#endif

} // namespace

const std::vector<std::string> &hostCpuFeatures() {
  static const std::vector<std::string> features = detect();
  return features;
}

const std::vector<std::string> &knownCpuFeatures() {
  static const std::vector<std::string> features = listKnown();
  return features;
}

std::string hostCpuBrand() { return readBrand(); }

std::vector<std::string>
missingCpuFeatures(const std::vector<std::string> &required) {
  const std::vector<std::string> &host = hostCpuFeatures();
  std::vector<std::string> missing;
  for (const std::string &name : required) {
    if (!std::binary_search(host.begin(), host.end(), name)) {
      missing.push_back(name);
    }
  }
  return missing;
}

} // namespace kvern::runtime
