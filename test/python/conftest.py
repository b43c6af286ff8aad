# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lets test modules import what they share: `tolerances`, `compiling`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
