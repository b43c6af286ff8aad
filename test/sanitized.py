# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs tests on a runtime that was built with sanitizers, and everything else as it is installed.

    cmake -G Ninja -S . -B build/sanitize -DKVERN_SANITIZE=address,undefined
    cmake --build build/sanitize --target KvernRuntimeModule
    python test/sanitized.py build/sanitize test/python/test_runtime.py test/python/graph/test_ops_numeric.py

Generated code is not instrumented: that it keeps to its memory is what KVERN_GUARD_PAGES tests, in every run of the
tests.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]


def find_package() -> Path:
    """The folder of the installed kvern."""
    spec = importlib.util.find_spec("kvern")
    if spec is None or spec.origin is None:
        sys.exit("expected kvern to be installed")
    return Path(spec.origin).parent


def overlay(package: Path, extension: Path, folder: Path) -> None:
    """Makes a kvern in `folder` that is `package` but for the runtime."""
    copy = folder / "kvern"
    copy.mkdir()
    for item in package.iterdir():
        if not item.name.startswith("_runtime.cpython") and item.name != "__pycache__":
            (copy / item.name).symlink_to(item.resolve())
    (copy / extension.name).symlink_to(extension.resolve())


def find_libraries(extension: Path) -> str:
    """What has to be loaded before Python: the sanitizer, and what it looks up as it starts."""
    done = subprocess.run(["ldd", str(extension)], capture_output=True, text=True, check=True)
    found: dict[str, str] = {}
    for line in done.stdout.splitlines():
        name, _, rest = line.strip().partition(" => ")
        for prefix in ("libasan", "libtsan", "libstdc++"):
            if name.startswith(prefix):
                found[prefix] = rest.split(" ")[0]
    if found.keys() - {"libstdc++"}:
        return ":".join(found[prefix] for prefix in sorted(found, key="libstdc++".__eq__))
    sys.exit(
        f"expected {extension} to need a sanitizer's library; configure with -DKVERN_SANITIZE=address,undefined"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("build", type=Path)
    parser.add_argument("tests", nargs=argparse.REMAINDER, help="arguments of pytest")
    arguments = parser.parse_args()
    extensions = list((arguments.build / "python_packages/kvern").glob("_runtime.cpython*.so"))
    if len(extensions) != 1:
        sys.exit(
            f"expected one _runtime in {arguments.build}/python_packages/kvern, but found {len(extensions)}"
        )
    with tempfile.TemporaryDirectory() as folder:
        overlay(find_package(), extensions[0], Path(folder))
        environment = os.environ | {
            "LD_PRELOAD": find_libraries(extensions[0]),
            # Python itself leaks; memory that cannot be had is a test of its own.
            "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:handle_segv=0",
            "UBSAN_OPTIONS": "print_stacktrace=1",
            "PYTHONPATH": folder + os.pathsep + os.environ.get("PYTHONPATH", ""),
        }
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *arguments.tests], cwd=ROOT, env=environment
        )
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
