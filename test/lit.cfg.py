# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The lit suites. `python -m pytest` runs them too; alone: `lit test` with an installed
# kvern, or `lit -D kvern_opt=<build>/bin/kvern-opt test`.
import importlib.util
import os
import sys

import lit.formats


def find_tool(package, name):
    spec = importlib.util.find_spec(package)
    # An editable install spreads a package over two folders.
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = os.path.join(folder, "bin", name)
        if os.access(path, os.X_OK):
            return path
    return lit_config.fatal(f"expected {name} in bin/ of the package {package!r}")


config.name = "kvern"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.excludes = ["Inputs", "python", "unit", "benchmark", "conformance"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.abspath(
    lit_config.params.get("exec_root", os.path.join(config.test_source_root, "..", "build", "lit"))
)

kvern_opt = lit_config.params.get("kvern_opt") or find_tool("kvern", "kvern-opt")
filecheck = lit_config.params.get("filecheck") or find_tool("llvm", "FileCheck")
config.substitutions.append((r"\bkvern-opt\b", os.path.abspath(kvern_opt)))
config.substitutions.append((r"\bFileCheck\b", os.path.abspath(filecheck)))
config.substitutions.append((r"%python", sys.executable))
# `not` of lit's internal shell needs no substitution.
