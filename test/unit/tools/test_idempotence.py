"""A pass that has run has nothing left to do: `--pass --pass` gives what `--pass` gives."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from functools import cache
from io import StringIO
from pathlib import Path

import onnx.parser
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException

from xonnc.dialects.onnx.assembly import OnnxParser, OnnxPrinter
from xonnc.errors import XonncError
from xonnc.formats.onnx.importer import import_proto
from xonnc.tools.opt import SEPARATOR, OnnxOptMain, pass_factories, universe
from xonnc.tools.pass_reference import passes

LIT = Path(__file__).resolve().parents[2] / "lit"

ONCE = {
    "convert-onnx-to-dla": "counts what it converts in an attribute",
    "dla-allocate": "refuses a module that has memory already",
    "dla-split": "chooses banks for the parts that it made before",
}
"""Stages of the DLA back end, each of which begins where the one before ended."""

NAMES = [*(name for name in passes() if name not in ONCE), "canonicalize"]

MODELS = {
    "convolutions": """<ir_version: 8, opset_import: ["" : 17]>
        g (float[N, 3, 8, 8] x, float[4, 3, 3, 3] w, float[4, 10] k) => (float[N, 10] y)
        <float[4] s = {1, 2, 3, 4}, float[4] b = {0, 1, 0, 1}, float[4] m = {0, 0, 1, 1},
         float[4] v = {1, 1, 1, 1}> {
            c = Conv <pads = [1, 1, 1, 1]> (x, w)
            n = BatchNormalization (c, s, b, m, v)
            r = Relu (n)
            p = GlobalAveragePool (r)
            f = Flatten (p)
            y = MatMul (f, k)
            unused = Exp (r)
        }""",
    "shapes": """<ir_version: 8, opset_import: ["" : 17]>
        g (float[N, T, 12] x) => (float[N, T, 3, 4] y, float[N, T, 3, 4] z) {
            s = Shape (x)
            zero = Constant <value = int64[1] {0}> ()
            one = Constant <value = int64[1] {1}> ()
            n = Gather <axis = 0> (s, zero)
            t = Gather <axis = 0> (s, one)
            heads = Constant <value_ints = [3, 4]> ()
            to = Concat <axis = 0> (n, t, heads)
            y = Reshape (x, to)
            again = Concat <axis = 0> (n, t, heads)
            r = Reshape (x, again)
            z = Identity (r)
        }""",
    "arithmetic": """<ir_version: 8, opset_import: ["" : 18]>
        g (float[2, 3] x) => (float[2, 3] y, float[3, 2] z) {
            a = Constant <value = float[3] {1, 2, 3}> ()
            b = Constant <value = float[2, 1] {1, 2}> ()
            c = Add (a, b)
            d = Add (x, c)
            e = Add (d, a)
            h = Constant <value = float {0.5}> ()
            y = Mul (e, h)
            t = Transpose <perm = [1, 0]> (y)
            u = Transpose <perm = [1, 0]> (t)
            q = Einsum <equation = "ij->ji"> (u)
            k = Cast <to = 1> (q)
            z = Sum (k, k)
        }""",
    "branches": """<ir_version: 8, opset_import: ["" : 17]>
        g (float[2] x, bool c) => (float[2] y) {
            two = Constant <value = float {2}> ()
            i = If (c) <
                then_branch = t () => (float[2] a) { a = Mul (x, two) },
                else_branch = e () => (float[2] b) { k = Mul (x, two)  b = Neg (k) }
            >
            y = Clip (i)
        }""",
}


def context() -> Context:
    """A context that knows every dialect, and lets others pass."""
    ctx = Context(allow_unregistered=True)
    for name, factory in universe().all_dialects.items():
        ctx.register_dialect(name, factory)
    return ctx


def text(module: Operation) -> str:
    """The module as printed."""
    stream = StringIO()
    OnnxPrinter(stream=stream).print_op(module)
    return stream.getvalue()


@cache
def inputs(name: str) -> list[tuple[str, str, tuple[ModulePass, ...]]]:
    """Each part of each lit file of a pass with the passes that a RUN line of it asks for."""
    found: list[tuple[str, str, tuple[ModulePass, ...]]] = []
    for path in sorted(LIT.rglob(f"{name}*.mlir")):
        owner = max((one for one in pass_factories() if is_of(path.stem, one)), key=len, default="")
        if owner != name:
            continue
        source = path.read_text()
        for asked in dict.fromkeys(pipelines(source)):
            if asked[-1].name in ONCE:
                continue
            found += [(path.stem, part, asked) for part in source.split(SEPARATOR)]
    return found


def is_of(stem: str, name: str) -> bool:
    """Whether a lit file is about a pass: it is called so, or so and more."""
    return stem == name or stem.startswith(f"{name}-")


def pipelines(source: str) -> Iterator[tuple[ModulePass, ...]]:
    """The passes of each RUN line that reads the file itself, without plug-ins."""
    for match in re.finditer(r"RUN: onnx-opt %s ([^|>\n]*)", source):
        if "--plugin" in match[1]:
            continue
        arguments = shlex.split(re.sub(r"2>.*|--verify-diagnostics", "", match[1]))
        if asked := tuple(OnnxOptMain(arguments, bytes).passes):
            yield asked


def settled(module: ModuleOp, ctx: Context, asked: Iterable[ModulePass]) -> bool:
    """Runs some passes; whether they took the module."""
    try:
        for one in asked:
            one.apply(ctx, module)
    except (DiagnosticException, XonncError):
        return False
    return True


@pytest.mark.filterwarnings("ignore:ONNXOpTransform did not converge")
@pytest.mark.parametrize("name", [name for name in NAMES if name != "canonicalize"])
def test_a_pass_changes_no_result_of_its_own(name: str):
    assert inputs(name)
    for stem, part, asked in inputs(name):
        ctx = context()
        module = OnnxParser(ctx, part, stem).parse_module()
        if settled(module, ctx, asked):
            once = text(module)
            asked[-1].apply(ctx, module)
            assert text(module) == once, f"{stem}: {asked[-1]}"


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", NAMES)
def test_a_pass_changes_no_model_twice(name: str, model: str):
    ctx = context()
    module = import_proto(onnx.parser.parse_model(MODELS[model]), ctx)
    once = pass_factories()[name]()()
    if settled(module, ctx, [once]):
        first = text(module)
        once.apply(ctx, module)
        assert text(module) == first


@pytest.mark.parametrize("name", NAMES)
def test_a_pass_takes_every_form_of_text(name: str):
    for path in sorted((LIT / "dialects" / "onnx" / "assembly").glob("*.mlir")):
        if path.stem == "invalid":
            continue
        ctx = context()
        module = OnnxParser(ctx, path.read_text(), path.name).parse_module()
        once = pass_factories()[name]()()
        if settled(module, ctx, [once]):
            first = text(module)
            once.apply(ctx, module)
            assert text(module) == first, path.stem


def test_the_passes_that_run_once_are_passes():
    assert ONCE.keys() <= passes().keys()
