"""
Does `xonnc verify --bisect` name injected bugs?

Each bug is one edit of the source in a copy of the tree: a wrong rewrite rule or kernel, or one of
`injected_stage_bugs.py`, which are in all stages.
For each, a small model that shows it is bisected in a process of its own.

    python -m bench.injected_bugs [NAME …]
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.injected_stage_bugs import ALL, Bug

ROOT = Path(__file__).resolve().parents[1]
FOLDS = "transforms/rules/constprop_elementwise.py"
FUSIONS = "transforms/rules/fuse_elementwise.py"
REASSOCIATION = "transforms/rules/constprop_reassociation.py"
KERNELS = "lowering/onnx_to_krnl/math/elementwise.py"

TIME_LIMIT = 60
"""Seconds in which a bug must be named."""


def fold(rule: str, old: str, new: str, body: str) -> Bug:
    """A wrong folding rule; the model computes `y` from `x` and constants `c` and `d`."""
    return Bug(rule, FOLDS, f'"{rule}": {old}', f'"{rule}": {new}', body, "constprop-onnx", rule)


def unary_fold(operator: str, old: str, new: str) -> Bug:
    """A wrong folding rule of a unary operator."""
    written = f"unary({operator}, {old})", f"unary({operator}, {new})"
    return fold(f"{operator}ofConst", *written, f"k = {operator} (c) y = Mul (x, k)")


def binary_fold(operator: str, old: str, new: str) -> Bug:
    """A wrong folding rule of a binary operator."""
    written = f"binary({operator}, {old})", f"binary({operator}, {new})"
    return fold(f"{operator}ConstProp", *written, f"k = {operator} (c, d) y = Mul (x, k)")


def fusion(rule: str, old: str, new: str, body: str) -> Bug:
    """A wrong fusion rule."""
    return Bug(rule, FUSIONS, f"{rule}=rule({old}", f"{rule}=rule({new}", body, "fuse-operators-onnx", rule)


def kernel(operator: str, old: str, new: str, body: str) -> Bug:
    """A wrong kernel."""
    return Bug(f"{operator} kernel", KERNELS, old, new, body, "convert-onnx-to-krnl", operator)


BUGS = (
    unary_fold("Abs", "np.abs", "np.positive"),
    unary_fold("Ceil", "np.ceil", "np.floor"),
    unary_fold("Cos", "numerics.once_rounded(np.cos, math.cos)", "numerics.once_rounded(np.sin)"),
    unary_fold("Erf", "numerics.erf", "numerics.sigmoid"),
    unary_fold("Exp", "numerics.once_rounded(np.exp)", "numerics.once_rounded(np.exp2)"),
    unary_fold("Floor", "np.floor", "np.trunc"),
    unary_fold("Neg", "np.negative", "np.positive"),
    unary_fold("Reciprocal", "numerics.reciprocal", "np.negative"),
    unary_fold("Relu", "numerics.relu", "np.abs"),
    unary_fold("Round", "np.rint", "np.ceil"),
    unary_fold("Sigmoid", "numerics.sigmoid", "numerics.once_rounded(np.tanh)"),
    unary_fold("Sign", "numerics.sign", "np.abs"),
    unary_fold("Sin", "numerics.once_rounded(np.sin, math.sin)", "numerics.once_rounded(np.cos)"),
    unary_fold("Tan", "numerics.once_rounded(np.tan, math.tan)", "numerics.once_rounded(np.tanh)"),
    unary_fold("Tanh", "numerics.once_rounded(np.tanh)", "numerics.once_rounded(np.sin)"),
    binary_fold("Add", "np.add", "np.subtract"),
    binary_fold("Mul", "np.multiply", "np.add"),
    binary_fold("Sub", "np.subtract", "np.add"),
    fusion("RemoveRepeatedAbs", "Abs(Abs(x)), Abs(x)", "Abs(Abs(x)), Neg(x)", "a = Abs (x) y = Abs (a)"),
    fusion("RemoveNegOfAbs", "Abs(Neg(x)), Abs(x)", "Abs(Neg(x)), Neg(x)", "a = Neg (x) y = Abs (a)"),
    fusion("RemoveDoubleNeg", "Neg(Neg(x)), x", "Neg(Neg(x)), Neg(x)", "a = Neg (x) b = Neg (a) y = Exp (b)"),
    fusion(
        "RemoveRepeatedSign", "Sign(Sign(x)), Sign(x)", "Sign(Sign(x)), Neg(x)", "a = Sign (x) y = Sign (a)"
    ),
    fusion(
        "SwapWhereOfNot",
        "Where(Not(value.p), x, y), Where(value.p, y, x)",
        "Where(Not(value.p), x, y), Where(value.p, x, y)",
        "p = Less (x, d) q = Not (p) b = Exp (x) y = Where (q, x, b)",
    ),
    Bug(
        "SubConstToNeg",
        REASSOCIATION,
        "SubConstToNeg=rule(Sub(x, c), Add(x, elementwise(same(np.negative), c)))",
        "SubConstToNeg=rule(Sub(x, c), Add(x, elementwise(same(np.positive), c)))",
        "a = Sub (x, c) y = Exp (a)",
        "constprop-onnx",
        "SubConstToNeg",
    ),
    Bug(
        "MulOnesOnRhs",
        REASSOCIATION,
        "MulOnesOnRhs=rule(Mul(x, c), x, where=(x_gives_the_shape, all_ones))",
        "MulOnesOnRhs=rule(Mul(x, c), x, where=(x_gives_the_shape,))",
        "a = Mul (x, c) y = Exp (a)",
        "constprop-onnx",
        "MulOnesOnRhs",
    ),
    Bug(
        "DivOnesOnRhs",
        REASSOCIATION,
        "DivOnesOnRhs=rule(Div(x, c), x, where=(x_gives_the_shape, all_ones))",
        "DivOnesOnRhs=rule(Div(x, c), x, where=(x_gives_the_shape,))",
        "a = Div (x, c) y = Exp (a)",
        "constprop-onnx",
        "DivOnesOnRhs",
    ),
    kernel(
        "Add",
        "binary(arith.AddfOp, arith.AddiOp, body, body(op.A), body(op.B))",
        "binary(arith.SubfOp, arith.AddiOp, body, body(op.A), body(op.B))",
        "a = Exp (x) y = Add (a, x)",
    ),
    kernel(
        "Sub",
        "binary(arith.SubfOp, arith.SubiOp, body, body(op.A), body(op.B))",
        "binary(arith.SubfOp, arith.SubiOp, body, body(op.B), body(op.A))",
        "a = Exp (x) y = Sub (a, x)",
    ),
    kernel(
        "Mul",
        "binary(arith.MulfOp, arith.MuliOp, body, body(op.A), body(op.B))",
        "binary(arith.AddfOp, arith.MuliOp, body, body(op.A), body(op.B))",
        "a = Exp (x) y = Mul (a, x)",
    ),
    kernel(
        "Erf",
        "def erf(op: onnx.ErfOp, body: ElementwiseBody) -> MaybeScalar:",
        "def erf(op: onnx.ErfOp, body: ElementwiseBody) -> MaybeScalar:\n    return body(op.operands[0])\n",
        "a = Exp (x) b = Neg (a) y = Erf (b)",
    ),
)

SCRIPT = """
import sys
import numpy as np
from onnx import parser
from xonnc.runtime.verification.comparison import Tolerance
from xonnc.tools.bisection import bisect
from xonnc.tools.bisection_case import Case
body, shape, form = sys.argv[1:]
sizes = [int(size) for size in shape.split(",")]
head = f'<ir_version: 8, opset_import: ["" : 18]> m (float[{shape}] x) => (y)'
integers = {"last": -1, "before": -5, "zero": 0, "back": -1}
constants = ["float c = {-1.6}", "float d = {0.3}", "int64 origin = {0}", "int64[4] order = {2, 0, 3, 1}"]
constants += [f"int64[1] {name} = {{{value}}}" for name, value in integers.items()]
weights = {"w": (4, 5), "wide": (4, 40), "filters": (16, 16, 1, 1), "big": (16, 16, 3, 3)}
for name, dims in weights.items():
    if f" {name})" in body:
        values = ", ".join(str(number % 11 * 0.1 - 0.4) for number in range(int(np.prod(dims))))
        constants.append(f"float[{','.join(map(str, dims))}] {name} = {{{values}}}")
