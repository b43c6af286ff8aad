# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights: laziness, names, shards."""

from __future__ import annotations

from typing import Any

import pytest
from graph.staging import staging, tensor
from kvern.dtype import DType
from kvern.errors import GraphContextError, GraphError, ShapeError, WeightError
from kvern.graph import DeviceRef, Graph, ShardingStrategy, TensorValue, Weight, ops

CPU = DeviceRef.CPU()


def weight(name: str = "w", shape: Any = (6, 4), **options: Any) -> Weight:
    return Weight(name, DType.float32, shape, CPU, **options)


def test_members_need_no_graph() -> None:
    w = weight()
    assert w.shape == [6, 4] and w.rank == 2 and w.dtype is DType.float32 and w.device == CPU
    assert w.type == tensor([6, 4])
    assert w.original_dtype_and_shape == (DType.float32, [6, 4])
    assert w.shard_idx is None
    w.shape, w.dtype = [2], DType.int8  # pyright: ignore[reportAttributeAccessIssue]
    assert w.type == tensor([2], DType.int8)
    assert repr(w) == "Weight('w', int8, [2], cpu:0)"
    with pytest.raises(GraphContextError):
        _ = w + 1


def test_is_added_once_at_the_start() -> None:
    w = weight(align=64)
    with staging(["n", 6]) as (x,):
        x = ops.relu(x)
        assert (x @ w).shape == ["n", 4]
        assert TensorValue(w).shape == [6, 4]
        assert Graph.current.add_weight(w).shape == [6, 4]
        lines = str(Graph.current).split("\n")
    assert sum("kvern.weight" in line for line in lines) == 1
    assert 'kvern.weight {alignment = 64 : i64, name = "w"}' in lines[1]


def test_in_two_graphs() -> None:
    w = weight()
    for _ in range(2):
        with staging([6]) as (x,):
            assert (x @ w).shape == [4]


def test_names_collide() -> None:
    with staging([6]) as (x,):
        _ = x @ weight()
        with pytest.raises(WeightError, match="two weights named 'w'"):
            _ = x @ weight()


@pytest.mark.parametrize(
    ("strategy", "shapes"),
    [
        (ShardingStrategy.rowwise(2), [[3, 4]] * 2),
        (ShardingStrategy.columnwise(2), [[6, 2]] * 2),
        (ShardingStrategy.axiswise(0, 4), [[2, 4], [2, 4], [1, 4], [1, 4]]),
        (ShardingStrategy.replicate(2), [[6, 4]] * 2),
        (ShardingStrategy.expert_parallel(3), [[2, 4]] * 3),
        (ShardingStrategy.stacked_qkv(2, 2, 1), [[3, 4]] * 2),
        (ShardingStrategy.gate_up(2, axis=1), [[6, 2]] * 2),
        (ShardingStrategy.head_aware_columnwise(2, 2, 2), [[6, 2]] * 2),
        (ShardingStrategy(2, lambda w, i: w[i]), [[4]] * 2),
    ],
)
def test_shards(strategy: ShardingStrategy, shapes: list[list[int]]) -> None:
    w = weight(sharding_strategy=strategy)
    shards = w.shard([CPU] * len(shapes))
    assert [shard.shard_idx for shard in shards] == list(range(len(shapes)))
    with staging():
        assert [shard.shape for shard in shards] == shapes
        assert [TensorValue(shard).shape for shard in shards] == shapes
        assert str(Graph.current).count("kvern.weight") == 1


def test_shard_tests() -> None:
    assert ShardingStrategy.rowwise(2).is_rowwise
    assert ShardingStrategy.columnwise(2).is_colwise
    assert ShardingStrategy.replicate(2).is_replicate


def test_shard_errors() -> None:
    with pytest.raises(GraphError, match="expected a whole weight with a sharding strategy"):
        weight().shard([CPU])
    w = weight(sharding_strategy=ShardingStrategy.rowwise(2))
    with pytest.raises(GraphError, match="expected 2 devices, as in the strategy, but got 1"):
        w.shard([CPU])
    with pytest.raises(GraphError, match="but got a shard"):
        w.shard([CPU, CPU])[0].shard([CPU, CPU])
    named = weight(shape=["n"], sharding_strategy=ShardingStrategy.rowwise(2))
    with pytest.raises(ShapeError, match=r"static axis 0, but got shape \[n\]"):
        _ = named.shard([CPU, CPU])[0].shape
    with pytest.raises(ShapeError, match="1 or more devices"):
        ShardingStrategy.rowwise(0)
