# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""kvern-opt reports wrong text; it never crashes: mutations of the lit tests' inputs, with a fixed seed."""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from kvern.tools import find_tool

LIT = Path(__file__).parents[1]
SEPARATOR = "\n// -----\n"
MUTANTS = 250

NUMBERS = ["-1", "0", "1", "2", "3", "7", "65", "1.5", "4294967296", str(2**60), str(2**63 - 1)]
NUMBERS += [str(-(2**63)), str(2**63), "n", "unit", '"a"']
ELEMENTS = "i1 i7 i8 i16 i32 i64 ui8 ui64 si32 index f16 bf16 f32 f64 f80 f8E4M3FN f8E8M0FNU f4E2M1FN".split()
ELEMENTS += ["complex<f32>", "none", "tensor<2xf32>"]
DIMS = [
    "n",
    "m",
    "0",
    "-1",
    "n - 5",
    "n * m",
    "n floordiv 2",
    "n mod (m - m)",
    "n floordiv -2",
    "-n",
]
DIMS += [
    "n * 4611686018427387904",
    "n ceildiv m",
    '"a b"',
    "((((n))))",
    "n floordiv 2 floordiv 3 mod 2",
]
DIMS += ["1152921504606846976", "1152921504606846975", "?", "2, n", ""]
VALUES = [
    "0 : i64",
    "-1 : i64",
    "0 : i32",
    "1.0 : f64",
    "unit",
    '"text"',
    "[]",
    "[unit]",
    "f32",
    "@f",
]
VALUES += [
    "array<i64: 0, 0>",
    "array<i64>",
    "#kvern.dim<n>",
    "#kvern.shape<[n]>",
    "[#kvern.dim<1>]",
]
VALUES += ["dense<1> : tensor<2xi64>", "dense<> : tensor<0xf32>", "#kvern.device<gpu:3>", "{a = 1}"]


def read_units(path: Path) -> list[str]:
    """Returns the functions of a test, each with what it needs: type aliases, and what it calls."""
    text = re.sub(r"^\s*//(?! -----).*$\n?", "", path.read_text(), flags=re.M)
    text = re.sub(r"^\{-#.*^#-\}$", "", text, flags=re.M | re.S)
    units = []
    for part in re.split(r"^// -----$", text, flags=re.M):
        aliases = "\n".join(re.findall(r"^!.*$", part, flags=re.M))
        functions = re.findall(
            r"^func\.func.*?\{$.*?^\}$|^func\.func.*[^{]$", part, flags=re.M | re.S
        )
        if re.search(r"\b(call|derived_weight|parallel_for) @", part) or not functions:
            units.append(part)
        else:
            units += [f"{aliases}\n{function}" for function in functions]
    return [unit for unit in units if unit.strip()]


UNITS = [
    unit
    for folder in ("Dialect", "Transforms", "Conversion", "Pipelines")
    for path in sorted((LIT / folder).rglob("*.mlir"))
    if not path.stem.endswith("-invalid")
    for unit in read_units(path)
]
OPS = sorted(
    {op for unit in UNITS for op in re.findall(r"\bkvern\.[a-z][a-z_.]*[a-z]\b(?= )", unit)}
)


def substitute(pattern: str, choices: list[str]) -> Callable[[str, random.Random], str]:
    """Returns the mutation that replaces one match of `pattern` by one of `choices`."""

    def mutate(text: str, choose: random.Random) -> str:
        matches = list(re.finditer(pattern, text))
        if not matches:
            return text
        match = choose.choice(matches)
        return text[: match.start()] + choose.choice(choices) + text[match.end() :]

    return mutate


def substitute_all(pattern: str, choices: list[str]) -> Callable[[str, random.Random], str]:
    """Returns the mutation that replaces what equals one match of `pattern` by one of `choices`, everywhere."""

    def mutate(text: str, choose: random.Random) -> str:
        matches = re.findall(pattern, text)
        if not matches:
            return text
        word = re.escape(choose.choice(matches))
        return re.sub(rf"(?<![\w%])(?<!array<){word}(?!\w)", choose.choice(choices), text)

    return mutate


