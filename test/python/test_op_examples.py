# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The example in each description of the dialect's ODS parses, verifies and round-trips.

Descriptions of ops come from the docstrings of the generated builders, so that what TableGen classes put together
is seen whole; those of attributes and types from their .td files.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# What operands are called in the examples of `kvern.host` ops, whose syntax does not give all types.
NAMED = {"%frame": "!llvm.ptr", "%ok": "i1", "%tasks": "index", "%work": "index"}


def blocks(text: str) -> list[str]:
    """The ```mlir blocks of a description, without their indentation."""
    found = re.findall(r"^ *```mlir\n(.*?)^ *```", text, re.DOTALL | re.MULTILINE)
    return ["\n".join(line.strip() for line in block.strip().splitlines()) for block in found]


def op_descriptions() -> dict[str, str]:
    from kvern._mlir.dialects import kvern

    classes = [c for c in vars(kvern).values() if hasattr(c, "OPERATION_NAME")]
    return {cls.OPERATION_NAME: cls.__doc__ or "" for cls in classes}


def attribute_and_type_examples() -> list[str]:
    text = "".join(
        (ROOT / "dialect" / f"Kvern{what}.td").read_text() for what in ("Attrs", "Types")
    )
    return [line for block in blocks(text) for line in block.splitlines()]


def split_types(text: str) -> list[str]:
    """`!kvern.tensor<[n, 4], f32, cpu:0>, index` into its types."""
    types, depth, start = [], 0, 0
    for i, char in enumerate(text):
        depth += (char in "<([") - (char in ">)]" and text[i - 1] != "-")
        if char == "," and depth == 0:
            types.append(text[start:i])
            start = i + 1
    return [t.strip() for t in [*types, text[start:]] if t.strip()]


def operand_types(example: str) -> dict[str, str]:
    """The type of each value that an example uses."""
    use, _, signature = re.sub(r"\{.*\}", "", example).partition(" : ")
    names = re.findall(r"%\w+", use.partition(" = ")[2] if use.startswith("%") else use)
    if "%frame" in names:
        return {name: NAMED.get(name, "index") for name in names}
    operands = signature.partition(" -> ")[0]
    operands = operands[1:-1] if operands.startswith("(") else operands
    listed = [name for name in names if name not in NAMED]
    types = dict(zip(listed, split_types(operands) if listed else [], strict=True))
    return {name: NAMED[name] for name in names if name in NAMED} | types


def wrap(example: str) -> str:
    types = operand_types(example)
    text = ""
    if callee := re.search(r"@\w+", example):
        signature = example.partition(" : ")[2]
        if "%tasks" in types:
            signature = f"({signature}, index, index)"
        text = f"func.func private {callee[0]}{signature}\n"
    # %0 can only name a result of the body: arguments are %x0.
    body = re.sub(r"%(\w+)", r"%x\1", example)
    arguments = ", ".join(f"%x{name[1:]}: {t}" for name, t in types.items())
    return f"{text}func.func private @f({arguments}) {{\n  {body}\n  return\n}}\n"


def round_trip(text: str) -> str:
    """Text that was parsed, verified and printed twice."""
    from kvern._mlir import ir

    with ir.Context():
        try:
            printed = str(ir.Module.parse(text))
        except ir.MLIRError as error:
            pytest.fail(f"{text}\n{error}")
        assert str(ir.Module.parse(printed)) == printed
    return printed


@pytest.mark.parametrize("name", op_descriptions())
def test_op(name: str) -> None:
    examples = blocks(op_descriptions()[name])
    assert examples, f"expected an example in the description of {name}"
    for example in examples:
        assert name in example
        assert name in round_trip(wrap(example))


def test_attributes_and_types() -> None:
    examples = attribute_and_type_examples()
    assert len(examples) >= 8
    text = "module attributes {kvern.examples = [" + ",\n".join(examples) + "]} {}\n"
    round_trip(text)
