//===- Sampling.td - From logits to tokens -----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_OPS_SAMPLING_TD
#define KVERN_OPS_SAMPLING_TD

include "dialect/ops/LoopOp.td"

def Kvern_F32Tensor : Kvern_TensorOf<"$_elt.isF32()", "f32">;
def Kvern_I32Tensor : Kvern_TensorOf<"$_elt.isSignlessInteger(32)", "i32">;
def Kvern_I64Tensor : Kvern_TensorOf<"$_elt.isSignlessInteger(64)", "i64">;
def Kvern_UI32Tensor : Kvern_TensorOf<"$_elt.isUnsignedInteger(32)", "ui32">;
def Kvern_UI64Tensor : Kvern_TensorOf<"$_elt.isUnsignedInteger(64)", "ui64">;

/// Where uniform numbers come from; part of descriptions.
defvar Kvern_DrawFormula = [{
    The number of (seed, position) is that of the counter-based generator Philox
    4x32-10 (Salmon et al., 2011) with `seed` as its key and the counter
    (low half of `position`, high half, `stream`, 0): of its first two words, w0
    and w1, the upper bits of `w0 * 2^32 + w1`. So it depends on nothing else.
}];

def Kvern_RandomUniformOp : Kvern_ComputeOp<"random_uniform", "Elementwise"> {
  let summary = "Uniform random numbers of seeds and positions";
  let description = [{
    Numbers from 0 to below 1, multiples of 2^-24, one for each element.

  }] # Kvern_DrawFormula # [{
    Constraints:
  }] # Kvern_SameDevice # [{
    - random_uniform_c1: the operands have one shape
    - random_uniform_c2: `stream` is from 0 to below 2^32

    ```mlir
    %2 = kvern.random_uniform %0, %1 {stream = 1 : i64} : (!kvern.tensor<[b], ui64, cpu:0>, !kvern.tensor<[b], ui64, cpu:0>) -> !kvern.tensor<[b], f32, cpu:0>
    ```
  }];
  let arguments = (ins Kvern_UI64Tensor:$seed, Kvern_UI64Tensor:$position,
      DefaultValuedAttr<I64Attr, "0">:$stream);
  let results = (outs Kvern_F32Tensor:$result);
  let assemblyFormat =
      "operands attr-dict `:` functional-type(operands, results)";
}

/// How a row is sampled; part of descriptions.
defvar Kvern_SamplingFormula = [{
    Tokens stand in order of their logits, equal ones in order of their numbers.
    With w[i] = e^((logits[i] - max) / temperature), those are kept that are

    1. among the first `top_k`, all if it is 0 or below; Z is the sum of their w;
    2. of w[i] >= min_p;
    3. among the first whose sum of w reaches `top_p * Z`, the one that reaches it
       included; all if `top_p` is 1 or above, one if it is 0 or below.

    The token is the first one, by its number, at which the running sum of the
    kept w exceeds u times their sum. u is from 0 to below 1:

  }] # Kvern_DrawFormula # [{
    Where `temperature` is not above 0, or `top_k` is 1, the token is the first
    largest one. A `top_p` or `min_p` of NaN keeps all. Weights are f32, and 0
    below 2^-125; sums are f32 within chunks, those of a draw f64 of chunks.

    A row whose largest logit is not finite (all are minus infinity, one is
    infinity, or one is NaN) gives the token -1 and the log-probability NaN.
}];

