"""Operators of plug-ins that a target lowers itself, so that they are not decomposed for it."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Operation

from xonnc.plugins.op_class import PluginOp

KEPT = "plugin.kept"
"""The attribute of operators that `legalize-versions-onnx` does not decompose."""


@contextmanager
def keeping(module: ModuleOp, is_lowered: Callable[[Operation], bool]) -> Generator[None]:
    """Mark the plug-ins' operators that the target lowers, as long as the context lasts."""
    for op in module.walk():
        if isinstance(op, PluginOp) and is_lowered(op):
            op.attributes[KEPT] = UnitAttr()
    yield
    for op in module.walk():
        op.attributes.pop(KEPT, None)


def is_kept(op: Operation) -> bool:
    """Return whether the target lowers an operator itself."""
    return KEPT in op.attributes
