# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Text to tokens and back."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kvern.errors import FileError, InputError, UnsupportedError
from kvern.models.huggingface import chat_template
from kvern.pipelines.chat import render_chat
from kvern.pipelines.gguf_tokenizer import build_tokenizer
from kvern.pipelines.text_stream import TextStream

__all__ = ["Tokenizer"]

# Control tokens that end an answer, whether or not the checkpoint names them.
_ENDS = (
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end_of_text|>",
    "<|endoftext|>",
    "<|end|>",
    "<end_of_turn>",
    "</s>",
)


def _byte_characters() -> dict[str, int]:
    """The printable characters that byte-level tokens are written in, to their bytes (Radford et al., GPT-2)."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    characters = {chr(byte): byte for byte in printable}
    return characters | {chr(256 + i): byte for i, byte in enumerate(others)}


class Tokenizer:
    """The tokenizer of a checkpoint: byte-level BPE, or SentencePiece with bytes as the last resort.

    May be used from several threads.
    """

    def __init__(
        self,
        core: Any,
        *,
        bos_token: str | None = None,
        eos_token: str | None = None,
        eos_ids: Iterable[int] = (),
        chat_template: str | None = None,
    ) -> None:
        """Wraps a `tokenizers.Tokenizer`; see `from_directory` and `from_gguf`.

        Args:
            core: The tokenizer.
            bos_token: Token that begins a text, for chat templates.
            eos_token: Token that ends a text.
            eos_ids: Ids that end a text besides it and the usual ones.
            chat_template: Text in Jinja.

        Raises:
            NotImplementedError: A tokenizer of another kind.
        """
        self._core = core
        self.bos_token = bos_token
        self.eos_token = eos_token
        self.chat_template = chat_template
        added = core.get_added_tokens_decoder()
        self._added = {i: token.content.encode() for i, token in added.items()}
        self._special = frozenset(i for i, token in added.items() if token.special)
        ends = {core.token_to_id(token) for token in (eos_token, *_ENDS) if token}
        named = core.token_to_id(eos_token) if eos_token else None
        usual = {i for i in ends if i is not None and (i in self._special or i == named)}
        self.eos_ids = frozenset(eos_ids) | usual
        self._is_byte_level, self._strip_space = _kind(core)
        self._bytes: dict[int, bytes] = {}

    @classmethod
    def from_directory(cls, path: str | os.PathLike[str]) -> Tokenizer:
        """Opens the tokenizer of a Hugging Face directory.

        `tokenizer.json` is needed; `tokenizer_config.json`, `generation_config.json` and `chat_template.jinja` are
        read when they are there.

        Raises:
            OSError: `tokenizer.json` is missing.
            ValueError: A file is damaged.
            NotImplementedError: The package tokenizers is not installed.
        """
        folder = Path(path)
        file = folder / "tokenizer.json"
        if not file.is_file():
            raise FileError(f"expected a tokenizer.json in '{folder}', but there is none")
        core = _package().Tokenizer
        try:
            tokenizer = core.from_file(str(file))
        # The package raises Exception itself.
        except Exception as error:
            raise InputError(f"expected a tokenizer in '{file}', but got: {error}") from None
        tokenizer.no_padding()
        tokenizer.no_truncation()
        config = _json(folder / "tokenizer_config.json")
        eos = _json(folder / "generation_config.json").get("eos_token_id")
        eos_ids = eos if isinstance(eos, list) else [] if eos is None else [eos]
        return cls(
            tokenizer,
            bos_token=_content(config.get("bos_token")),
            eos_token=_content(config.get("eos_token")),
            eos_ids=eos_ids,
            chat_template=chat_template(folder),
        )

    @classmethod
    def from_gguf(cls, metadata: Mapping[str, Any]) -> Tokenizer:
        """Builds the tokenizer of a GGUF file.

        Args:
            metadata: Of the file: keys to values, arrays as lists.

        Raises:
            ValueError: What a tokenizer needs is missing, or does not fit together.
            NotImplementedError: The package tokenizers is not installed, or a tokenizer of another kind.
        """
        _package()
        core = build_tokenizer(metadata)
        keys = ("eos_token_id", "eot_token_id", "eom_token_id")
        ids = [metadata.get(f"tokenizer.ggml.{key}") for key in keys]
        bos = metadata.get("tokenizer.ggml.bos_token_id")
        return cls(
            core,
            bos_token=None if bos is None else core.id_to_token(bos),
            eos_token=None if ids[0] is None else core.id_to_token(ids[0]),
            eos_ids=[i for i in ids if i is not None],
            chat_template=metadata.get("tokenizer.chat_template"),
        )

    @property
    def vocab_size(self) -> int:
        """Number of tokens, the added ones included."""
        return self._core.get_vocab_size()

    def encode(self, text: str, *, add_special_tokens: bool = True) -> list[int]:
        """Returns the tokens of a text.

        Special tokens that are written out in it ("<|im_start|>") become those tokens.

        Args:
            text: The text.
            add_special_tokens: Whether to add what the checkpoint puts before (and after) a text.
        """
        return self._core.encode(text, add_special_tokens=add_special_tokens).ids

    def decode(self, tokens: Iterable[int], *, skip_special_tokens: bool = True) -> str:
        """Returns the text of tokens; bytes that are no UTF-8 become U+FFFD."""
        stream = self.stream(skip_special_tokens=skip_special_tokens)
        return "".join([*(stream.push(int(token)) for token in tokens), stream.finish()])

    def stream(self, *, skip_special_tokens: bool = True, continues: bool = False) -> TextStream:
        """Returns what decodes token by token, with the same result as `decode`.

        Args:
            skip_special_tokens: Whether special tokens are left out.
            continues: Whether the text goes on another one, so that a space at its begin is part of it.
        """
        to_bytes = self._bytes_of_text if skip_special_tokens else self.token_bytes
        return TextStream(to_bytes, self._strip_space and not continues)

    def token_bytes(self, token: int) -> bytes:
        """Returns the bytes that a token stands for.

        Raises:
            ValueError: There is no such token.
        """
        found = self._bytes.get(token)
        if found is None:
            found = self._bytes[token] = self._find_bytes(token)
        return found

    def apply_chat_template(
        self, messages: Sequence[Mapping[str, Any]], *, add_generation_prompt: bool = True
    ) -> str:
        """Returns the prompt of a conversation, to encode without special tokens.

        Args:
            messages: Each with "role" and "content".
            add_generation_prompt: Whether the begin of an answer follows.

        Raises:
            ValueError: The checkpoint has no chat template, or it refuses the messages.
        """
        if self.chat_template is None:
            raise InputError("expected a checkpoint with a chat template, but this one has none")
        return render_chat(
            self.chat_template,
            messages,
            add_generation_prompt=add_generation_prompt,
            bos_token=self.bos_token or "",
            eos_token=self.eos_token or "",
        )

    def _bytes_of_text(self, token: int) -> bytes:
        return b"" if token in self._special else self.token_bytes(token)

    def _find_bytes(self, token: int) -> bytes:
        if token in self._added:
            return self._added[token]
        text = self._core.id_to_token(token)
        if text is None:
            raise InputError(f"expected a token below {self.vocab_size}, but got {token}")
        if self._is_byte_level:
            if _BYTES.keys() >= set(text):
                return bytes(_BYTES[character] for character in text)
            return text.encode()
        if len(text) == 6 and text.startswith("<0x") and text.endswith(">"):
            return bytes.fromhex(text[3:5])
        return text.replace("▁", " ").encode()


_BYTES = _byte_characters()


def _package() -> Any:
    try:
        import tokenizers
    except ImportError:
        raise UnsupportedError("tokenizers of checkpoints need the package tokenizers") from None
    return tokenizers


def _kind(core: Any) -> tuple[bool, bool]:
    """Whether tokens are written in byte characters, and whether a text loses the space it begins with."""
    state = json.loads(core.decoder.__getstate__()) if core.decoder is not None else {}
    parts = state["decoders"] if state.get("type") == "Sequence" else [state]
    kinds = [part.get("type") for part in parts]
    if "ByteLevel" in kinds:
        return True, False
    if "Metaspace" in kinds:
        scheme = parts[kinds.index("Metaspace")].get("prepend_scheme", "always")
        return False, scheme != "never"
    replaces = any(part.get("type") == "Replace" and part.get("content") == " " for part in parts)
    if replaces:
        return False, "Strip" in kinds
    raise UnsupportedError(
        f"expected a byte-level or SentencePiece tokenizer, but its decoder is {kinds}"
    )


def _json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"expected JSON in '{path}', but got: {error}") from None
    if not isinstance(value, dict):
        raise InputError(f"expected a JSON object in '{path}', but got {type(value).__name__}")
    return value


def _content(token: Any) -> str | None:
    """A token of tokenizer_config.json: text, or an object with it."""
    return token.get("content") if isinstance(token, dict) else token
