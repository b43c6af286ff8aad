// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A closed table: an executable cannot reach any other function of the process.
#include "lib/Runtime/HostSymbols.h"

#include "lib/Runtime/Abi.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>

// Declared here because <cmath> offers overloads only, and the extensions of
// glibc (sincos, exp10) only with _GNU_SOURCE.
extern "C" {
double roundeven(double) noexcept;
float roundevenf(float) noexcept;
void sincos(double, double *, double *) noexcept;
void sincosf(float, float *, float *) noexcept;
double exp10(double) noexcept;
float exp10f(float) noexcept;
}

namespace kvern::runtime {
namespace {

struct HostSymbol {
  std::string_view name;
  void *address;
};

template <typename Function> void *address(Function *function) {
  return reinterpret_cast<void *>(function);
}

using Unary = double(double);
using UnaryF = float(float);
using Binary = double(double, double);
using BinaryF = float(float, float);

// The casts choose the C function among the C++ overloads of its name.
#define KVERN_UNARY(NAME)                                                      \
  {#NAME, address(static_cast<Unary *>(::NAME))}, {                            \
    #NAME "f", address(static_cast<UnaryF *>(::NAME##f))                       \
  }
#define KVERN_BINARY(NAME)                                                     \
  {#NAME, address(static_cast<Binary *>(::NAME))}, {                           \
    #NAME "f", address(static_cast<BinaryF *>(::NAME##f))                      \
  }

const HostSymbol kHostSymbols[] = {
    {"kvern_rt_output", address(kvern_rt_output)},
    {"kvern_rt_workspace", address(kvern_rt_workspace)},
    {"kvern_rt_alloc", address(kvern_rt_alloc)},
    {"kvern_rt_step", address(kvern_rt_step)},
    {"kvern_rt_fail", address(kvern_rt_fail)},
    {"kvern_rt_parallel_for", address(kvern_rt_parallel_for)},
    {"kvern_rt_max_workers", address(kvern_rt_max_workers)},
    {"memcpy", address(::memcpy)},
    {"memmove", address(::memmove)},
    {"memset", address(::memset)},
    {"memcmp", address(::memcmp)},
    KVERN_UNARY(acos),
    KVERN_UNARY(acosh),
    KVERN_UNARY(asin),
    KVERN_UNARY(asinh),
    KVERN_UNARY(atan),
    KVERN_UNARY(atanh),
    KVERN_UNARY(cbrt),
    KVERN_UNARY(ceil),
    KVERN_UNARY(cos),
    KVERN_UNARY(cosh),
    KVERN_UNARY(erf),
    KVERN_UNARY(erfc),
    KVERN_UNARY(exp),
    KVERN_UNARY(exp2),
    KVERN_UNARY(exp10),
    KVERN_UNARY(expm1),
    KVERN_UNARY(fabs),
    KVERN_UNARY(floor),
    KVERN_UNARY(lgamma),
    KVERN_UNARY(log),
    KVERN_UNARY(log10),
    KVERN_UNARY(log1p),
    KVERN_UNARY(log2),
    KVERN_UNARY(nearbyint),
    KVERN_UNARY(rint),
    KVERN_UNARY(round),
    KVERN_UNARY(roundeven),
    KVERN_UNARY(sin),
    KVERN_UNARY(sinh),
    KVERN_UNARY(sqrt),
    KVERN_UNARY(tan),
    KVERN_UNARY(tanh),
    KVERN_UNARY(tgamma),
    KVERN_UNARY(trunc),
    KVERN_BINARY(atan2),
    KVERN_BINARY(copysign),
    KVERN_BINARY(fdim),
    KVERN_BINARY(fmax),
    KVERN_BINARY(fmin),
    KVERN_BINARY(fmod),
    KVERN_BINARY(hypot),
    KVERN_BINARY(pow),
    KVERN_BINARY(remainder),
    {"fma", address(static_cast<double (*)(double, double, double)>(::fma))},
    {"fmaf", address(static_cast<float (*)(float, float, float)>(::fmaf))},
    {"ldexp", address(static_cast<double (*)(double, int)>(::ldexp))},
    {"ldexpf", address(static_cast<float (*)(float, int)>(::ldexpf))},
    {"sincos", address(::sincos)},
    {"sincosf", address(::sincosf)},
};

#undef KVERN_UNARY
#undef KVERN_BINARY

} // namespace

void *lookupHostSymbol(std::string_view name) {
  const auto *found = std::find_if(
      std::begin(kHostSymbols), std::end(kHostSymbols),
      [&](const HostSymbol &symbol) { return symbol.name == name; });
  return found == std::end(kHostSymbols) ? nullptr : found->address;
}

} // namespace kvern::runtime
