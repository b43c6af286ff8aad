# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the skeleton of an op, a pass or a layer: every file that has to be touched, with TODO where to think.

    python tools/new.py op Norm group_norm
    python tools/new.py pass Transforms hoist-casts
    python tools/new.py layer GroupNorm --module norm

What it writes compiles, and does nothing. CONTRIBUTING.md says what belongs into each file.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

LICENCE = "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"
# Op families that lower through KvernToLinalg, and the FusionKind of a new op.
FAMILIES = {
    "Elementwise": "Elementwise",
    "Contraction": "Contraction",
    "Reduction": "Reduction",
    "Norm": "Norm",
    "Shape": "Movement",
    "Indexing": "Movement",
}
PASS_GROUPS = ("Transforms", "Codegen")
TENSOR = "!kvern.tensor<[n, 64], f32, cpu:0>"


class ScaffoldError(Exception):
    """The tree is not as expected, or the name is taken; nothing has been written."""


class Edits:
    """Changes to files, written together at the end."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.texts: dict[str, str] = {}

    def read(self, path: str) -> str:
        """Returns the text of a file with the changes so far."""
        if path not in self.texts:
            file = self.root / path
            if not file.exists():
                raise ScaffoldError(f"expected {path} to exist")
            self.texts[path] = file.read_text(encoding="utf-8")
        return self.texts[path]

    def create(self, path: str, text: str) -> None:
        """Adds a file."""
        if (self.root / path).exists():
            raise ScaffoldError(f"{path} exists already")
        self.texts[path] = text

    def append(self, path: str, text: str, header: str = "") -> None:
        """Adds text at the end of a file, which is made with `header` when it is missing."""
        if (self.root / path).exists():
            self.texts[path] = self.read(path).rstrip("\n") + "\n\n" + text
        else:
            self.create(path, header + text)

    def insert(self, path: str, before: str, text: str, after: str = "") -> None:
        """Adds text before the last place that matches a pattern, which follows another pattern."""
        old = self.read(path)
        start = re.search(after, old, re.MULTILINE)
        if start is None:
            raise ScaffoldError(f"expected {path} to have a place like {after!r}")
        if after:
            place = re.compile(before, re.MULTILINE).search(old, start.end())
        else:
            place = max(
                re.finditer(before, old, re.MULTILINE), key=lambda m: m.start(), default=None
            )
        if place is None:
            raise ScaffoldError(f"expected {path} to have a place like {before!r}")
        self.texts[path] = old[: place.start()] + text + old[place.start() :]

    def refuse(self, path: str, pattern: str, name: str) -> None:
        """Fails when a file has something of that name."""
        if re.search(pattern, self.read(path)):
            raise ScaffoldError(f"{path} has {name} already")

    def write(self) -> list[str]:
        """Writes all changes and returns the paths."""
        for path, text in self.texts.items():
            file = self.root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        python = [str(self.root / path) for path in self.texts if path.endswith(".py")]
        if python and importlib.util.find_spec("ruff"):
            # Sorts imports and __all__.
            ruff = [sys.executable, "-m", "ruff"]
            subprocess.run([*ruff, "check", "--fix", "--no-cache", *python], check=True)
            subprocess.run([*ruff, "format", "--no-cache", "--quiet", *python], check=True)
        return list(self.texts)


def camel(name: str) -> str:
    """`group_norm` and `group-norm` as `GroupNorm`."""
    return "".join(part.capitalize() for part in re.split("[-_]", name))


def export(edits: Edits, path: str, module: str, name: str) -> None:
    """Makes a package's façade export a name of one of its modules."""
    edits.insert(path, r"^\n*__all__ = \[", f"from {module} import {name}\n")
    edits.insert(path, r"^\]", f'    "{name}",\n', after=r"^__all__ = \[\n")


def list_name(edits: Edits, path: str, name: str) -> None:
    """Adds a name to `__all__` of a module that has one."""
    edits.read(path)
    edits.texts[path] = edits.texts[path].replace("__all__ = [", f'__all__ = ["{name}", ', 1)


def elementwise_op(edits: Edits, cls: str, name: str) -> None:
    """The C++ side of an elementwise op: its record and its formula."""
    edits.insert(
        "dialect/ops/Elementwise.td",
        r"^def Kvern_GeluOp",
        f"""\
def Kvern_{cls} : Kvern_FloatUnaryOp<"{name}", "TODO: a noun phrase",
    "TODO: the formula.">;

""",
    )
    edits.insert(
        "lib/Conversion/KvernToLinalg/Elementwise.cpp",
        r"^\}",
        f"  formulas.add<{cls}>([](Scalar &s, ValueRange x) {{ return x[0]; }});\n",
        after=r"^static void addUnaryFormulas",
    )


