# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantized weights: the blocks of GGUF bit by bit, bounds of the rounded products, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from compiling import cpu_tensor, evaluate
from kvern import nn
from kvern.dtype import DType
from kvern.engine import InferenceSession
from kvern.graph import DeviceRef, Graph, Weight, ops
from kvern.graph.quantization import QuantizationConfig, QuantizationEncoding, grouped_blocks
from kvern.graph.stages import stage
from op_cases.case import sample
from op_cases.quantization import ENCODINGS, weights

GGUF = [QuantizationEncoding.Q8_0, QuantizationEncoding.Q4_0, QuantizationEncoding.Q4_1]
CPU = DeviceRef.CPU()


def gguf_blocks(encoding: QuantizationEncoding, array: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Blocks, and their numbers as float32, as the package gguf has them."""
    gguf = pytest.importorskip("gguf")
    kind = gguf.GGMLQuantizationType[encoding.value]
    blocks = gguf.quants.quantize(array, kind)
    return blocks, gguf.quants.dequantize(blocks, kind)


@pytest.mark.parametrize("encoding", [QuantizationEncoding.Q4_K, QuantizationEncoding.Q6_K])
def test_dequantization_of_large_blocks(encoding: QuantizationEncoding) -> None:
    """Any bits, with scales of a size that floats have."""
    gguf = pytest.importorskip("gguf")
    blocks = np.random.default_rng(0).integers(0, 256, (5, 3, encoding.block_size), np.uint8)
    scales = np.array([[0.5, -0.25]], np.float16).view(np.uint8)
    if encoding is QuantizationEncoding.Q4_K:
        blocks[..., :4] = scales
    else:
        blocks[..., 208:] = scales[:, :2]
    blocks = blocks.reshape(5, -1)
    expected = gguf.quants.dequantize(blocks, gguf.GGMLQuantizationType[encoding.value])
    (got,) = evaluate(lambda x: ops.dequantize(encoding, x), blocks)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("encoding", GGUF)
def test_dequantization_is_that_of_gguf(encoding: QuantizationEncoding) -> None:
    array = sample(DType.float32, [7, 96], -3, 3)
    array[0] = 0
    array[1, 5] = 6e4
    blocks, numbers = gguf_blocks(encoding, array)
    (got,) = evaluate(lambda x: ops.dequantize(encoding, x), blocks)
    np.testing.assert_array_equal(got, numbers)


@pytest.mark.parametrize("encoding", GGUF)
def test_grouped_blocks_are_those_of_gguf(encoding: QuantizationEncoding) -> None:
    name = encoding.value.lower()
    blocks, numbers = weights(name, 5, 64)
    gguf = pytest.importorskip("gguf")
    got = gguf.quants.dequantize(blocks, gguf.GGMLQuantizationType[encoding.value])
    np.testing.assert_allclose(got, numbers, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("encoding", GGUF)
@pytest.mark.parametrize("k", [32, 96, 128, 160, 512])
def test_products_of_gguf_weights(encoding: QuantizationEncoding, k: int) -> None:
    """A weight, packed at load; exact sums are as good as those of float32, rounded ones within the stated bound."""
    n = 45
    blocks, numbers = gguf_blocks(encoding, sample(DType.float32, [n, k], -1, 1))
    numbers = numbers.astype(np.float64)
    weight = Weight("w", DType.uint8, blocks.shape, CPU, encoding)
    with Graph("product", input_types=[cpu_tensor(DType.float32, ["m", k])]) as graph:
        x = graph.inputs[0].tensor
        exact = ops.qmatmul(encoding, None, x, weight)
        rounded = ops.qmatmul(encoding, None, x, weight, activations="int8")
        graph.output(exact, rounded)
    model = InferenceSession().load(graph, weights_registry={"w": blocks})
    block = next(size for size in (128, 96, 64, 32) if k % size == 0)
    for m in [*range(1, 21), 33]:
        array = sample(DType.float32, [m, k], -2, 2, seed=m)
        array[m // 2, :32] = 0
        results = [output.to_numpy().astype(np.float64) for output in model.execute(array)]
        expected = array.astype(np.float64) @ numbers.T
        size = np.abs(array).astype(np.float64) @ np.abs(numbers).T
        largest = np.abs(array).reshape(m, -1, block).max(-1).astype(np.float64)
        sums = np.abs(numbers).reshape(n, -1, block).sum(-1)
        spread = largest @ sums.T
        assert (np.abs(results[0] - expected) <= 1e-6 * (size + spread)).all()
        assert (np.abs(results[1] - expected) <= spread / 254 + 1e-6 * (size + spread)).all()


@pytest.mark.parametrize("activations", ["exact", "int8"])
@pytest.mark.parametrize("name", ENCODINGS)
def test_smallest_and_largest_activations(name: str, activations: Any) -> None:
    encoding, config = ENCODINGS[name]
    blocks, numbers = weights(name, 18, config.group_size)
    array = sample(DType.float32, [6, config.group_size], -1, 1)
    array *= np.array([[1e-45], [1e-39], [1e-30], [1e30], [0], [1]], np.float32)
    (got,) = evaluate(
        lambda x: ops.qmatmul(encoding, config, x, blocks, activations=activations), array
    )
    expected = array.astype(np.float64) @ numbers.T
    bound = np.abs(array).max(1, keepdims=True).astype(np.float64) @ np.abs(numbers).sum(1)[None]
    assert (np.abs(got - expected) <= bound / 200 + 1e-34).all()


@pytest.mark.parametrize("activations", ["exact", "int8"])
def test_threads_do_not_change_results(activations: Any) -> None:
    blocks, _ = weights("q4_1", 1000, 512)
    with Graph("threads", input_types=[cpu_tensor(DType.float32, ["m", 512])]) as graph:
        x = graph.inputs[0].tensor
        encoding = QuantizationEncoding.Q4_1
        graph.output(ops.qmatmul(encoding, None, x, blocks, activations=activations))
    models = [InferenceSession(num_threads=count).load(graph) for count in (1, 2, 3)]
    for m in (1, 5, 70):
        array = sample(DType.float32, [m, 512], -1, 1)
        results = [model.execute(array)[0].to_numpy() for model in models]
        np.testing.assert_array_equal(results[0], results[1])
        np.testing.assert_array_equal(results[0], results[2])


def test_weights_are_packed_and_inputs_are_not() -> None:
    def text(weight: bool) -> str:
        types = [cpu_tensor(DType.float32, ["m", 64]), cpu_tensor(DType.uint8, [3, 36])]
        with Graph("product", input_types=types) as graph:
            x, blocks = (value.tensor for value in graph.inputs)
            w = Weight("w", DType.uint8, [3, 36], CPU) if weight else blocks
            graph.output(ops.qmatmul(QuantizationEncoding.Q4_0, None, x, w))
        return stage(graph, "optimized")

    assert "kvern.packed_quantized_matmul" in text(True)
    assert "kvern.quantized_matmul" in text(False)


@pytest.mark.parametrize("encoding", GGUF)
def test_a_table_that_is_gathered_and_multiplied_is_kept_once(
    encoding: QuantizationEncoding,
) -> None:
    rows, k = 45, 96
    blocks, numbers = gguf_blocks(encoding, sample(DType.float32, [rows, k], -1, 1))
    table = nn.Embedding(rows, k, DType.uint8, CPU, quantization_encoding=encoding)
    with Graph("embedding", input_types=[cpu_tensor(DType.int64, ["b", "m"])]) as graph:
        x = table(graph.inputs[0].tensor)
        graph.output(x, ops.qmatmul(encoding, None, x, table.weight))
    model = InferenceSession().load(graph, weights_registry={"weight": blocks})
    assert model.memory_plan(b=1, m=1).weights == 48 * blocks.shape[1]
    ids = np.array([[0, 44, -45], [15, 16, -1]])
    picked, logits = (np.from_dlpack(output) for output in model(ids))
    np.testing.assert_array_equal(picked, numbers[ids])
    expected = numbers[ids].astype(np.float64) @ numbers.T.astype(np.float64)
    np.testing.assert_allclose(logits, expected, rtol=0, atol=2e-5)


def test_a_weight_of_numbers_is_stored_as_bytes() -> None:
    weight = Weight("w", DType.float32, [3, 64], CPU, QuantizationEncoding.Q4_1)
    assert weight.dtype is DType.uint8 and weight.shape == [3, 40]
    assert weight.original_dtype_and_shape == (DType.float32, [3, 64])
    with pytest.raises(ValueError, match="divisible by the 32 elements"):
        Weight("w", DType.float32, [3, 63], CPU, QuantizationEncoding.Q4_1)


@pytest.mark.parametrize("encoding", GGUF)
def test_layers(encoding: QuantizationEncoding) -> None:
    """A quantized embedding and network, against the same with numbers."""
    table, table_numbers = gguf_blocks(encoding, sample(DType.float32, [10, 64], -1, 1))
    state, numbers = {}, {}
    for name, shape in (("gate_proj", (96, 64)), ("up_proj", (96, 64)), ("down_proj", (64, 96))):
        key = f"{name}.weight"
        state[key], numbers[key] = gguf_blocks(encoding, sample(DType.float32, shape, -1, 1))

    def run(quantized: bool) -> np.ndarray:
        chosen = encoding if quantized else None
        embedding = nn.Embedding(10, 64, DType.float32, CPU, chosen)
        network = nn.MLP(DType.float32, chosen, 64, 96, [CPU])
        embedding.load_state_dict({"weight": table if quantized else table_numbers})
        network.load_state_dict(state if quantized else numbers)
        embedding.weight.name = "table"
        with Graph("layers", input_types=[cpu_tensor(DType.int64, ["n"])]) as graph:
            graph.output(network(embedding(graph.inputs[0].tensor)))
        registry = {"table": table if quantized else table_numbers}
        registry |= {key: np.asarray(value) for key, value in network.state_dict().items()}
        model = InferenceSession().load(graph, weights_registry=registry)
        return model.execute(np.array([3, 0, 9, -1]))[0].to_numpy()

    np.testing.assert_allclose(run(True), run(False), rtol=1e-4, atol=1e-4)


def stage_product(encoding: Any, config: Any, k: int, *blocks: Any, **kwargs: Any) -> None:
    with Graph("refused", input_types=[cpu_tensor(DType.float32, ["m", k])]) as graph:
        ops.qmatmul(encoding, config, graph.inputs[0].tensor, *blocks, **kwargs)


def test_refused() -> None:
    blocks = np.zeros((3, 36), np.uint8)
    q4_0, grouped = QuantizationEncoding.Q4_0, QuantizationEncoding.GROUPED
    for encoding in ("Q4_K", "Q5_K", "Q6_K", "GPTQ", "IQ1_S"):
        with pytest.raises(NotImplementedError, match=f"Q4_0, Q4_1, Q8_0, GROUPED.*{encoding}"):
            stage_product(encoding, None, 64, blocks)
    with pytest.raises(ValueError, match="one tensor of blocks"):
        stage_product(q4_0, None, 64, blocks, blocks)
    with pytest.raises(ValueError, match=r"holds \(64\), but got 96"):
        stage_product(q4_0, None, 96, blocks)
    with pytest.raises(ValueError, match=r"bytes of a block of q4_0 \(18\), but got 35"):
        stage_product(q4_0, None, 64, blocks[:, :35])
    with pytest.raises(ValueError, match="exact or int8, but got int4"):
        stage_product(q4_0, None, 64, blocks, activations="int4")
    with pytest.raises(TypeError, match="ui8"):
        stage_product(q4_0, None, 64, blocks.astype(np.int8))
    with pytest.raises(ValueError, match="expected a QuantizationConfig"):
        stage_product(grouped, None, 64, blocks)
    with pytest.raises(ValueError, match="group_size=16"):
        stage_product(grouped, QuantizationConfig("grouped", 4, 16), 64, blocks)
    with pytest.raises(ValueError, match="divisible by the 32 elements of a block of Q4_0"):
        nn.Linear(33, 3, DType.float32, CPU, quantization_encoding=q4_0)


def test_blocks_that_do_not_fit() -> None:
    config = QuantizationConfig("grouped", 4, 32, sym=True)
    elements, scales = np.zeros((2, 64), np.int8), np.ones((2, 2))
    assert grouped_blocks(config, elements, scales).shape == (2, 36)
    with pytest.raises(ValueError, match="k divisible by 32"):
        grouped_blocks(config, elements[:, :63], scales)
    with pytest.raises(ValueError, match="from -8 to 7, but got 8 to 8"):
        grouped_blocks(config, elements + 8, scales)
    with pytest.raises(ValueError, match="minima"):
        grouped_blocks(config, elements, scales, scales)
    with pytest.raises(ValueError, match=r"expected scales \(2, 2\), but got \(2, 1\)"):
        grouped_blocks(config, elements, scales[:, :1])
