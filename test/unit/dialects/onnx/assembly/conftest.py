"""A context with every dialect, and text through parser and printer."""

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
    """Every dialect of xDSL, and ours."""
    return make_context()


@pytest.fixture
def parsed(ctx: Context) -> Callable[[str], ModuleOp]:
    """The module in a text."""
    return lambda text: OnnxParser(ctx, text, "t.mlir").parse_module()


@pytest.fixture
def printed() -> Callable[..., str]:
    """The text of a module."""

    def work(module: ModuleOp, **options: Any) -> str:
        stream = StringIO()
        OnnxPrinter(stream=stream, **options).print_op(module)
        return stream.getvalue()

    return work


@pytest.fixture
def again(parsed: Callable[[str], ModuleOp], printed: Callable[..., str]) -> Callable[..., str]:
    """Text printed from text; printing that once more changes nothing."""

    def work(text: str, **options: Any) -> str:
        once = printed(parsed(text), **options)
        assert printed(parsed(once), **options) == once
        return once

    return work
