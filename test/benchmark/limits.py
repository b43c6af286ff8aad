# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The machine's limits, measured: time for the same flops from registers or the same bytes from memory.

Measured apart from kvern's own runtime, which reports shares of limits too: the yardstick is not to be made of what it
measures.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

SOURCE = Path(__file__).with_name("limits.c")


class Limits:
    """Runs the loops of `limits.c` on `threads` cores at once.

    Raises:
        RuntimeError: no C compiler is found; the message names the ones tried.
    """

    def __init__(self, threads: int, max_bytes: int = 1 << 28) -> None:
        compiler = next((c for c in ("cc", "clang", "gcc") if shutil.which(c)), None)
        if compiler is None:
            raise RuntimeError(
                "measuring the machine's limits needs a C compiler: tried cc, clang, gcc"
            )
        with tempfile.TemporaryDirectory() as folder:
            library = os.path.join(folder, "limits.so")
            flags = ["-O3", "-ffast-math", "-march=native", "-shared", "-fPIC"]
            subprocess.run([compiler, *flags, str(SOURCE), "-o", library], check=True)
            self._library = ctypes.CDLL(library)
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads)
        # One part for each thread; touched, so that its pages exist.
        self._memory = [np.ones(max_bytes // 4 // threads, np.float32) for _ in range(threads)]

    def _on_all(self, call) -> None:
        if self._threads == 1:
            call(0)
        else:
            list(self._pool.map(call, range(self._threads)))

    def fma(self, flops: float) -> None:
        """Computes `flops` floating-point operations."""
        share = ctypes.c_double(flops / self._threads)
        self._on_all(lambda _: self._library.kvern_limit_fma(share))

    def read(self, size: float) -> None:
        """Reads `size` bytes; what exceeds the buffer is read again from its start."""

        def read(thread: int) -> None:
            memory = self._memory[thread]
            left = int(size) // self._threads
            while left > 0:
                part = min(left, memory.nbytes)
                self._library.kvern_limit_read(
                    ctypes.c_void_p(memory.ctypes.data), ctypes.c_size_t(part)
                )
                left -= part

        self._on_all(read)
