# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`kvern compile`: an executable ahead of time, for this machine or another."""

from __future__ import annotations

import click

from kvern.cli.dtypes import WEIGHT_DTYPES
from kvern.cli.targets import Kind, kind_of, load_graph
from kvern.errors import InputError

__all__ = ["command"]


@click.command("compile")
@click.argument("target")
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False), required=True, help="Path of the executable."
)
@click.option(
    "--cpu",
    default="",
    help="Processor, as LLVM names it (x86-64-v3, znver4); this one by default.",
)
@click.option(
    "--features",
    default="",
    help="Features to add or leave out, as LLVM names them: +avx512f,-fma.",
)
@click.option("--dtype", type=WEIGHT_DTYPES, help="Of a checkpoint.")
def command(target: str, output: str, cpu: str, features: str, dtype: str | None) -> None:
    """Compile TARGET to an executable, which holds no weights.

    TARGET is a graph (.mlir, or FILE.py:NAME) or a checkpoint. `kvern run` runs the executable, and so does
    InferenceSession.load, on every machine that has the features it was compiled for.
    """
    from kvern.cli.progress import Progress
    from kvern.engine.cache import write_atomically
    from kvern.graph._compile import compile_graph_module

    kind = kind_of(target)
    if kind is Kind.EXECUTABLE:
        raise InputError(f"expected a graph or a checkpoint, but {target} is an executable already")
    if kind is Kind.GRAPH:
        if dtype is not None:
            raise InputError("expected --dtype with a checkpoint only: a graph has its types")
        graph = load_graph(target)
    else:
        from kvern.cli.checkpoints import graph_of
        from kvern.models import open_checkpoint

        graph = graph_of(open_checkpoint(target).config, dtype)
    options = {name: value for name, value in (("cpu", cpu), ("features", features)) if value}
    with Progress() as progress:
        data, _ = compile_graph_module(graph, options, progress=progress.callback("compile"))
    write_atomically(output, data)
    click.echo(f"{output}: {len(data):,} bytes", err=True)