model = parser.parse_model(f"{head} <{', '.join(constants)}> {{ {body} }}")
for node in model.graph.node:
    node.name = f"node_{node.output[0]}"
x = np.resize(np.array([1.5, -2.25, 0.5, -0.75, 2.0, -1.0, 0.25], np.float32), sizes)
found = bisect(Case(model, {"x": x}, Tolerance(), form))
print("nothing|-|-" if found is None else f"{found.pass_name}|{found.what}|{found.node or '-'}")
"""


def copied_tree(folder: Path) -> Path:
    """Copy the sources, with the links between them, into a folder."""
    for package in [path.parent for path in ROOT.glob("*/__init__.py")]:
        shutil.copytree(package, folder / package.name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "src", folder / "src", symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def bisected(tree: Path, bug: Bug) -> tuple[list[str], float]:
    """The pass, decision and node that bisection names in a tree with the bug, and the seconds it takes."""
    path = tree / bug.file
    right = path.read_text()
    if right.count(bug.old) != 1:
        raise SystemExit(f"{bug.name}: {bug.file} has {right.count(bug.old)} times: {bug.old}")
    path.write_text(right.replace(bug.old, bug.new))
    begun = time.monotonic()
    try:
        done = subprocess.run(
            [sys.executable, "-B", "-c", SCRIPT, bug.body, bug.shape, bug.form],
            env=os.environ | {"PYTHONPATH": str(tree / "src")},
            capture_output=True,
            text=True,
            timeout=TIME_LIMIT,
        )
        output = (done.stdout.strip() or f"fails|{done.stderr[-200:]}|-").split("|")
    except subprocess.TimeoutExpired:
        output = ["timeout", "-", "-"]
    finally:
        path.write_text(right)
    return output, time.monotonic() - begun


def main() -> int:
    """Bisect all bugs, or those named, and print a table in Markdown."""
    selected = set(sys.argv[1:])
    bugs = [bug for bug in (*BUGS, *ALL) if not selected or bug.name in selected]
    passes = decisions = 0
    longest = 0.0
    print("| bug | pass named | rule, operator or decision | node | seconds |\n|---|---|---|---|---|")
    with TemporaryDirectory(prefix="xonnc-bugs-") as folder:
        tree = copied_tree(Path(folder))
        for bug in bugs:
            (pass_name, what, node, *_), seconds = bisected(tree, bug)
            passes += pass_name == bug.pass_name
            decisions += what == bug.what
            longest = max(longest, seconds)
            wrong = "" if pass_name == bug.pass_name else f" (wrong: {bug.pass_name})"
            print(f"| {bug.name} | `{pass_name}`{wrong} | {what} | `{node}` | {seconds:.0f} |", flush=True)
    print(f"\n{passes} passes and {decisions} rules, operators or decisions of {len(bugs)} bugs are named,")
    print(f"each within {longest:.0f} seconds.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
