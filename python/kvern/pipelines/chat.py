# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Chat templates: Jinja text from checkpoints, which is not trusted."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping, Sequence
from typing import Any

from kvern.errors import InputError, UnsupportedError

__all__ = ["render_chat"]


def render_chat(template: str, messages: Sequence[Mapping[str, Any]], **variables: Any) -> str:
    """Makes the prompt of a conversation.

    The template runs in a sandbox: it sees the messages and the variables, changes nothing and calls no Python.

    Args:
        template: Text in Jinja, with the names that templates of Hugging Face use.
        messages: Of the conversation, each with "role" and "content".
        **variables: What else the template sees: `add_generation_prompt`, `bos_token`, `eos_token`, `tools`, ...

    Raises:
        ValueError: The template is wrong or refuses the messages.
        NotImplementedError: The package jinja2 is not installed.
    """
    try:
        from jinja2 import TemplateError
        from jinja2.sandbox import ImmutableSandboxedEnvironment
    except ImportError:
        raise UnsupportedError("chat templates need the package jinja2") from None
    for message in messages:
        if not isinstance(message, Mapping) or "role" not in message:
            raise InputError(f"expected messages with a role, but got {message!r}")
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _refuse
    environment.globals["strftime_now"] = _now
    try:
        return environment.from_string(template).render(messages=list(messages), **variables)
    except InputError:
        raise
    except (TemplateError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise InputError(f"the chat template failed: {error}") from None
    except (MemoryError, RecursionError) as error:
        raise InputError(f"the chat template failed: {type(error).__name__}") from None


def _to_json(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _refuse(message: str) -> None:
    raise InputError(f"the chat template refuses the messages: {message}")


def _now(text: str) -> str:
    return datetime.datetime.now().strftime(text)
