# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The memory that loading takes, measured in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

# Of all layers together.
COLUMNS, DEPTH = 20480, 2048
PROGRAM = f"""
import sys
from collections.abc import Mapping
import numpy as np
from kvern.driver import Buffer
from kvern.dtype import DType
from kvern.engine import InferenceSession
from kvern.graph import DeviceRef, Graph, TensorType, Weight, ops

source, path, packed, layers = sys.argv[1:]
LAYERS = int(layers)
COLUMNS, DEPTH = {COLUMNS} // LAYERS, {DEPTH}

def status(field):
    for line in open("/proc/self/status"):
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024

def array(name):
    offset = 4 * COLUMNS * DEPTH * int(name[1:])
    if source == "mmap":
        return Buffer.mmap(path, DType.float32, (COLUMNS, DEPTH), offset=offset)
    return np.memmap(path, np.float32, "r", offset, (COLUMNS, DEPTH))

x = TensorType(DType.float32, ["m", DEPTH], device=DeviceRef.CPU())
with Graph("layers", input_types=[x]) as graph:
    total = None
    for i in range(LAYERS):
        w = graph.add_weight(Weight("w%d" % i, DType.float32, [COLUMNS, DEPTH], DeviceRef.CPU()))
        y = ops.matmul(graph.inputs[0].tensor, ops.transpose(w, 0, 1))
        total = y if total is None else total + y
    graph.output(total)
session = InferenceSession(num_threads=1)
compiled = session.compile(graph)
options = {{"packed_weights": packed}} if packed else {{}}
class Copies(Mapping):
    # Values that nobody else holds, as those of a checkpoint whose weights are converted.
    def __getitem__(self, name):
        return np.array(array(name))
    def __iter__(self):
        return iter("w%d" % i for i in range(LAYERS))
    def __len__(self):
        return LAYERS

registry = Copies() if source == "copies" else dict(
    ("w%d" % i, array("w%d" % i)) for i in range(LAYERS)) if source != "none" else None
before = status("VmRSS")
open("/proc/self/clear_refs", "w").write("5")
model = session.init(compiled, weights_registry=registry, **options)
peak, after = status("VmHWM"), status("VmRSS")
y = model(np.ones((1, DEPTH), np.float32))[0].to_numpy()
expected = sum(np.fromfile(path, np.float32, count=COLUMNS * DEPTH, offset=4 * COLUMNS * DEPTH * i)
               .reshape(COLUMNS, DEPTH).astype(np.float64).sum(1) for i in range(LAYERS))
assert np.abs(y - expected).max() < 1e-2, np.abs(y - expected).max()
print(peak - before, after - before)
"""
BYTES = COLUMNS * DEPTH * 4


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import numpy as np

    path = tmp_path_factory.mktemp("memory") / "weights"
    random = np.random.default_rng(0)
    with path.open("wb") as file:
        for _ in range(20):
            random.standard_normal((COLUMNS // 20, DEPTH), dtype=np.float32).tofile(file)
    return path


def measure(source: str, path: Path, packed: str = "", layers: int = 20) -> tuple[float, float]:
    """The highest memory while loading, and that afterwards, as shares of the weights' size."""
    if not Path("/proc/self/clear_refs").exists():
        pytest.skip("the system does not tell the highest memory of a process")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, source, str(path), packed, str(layers)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    peak, after = map(int, done.stdout.split())
    return peak / BYTES, after / BYTES


@pytest.mark.parametrize("layers", [20, 1])
@pytest.mark.parametrize("source", ["mmap", "memmap"])
def test_originals_from_a_mapped_file_leave_as_their_packs_come(
    source: str, layers: int, path: Path
) -> None:
    peak, after = measure(source, path, layers=layers)
    assert 1 <= after <= 1.02
    # One of twenty, or a part of the one.
    assert peak <= (1.1 if layers > 1 else 1.25)


@pytest.mark.parametrize("is_kept", [False, True])
def test_originals_in_memory_leave_as_their_packs_come(
    is_kept: bool, path: Path, tmp_path: Path
) -> None:
    peak, _ = measure("copies", path, str(tmp_path / "packed") if is_kept else "")
    assert peak <= 1.2


def test_a_file_of_packed_weights(path: Path, tmp_path: Path) -> None:
    packed = str(tmp_path / "packed")
    peak, after = measure("mmap", path, packed)
    assert peak <= 1.1
    # Mapped, and not read until the first run.
    assert after <= 0.1
    peak, after = measure("none", path, packed)
    assert peak <= 0.1
