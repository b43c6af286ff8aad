# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`kvern run`: one run of an executable or a graph."""

from __future__ import annotations

from typing import Any

import click

from kvern.cli.arrays import inputs_of, pairs, weights_of
from kvern.cli.targets import Kind, kind_of, load_graph
from kvern.errors import InputError

__all__ = ["command", "input_options", "prepare"]


def input_options(function: Any) -> Any:
    """Adds the options that say what a model is run with."""
    options = [
        click.option("--input", "files", multiple=True, metavar="NAME=FILE.npy", help="An input."),
        click.option(
            "--size", "sizes", multiple=True, metavar="NAME=N", help="A size of random inputs."
        ),
        click.option(
            "--weights",
            multiple=True,
            type=click.Path(),
            help="Weights: .safetensors, .gguf or .npz.",
        ),
        click.option(
            "--random",
            "is_random",
            is_flag=True,
            help="Random inputs and weights where none are given.",
        ),
        click.option(
            "--seed", type=int, default=0, show_default=True, help="Seed of the random numbers."
        ),
        click.option(
            "--threads", type=click.IntRange(min=1), help="The most threads; all cores by default."
        ),
    ]
    for option in reversed(options):
        function = option(function)
    return function


def prepare(
    target: str,
    files: tuple[str, ...],
    sizes: tuple[str, ...],
    weights: tuple[str, ...],
    is_random: bool,
    seed: int,
    threads: int | None,
) -> tuple[Any, list[Any]]:
    """Loads a target; returns the model and its inputs.

    Raises:
        ValueError: The target is no executable or graph, it does not fit this machine, or inputs or weights are
            missing.
    """
    from kvern.cli.progress import Progress
    from kvern.engine import InferenceSession

    kind = kind_of(target)
    if kind is Kind.CHECKPOINT:
        raise InputError(
            f"expected an executable or a graph, but {target} is a checkpoint: kvern generate runs it"
        )
    session = InferenceSession(num_threads=threads)
    with Progress() as progress:
        source = target if kind is Kind.EXECUTABLE else load_graph(target)
        compiled = session.compile(source, progress=progress.callback("compile"))
        chosen = seed if is_random else None
        model = session.init(
            compiled,
            weights_registry=weights_of(compiled, weights, chosen),
            progress=progress.callback("load"),
        )
    return model, inputs_of(model, pairs("--input", files), pairs("--size", sizes), chosen)


@click.command("run")
@click.argument("target")
@input_options
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False), help="Path of a .npz file for the outputs."
)
def command(target: str, output: str | None, **options: Any) -> None:
    """Run TARGET once: an executable, or a graph (.mlir, or FILE.py:NAME).

    Prints each output, or writes all of them to a file.
    """
    import numpy as np

    model, inputs = prepare(target, **options)
    results = {
        spec.name: buffer.to_numpy()
        for spec, buffer in zip(model.output_metadata, model.execute(*inputs), strict=True)
    }
    if output is not None:
        with open(output, "wb") as file:
            np.savez(file, **results)  # pyright: ignore[reportArgumentType]
    for name, array in results.items():
        click.echo(f"{name}: {array.dtype} {list(array.shape)}")
        if output is None:
            click.echo(np.array2string(array, threshold=64, edgeitems=3))
