# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Chat templates: what they see, and what they cannot do."""

from __future__ import annotations

import pytest
from kvern.errors import InputError
from kvern.pipelines.chat import render_chat

pytest.importorskip("jinja2")
USER = [{"role": "user", "content": "hi"}]


def test_messages_and_variables():
    template = (
        "{{ bos_token }}{% for m in messages %}\n"
        "  {% if m.role == 'user' %}\n"
        "[{{ m['content'] | trim }}]\n"
        "  {% endif %}\n"
        "{% endfor %}{% if add_generation_prompt %}>{% endif %}"
    )
    made = render_chat(template, [*USER, *USER], bos_token="<s>", add_generation_prompt=True)
    assert made == "<s>[hi]\n[hi]\n>"


def test_json_keeps_characters():
    assert render_chat("{{ messages | tojson }}", [{"role": "é<"}]) == '[{"role": "é<"}]'


def test_loop_controls():
    template = "{% for m in messages %}{{ m.role }}{% break %}{% endfor %}"
    assert render_chat(template, [*USER, *USER]) == "user"


@pytest.mark.parametrize(
    "template",
    [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ raise_exception.__globals__['os'] }}",
        "{{ 'a' * 10 ** 15 }}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{{ messages.append(1) }}",
        "{{ messages[0].__init__.__globals__['os'] }}",
        "{% for i in range(10 ** 9) %}{% endfor %}",
        "{{ 1 / 0 }}",
        "{% if %}",
        "{% include 'file' %}",
        "{{ messages[7].content.x.y }}",
    ],
)
def test_nothing_but_the_messages(template: str):
    with pytest.raises(InputError, match="the chat template failed"):
        render_chat(template, USER)


def test_a_template_may_refuse():
    with pytest.raises(InputError, match="refuses the messages: roles must alternate"):
        render_chat("{{ raise_exception('roles must alternate') }}", USER)


def test_messages_need_roles():
    with pytest.raises(InputError, match="expected messages with a role"):
        render_chat("", [{"content": "hi"}])
