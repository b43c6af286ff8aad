# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`kvern bench`: how fast a model is, against what the machine can do."""

from __future__ import annotations

from typing import Any

import click

from kvern.cli.run import input_options, prepare

__all__ = ["command"]


@click.command("bench")
@click.argument("target")
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
def command(target: str, runs: int, page: str | None, trace: str | None, **options: Any) -> None:
    """Time TARGET kernel by kernel: an executable, or a graph (.mlir, or FILE.py:NAME).

    Each kernel's rate is shown with its share of the machine's measured limit.
    """
    model, inputs = prepare(target, **options)
    report = model.report(*inputs, runs=runs)
    click.echo(str(report))
    if page is not None:
        report.to_html(page)
    if trace is not None:
        report.save_trace(trace)
