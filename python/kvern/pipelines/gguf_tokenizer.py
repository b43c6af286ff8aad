# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tokenizers from the metadata of GGUF files.

A file holds the tokens, their types, and merges (byte-level BPE, model "gpt2") or scores (SentencePiece, model
"llama"). How text is cut into words before that is not in the file but named in it (`tokenizer.ggml.pre`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kvern.errors import InputError, UnsupportedError

__all__ = ["PRE_TOKENIZERS", "build_tokenizer"]

# Types of tokens that are not text to merge.
_CONTROL, _USER_DEFINED = 3, 4

_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_QWEN2 = _LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
_DEFAULT = (r"[\p{P}\$\+<=>\^~\|]+", _GPT2, r"\p{N}+", r"[0-9][0-9][0-9]")

# Name: the patterns that cut text into words, one after the other.
PRE_TOKENIZERS: Mapping[str, Sequence[str]] = {
    "default": _DEFAULT,
    "gpt-2": (_GPT2,),
    "llama-bpe": (_LLAMA3,),
    "llama3": (_LLAMA3,),
    "llama-v3": (_LLAMA3,),
    "qwen2": (_QWEN2,),
    "refact": (r"\p{N}", _GPT2),
    "smollm": (r"\p{N}", _GPT2),
    "starcoder": (r"\p{N}", _GPT2),
}
# A word that is a token is that token, whatever the merges say.
_WHOLE_WORDS = {"llama-bpe", "llama3", "llama-v3"}
_NORMALIZED = {"qwen2"}


def build_tokenizer(metadata: Mapping[str, Any]) -> Any:
    """Builds a `tokenizers.Tokenizer`.

    Args:
        metadata: Of a GGUF file: keys to values, arrays as lists.

    Raises:
        ValueError: What a tokenizer needs is missing, or does not fit together.
        NotImplementedError: A tokenizer of another kind (it is a ValueError too).
    """
    model = metadata.get("tokenizer.ggml.model")
    builders = {"gpt2": _byte_level, "llama": _sentencepiece}
    if model not in builders:
        raise UnsupportedError(
            f"expected a GGUF tokenizer of model {' or '.join(builders)}, but got {model!r}"
        )
    tokens = _array(metadata, "tokens", str)
    tokenizer = builders[model](metadata, tokens)
    _add_special(tokenizer, metadata, tokens)
    _add_borders(tokenizer, metadata, tokens, model)
    return tokenizer


def _byte_level(metadata: Mapping[str, Any], tokens: list[str]) -> Any:
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

    name = metadata.get("tokenizer.ggml.pre", "default")
    if name not in PRE_TOKENIZERS:
        raise UnsupportedError(
            f"expected tokenizer.ggml.pre to be one of {', '.join(PRE_TOKENIZERS)}, but got {name!r}"
        )
    merges = []
    for merge in _array(metadata, "merges", str):
        left, space, right = merge.partition(" ")
        if not (left and space and right):
            raise InputError(f"expected a merge to be two tokens, but got {merge!r}")
        merges.append((left, right))
    vocab = {token: i for i, token in enumerate(tokens)}
    try:
        bpe = models.BPE(vocab=vocab, merges=merges, ignore_merges=name in _WHOLE_WORDS)
    # What the package raises for a merge of unknown tokens.
    except Exception as error:
        raise InputError(f"cannot use the tokenizer of the GGUF file: {error}") from None
    tokenizer = Tokenizer(bpe)
    if name in _NORMALIZED:
        tokenizer.normalizer = normalizers.NFC()  # pyright: ignore[reportAttributeAccessIssue]
    splits = [pre_tokenizers.Split(Regex(p), "isolated") for p in PRE_TOKENIZERS[name]]
    to_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(  # pyright: ignore[reportAttributeAccessIssue]
        [*splits, to_bytes]
    )
    tokenizer.decoder = decoders.ByteLevel()  # pyright: ignore[reportAttributeAccessIssue]
    return tokenizer


def _sentencepiece(metadata: Mapping[str, Any], tokens: list[str]) -> Any:
    """BPE whose merges are those that the scores imply: of the pairs in a text, the one with the best result."""
    from tokenizers import Tokenizer, decoders, models, normalizers

    scores = _array(metadata, "scores", float)
    if len(scores) != len(tokens):
        raise InputError(
            f"expected a score for each of the {len(tokens)} tokens, but got {len(scores)}"
        )
    vocab = {token: i for i, token in enumerate(tokens)}
    merges = []
    for token, i in vocab.items():
        for cut in range(1, len(token)):
            left, right = token[:cut], token[cut:]
            if left in vocab and right in vocab:
                merges.append((-scores[i], vocab[left], vocab[right], left, right))
    merges.sort()
    unknown = metadata.get("tokenizer.ggml.unknown_token_id", 0)
    bpe = models.BPE(
        vocab=vocab,
        merges=[(left, right) for *_, left, right in merges],
        unk_token=_token(tokens, "unknown_token_id", unknown),
        fuse_unk=True,
        byte_fallback=True,
    )
    tokenizer = Tokenizer(bpe)
    prefix = metadata.get("tokenizer.ggml.add_space_prefix", True)
    parts = [normalizers.Prepend("▁")] if prefix else []
    tokenizer.normalizer = normalizers.Sequence(  # pyright: ignore[reportAttributeAccessIssue]
        [*parts, normalizers.Replace(" ", "▁")]
    )
    strip = [decoders.Strip(" ", 1, 0)] if prefix else []
    tokenizer.decoder = decoders.Sequence(  # pyright: ignore[reportAttributeAccessIssue]
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), *strip]
    )
    return tokenizer


