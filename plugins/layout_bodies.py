"""Layout preferences of plug-ins' elementwise kernels, which `assign-layout` follows."""

from __future__ import annotations

from typing import Any, get_args

from xdsl.ir import Operation

from xonnc.errors import XonncError
from xonnc.lowering.onnx_to_krnl.planning.layout_preferences import ImageLayout, prefer_layout
from xonnc.plugins.elementwise_kernels import Bind
from xonnc.plugins.op_class import PluginOp
from xonnc.plugins.operators import OperatorSpec, PluginError

LAYOUTS: tuple[ImageLayout, ...] = get_args(ImageLayout)


def has_layout(spec: OperatorSpec) -> bool:
    """Return whether an operator prefers a layout; raise `PluginError` if its declaration is invalid."""
    declared = getattr(spec.body, "layout", None)
    if declared is None:
        return False
    where = f"plug-in {spec.plugin.name}: {spec}"
    if not callable(declared) and declared not in LAYOUTS:
        raise PluginError(f"{where}: layout is {declared!r}; it is {_choices()}, or a function of the node")
    if spec.function("kernel") is None:
        raise PluginError(f"{where}: a layout is of operators with a kernel(op, *scalars)")
    return True


def add_layout(kind: type[PluginOp], bind: Bind) -> None:
    """Register the layout that an operator prefers: a constant, or what its function gives for a node."""
    declared: Any = getattr(kind.DECLARATION.body, "layout", None)
    function = kind.DECLARATION.function("layout")

    def preference(op: Operation) -> ImageLayout | None:
        if function is None:
            return declared
        bound = bind(op)
        try:
            found = function(bound)
        except XonncError:
            raise
        except Exception as error:
            raise bound.fail(f"layout raised {type(error).__name__}: {error}") from error
        if found is not None and found not in LAYOUTS:
            raise bound.fail(f"layout gave {found!r}; it is {_choices()}, or None for that of the operands")
        return found

    prefer_layout(kind, preference)


def _choices() -> str:
    return " or ".join(map(repr, LAYOUTS))
