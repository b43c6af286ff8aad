# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lets test modules import what they share: `tolerances`, `compiling`; sets up Hypothesis."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))

# Machines that run tests are busy, and a run is to be repeatable.
settings.register_profile("kvern", deadline=None, derandomize=True)
settings.load_profile("kvern")

# A shell that starts the tests in the background has Ctrl-C ignored, in them and in the processes that they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
