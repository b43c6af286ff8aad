# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a model is: its sizes, and which parts it has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kvern.dtype import DType
from kvern.errors import InputError
from kvern.graph.quantization import QuantizationEncoding

__all__ = ["LatentConfig", "ModelConfig", "RopeConfig"]


@dataclass(frozen=True)
class RopeConfig:
    """Rotary position embeddings.

    Attributes:
        theta: Base of the frequencies.
        interleaved: Whether pairs are neighbours (as GGUF files of Llama have them), else elements of the two halves.
        scaling: "none", "linear" (divide by `factor`), "llama3", "yarn", or "divisors" (divide by `divisors`).
        factor: Of "linear", "llama3" and "yarn".
        low_freq_factor: Of "llama3".
        high_freq_factor: Of "llama3".
        original_max_position: Of "llama3" and "yarn": the context before scaling.
        beta_fast: Of "yarn": pairs that turn more often in that context stay.
        beta_slow: Of "yarn": pairs that turn less often are divided in full.
        truncate: Of "yarn": whether the bounds between are whole numbers of pairs.
        mscale: Of "yarn" with latent attention: growth of cosines and sines.
        mscale_all_dim: The same of all elements.
        divisors: Of "divisors": one for each pair.
    """

    theta: float = 10000.0
    interleaved: bool = False
    scaling: str = "none"
    factor: float = 1.0
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0
    original_max_position: int = 8192
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    truncate: bool = True
    mscale: float = 1.0
    mscale_all_dim: float = 0.0
    divisors: tuple[float, ...] = ()


@dataclass(frozen=True)
class LatentConfig:
    """Multi-head latent attention: keys and values are projections of one short row for each token.

    Attributes:
        q_lora_rank: Width of the latent queries; None when queries are projected directly.
        kv_lora_rank: Width of the latent keys and values.
        qk_nope_head_dim: Elements of a head without positions.
        qk_rope_head_dim: Elements of a head that are rotated.
        v_head_dim: Elements of a value.
    """

    q_lora_rank: int | None
    kv_lora_rank: int
    qk_nope_head_dim: int
    qk_rope_head_dim: int
    v_head_dim: int


@dataclass(frozen=True)
class ModelConfig:
    """A decoder-only transformer.

    Attributes:
        architecture: A name of `kvern.models.ARCHITECTURES`.
        hidden_size: Width of the residual stream.
        intermediate_size: Width inside the feed-forward networks.
        num_layers: Number of blocks.
        num_heads: Query heads.
        num_kv_heads: Key and value heads.
        head_dim: Width of a head; with latent attention, that of its rotated part.
        vocab_size: Number of tokens.
        max_seq_len: Positions that the model is made for.
        rms_norm_eps: Epsilon of the norms.
        rope: Rotary embeddings.
        dtype: Element type of the weights and activations, unless another one is asked for; float32 for quantized
            files.
        activation: Of the feed-forward networks; see `nn.MLP`.
        tie_word_embeddings: Whether the table of the embedding is also the weight of the logits.
        qkv_bias: Whether the projections of queries, keys and values have biases.
        o_bias: Whether the projection of attention's result has one.
        mlp_bias: Whether those of the feed-forward networks have one.
        qk_norm: Whether queries and keys are normalized head by head.
        windows: Tokens that the attention of each layer sees; None for all.
        attention_scale: Factor of the scores; None for `1 / sqrt(head_dim)`.
        attention_softcap: Bound c of the scores, `c * tanh(s / c)`; 0 for none.
        logit_softcap: Bound of the logits; 0 for none.
        norm_offset: What the norms add to their weights.
        embedding_multiplier: Factor of the embeddings.
        latent: Of latent attention; None for attention over keys and values.
        bos_token_id: Token that begins a text.
        eos_token_ids: Tokens that end one.
        encodings: Weights that are stored in blocks, by their names in the module; a text for a format without
            kernels.
    """

    architecture: str
    hidden_size: int
    intermediate_size: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    vocab_size: int
    max_seq_len: int
    rms_norm_eps: float
    rope: RopeConfig
    dtype: DType
    activation: str = "silu"
    tie_word_embeddings: bool = False
    qkv_bias: bool = False
    o_bias: bool = False
    mlp_bias: bool = False
    qk_norm: bool = False
    windows: tuple[int | None, ...] = ()
    attention_scale: float | None = None
    attention_softcap: float = 0.0
    logit_softcap: float = 0.0
    norm_offset: float = 0.0
    embedding_multiplier: float = 1.0
    latent: LatentConfig | None = None
    bos_token_id: int | None = None
    eos_token_ids: tuple[int, ...] = ()
    encodings: Mapping[str, QuantizationEncoding | str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        """Checks that the sizes fit together.

        Raises:
            ValueError: They do not; everything that is wrong is listed.
        """
        if not self.windows:
            object.__setattr__(self, "windows", (None,) * self.num_layers)
        wrong = [
            f"expected {name} >= 1, but got {getattr(self, name)}"
            for name in _SIZES
            if getattr(self, name) < 1
        ]
        if not wrong:
            wrong = self._misfits()
        if wrong:
            raise InputError("\n  ".join([f"the sizes of {self.architecture} do not fit", *wrong]))

    @property
    def cache_window(self) -> int | None:
        """Tokens that some layer sees: a cache needs no others. None when a layer sees all."""
        widths = [window for window in self.windows if window is not None]
        return max(widths) if len(widths) == len(self.windows) else None

    def _misfits(self) -> list[str]:
        rotated = self.latent.qk_rope_head_dim if self.latent else self.head_dim
        divisors = len(self.rope.divisors)
        checks = (
            (
                self.num_heads % self.num_kv_heads == 0,
                f"expected num_kv_heads to divide the {self.num_heads} heads, but got {self.num_kv_heads}",
            ),
            (
                rotated % 2 == 0,
                f"expected an even width of rotated heads, but got {rotated}",
            ),
            (
                len(self.windows) == self.num_layers,
                f"expected a window for each of the {self.num_layers} layers, but got {len(self.windows)}",
            ),
            (
                all(window is None or window >= 1 for window in self.windows),
                f"expected windows of at least one token, but got {self.windows}",
            ),
            (
                divisors in (0, rotated // 2),
                f"expected {rotated // 2} divisors of frequencies, but got {divisors}",
            ),
        )
        return [message for fits, message in checks if not fits]


_SIZES = (
    "hidden_size",
    "intermediate_size",
    "num_layers",
    "num_heads",
    "num_kv_heads",
    "head_dim",
    "vocab_size",
    "max_seq_len",
)
