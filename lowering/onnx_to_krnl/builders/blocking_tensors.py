"""The first tensor of an operator that kernels do not take, why, and what to do."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, OpResult, SSAValue

from xonnc.dialects.onnx.interface_names import argument_names
from xonnc.dialects.onnx.locations import output_names
from xonnc.dialects.onnx.types import element_type, is_ranked
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import LoweringBuilder
from xonnc.lowering.onnx_to_krnl.planning.element_types import COMPLEX, is_computable, is_storable


def blocking_tensor(values: Iterable[SSAValue], is_moved: bool, builder: LoweringBuilder) -> str | None:
    """
    Return why kernels do not take the first of `values` that they do not take, `None` if they take all;
    `is_moved`: the operator moves elements without computing with them.
    """
    takes = is_storable if is_moved else is_computable
    for value in values:
        element = element_type(value.type)
        if not takes(element):
            return f"{_name(value)} is {value.type}; {_remedy(element)}"
        if not builder.has_known_sizes(value):
            return f"{_name(value)} is {value.type}, {_unknown(value, builder)}"
    return None


def _remedy(element: Attribute | None) -> str:
    if element is None:
        return "kernels take tensors, and the session runs sequences, maps and optionals"
    if element == COMPLEX:
        return "kernels only move complex numbers: compute real and imaginary parts"
    return "kernels take numbers: cast it, or leave this operator to the host"


def _unknown(value: SSAValue, builder: LoweringBuilder) -> str:
    if not is_ranked(value.type):
        return "whose rank is known only at run time: give the shapes of the inputs, or Reshape it"
    if builder.dynamic_shapes is None:
        return f"and {builder.static_because}: a run compiles for its own sizes, so give those of the inputs"
    return "whose sizes do not follow from those of the inputs: give static ones, or Reshape it"


def _name(value: SSAValue) -> str:
    """Return the name of a value in the model, or its place."""
    name = ""
    if isinstance(value, OpResult):
        names = output_names(value.op)
        name = names[value.index] if value.index < len(names) else ""
    elif isinstance(value, BlockArgument) and isinstance(function := value.block.parent_op(), FuncOp):
        name = argument_names(function)[value.index]
    return f"'{name}'" if name else "a tensor"