def Kvern_SampleTokensOp : Kvern_ComputeOp<"sample_tokens", "Contraction"> {
  let summary = "A token for each row of logits";
  let description = [{
    logits are [rows, vocabulary], all other operands [rows]. The first result
    is tokens [rows]; with `with_logprobs` there is a second, [rows]: the
    logarithm of the probability of that token by the softmax of the logits as
    they are, whatever the temperature, `top_k`, `top_p` and `min_p`.

  }] # Kvern_SamplingFormula # [{
    Constraints:
  }] # Kvern_SameDevice # [{
    - sample_tokens_c1: logits have rank 2
    - sample_tokens_c2: the vocabulary is not known to be empty
    - sample_tokens_c3: the other operands have shape [rows]
    - sample_tokens_c4: `stream` is from 0 to below 2^32

    ```mlir
    %6:2 = kvern.sample_tokens %0, %1, %2, %3, %4, %5, %5 {with_logprobs} : (!kvern.tensor<[b, v], f32, cpu:0>, !kvern.tensor<[b], f32, cpu:0>, !kvern.tensor<[b], i64, cpu:0>, !kvern.tensor<[b], f32, cpu:0>, !kvern.tensor<[b], f32, cpu:0>, !kvern.tensor<[b], ui64, cpu:0>, !kvern.tensor<[b], ui64, cpu:0>) -> (!kvern.tensor<[b], i64, cpu:0>, !kvern.tensor<[b], f32, cpu:0>)
    ```
  }];
  let arguments = (ins Kvern_F32Tensor:$logits, Kvern_F32Tensor:$temperature,
      Kvern_I64Tensor:$top_k, Kvern_F32Tensor:$top_p, Kvern_F32Tensor:$min_p,
      Kvern_UI64Tensor:$seed, Kvern_UI64Tensor:$position,
      DefaultValuedAttr<I64Attr, "0">:$stream, UnitAttr:$with_logprobs);
  let results = (outs Variadic<Kvern_AnyTensor>:$results);
  let assemblyFormat =
      "operands attr-dict `:` functional-type(operands, results)";
  let hasCanonicalizeMethod = 1;
}

def Kvern_FilterLogitsOp : Kvern_ComputeOp<"filter_logits", "Contraction"> {
  let summary = "Logits of the tokens that may be drawn";
  let description = [{
    logits are [rows, vocabulary], all other operands [rows]. The result has the
    shape of the logits: `(logits - max) / temperature` where
    `kvern.sample_tokens` with these parameters keeps a token, minus infinity
    elsewhere; so its softmax is the distribution of the tokens. Where that takes
    the first largest, it is 0 there. Rows without a finite largest logit are
    NaN.

    Constraints:
  }] # Kvern_SameDevice # [{
    - filter_logits_c1: logits have rank 2
    - filter_logits_c2: the other operands have shape [rows]

    ```mlir
    %5 = kvern.filter_logits %0, %1, %2, %3, %4 : (!kvern.tensor<[b, v], f32, cpu:0>, !kvern.tensor<[b], f32, cpu:0>, !kvern.tensor<[b], i64, cpu:0>, !kvern.tensor<[b], f32, cpu:0>, !kvern.tensor<[b], f32, cpu:0>) -> !kvern.tensor<[b, v], f32, cpu:0>
    ```
  }];
  let arguments = (ins Kvern_F32Tensor:$logits, Kvern_F32Tensor:$temperature,
      Kvern_I64Tensor:$top_k, Kvern_F32Tensor:$top_p, Kvern_F32Tensor:$min_p);
  let results = (outs Kvern_AnyTensor:$result);
  let assemblyFormat =
      "operands attr-dict `:` functional-type(operands, results)";
}

def Kvern_ApplyPenaltiesOp : Kvern_ComputeOp<"apply_penalties", "Contraction"> {
  let summary = "Logits less those of tokens that occurred";
  let description = [{
    logits are [rows, vocabulary]. Entry i of `data` [entries, 2] is (token,
    count); row b has the entries from `offsets[b]` to below `offsets[b + 1]`.
    For each with a count above 0, with the row's penalties:

    1. logit = logit / repetition if it is above 0, else logit * repetition;
    2. logit = logit - frequency * count - presence.

    Entries of tokens below 0 or beyond the vocabulary are left out. Offsets
    ascend; one that does not, or lies outside, counts as the nearest that is
    possible. A token should have one entry a row.

    Constraints:
  }] # Kvern_SameDevice # [{
    - apply_penalties_c1: logits have rank 2
    - apply_penalties_c2: `data` has shape [entries, 2] and `offsets` [rows + 1]
    - apply_penalties_c3: the penalties have shape [rows]

    ```mlir
    %4 = kvern.apply_penalties %0, %1, %2, %3, %3, %3 : (!kvern.tensor<[b, v], f32, cpu:0>, !kvern.tensor<[u, 2], i32, cpu:0>, !kvern.tensor<[b + 1], ui32, cpu:0>, !kvern.tensor<[b], f32, cpu:0>, !kvern.tensor<[b], f32, cpu:0>, !kvern.tensor<[b], f32, cpu:0>) -> !kvern.tensor<[b, v], f32, cpu:0>
    ```
  }];
  let arguments = (ins Kvern_F32Tensor:$logits, Kvern_I32Tensor:$data,
      Kvern_UI32Tensor:$offsets, Kvern_F32Tensor:$frequency,
      Kvern_F32Tensor:$presence, Kvern_F32Tensor:$repetition);
  let results = (outs Kvern_AnyTensor:$result);
  let assemblyFormat =
      "operands attr-dict `:` functional-type(operands, results)";
}

