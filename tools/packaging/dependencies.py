# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run-time dependencies of the wheel: the SDK's shared libraries unless they are embedded.

Run as a script, it prints the build requirements, one a line: what an environment needs
for `pip install --no-build-isolation`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def build_requirements() -> list[str]:
    """Returns `build-system.requires` of pyproject.toml."""
    # tomllib is not in Python 3.10.
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    block = re.search(r"^requires = \[(.*?)^\]", text, re.DOTALL | re.MULTILINE)
    if block is None:
        raise ValueError("expected pyproject.toml to list build-system.requires")
    return re.findall(r'"([^"]+)"', block.group(1))


class Provider:
    """A scikit-build-core provider of `dependencies`."""

    @staticmethod
    def dynamic_metadata(
        settings: Mapping[str, Any], _project: Mapping[str, Any]
    ) -> dict[str, list[str]]:
        """Returns `always`, and the SDK pins of pyproject.toml's build requirements."""
        sdk: list[str] = []
        if os.environ.get("KVERN_LINK", "dylib") == "dylib":
            # The wheels that hold libLLVM.so and libMLIR.so, in the very versions that
            # are linked against.
            sdk = [pin for pin in build_requirements() if "-tools==" in pin]
            if len(sdk) != 2:
                raise ValueError(f"expected two -tools wheels in build-system.requires, got {sdk}")
        return {"dependencies": [*settings["always"], *sdk]}

    @staticmethod
    def dynamic_wheel(_settings: Mapping[str, Any]) -> dict[str, bool]:
        """The wheel's link mode is not known when the sdist is made."""
        return {"dependencies": True}


if __name__ == "__main__":
    print(*build_requirements(), sep="\n")