def other_op(edits: Edits, family: str, cls: str, name: str) -> None:
    """The C++ side of an op with a pattern of its own: record, result type, pattern."""
    ods = f"dialect/ops/{family}.td"
    types = f"({TENSOR}) -> {TENSOR}"
    edits.insert(
        ods,
        r"^#endif",
        f"""\
def Kvern_{cls} : Kvern_ComputeOp<"{name}", "{FAMILIES[family]}"> {{
  let summary = "TODO: a noun phrase";
  let description = [{{
    TODO: formula, shapes, element types, precision of sums; then one example.

    ```mlir
    %1 = kvern.{name} %0 : {types}
    ```
  }}];
  let arguments = (ins Kvern_AnyTensor:$x);
  let results = (outs Kvern_AnyTensor:$result);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
}}

""",
    )
    edits.append(
        f"dialect/ops/{family}.cpp",
        f"""\
LogicalResult
{cls}::inferReturnTypes(MLIRContext *, std::optional<Location> location,
{" " * len(cls)}                   Adaptor adaptor, SmallVectorImpl<Type> &results) {{
  // TODO: what is refused, and the result type.
  results.push_back(adaptor.getX().getType());
  return success();
}}
""",
    )
    lowering = f"lib/Conversion/KvernToLinalg/{family}.cpp"
    edits.insert(
        lowering,
        r"^\} // namespace\n\nvoid kvern::populate",
        f"""\
/// TODO: the loops, in mathematics.
struct {camel(name)}Conversion : OpConversionPattern<{cls}> {{
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite({cls} op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {{
    rewriter.replaceOp(op, adaptor.getX());
    return success();
  }}
}};

""",
    )
    edits.insert(
        lowering,
        r"^\}",
        f"  patterns.add<{camel(name)}Conversion>(converter, patterns.getContext());\n",
        after=rf"^void kvern::populate{family}Patterns",
    )


def new_op(edits: Edits, family: str, name: str) -> None:
    """An op of one tensor that returns its operand."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise ScaffoldError(f"expected the op's name in snake_case, but got {name!r}")
    cls, module = f"{camel(name)}Op", family.lower()
    types = f"({TENSOR}) -> {TENSOR}"
    edits.refuse(f"dialect/ops/{family}.td", rf"\bKvern_{cls}\b", cls)
    if family == "Elementwise":
        elementwise_op(edits, cls, name)
    else:
        other_op(edits, family, cls, name)
    ops = f"python/kvern/graph/ops/{module}.py"
    list_name(edits, ops, name)
    edits.append(
        ops,
        f'''
def {name}(x: TensorValueLike) -> TensorValue:
    """Returns TODO: the formula.

    Args:
        x: A tensor `[...]`.

    Raises:
        ValueError: TODO
    """
    return stage_tensor("{name}", to_tensor("{name}", x))
''',
    )
    export(edits, "python/kvern/graph/ops/__init__.py", f"kvern.graph.ops.{module}", name)
    # The example of the description is tested by test/python/test_op_examples.py.
    edits.append(
        f"test/Dialect/{module}-invalid.mlir",
        f"""\
// -----

// TODO: one function for each thing that the op refuses, and its message.
func.func @{name}(%x: {TENSOR}) -> {TENSOR} {{
  %0 = kvern.{name} %x : {types}
  return %0 : {TENSOR}
}}
""",
        header="// RUN: kvern-opt %s -verify-diagnostics -split-input-file\n\n",
    )
    edits.append(
        f"test/Conversion/kvern-to-linalg/{module}.mlir",
        f"""\
// CHECK-LABEL: func.func private @{name}
// TODO: the loops.
func.func private @{name}(%x: {TENSOR}) -> {TENSOR} attributes {{kvern.kernel}} {{
  %0 = kvern.{name} %x : {types}
  return %0 : {TENSOR}
}}
""",
        header="// RUN: kvern-opt %s -kvern-convert-to-linalg | FileCheck %s\n\n",
    )
    edits.append(
        f"test/python/op_cases/{module}.py",
        f'''\

def _{name}() -> Case:
    """TODO: a case per element type; odd sizes, size 1, size 0, extremes."""
    arrays = [(sample(DType.float32, [n, 64]),) for n in (3, 1, 0)]
    return Case("{name}", "", ops.{name}, lambda x: x, arrays, shapes=[["n", 64]])


CASES.append(_{name}())
''',
    )
    change(edits, f"`ops.{name}`: TODO")


def new_pass(edits: Edits, group: str, name: str) -> None:
    """A pass on functions that changes nothing."""
    if not re.fullmatch(r"[a-z][a-z0-9-]*", name):
        raise ScaffoldError(f"expected the pass's name in kebab-case, but got {name!r}")
    cls, folder = camel(name), f"lib/{group}"
    edits.refuse(f"{folder}/Passes.td", rf"\bdef {cls}\b", cls)
    edits.insert(
        f"{folder}/Passes.td",
        r"^#endif",
        f"""\
def {cls} : Pass<"kvern-{name}", "::mlir::func::FuncOp"> {{
  let summary = "TODO: what it does";
  let description = [{{
    TODO: what, precondition, guarantee. Example: test/{group}/{name}.mlir.
  }}];
}}

""",
    )
    edits.create(
        f"{folder}/{cls}.cpp",
        f"""\
