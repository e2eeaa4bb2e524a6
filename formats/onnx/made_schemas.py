"""Operator schemas made from declarations, for operators that the onnx package does not have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import onnx
import onnx.defs
import onnx.helper
import onnx.numpy_helper

OpSchema = onnx.defs.OpSchema

_Option = OpSchema.FormalParameterOption

_OPTIONS = {"one": _Option.Single, "optional": _Option.Optional, "variadic": _Option.Variadic}


class FormalParameter(NamedTuple):
    """An input or output of an operator."""

    name: str
    multiplicity: Literal["one", "optional", "variadic"]
    at_least: int
    variable: str = ""
    """The type variable, empty if the parameter has element types of its own."""
    dtypes: Sequence[np.dtype[Any]] = ()
    """Its own element types; none are all."""


class AttributeParameter(NamedTuple):
    """An attribute of an operator: its name in models, its kind (`INT`, `FLOATS`, …), its default."""

    name: str
    kind: str
    default: Any
    is_required: bool


def make_schema(
    identity: tuple[str, str, int],
    inputs: Sequence[FormalParameter],
    outputs: Sequence[FormalParameter],
    attributes: Sequence[AttributeParameter],
    doc: str,
    variables: Mapping[str, Sequence[np.dtype[Any]]],
) -> onnx.defs.OpSchema:
    """The schema of an operator; `identity` is its domain, name and first version."""
    domain, name, since = identity
    constraints = {name: _type_names(dtypes) for name, dtypes in variables.items()}
    for each in (*inputs, *outputs):
        constraints.setdefault(_variable(each), _type_names(each.dtypes))
    return onnx.defs.OpSchema(
        name,
        domain,
        since,
        doc,
        inputs=[_parameter(each) for each in inputs],
        outputs=[_parameter(each) for each in outputs],
        type_constraints=[(name, allowed, "") for name, allowed in constraints.items()],
        attributes=[_attribute(each) for each in attributes],
    )


def _parameter(given: FormalParameter) -> onnx.defs.OpSchema.FormalParameter:
    return onnx.defs.OpSchema.FormalParameter(
        given.name, _variable(given), param_option=_OPTIONS[given.multiplicity], min_arity=given.at_least or 1
    )


def _variable(given: FormalParameter) -> str:
    return given.variable or f"type_of_{given.name}"


def _type_names(dtypes: Sequence[np.dtype[Any]]) -> list[str]:
    """The types as a schema names them."""
    if not dtypes:
        return [f"tensor({name.lower()})" for name in onnx.TensorProto.DataType.keys()[1:]]
    return [
        f"tensor({onnx.helper.tensor_dtype_to_string(onnx.helper.np_dtype_to_tensor_dtype(each)).rpartition('.')[2].lower()})"
        for each in dtypes
    ]


def _attribute(given: AttributeParameter) -> onnx.defs.OpSchema.Attribute:
    if given.default is None:
        kind = getattr(onnx.defs.OpSchema.AttrType, given.kind)
        return onnx.defs.OpSchema.Attribute(given.name, kind, required=given.is_required)
    type_ = onnx.AttributeProto.AttributeType.Value(given.kind)
    default = onnx.helper.make_attribute(given.name, _plain(given.default), attr_type=type_)
    return onnx.defs.OpSchema.Attribute(given.name, default)


def _plain(default: Any) -> Any:
    if isinstance(default, np.ndarray):
        return onnx.numpy_helper.from_array(cast("npt.NDArray[Any]", default))
    return default
