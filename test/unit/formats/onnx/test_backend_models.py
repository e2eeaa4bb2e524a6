"""Import and export of every model of the `onnx` package's backend tests."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import cache
from io import StringIO
from pathlib import Path

import onnx
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func

from xonnc.dialects.onnx import get_onnx
from xonnc.dialects.onnx.assembly import OnnxParser, OnnxPrinter
from xonnc.formats.onnx.compare import models_equal
from xonnc.formats.onnx.exporter import export_proto
from xonnc.formats.onnx.importer import import_proto

DIFFERENT: dict[str, str] = {}
"""Models that do not come back equal, and why; at most one in a hundred."""

UNVERIFIED = ("test_shape_start_greater_than_end",)
"""Models that the peer's rules for ops refuse, which the dialect's verifier follows."""

CHECKED_EACH = 8
"""One model in so many also goes through `onnx.checker`, and through text."""


@cache
def context() -> Context:
    """A context with the onnx dialect."""
    ctx = Context()
    ctx.register_dialect("onnx", get_onnx)
    ctx.load_dialect(Builtin)
    ctx.load_dialect(Func)
    return ctx


def through_text(module: ModuleOp) -> ModuleOp:
    """The module printed with its locations and read again."""
    text = StringIO()
    OnnxPrinter(text, print_debuginfo=True).print_op(module)
    return OnnxParser(context(), text.getvalue(), "text").parse_module()


def node_models() -> Iterator[tuple[str, onnx.ModelProto]]:
    """The generated cases, one or more for each operator, expanded ones included."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.loader import load_model_tests

        cases = load_model_tests(kind="node")
    for case in cases:
        assert case.model is not None
        yield case.name, case.model


def stored_models() -> Iterator[tuple[str, onnx.ModelProto]]:
    """The cases that the package ships as files: simple, pytorch and light."""
    folder = Path(onnx.__file__).parent / "backend" / "test" / "data"
    for path in sorted(folder.rglob("*.onnx")):
        yield str(path.relative_to(folder)), onnx.ModelProto.FromString(path.read_bytes())


@pytest.mark.parametrize(("kind", "least"), [("node", 1800), ("stored", 140)])
def test_every_model_comes_back_equal(kind: str, least: int) -> None:
    check = vars(onnx.checker)["check_model"]
    count = 0
    for name, model in node_models() if kind == "node" else stored_models():
        module = import_proto(model, context())
        if not name.startswith(UNVERIFIED):
            module.verify()
        back = export_proto(module)
        assert (models_equal(model, back) != []) == (name in DIFFERENT), name
        if count % CHECKED_EACH == 0:
            check(back)
            assert models_equal(model, export_proto(through_text(module))) == [], name
        count += 1
    assert count >= least
    assert len(DIFFERENT) <= count // 100
