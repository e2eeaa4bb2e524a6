"""
Does `xonnc verify --bisect` name injected bugs?

Each bug is one edit of the source in a copy of the tree: a wrong rewrite rule or kernel. For each, a small
model that shows it is bisected in a process of its own.

    python bench/injected_bugs.py [NAME …]
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
FOLDS = "transforms/rules/constprop_elementwise.py"
FUSIONS = "transforms/rules/fuse_elementwise.py"
REASSOCIATION = "transforms/rules/constprop_reassociation.py"
KERNELS = "lowering/onnx_to_krnl/elementwise.py"

TIME_LIMIT = 60
"""Seconds in which a bug must be named."""


class Bug(NamedTuple):
    """One edit of the source, a model that shows it, and what bisection has to name."""

    name: str
    file: str
    old: str
    new: str
    body: str
    pass_name: str
    what: str
    """The rule, or the operator of the kernel."""


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
    unary_fold("Cos", "numerics.once_rounded(np.cos)", "numerics.once_rounded(np.sin)"),
    unary_fold("Erf", "numerics.erf", "numerics.sigmoid"),
    unary_fold("Exp", "numerics.once_rounded(np.exp)", "numerics.once_rounded(np.exp2)"),
    unary_fold("Floor", "np.floor", "np.trunc"),
    unary_fold("Neg", "np.negative", "np.positive"),
    unary_fold("Reciprocal", "numerics.reciprocal", "np.negative"),
    unary_fold("Relu", "numerics.relu", "np.abs"),
    unary_fold("Round", "np.rint", "np.ceil"),
    unary_fold("Sigmoid", "numerics.sigmoid", "numerics.once_rounded(np.tanh)"),
    unary_fold("Sign", "np.sign", "np.abs"),
    unary_fold("Sin", "numerics.once_rounded(np.sin)", "numerics.once_rounded(np.cos)"),
    unary_fold("Tan", "numerics.once_rounded(np.tan)", "numerics.once_rounded(np.tanh)"),
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
from xonnc.tools.bisection import Case, bisect
head = '<ir_version: 8, opset_import: ["" : 17]> m (float[4] x) => (float[4] y)'
constants = "<float c = {-1.6}, float d = {0.3}>"
model = parser.parse_model(f"{head} {constants} {{ {sys.argv[1]} }}")
for node in model.graph.node:
    node.name = f"node_{node.output[0]}"
found = bisect(Case(model, {"x": np.array([1.5, -2.25, 0.5, -0.75], np.float32)}, Tolerance()))
print("nothing - -" if found is None else f"{found.pass_name} {found.what} {found.node or '-'}")
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
            [sys.executable, "-B", "-c", SCRIPT, bug.body],
            env=os.environ | {"PYTHONPATH": str(tree / "src")},
            capture_output=True,
            text=True,
            timeout=TIME_LIMIT,
        )
        said = done.stdout.split() or ["fails:", *done.stderr.strip().splitlines()[-1:]]
    except subprocess.TimeoutExpired:
        said = ["timeout"]
    finally:
        path.write_text(right)
    return said, time.monotonic() - begun


def main() -> int:
    """Bisect all bugs, or those named, and print a table."""
    wanted = set(sys.argv[1:])
    bugs = [bug for bug in BUGS if not wanted or bug.name in wanted]
    passes = decisions = 0
    with TemporaryDirectory(prefix="xonnc-bugs-") as folder:
        tree = copied_tree(Path(folder))
        for bug in bugs:
            said, seconds = bisected(tree, bug)
            is_pass, is_decision = said[:1] == [bug.pass_name], said[1:2] == [bug.what]
            passes += is_pass
            decisions += is_pass and is_decision
            verdict = "named" if is_pass and is_decision else "pass only" if is_pass else "MISSED"
            print(f"{bug.name:20} {verdict:10} {seconds:5.1f} s  {' '.join(said)}", flush=True)
    print(f"{passes} passes and {decisions} rules or nodes of {len(bugs)} bugs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
