# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`kvern bench`: how fast a model is, against what the machine can do."""

from __future__ import annotations

from typing import Any

import click
from click.core import ParameterSource

from kvern.cli.dtypes import WEIGHT_DTYPES, dtype_of
from kvern.cli.run import input_options, prepare
from kvern.cli.targets import Kind, kind_of
from kvern.errors import InputError

__all__ = ["command"]

# Parameters by what they are for; the others are for both.
_OF_KERNELS = ("page", "trace", "files", "sizes", "weights", "is_random", "seed")
_OF_TEXT = ("dtype", "prompt", "batch")


@click.command("bench")
@click.argument("target", default="smollm2")
@input_options
@click.option(
    "--runs",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="Medians are of so many.",
)
@click.option("--html", "page", type=click.Path(dir_okay=False), help="Write the table as a page.")
@click.option("--trace", type=click.Path(dir_okay=False), help="Write a trace for ui.perfetto.dev.")
@click.option("--dtype", type=WEIGHT_DTYPES, help="Of a checkpoint.", default="stored")
@click.option(
    "--prompt",
    type=click.IntRange(min=1),
    default=512,
    show_default=True,
    help="Of a checkpoint: tokens of a prompt.",
)
@click.option(
    "--batch",
    type=click.IntRange(min=1),
    multiple=True,
    help="Of a checkpoint: sequences at a time, 1 and 8 by default.",
)
@click.pass_context
def command(
    context: click.Context,
    target: str,
    runs: int,
    page: str | None,
    trace: str | None,
    dtype: str,
    prompt: int,
    batch: tuple[int, ...],
    **options: Any,
) -> None:
    """Time TARGET against what this machine can do.

    A graph (.mlir, or FILE.py:NAME) or an executable is timed kernel by kernel. Of a checkpoint, prompts and steps of
    decoding are timed.
    """
    if kind_of(target) is Kind.CHECKPOINT:
        if _is_given(context, _OF_KERNELS):
            raise InputError(
                "expected --html, --trace, --input, --size, --weights, --random and --seed with a graph or an "
                f"executable, but {target} is a checkpoint"
            )
        return _time_text(target, dtype, prompt, batch or (1, 8), runs, options["threads"])
    if _is_given(context, _OF_TEXT):
        raise InputError(
            f"expected --dtype, --prompt and --batch with a checkpoint, but {target} is none"
        )
    model, inputs = prepare(target, **options)
    report = model.report(*inputs, runs=runs)
    click.echo(str(report))
    if page is not None:
        report.to_html(page)
    if trace is not None:
        report.save_trace(trace)


def _is_given(context: click.Context, names: tuple[str, ...]) -> bool:
    """Whether one of the parameters is on the command line."""
    return any(context.get_parameter_source(name) is not ParameterSource.DEFAULT for name in names)


def _time_text(
    target: str, dtype: str, prompt: int, batches: tuple[int, ...], runs: int, threads: int | None
) -> None:
    from kvern.cli.bench_text import measure
    from kvern.cli.loading import LoadingProgress
    from kvern.pipelines.loading import load_model

    with LoadingProgress() as progress:
        loaded = load_model(target, dtype=dtype_of(dtype), num_threads=threads, progress=progress)
    longest = loaded.config.max_seq_len
    if prompt + runs + 8 > longest:
        raise InputError(
            f"expected --prompt and --runs within the {longest} tokens of the model, but got {prompt} and {runs}"
        )
    click.echo(f"{target}, {dtype}, {loaded.model.num_threads} thread(s)")
    for batch in batches:
        reading, decoding = measure(loaded, batch, prompt, runs)
        if batch == batches[0]:
            click.echo(f"prompt of {prompt:5}  {reading}")
        click.echo(f"decode, batch {batch:2} {decoding}")
