"""Layouts that plug-ins prefer for operators of ONNX in native code, which `assign-layout` follows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, get_args

from xdsl.ir import Operation

from xonnc.dialects.onnx.op import OnnxOp
from xonnc.errors import PluginFunctionError, suggest
from xonnc.lowering.onnx_to_krnl.planning.layout_preferences import ImageLayout, prefer_layout
from xonnc.plugins.operators import Plugin, PluginError

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

_owners: dict[str, str] = {}
"""The plug-in whose preference is followed, by operator."""


def layout_preference(plugin: Plugin, *operators: str) -> Callable[[FunctionT], FunctionT]:
    """
    Declare a function as the layout preference of ONNX operators (`Conv`, `MaxPool`, `Relu`, …).

    It gets a node and returns `"NCHW"` for row-major images, `"NCHWc"` for channel-blocked ones, or `None`
    for what the compiler chooses. `"NCHWc"` is followed where the operator has such a kernel. The node has
    `name`, `operator`, `inputs` and `outputs` (types), `attribute(name)` and `constant(index)`.
    """

    def declare(function: FunctionT) -> FunctionT:
        for operator in operators:
            if operator in plugin.layouts:
                raise PluginError(f"plug-in {plugin.name}: {operator} has two layout preferences")
            plugin.layouts[operator] = function
        return function

    return declare


def require_new_preferences(plugin: Plugin) -> None:
    """Raise `PluginError` for a preference that another plug-in has, or of an operator without layouts."""
    for operator in plugin.layouts:
        where = f"plug-in {plugin.name}: layout preference of {operator}"
        if not _classes(operator):
            known = _known_operators()
            hint = suggest(operator, known) or "; those of Conv, pools, Concat and elementwise operators are"
            raise PluginError(f"{where}: its layout is not chosen{hint}")
        if operator in _owners and not plugin.override:
            raise PluginError(
                f"{where}: plug-in {_owners[operator]} has one; "
                f"with Plugin('{plugin.name}', override=True) yours takes its place"
            )


def add_preferences(plugin: Plugin) -> None:
    """Register the preferences of a plug-in, which `require_new_preferences` has accepted."""
    for operator, function in plugin.layouts.items():
        _owners[operator] = plugin.name
        for kind in _classes(operator):
            prefer_layout(kind, _preference(plugin, function))


def _preference(plugin: Plugin, function: Callable[..., Any]) -> Callable[[Operation], ImageLayout | None]:
    # Imported late: it needs what registration defines.
    from xonnc.plugins.backend_nodes import BackendNode

    def preference(op: Operation) -> ImageLayout | None:
        assert isinstance(op, OnnxOp)
        node = BackendNode(op)
        where = f"{node.name} ({node.operator}): layout preference of plug-in {plugin.name}"
        try:
            found = function(node)
        except Exception as error:
            raise PluginFunctionError(f"{where} raised {type(error).__name__}: {error}") from error
        if found not in (None, *get_args(ImageLayout)):
            raise PluginFunctionError(f"{where} gave {found!r}; it is 'NCHW', 'NCHWc', or None")
        return found

    return preference


def _classes(operator: str) -> Sequence[type[Operation]]:
    """Return the op classes of an ONNX operator whose layout `assign-layout` chooses."""
    return [
        kind for kind in _with_layouts() if kind.name in (f"onnx.{operator}", f"onnx.{operator}SingleOut")
    ]


def _known_operators() -> list[str]:
    names = {kind.name.removeprefix("onnx.") for kind in _with_layouts() if kind.name.startswith("onnx.")}
    return sorted(name.removesuffix("SingleOut") for name in names)


def _with_layouts() -> Sequence[type[Operation]]:
    # Imported late: it brings the lowerings of all operators with it.
    from xonnc.lowering.onnx_to_krnl.assign_layout import operators_with_layouts

    return operators_with_layouts()
