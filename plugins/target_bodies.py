"""Registration of the bodies of operators that lower them for targets: native code and NVDLA."""

from __future__ import annotations

from functools import partial
from typing import Any

from xdsl.ir import Operation

from xonnc.plugins.c_sources import add_c_source
from xonnc.plugins.elementwise_kernels import Bind, add_kernel
from xonnc.plugins.layout_bodies import add_layout, has_layout
from xonnc.plugins.nvdla_bodies import BindOperands
from xonnc.plugins.op_class import PluginOp
from xonnc.plugins.operators import OperatorSpec, PluginError


def add_target_bodies(kind: type[PluginOp], bind: BindOperands, bind_types: Bind) -> None:
    """
    Register how an operator is lowered for each target.

    `bind` binds a node and operands to the declaration, `bind_types` a node with the types of its operands.
    """
    spec = kind.DECLARATION
    bind_attributes = partial(_bound_without_operands, bind)
    if spec.function("kernel") is not None:
        add_kernel(kind, bind_attributes)
    if has_layout(spec):
        add_layout(kind, bind_types)
    if spec.c_function is not None:
        add_c_source(kind, spec.c_function, bind_attributes)
    if spec.function("lookup") is not None:
        # Imported late: most plug-ins need nothing of NVDLA.
        from xonnc.plugins.lookup_tables import add_lookup

        add_lookup(kind, bind_attributes)
    if spec.function("layers") is not None:
        from xonnc.plugins.nvdla_layers import add_layers

        add_layers(kind, bind)


def require_unary_lookup(spec: OperatorSpec) -> None:
    """Raise `PluginError` if an operator with a `lookup` has several operands or results."""
    is_unary = [port.count for port in (*spec.inputs, *spec.outputs)] == ["one", "one"]
    if spec.function("lookup") is not None and not is_unary:
        raise PluginError(f"plug-in {spec.plugin.name}: {spec}: a lookup is of one operand and one result")


def _bound_without_operands(bind: BindOperands, op: Operation) -> Any:
    return bind(op, ())
