"""Elementwise kernels of plug-ins: native code for operators that map scalars to a scalar."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.ir import Operation

from xonnc.dialects.onnx.types import NONE, element_type
from xonnc.lowering.onnx_to_krnl.builders.scalars import Scalar
from xonnc.lowering.onnx_to_krnl.math.elementwise_fusion import ElementwiseBody, lowers_elementwise
from xonnc.lowering.onnx_to_krnl.planning.element_types import is_computable
from xonnc.plugins.op_class import PluginOp

Bind = Callable[[Operation], Any]
"""A function that binds a node to its declaration: what the body gets as `op`."""


def add_kernel(kind: type[PluginOp], bind: Bind) -> None:
    """
    Register the `kernel` body of an operator as its elementwise lowering.

    The compiler fuses it with neighbouring elementwise operators, vectorises it and
    parallelises it like its own ones.
    """
    kernel = kind.DECLARATION.function("kernel")
    assert kernel is not None

    def lower(op: PluginOp, body: ElementwiseBody) -> Scalar:
        bound = bind(op)
        scalars = [None if operand.type == NONE else body(operand) for operand in op.operands]
        try:
            result = kernel(bound, *scalars)
        except Exception as error:
            raise bound.fail(f"kernel raised {type(error).__name__}: {error}") from error
        if not isinstance(result, Scalar):
            raise bound.fail(f"kernel gave {type(result).__name__}, not the scalar that it computed")
        return result

    lower.__doc__ = kind.DECLARATION.doc
    lowers_elementwise(kind)(lower)


def has_kernel_for(op: Operation) -> bool:
    """Return whether native code computes an op by its `kernel`: all elements are floats or integers."""
    if not isinstance(op, PluginOp) or op.DECLARATION.function("kernel") is None:
        return False
    elements = [element_type(value.type) for value in (*op.operands, *op.results) if value.type != NONE]
    return all(is_computable(element) for element in elements)
