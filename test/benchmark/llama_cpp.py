# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""llama.cpp's own interface, by way of the library in the xllamacpp package."""

from __future__ import annotations

import ctypes
import importlib.util
from collections.abc import Sequence
from ctypes import POINTER, c_bool, c_char_p, c_float, c_int8, c_int32, c_uint32, c_void_p
from pathlib import Path
from typing import Any

import numpy as np


class Params(ctypes.Structure):
    """struct llama_model_params or llama_context_params: more than their size, as they are passed last."""

    _fields_ = [("words", c_uint32 * 128)]


class Batch(ctypes.Structure):
    """struct llama_batch"""

    _fields_ = [
        ("n_tokens", c_int32),
        ("token", POINTER(c_int32)),
        ("embd", c_void_p),
        ("pos", POINTER(c_int32)),
        ("n_seq_id", POINTER(c_int32)),
        ("seq_id", POINTER(POINTER(c_int32))),
        ("logits", POINTER(c_int8)),
    ]


# The first words of the defaults of llama_context_params: n_ctx, n_batch, n_ubatch, n_seq_max.
FIRST_WORDS = [512, 2048, 512, 1]
MOST_SEQUENCES = 8
LogCallback = ctypes.CFUNCTYPE(None, ctypes.c_int, c_char_p, c_void_p)


FUNCTIONS = [
    ("llama_log_set", None, [LogCallback, c_void_p]),
    ("llama_model_default_params", Params, []),
    ("llama_context_default_params", Params, []),
    ("llama_model_load_from_file", c_void_p, [c_char_p, Params]),
    ("llama_init_from_model", c_void_p, [c_void_p, Params]),
    ("llama_set_n_threads", None, [c_void_p, c_int32, c_int32]),
    ("llama_batch_init", Batch, [c_int32, c_int32, c_int32]),
    ("llama_decode", c_int32, [c_void_p, Batch]),
    ("llama_get_logits_ith", POINTER(c_float), [c_void_p, c_int32]),
    ("llama_get_memory", c_void_p, [c_void_p]),
    ("llama_memory_clear", None, [c_void_p, c_bool]),
]


def open_library(functions: Sequence[tuple[str, Any, Sequence[Any]]]) -> ctypes.CDLL:
    """Opens the library for functions of these names, results and arguments.

    Raises:
        ImportError: xllamacpp is not installed.
    """
    spec = importlib.util.find_spec("xllamacpp")
    if spec is None or not spec.submodule_search_locations:
        raise ImportError("xllamacpp")
    library = ctypes.CDLL(str(next(Path(spec.submodule_search_locations[0]).glob("xllamacpp*.so"))))
    for name, result, arguments in functions:
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


class LlamaCpp:
    """A model of a GGUF file, with a cache for up to 8 sequences.

    Raises:
        RuntimeError: The library is another one than this file knows, or does not take the file.
    """

    def __init__(self, path: Path, threads: int, context: int) -> None:
        self._library = library = open_library(FUNCTIONS)
        self._quiet = LogCallback(lambda *_: None)
        library.llama_log_set(self._quiet, None)
        params = library.llama_context_default_params()
        if list(params.words[:4]) != FIRST_WORDS:
            raise RuntimeError("this version of llama.cpp has other parameters of a context")
        params.words[0], params.words[3] = context * MOST_SEQUENCES, MOST_SEQUENCES
        model = library.llama_model_load_from_file(
            str(path).encode(), library.llama_model_default_params()
        )
        self._context = library.llama_init_from_model(model, params) if model else None
        if not self._context:
            raise RuntimeError(f"llama.cpp cannot load '{path}'")
        library.llama_set_n_threads(self._context, threads, threads)
        self._batch = library.llama_batch_init(context, 0, MOST_SEQUENCES)

    def clear(self) -> None:
        """Empties the cache."""
        self._library.llama_memory_clear(self._library.llama_get_memory(self._context), True)

    def decode(self, items: Sequence[tuple[int, int, int, bool]], vocabulary: int) -> list[int]:
        """Computes tokens: (token, position, sequence, whether to return what is likeliest after it)."""
        batch = self._batch
        batch.n_tokens = len(items)
        for i, (token, position, sequence, wanted) in enumerate(items):
            batch.token[i], batch.pos[i] = token, position
            batch.n_seq_id[i], batch.logits[i] = 1, wanted
            batch.seq_id[i][0] = sequence
        if self._library.llama_decode(self._context, batch) != 0:
            raise RuntimeError("llama_decode failed")
        return [
            int(
                np.ctypeslib.as_array(
                    self._library.llama_get_logits_ith(self._context, i), (vocabulary,)
                ).argmax()
            )
            for i, (*_, wanted) in enumerate(items)
            if wanted
        ]