def lines(text: str, choose: random.Random) -> str:
    """Drops, repeats or moves a line."""
    rows = text.split("\n")
    row = rows.pop(choose.randrange(len(rows)))
    for _ in range(choose.choice([0, 1, 2])):
        rows.insert(choose.randrange(len(rows) + 1), row)
    return "\n".join(rows)


# Those that leave most inputs valid.
GENTLE = [
    substitute_all(
        r"(?<![\w%@.\"])[a-z](?!\w)(?=[^=]*>)", ["n", "m", "0", "1", "3", "n * 2", "n floordiv 2"]
    ),
    substitute_all(r"(?<![\w:.])\d+(?!\w)", ["0", "1", "2", "3", "n", "64"]),
    substitute_all(r"(?<!array<)\b(?:i1|i8|i32|i64|ui8|ui64|f32|f64|bf16)\b(?!:)", ELEMENTS),
    substitute(r"\bkvern\.[a-z][a-z_.]*[a-z]\b(?= )", OPS),
    lines,
]
MUTATIONS = [
    substitute(r"-?\b\d+(\.\d+)?\b", NUMBERS),
    # MLIR itself fails on `array<index: ...>`.
    substitute(r"(?<!array<)\b(i1|i8|i32|i64|ui8|ui64|f32|f64|bf16)\b", ELEMENTS),
    # One size, all sizes.
    substitute(r"(?<=[\[,<] )[a-z]\w*(?=[,\]>])|(?<=[\[<])\w+(?=[,\]>])", DIMS),
    substitute(r"(?<=\[)[^\[\]{}#]*(?=\], )", DIMS),
    # An attribute's value, an attribute, an operand.
    substitute(r"(?<= = )[^,{}<>]+(?=[,}])", VALUES),
    substitute(r"(?<= = )#kvern\.\w+<[^>]*>", VALUES),
    substitute(r"\w+ = [^,{}<>]+, ", [""]),
    substitute(r"%\w+(?=[ ,:)])", ["%x", "%y", "%0", "%1", ""]),
    substitute(r", %\w+", ["", ", %x", ", %0, %0"]),
    substitute(r"\bkvern\.[a-z][a-z_.]*[a-z]\b(?= )", OPS),
    substitute(r"\b[cg]pu:\d\b", ["gpu:0", "cpu:1", "tpu:0", "cpu:-1"]),
    substitute(r"!kvern\.(tensor|buffer)", ["!kvern.buffer", "!kvern.tensor", "memref", "tensor"]),
    substitute(r"[\[\](){}<>,:=]", ["", "[", ")", "}}", ">", ","]),
    lines,
]


def mutants(seed: int) -> list[str]:
    """Returns inputs with one to four mutations each."""
    choose = random.Random(seed)
    found = []
    while len(found) < MUTANTS:
        unit = choose.choice(UNITS)
        mutant = unit
        mutations = choose.choice([GENTLE, MUTATIONS])
        for _ in range(choose.choice([1, 1, 1, 2, 4])):
            mutant = choose.choice(mutations)(mutant, choose)
        if mutant != unit:
            found.append(mutant)
    return found


def run(texts: list[str], *options: str) -> subprocess.CompletedProcess[str]:
    command = [find_tool("kvern-opt"), "-split-input-file", *options, "-"]
    return subprocess.run(
        command, input=SEPARATOR.join(texts), capture_output=True, text=True, timeout=300
    )


def check(texts: list[str], *options: str) -> None:
    """Fails with the first text that makes kvern-opt end by a signal."""
    result = run(texts, *options)
    if result.returncode not in (0, 1):
        for text in texts:
            result = run([text], *options)
            assert result.returncode in (0, 1), f"{text}\n\n{result.stderr}"
        pytest.fail(f"the inputs crash kvern-opt together only:\n{result.stderr}")


def test_inputs_parse() -> None:
    assert len(UNITS) > 80
    assert run(UNITS).returncode == 0


@pytest.mark.parametrize("seed", range(2))
def test_parsing(seed: int) -> None:
    check(mutants(seed))


@pytest.mark.parametrize("seed", range(2))
def test_canonicalizing(seed: int) -> None:
    check(mutants(seed), "-canonicalize", "-cse")


@pytest.mark.parametrize("seed", range(2))
def test_lowering(seed: int) -> None:
    check(mutants(seed), "--kvern-to-target")