// {LICENCE}
// TODO: one line of purpose, then the algorithm as a numbered plan.
#include "lib/{group}/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace kvern {{
#define GEN_PASS_DEF_{cls.upper()}
#include "lib/{group}/Passes.h.inc"
}} // namespace kvern

using namespace mlir;
using namespace kvern;

namespace {{

struct {cls}Pass : kvern::impl::{cls}Base<{cls}Pass> {{
  void runOnOperation() override {{}}
}};

}} // namespace
""",
    )
    cmake = f"{folder}/CMakeLists.txt"
    sources = re.search(rf"kvern_add_library\(Kvern{group}\n((?:  \w+\.cpp\n)+)", edits.read(cmake))
    if sources is None:
        raise ScaffoldError(f"expected {cmake} to list the sources of Kvern{group}")
    lines = sorted([*sources[1].splitlines(), f"  {cls}.cpp"])
    edits.texts[cmake] = edits.read(cmake).replace(sources[1], "\n".join(lines) + "\n")
    edits.create(
        f"test/{group}/{name}.mlir",
        f"""\
// RUN: kvern-opt %s -kvern-{name} | FileCheck %s

// TODO: the smallest IR that shows the point.
// CHECK-LABEL: func.func @f
func.func @f(%x: {TENSOR}) -> {TENSOR} {{
  return %x : {TENSOR}
}}
""",
    )


def new_layer(edits: Edits, name: str, module: str) -> None:
    """A layer with one weight that returns its input."""
    if not re.fullmatch(r"[A-Z][A-Za-z0-9]*", name):
        raise ScaffoldError(f"expected the layer's name in CamelCase, but got {name!r}")
    path, facade = f"python/kvern/nn/{module}.py", "python/kvern/nn/__init__.py"
    edits.refuse(facade, rf"\b{name}\b", name)
    body = f'''
class {name}(Module):
    """TODO: the formula.

    Source: TODO.

    Attributes:
        weight: `[dim]`.
    """

    weight: Weight

    def __init__(self, dim: int, dtype: DType) -> None:
        """Declares the weight.

        Args:
            dim: Size of the last axis.
            dtype: Element type of the weight.
        """
        super().__init__()
        self.weight = Weight("weight", dtype, [dim], DeviceRef.CPU())

    def __call__(self, x: TensorValueLike) -> TensorValue:
        """Returns TODO.

        Args:
            x: `[..., dim]`.

        Raises:
            ValueError: TODO
        """
        return TensorValue(x)
'''
    if (edits.root / path).exists():
        list_name(edits, path, name)
        edits.append(path, body)
    else:
        edits.create(
            path,
            f'''\
# {LICENCE}
"""TODO: one line of purpose."""

from __future__ import annotations

from kvern.dtype import DType
from kvern.graph import DeviceRef, TensorValue, TensorValueLike, Weight
from kvern.nn.layer import Module

__all__ = ["{name}"]

{body}''',
        )
    export(edits, facade, f"kvern.nn.{module}", name)
    edits.insert(
        "test/python/nn/layer_cases.py",
        r"^\]",
        f'    LayerCase("{name}", "", lambda d: nn.{name}(13, d), lambda w, x: x, **_rows(13)),\n',
        after=r"^CASES\b.*\[\n",
    )
    change(edits, f"`nn.{name}`: TODO")


def change(edits: Edits, line: str) -> None:
    """Adds a line to the first section of the changelog."""
    head, heading, rest = edits.read("CHANGELOG.md").partition("\n## ")
    section, next_heading, later = rest.partition("\n## ")
    text = section.rstrip("\n") + f"\n- {line}\n"
    edits.texts["CHANGELOG.md"] = head + heading + text + next_heading + later


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description="Writes the skeleton of an op, a pass or a layer.")
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[1])
    kinds = parser.add_subparsers(dest="kind", required=True)
    op = kinds.add_parser("op", help="an op of the dialect, down to its kernel and up to Python")
    op.add_argument("family", choices=FAMILIES)
    op.add_argument("name", help="snake_case")
    a_pass = kinds.add_parser("pass", help="a pass, on functions")
    a_pass.add_argument("group", choices=PASS_GROUPS)
    a_pass.add_argument("name", help="kebab-case, without kvern-")
    layer = kinds.add_parser("layer", help="a layer of kvern.nn")
    layer.add_argument("name", help="CamelCase")
    layer.add_argument("--module", help="module of kvern.nn; by default named as the layer")
    arguments = parser.parse_args()

    edits = Edits(arguments.root)
    try:
        if arguments.kind == "op":
            new_op(edits, arguments.family, arguments.name)
        elif arguments.kind == "pass":
            new_pass(edits, arguments.group, arguments.name)
        else:
            module = (
                arguments.module or re.sub(r"(?<!^)(?=[A-Z][a-z])", "_", arguments.name).lower()
            )
            new_layer(edits, arguments.name, module)
        paths = edits.write()
    except ScaffoldError as error:
        sys.exit(f"error: {error}")
    print(*paths, sep="\n")
    print("\nNext: the TODOs. CONTRIBUTING.md says what belongs into each file.")


if __name__ == "__main__":
    main()