def Kvern_CountTokensOp : Kvern_ComputeOp<"count_tokens", "Contraction"> {
  let summary = "Counts of tokens, one more token a row";
  let description = [{
    `data` and `offsets` are those of `kvern.apply_penalties`, tokens [rows]. In
    each row, the count of the first entry of the row's token goes up by 1; when
    there is none, the first free entry, of a token below 0, becomes (token, 1).
    When there is none either, or the token is below 0 or does not fit in `i32`,
    nothing changes.

    Constraints:
  }] # Kvern_SameDevice # [{
    - count_tokens_c1: `data` has shape [entries, 2], tokens [rows] and `offsets` [rows + 1]

    ```mlir
    %3 = kvern.count_tokens %0, %1, %2 : (!kvern.tensor<[u, 2], i32, cpu:0>, !kvern.tensor<[b + 1], ui32, cpu:0>, !kvern.tensor<[b], i64, cpu:0>) -> !kvern.tensor<[u, 2], i32, cpu:0>
    ```
  }];
  let arguments = (ins Kvern_I32Tensor:$data, Kvern_UI32Tensor:$offsets,
      Kvern_I64Tensor:$tokens);
  let results = (outs Kvern_AnyTensor:$result);
  let assemblyFormat =
      "operands attr-dict `:` functional-type(operands, results)";
}

//===----------------------------------------------------------------------===//
// Structured ops
//===----------------------------------------------------------------------===//

/// A computation with loops of its own, on builtin tensors or, without results,
/// on memrefs; the last operands are what the results are written to.
class Kvern_SamplingLoopOp<string mnemonic, list<Trait> traits = []>
    : Kvern_Op<"loop." # mnemonic,
               [DestinationStyleOpInterface,
                DeclareOpInterfaceMethods<MemoryEffectsOpInterface>] # traits> {
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return getInitsMutable();
    }
  }];
}

def Kvern_LoopSampleTokensOp
    : Kvern_SamplingLoopOp<"sample_tokens", [AttrSizedOperandSegments]> {
  let summary = "A token for each row of logits, on tensors or memrefs";
  let description = [{
    `kvern.sample_tokens`, whose operands it has. `sizes` may give the size of
    the vocabulary as a value that the caller of the kernel knows too.

    Constraints:

    - loop_sample_tokens_c1: logits have rank 2, all else rank 1
    - loop_sample_tokens_c2: there is one result, or a second for log-probabilities

    ```mlir
    %5 = kvern.loop.sample_tokens ins(%0, %1, %2, %1, %1, %3, %3) outs(%4) : (tensor<?x512xf32>, tensor<?xf32>, tensor<?xi64>, tensor<?xf32>, tensor<?xf32>, tensor<?xi64>, tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
    ```
  }];
  let arguments = (ins Kvern_LoopOperand:$logits,
      Kvern_LoopOperand:$temperature, Kvern_LoopOperand:$top_k,
      Kvern_LoopOperand:$top_p, Kvern_LoopOperand:$min_p,
      Kvern_LoopOperand:$seed, Kvern_LoopOperand:$position,
      Optional<Index>:$vocabulary, Variadic<Kvern_LoopOperand>:$inits,
      DefaultValuedAttr<I64Attr, "0">:$stream);
  let assemblyFormat = [{
    `ins` `(` $logits `,` $temperature `,` $top_k `,` $top_p `,` $min_p `,`
    $seed `,` $position `)` (`sizes` `(` $vocabulary^ `)`)? `outs` `(` $inits `)` attr-dict `:`
    functional-type(operands, results)
  }];
}

