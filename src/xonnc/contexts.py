"""Contexts with the dialects of the compiler, and callbacks that observe the stages of a compilation."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.context import Context
from xdsl.dialects import builtin, func
from xdsl.dialects.builtin import ModuleOp

from xonnc.passes import dialect_factories, use_onnx_package
from xonnc.plugins.loading import load_installed

StageCallback = Callable[[str, ModuleOp], None]
"""A function called with the name of each stage and the module after it."""


def ignore_stage(stage: str, module: ModuleOp) -> None:
    """
    Do nothing: the default `StageCallback`.

    Parameters:
        stage: the name of the stage.
        module: the module after it.
    """


def new_context() -> Context:
    """Return a new context with all dialects, plug-ins loaded; its passes may call the onnx package."""
    use_onnx_package()
    load_installed()
    context = Context()
    for dialect in (builtin.Builtin, func.Func):
        context.load_dialect(dialect)
    for name, factory in dialect_factories().items():
        context.register_dialect(name, factory)
    return context
