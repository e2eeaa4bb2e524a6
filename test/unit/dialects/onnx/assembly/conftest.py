"""Fixtures to parse and print modules in a context with all dialects."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from xdsl.context import Context
from xdsl.dialects import get_all_dialects
from xdsl.dialects.builtin import ModuleOp

from xonnc.dialects.onnx import get_onnx
from xonnc.dialects.onnx.assembly import OnnxParser, OnnxPrinter


def make_context() -> Context:
    ctx = Context(allow_unregistered=True)
    for name, factory in get_all_dialects().items():
        ctx.register_dialect(name, factory)
    ctx.register_dialect("onnx", get_onnx)
    return ctx


@pytest.fixture(scope="session")
def ctx() -> Context:
    """A context with all dialects of xDSL, and with `onnx`."""
    return make_context()


@pytest.fixture
def parsed(ctx: Context) -> Callable[[str], ModuleOp]:
    """Parser of a module."""
    return lambda text: OnnxParser(ctx, text, "t.mlir").parse_module()


@pytest.fixture
def printed() -> Callable[..., str]:
    """Printer of a module, with options of `OnnxPrinter`."""

    def work(module: ModuleOp, **options: Any) -> str:
        stream = StringIO()
        OnnxPrinter(stream=stream, **options).print_op(module)
        return stream.getvalue()

    return work


@pytest.fixture
def again(parsed: Callable[[str], ModuleOp], printed: Callable[..., str]) -> Callable[..., str]:
    """Round trip of text through parser and printer; asserts that a second round trip changes nothing."""

    def work(text: str, **options: Any) -> str:
        once = printed(parsed(text), **options)
        assert printed(parsed(once), **options) == once
        return once

    return work
