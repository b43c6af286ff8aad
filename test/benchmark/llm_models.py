# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""SmolLM2 in three formats, and the libraries that run it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

FORMATS = ("f32", "bf16", "stored")
VOCABULARY = 49152
# Tokens of a sequence, at most.
CONTEXT = 1024


def write_file(stored: Path, kind: str, folder: Path) -> Path:
    """The GGUF file of a format: `stored`, or a new one with matrices of that element type."""
    if kind == "stored":
        return stored
    path = folder / f"{kind}.gguf"
    if path.exists():
        return path
    import gguf

    reader = gguf.GGUFReader(stored)
    writer = gguf.GGUFWriter(path, "llama")
    for field in reader.fields.values():
        if field.name.startswith("GGUF.") or field.name == gguf.Keys.General.ARCHITECTURE:
            continue
        kinds = field.types
        inner = kinds[-1] if kinds[0] == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(field.name, field.contents(), kinds[0], inner)
    for tensor in reader.tensors:
        numbers = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        target = gguf.GGMLQuantizationType.F32
        if kind == "bf16" and numbers.ndim == 2:
            target = gguf.GGMLQuantizationType.BF16
        writer.add_tensor(tensor.name, gguf.quants.quantize(numbers, target), raw_dtype=target)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def weight_bytes(path: Path) -> int:
    """Bytes of the tensors of a GGUF file."""
    import gguf

    return sum(int(tensor.n_bytes) for tensor in gguf.GGUFReader(path).tensors)


class LanguageModel(Protocol):
    """What is timed."""

    def prompt(self, tokens: Sequence[int]) -> int:
        """Computes one prompt and returns the likeliest next token."""
        ...

    def start(self, prompts: Sequence[Sequence[int]]) -> None:
        """Computes prompts that `step` goes on with."""
        ...

    def step(self) -> list[int]:
        """Computes one more token of each, the likeliest."""
        ...

    def end(self) -> None:
        """Forgets the prompts."""
        ...


class Kvern:
    """The pipeline that users run, sampling included."""

    def __init__(self, path: Path, kind: str, threads: int) -> None:
        from kvern.dtype import DType
        from kvern.pipelines import TextGeneration

        self.pipeline = TextGeneration(
            path,
            dtype={"f32": DType.float32, "bf16": DType.bfloat16}.get(kind),
            num_threads=threads,
            max_batch_size=8,
            max_length=CONTEXT,
            max_cache_bytes=8 * CONTEXT * 30 * 2 * 192 * 4,
            enable_prefix_caching=False,
        )
        self._requests: list[Any] = []

    def _submit(self, tokens: Sequence[int], new: int) -> Any:
        from kvern.pipelines import SamplingParams

        return self.pipeline.submit(
            list(tokens), SamplingParams(max_new_tokens=new, ignore_eos=True)
        )

    def prompt(self, tokens: Sequence[int]) -> int:
        request = self._submit(tokens, 1)
        while self.pipeline.step():
            pass
        return request.result().tokens[0]

    def start(self, prompts: Sequence[Sequence[int]]) -> None:
        self._requests = [self._submit(p, CONTEXT - len(p)) for p in prompts]
        while not all(request.tokens for request in self._requests):
            self.pipeline.step()

    def step(self) -> list[int]:
        self.pipeline.step()
        return [request.tokens[-1] for request in self._requests]

    def end(self) -> None:
        for request in self._requests:
            request.cancel()


class LlamaCppModel:
    """llama.cpp, without its sampling."""

    def __init__(self, path: Path, kind: str, threads: int) -> None:
        from llama_cpp import LlamaCpp

        self._model = LlamaCpp(path, threads, CONTEXT)
        self._last: list[int] = []
        self._length = 0

    def _compute(self, tokens: Sequence[int], sequence: int) -> int:
        end = len(tokens) - 1
        items = [(token, i, sequence, i == end) for i, token in enumerate(tokens)]
        return self._model.decode(items, VOCABULARY)[0]

    def prompt(self, tokens: Sequence[int]) -> int:
        self._model.clear()
        return self._compute(tokens, 0)

    def start(self, prompts: Sequence[Sequence[int]]) -> None:
        self._model.clear()
        self._length = len(prompts[0])
        self._last = [self._compute(tokens, i) for i, tokens in enumerate(prompts)]

    def step(self) -> list[int]:
        items = [(token, self._length, i, True) for i, token in enumerate(self._last)]
        self._last = self._model.decode(items, VOCABULARY)
        self._length += 1
        return self._last

    def end(self) -> None:
        self._model.clear()


class Transformers:
    """transformers on PyTorch; it has no form of the stored weights."""

    def __init__(self, path: Path, kind: str, threads: int) -> None:
        import torch
        import transformers
        from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

        if kind == "stored":
            raise NotImplementedError("transformers expands quantized weights")
        self._torch = torch
        torch.set_num_threads(threads)
        dtype = torch.float32 if kind == "f32" else torch.bfloat16
        # What from_pretrained does with such a file, which wants one more package.
        config = transformers.AutoConfig.from_pretrained(path.parent, gguf_file=path.name)
        model = transformers.AutoModelForCausalLM.from_config(config)
        model.load_state_dict(
            load_gguf_checkpoint(str(path), return_tensors=True, model_to_load=model)["tensors"],
            strict=False,
        )
        model.tie_weights()
        self._model = model.to(dtype).eval()
        self._cache: Any = None
        self._last: Any = None

    def _compute(self, tokens: Any) -> list[int]:
        with self._torch.inference_mode():
            output = self._model(tokens, cache=self._cache, use_cache=True, logits_to_keep=1)
        self._cache = output.past_key_values
        self._last = output.logits[:, -1:].argmax(-1)
        return self._last[:, 0].tolist()

    def prompt(self, tokens: Sequence[int]) -> int:
        self._cache = None
        return self._compute(self._torch.tensor([list(tokens)]))[0]

    def start(self, prompts: Sequence[Sequence[int]]) -> None:
        self._cache = None
        self._compute(self._torch.tensor([list(p) for p in prompts]))

    def step(self) -> list[int]:
        return self._compute(self._last)

    def end(self) -> None:
        self._cache = None


CONTENDERS = {"kvern": Kvern, "llama.cpp": LlamaCppModel, "transformers": Transformers}