def Kvern_LoopFilterLogitsOp
    : Kvern_SamplingLoopOp<"filter_logits", [AttrSizedOperandSegments]> {
  let summary = "Logits of the tokens that may be drawn, on tensors or memrefs";
  let description = [{
    `kvern.filter_logits`, whose operands it has; `sizes` as for
    `kvern.loop.sample_tokens`.

    Constraints:

    - loop_filter_logits_c1: logits and the one result have rank 2, all else rank 1

    ```mlir
    %5 = kvern.loop.filter_logits ins(%0, %1, %2, %3, %3) outs(%4) : (tensor<?x512xf32>, tensor<?xf32>, tensor<?xi64>, tensor<?xf32>, tensor<?xf32>, tensor<?x512xf32>) -> tensor<?x512xf32>
    ```
  }];
  let arguments = (ins Kvern_LoopOperand:$logits,
      Kvern_LoopOperand:$temperature, Kvern_LoopOperand:$top_k,
      Kvern_LoopOperand:$top_p, Kvern_LoopOperand:$min_p,
      Optional<Index>:$vocabulary, Variadic<Kvern_LoopOperand>:$inits);
  let assemblyFormat = [{
    `ins` `(` $logits `,` $temperature `,` $top_k `,` $top_p `,` $min_p `)`
    (`sizes` `(` $vocabulary^ `)`)? `outs` `(` $inits `)` attr-dict `:`
    functional-type(operands, results)
  }];
}

def Kvern_LoopApplyPenaltiesOp : Kvern_SamplingLoopOp<"apply_penalties"> {
  let summary = "Logits less those of tokens that occurred, on tensors or memrefs";
  let description = [{
    `kvern.apply_penalties`, whose operands it has.

    Constraints:

    - loop_apply_penalties_c1: logits, `data` and the result have rank 2, all else rank 1

    ```mlir
    %5 = kvern.loop.apply_penalties ins(%0, %1, %2, %3, %3, %3) outs(%4) : (tensor<?x512xf32>, tensor<?x2xi32>, tensor<?xi32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?x512xf32>) -> tensor<?x512xf32>
    ```
  }];
  let arguments = (ins Kvern_LoopOperand:$logits,
      Kvern_LoopOperand:$data, Kvern_LoopOperand:$offsets,
      Kvern_LoopOperand:$frequency, Kvern_LoopOperand:$presence,
      Kvern_LoopOperand:$repetition,
      Variadic<Kvern_LoopOperand>:$inits);
  let assemblyFormat = [{
    `ins` `(` $logits `,` $data `,` $offsets `,` $frequency `,` $presence `,`
    $repetition `)` `outs` `(` $inits `)` attr-dict `:`
    functional-type(operands, results)
  }];
}

def Kvern_LoopCountTokensOp : Kvern_SamplingLoopOp<"count_tokens"> {
  let summary = "Counts of tokens, on tensors or memrefs";
  let description = [{
    `kvern.count_tokens`, whose operands it has.

    Constraints:

    - loop_count_tokens_c1: `data` and the result have rank 2, all else rank 1

    ```mlir
    %4 = kvern.loop.count_tokens ins(%0, %1, %2) outs(%3) : (tensor<?x2xi32>, tensor<?xi32>, tensor<?xi64>, tensor<?x2xi32>) -> tensor<?x2xi32>
    ```
  }];
  let arguments = (ins Kvern_LoopOperand:$data,
      Kvern_LoopOperand:$offsets, Kvern_LoopOperand:$tokens,
      Variadic<Kvern_LoopOperand>:$inits);
  let assemblyFormat = [{
    `ins` `(` $data `,` $offsets `,` $tokens `)` `outs` `(` $inits `)`
    attr-dict `:` functional-type(operands, results)
  }];
}

#endif // KVERN_OPS_SAMPLING_TD
