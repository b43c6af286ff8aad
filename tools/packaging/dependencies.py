# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run-time dependencies of the wheel: the SDK's shared libraries unless they are embedded."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# What a wheel linked with KVERN_LINK=dylib loads: the wheels that hold libLLVM.so and
# libMLIR.so, in the very versions that were linked against.
_SDK_LIBRARIES = re.compile(r'"(xtc-(?:llvm|mlir)-tools==[^"]+)"')


class Provider:
    """A scikit-build-core provider of `dependencies`."""

    @staticmethod
    def dynamic_metadata(
        settings: Mapping[str, Any], _project: Mapping[str, Any]
    ) -> dict[str, list[str]]:
        """Returns `always`, and the SDK pins of pyproject.toml's build requirements."""
        pins: list[str] = []
        if os.environ.get("KVERN_LINK", "dylib") == "dylib":
            pyproject = Path(__file__).parents[2] / "pyproject.toml"
            pins = _SDK_LIBRARIES.findall(pyproject.read_text(encoding="utf-8"))
            if len(pins) != 2:
                raise ValueError(f"expected two -tools wheels in build-system.requires, got {pins}")
        return {"dependencies": [*settings["always"], *pins]}

    @staticmethod
    def dynamic_wheel(_settings: Mapping[str, Any]) -> dict[str, bool]:
        """The wheel's link mode is not known when the sdist is made."""
        return {"dependencies": True}
