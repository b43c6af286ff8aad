# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kvern dialect: its generated builders, types and attributes."""

from .._mlir_libs import _kvern
from ._kvern_ops_gen import *

_kvern.add_dialect_types()
DimAttr = _kvern.DimAttr
ShapeAttr = _kvern.ShapeAttr
DeviceAttr = _kvern.DeviceAttr
TensorType = _kvern.TensorType
BufferType = _kvern.BufferType
