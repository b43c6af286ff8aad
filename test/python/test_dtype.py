# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
import torch
from kvern.dtype import DType, finfo

EXTENSIONS = [d for d in DType if d.name.startswith(("bfloat", "float8", "float4"))]
NATIVE = [d for d in DType if d not in EXTENSIONS]


def test_members_and_codes():
    assert len(DType) == 19
    assert DType.bool.value == 1
    assert DType.bfloat16.value == 80
    assert DType.int64.value == 141


@pytest.mark.parametrize("dtype", DType, ids=str)
def test_sizes(dtype: DType):
    digits = "".join(c for c in dtype.name.split("_")[0] if c.isdigit())
    assert dtype.size_in_bytes == dtype.align == max(1, int(digits or 8) // 8)


def test_predicates():
    assert [d for d in DType if d.is_integral()] == [d for d in DType if "int" in d.name]
    assert {d.name for d in DType if d.is_signed_integral()} == {"int8", "int16", "int32", "int64"}
    assert not DType.bool.is_integral() and not DType.bool.is_float()
    assert DType.float4_e2m1fn.is_float() and DType.float8_e8m0fnu.is_float()
    assert {d for d in DType if d.is_half()} == {DType.float16, DType.bfloat16}
    assert sum(d.is_float8() for d in DType) == 5


@pytest.mark.parametrize("dtype", NATIVE, ids=str)
def test_numpy_round_trip(dtype: DType):
    assert DType.from_numpy(dtype.to_numpy()) is dtype
    assert dtype.to_ml_dtypes() == dtype.to_numpy()


@pytest.mark.parametrize("dtype", EXTENSIONS, ids=str)
def test_types_numpy_lacks(dtype: DType):
    with pytest.raises(ValueError, match=dtype.name):
        dtype.to_numpy()
    assert dtype.to_ml_dtypes() == np.dtype(getattr(ml_dtypes, dtype.name))
    assert DType.from_numpy(dtype.to_ml_dtypes()) is dtype


@pytest.mark.parametrize("bad", [np.complex64, "U3", "M8[s]", ">f4", object, "nonsense"])
def test_unsupported_numpy(bad):
    with pytest.raises(ValueError, match="unsupported NumPy dtype"):
        DType.from_numpy(bad)


@pytest.mark.parametrize("name", ["float32", "bfloat16", "float8_e4m3fn", "bool", "uint8"])
def test_torch(name: str):
    assert DType[name].to_torch() is getattr(torch, name)
    assert DType.from_torch(getattr(torch, name)) is DType[name]


def test_unsupported_torch():
    with pytest.raises(ValueError, match="complex64"):
        DType.from_torch(torch.complex64)


@pytest.mark.parametrize("dtype", [d for d in DType if d.is_float()], ids=str)
def test_finfo(dtype: DType):
    info = finfo(dtype)
    limits = ml_dtypes.finfo(dtype.to_ml_dtypes())
    assert info.dtype is dtype
    assert info.bits == limits.bits
    for field in ("eps", "max", "min", "tiny", "smallest_normal"):
        assert getattr(info, field) == float(getattr(limits, field))
    assert info.tiny == info.smallest_normal


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64", "float8_e5m2"])
def test_finfo_agrees_with_torch(name: str):
    info, expected = finfo(DType[name]), torch.finfo(getattr(torch, name))
    for field in ("bits", "eps", "max", "min", "tiny"):
        assert getattr(info, field) == getattr(expected, field)


@pytest.mark.parametrize("bad", [DType.int32, DType.bool, np.float32, "float32"])
def test_finfo_rejects(bad):
    with pytest.raises(TypeError, match="floating DType"):
        finfo(bad)
