//===- KVCacheCombinations.cpp - What caches can be -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/ops/KVCacheCombinations.h"

#include "dialect/ops/Attention.h"

using namespace mlir;
using namespace kvern;

/// Elements that share a scale, when they are not a whole head: registers hold
/// that many.
static constexpr int64_t kGroup = 16;

static CacheVerdict refuse(const Twine &text) {
  return {CacheSupport::Refused, text.str()};
}

static std::string toText(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

CacheVerdict kvern::judgeCache(Type elementType, int64_t granularity,
                               int64_t heads, int64_t headDim, bool latent) {
  bool isNarrow =
      elementType.isInteger(8) || isa<Float8E4M3FNType>(elementType);
  bool isFloat = isa<Float32Type, BFloat16Type, Float16Type>(elementType);
  if (!isNarrow && !isFloat) {
    return refuse("expected a cache of element type f32, bf16, f16, or i8 or "
                  "f8E4M3FN with scales, but got " +
                  toText(elementType));
  }
  if (isNarrow != (granularity != 0)) {
    return refuse(isNarrow
                      ? "expected scales with a cache of element type " +
                            toText(elementType) + ", but got none"
                      : "expected no scales with a cache of element type " +
                            toText(elementType) +
                            ": i8 and f8E4M3FN have "
                            "them");
  }
  if (latent && heads != 1) {
    return refuse("expected a latent cache of 1 head, but got " + Twine(heads));
  }
  if (latent && isNarrow) {
    return refuse("expected a latent cache of element type f32, bf16 or f16, "
                  "but got " +
                  toText(elementType) +
                  ": one row serves as key and value of all heads, and no "
                  "kernel scales it");
  }
  if (isNarrow && (granularity < 0 || headDim % granularity != 0 ||
                   (granularity != headDim && granularity % kGroup != 0))) {
    return refuse("expected scales for head_dim (" + Twine(headDim) +
                  ") elements, or for a multiple of " + Twine(kGroup) +
                  " that divides it, but got " + Twine(granularity));
  }
  if (elementType.isF32()) {
    return {CacheSupport::Exact, ""};
  }
  if (elementType.isInteger(8)) {
    return {CacheSupport::Bounded,
            "each element within 1/254 of the largest of its group"};
  }
  if (isNarrow) {
    return {CacheSupport::Bounded,
            "each element within 1/16 of itself, or 1/458752 of the largest of "
            "its group"};
  }
  return {CacheSupport::Bounded,
          elementType.isBF16()
              ? "each element within 2^-8 of itself"
              : "each element within 2^-11 of itself, or 2^-25"};
}

CacheVerdict kvern::judgeEviction(StringRef maskVariant) {
  std::optional<MaskVariant> variant = parseMaskVariant(maskVariant);
  if (!variant || !hasWindow(*variant)) {
    return refuse("expected a mask with a window (sliding_window_causal, "
                  "sliding_window_noncausal, chunked_causal) where pages are "
                  "evicted, but got " +
                  maskVariant + ", by which every token stays visible");
  }
  return {CacheSupport::Exact, ""};
}

std::vector<CacheCombination>
kvern::listCacheCombinations(MLIRContext *context) {
  Builder b(context);
  const Type types[] = {b.getF32Type(),      b.getBF16Type(),
                        b.getF16Type(),      b.getF64Type(),
                        b.getIntegerType(8), Float8E4M3FNType::get(context)};
  const StringRef masks[] = {"null", "causal", "sliding_window_causal",
                             "sliding_window_noncausal", "chunked_causal"};
  std::vector<CacheCombination> table;
  for (Type type : types) {
    for (bool isQuantized : {false, true}) {
      for (StringRef heads : {"MHA", "GQA", "MQA", "MLA"}) {
        bool latent = heads == "MLA";
        int64_t count = heads == "MHA" ? 4 : heads == "GQA" ? 2 : 1;
        for (StringRef mask : masks) {
          for (bool evicts : {false, true}) {
            CacheVerdict verdict =
                judgeCache(type, isQuantized ? 32 : 0, count, 64, latent);
            CacheVerdict eviction =
                evicts ? judgeEviction(mask) : CacheVerdict();
            if (verdict.support != CacheSupport::Refused &&
                eviction.support == CacheSupport::Refused) {
              verdict = eviction;
            }
            table.push_back({toText(type), mask.str(), heads.str(), isQuantized,
                             latent, evicts, verdict});
          }
        }
      }
    }
  }
  return table;
}
