"""What every compilation begins with: a context with all dialects, and who is told of its stages."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.context import Context
from xdsl.dialects import builtin, func
from xdsl.dialects.builtin import ModuleOp

from xonnc.passes import dialect_factories, use_onnx_package
from xonnc.plugins.loading import load_installed

StageCallback = Callable[[str, ModuleOp], None]
"""Is told the name of each stage and shown the module as it is after it."""


def ignore_stage(stage: str, module: ModuleOp) -> None:
    """Watches nothing."""


def new_context() -> Context:
    """A context of its own with all dialects of the compiler; its passes may ask the onnx package."""
    use_onnx_package()
    load_installed()
    context = Context()
    for dialect in (builtin.Builtin, func.Func):
        context.load_dialect(dialect)
    for name, factory in dialect_factories().items():
        context.register_dialect(name, factory)
    return context