def _add_special(tokenizer: Any, metadata: Mapping[str, Any], tokens: list[str]) -> None:
    from tokenizers import AddedToken

    types = metadata.get("tokenizer.ggml.token_type")
    if types is None:
        return
    if len(types) != len(tokens):
        raise InputError(
            f"expected a type for each of the {len(tokens)} tokens, but got {len(types)}"
        )
    marked = [(t, kind) for t, kind in zip(tokens, types, strict=True) if kind != 1]
    for kind, add in (
        (_CONTROL, tokenizer.add_special_tokens),
        (_USER_DEFINED, tokenizer.add_tokens),
    ):
        special = kind == _CONTROL
        add(
            [AddedToken(t, special=special, normalized=False) for t, k in marked if k == kind and t]
        )


def _add_borders(
    tokenizer: Any, metadata: Mapping[str, Any], tokens: list[str], model: str
) -> None:
    """Lets `encode` add what stands before and after a text."""
    from tokenizers import processors

    # Files of these kinds may leave it out and mean yes.
    pre = metadata.get("tokenizer.ggml.pre")
    default = model == "llama" or pre in _WHOLE_WORDS
    template, special = ["$A"], []
    for key, flag, position in (("bos", default, 0), ("eos", False, 1)):
        token_id = metadata.get(f"tokenizer.ggml.{key}_token_id")
        if not metadata.get(f"tokenizer.ggml.add_{key}_token", flag) or token_id is None:
            continue
        token = _token(tokens, f"{key}_token_id", token_id)
        template.insert(position * len(template), token)
        special.append((token, token_id))
    if special:
        tokenizer.post_processor = processors.TemplateProcessing(
            single=template, special_tokens=special
        )


def _token(tokens: list[str], key: str, token_id: Any) -> str:
    if not isinstance(token_id, int) or not 0 <= token_id < len(tokens):
        raise InputError(
            f"expected tokenizer.ggml.{key} to be below {len(tokens)}, but got {token_id!r}"
        )
    return tokens[token_id]


def _array(metadata: Mapping[str, Any], key: str, kind: type) -> list[Any]:
    values = metadata.get(f"tokenizer.ggml.{key}")
    if values is None:
        raise InputError(f"expected tokenizer.ggml.{key} in the GGUF file, but it has none")
    if not isinstance(values, list) or not all(isinstance(value, kind) for value in values):
        raise InputError(f"expected tokenizer.ggml.{key} to be a list of {kind.__name__}")
    return values
