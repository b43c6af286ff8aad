//===- AttentionFormula.td - What attention computes -------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_OPS_ATTENTIONFORMULA_TD
#define KVERN_OPS_ATTENTIONFORMULA_TD

/// What all forms of attention compute; part of their descriptions.
defvar Kvern_AttentionFormula = [{
    For query i and key j of one sequence and head h, whose keys and values are
    those of head `h floordiv (heads / kv_heads)`:

    `s[i, j] = scale * (q[i] . k[j])`, `softcap * tanh(s / softcap)` if `softcap`
    is not 0, plus the additive mask; then
    `result[i] = sum_j(e^s[i, j] * v[j]) / sum_j(e^s[i, j])` over the keys that i
    sees. With `sinks`, `e^sinks[h]` is one more term of the denominator. A query
    that sees no key gives 0.

    The positions of the queries end where the keys end: query i of n stands at
    p = i + keys - n. It sees, by `mask_variant`,

    - `null`: all keys;
    - `causal`: j <= p;
    - `sliding_window_causal`: p - window < j <= p;
    - `sliding_window_noncausal`: |p - j| < window;
    - `chunked_causal`: j <= p and j floordiv window = p floordiv window.

    Scores and sums are `f32` (`f64` for `f64`).
}];

#endif // KVERN_OPS_ATTENTIONFORMULA_TD
