# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""IREE's LLVM CPU backend, on StableHLO lowered by JAX."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from typing import Any

import iree.compiler
import iree.runtime
import jax
import numpy as np
from cases import Case

from frameworks.base import Contender, Unsupported
from frameworks.jax_contender import JaxOperations, arrange


class Iree(Contender):
    name = "iree"

    @property
    def version(self) -> str:
        return importlib.metadata.version("iree-base-compiler")

    def prepare(
        self, case: Case, inputs: dict[str, np.ndarray], weights: dict[str, np.ndarray]
    ) -> Callable[[], Any]:
        if case.encoding or case.dtype != "float32":
            raise Unsupported("measured for float32 only")
        weights = arrange(case, weights)
        lowered = jax.jit(lambda i, w: case.forward(JaxOperations(), i, w)).lower(inputs, weights)
        text = str(lowered.compiler_ir("stablehlo"))
        flags = ["--iree-llvmcpu-target-cpu=host"]
        try:
            binary = iree.compiler.compile_str(
                text, target_backends=["llvm-cpu"], input_type="stablehlo", extra_args=flags
            )
        except iree.compiler.CompilerToolError as error:
            raise Unsupported("does not compile") from error
        driver = "local-sync" if self.threads == 1 else "local-task"
        context = iree.runtime.SystemContext(config=iree.runtime.Config(driver))
        context.add_vm_module(iree.runtime.VmModule.copy_buffer(context.instance, binary))
        device = context.config.device
        # JAX flattens dictionaries in the order of their names.
        values = [group[name] for group in (inputs, weights) for name in sorted(group)]
        arrays = [iree.runtime.asdevicearray(device, value) for value in values]
        main = next(m for name, m in context.modules.items() if name != "hal")["main"]
        return lambda: main(*arrays)

    def to_numpy(self, result: Any) -> np.ndarray:
        return np.asarray(result.to_host())
