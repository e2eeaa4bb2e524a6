"""ONNX operator schemas of plug-ins' operators, for reading and writing models."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import numpy.typing as npt
import onnx
import onnx.defs
import onnx.helper
import onnx.numpy_helper

from xonnc.plugins.operators import OperatorSpec
from xonnc.plugins.ports import Port

_Option = onnx.defs.OpSchema.FormalParameterOption

_OPTIONS = {"one": _Option.Single, "optional": _Option.Optional, "variadic": _Option.Variadic}


def schema_of_operator(spec: OperatorSpec) -> onnx.defs.OpSchema:
    """The schema of an operator; its attributes with their defaults."""
    return onnx.defs.OpSchema(
        spec.name,
        spec.domain,
        spec.since,
        spec.doc,
        inputs=[_parameter(port) for port in spec.inputs],
        outputs=[_parameter(port) for port in spec.outputs],
        type_constraints=[],
        attributes=[
            onnx.defs.OpSchema.Attribute(
                each.onnx_name,
                onnx.helper.make_attribute(each.onnx_name, _plain(each.default), attr_type=_type(each.kind)),
            )
            if each.default is not None
            else onnx.defs.OpSchema.Attribute(
                each.onnx_name, getattr(onnx.defs.OpSchema.AttrType, each.kind), required=each.is_required
            )
            for each in spec.attributes
        ],
    )


def _type(kind: str) -> int:
    return onnx.AttributeProto.AttributeType.Value(kind)


def _plain(default: Any) -> Any:
    if isinstance(default, np.ndarray):
        return onnx.numpy_helper.from_array(cast("npt.NDArray[Any]", default))
    return default


def _parameter(port: Port) -> onnx.defs.OpSchema.FormalParameter:
    return onnx.defs.OpSchema.FormalParameter(
        port.name, "tensor(float)", param_option=_OPTIONS[port.count], min_arity=port.at_least or 1
    )
