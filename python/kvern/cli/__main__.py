# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`python -m kvern.cli`."""

from __future__ import annotations

from kvern.cli import main

main()
