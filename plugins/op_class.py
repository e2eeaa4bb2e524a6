"""IRDL op classes, like those of the `onnx` dialect, generated from the declarations of a plug-in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from xdsl.ir import Attribute as IrAttribute
from xdsl.irdl import (
    AttrConstraint,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xonnc.dialects.onnx.attribute_builders import (
    float_array_attr,
    float_attr,
    int_array_attr,
    int_attr,
    is_array,
    string_array_attr,
    string_attr,
)
from xonnc.dialects.onnx.constraints import (
    ELEMENTS_ATTR,
    FLOAT_ARRAY_ATTR,
    FLOAT_ATTR,
    INT_ARRAY_ATTR,
    INT_ATTR,
    STRING_ARRAY_ATTR,
    STRING_ATTR,
    TENSOR,
    TypeConstraint,
    types,
)
from xonnc.dialects.onnx.elements import elements_array
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.types import element_type_of
from xonnc.errors import XonncError
from xonnc.plugins.declarations import AttributeDeclaration, ElementTypes, ParameterDeclaration
from xonnc.rewriting.attribute_conversion import decode

if TYPE_CHECKING:
    from xonnc.plugins.operators import OperatorSpec

CONSTRAINTS: Mapping[str, AttrConstraint[Any]] = {
    "INT": INT_ATTR,
    "FLOAT": FLOAT_ATTR,
    "STRING": STRING_ATTR,
    "INTS": INT_ARRAY_ATTR,
    "FLOATS": FLOAT_ARRAY_ATTR,
    "STRINGS": STRING_ARRAY_ATTR,
    "TENSOR": ELEMENTS_ATTR,
}
"""The constraints of IR attributes, by ONNX's attribute kind."""


class PluginOp(OnnxOp):
    """The base class of plug-in ops."""

    DECLARATION: ClassVar[OperatorSpec]

    def verify_(self) -> None:
        spec = self.DECLARATION
        if not spec.takes_any_attribute:
            super().verify_()
        count = len(self.operands) - (len(spec.inputs) - 1 if spec.inputs else 0)
        last = spec.inputs[-1] if spec.inputs else None
        if last is not None and last.count == "variadic":
            most = last.at_most
            if count < last.at_least or (most is not None and count > most):
                bounds = f"at least {last.at_least}" if most is None else f"{last.at_least} to {most}"
                raise VerifyException(
                    f"'{self.name}' op has {count} operands '{last.name}'; "
                    f"plug-in {spec.plugin.name} takes {bounds}"
                )
        for declared in spec.attributes:
            value = decode(self.properties.get(declared.onnx_name))
            if declared.choices and value is not None and value not in declared.choices:
                allowed = ", ".join(map(repr, declared.choices))
                raise VerifyException(
                    f"'{self.name}' op attribute '{declared.onnx_name}' is {value!r}; "
                    f"plug-in {spec.plugin.name} takes {allowed}"
                )


def op_class(spec: OperatorSpec, name: str, until: int | None) -> type[PluginOp]:
    """Create the class of an operator, `name` in IR; `until` is the version that supersedes it, if any."""
    members: dict[str, Any] = {
        "__doc__": spec.doc,
        "__module__": __name__,
        "name": name,
        "traits": traits_def(Pure()),
    }
    for port in spec.inputs:
        constraint = _constraint(port, spec.variables)
        # Trailing operands that a node leaves out are `none`, as in the onnx dialect.
        members[port.name] = (
            var_operand_def(constraint) if port.count == "variadic" else operand_def(constraint)
        )
    for port in spec.outputs:
        constraint = _constraint(port, spec.variables)
        members[port.name] = (
            var_result_def(constraint) if port.count == "variadic" else result_def(constraint)
        )
    for declared in spec.attributes:
        members[declared.onnx_name] = _property(declared)
    made = irdl_op_definition(type(f"{spec.name}Op", (PluginOp,), members))
    # Set after the definition, because IRDL takes every member of the class for a field definition.
    made.DOMAIN, made.OP_TYPE, made.SINCE, made.UNTIL = spec.domain, spec.name, spec.since, until
    made.DECLARATION, made.PLUGIN = spec, spec.plugin.name
    return made


def encoded(kind: str, value: Any) -> IrAttribute:
    """Convert a Python value to an IR attribute of one of ONNX's kinds."""
    match kind:
        case "INT":
            return int_attr(int(value))
        case "FLOAT":
            return float_attr(float(value))
        case "STRING":
            return string_attr(str(value))
        case "INTS":
            return int_array_attr(*value)
        case "FLOATS":
            return float_array_attr(*value)
        case "STRINGS":
            return string_array_attr(*value)
        case _:
            raise XonncError(f"an attribute of kind {kind} has no default")


def _property(declared: AttributeDeclaration[Any]) -> Any:
    constraint = CONSTRAINTS[declared.kind]
    if declared.is_required:
        return prop_def(constraint)
    if declared.default is None:
        return opt_prop_def(constraint)
    return prop_def(constraint, default_value=encoded(declared.kind, declared.default))


def _constraint(port: ParameterDeclaration, variables: Mapping[str, ElementTypes]) -> TypeConstraint:
    allowed: ElementTypes = port.types
    variable = ""
    if isinstance(allowed, str):
        variable, allowed = allowed, variables.get(allowed, ())
    words = TENSOR.words if isinstance(allowed, str) or not _listed(allowed) else _words(_listed(allowed))
    made = types(variable, words)
    return made.optional if port.count == "optional" else made


def _listed(allowed: ElementTypes) -> Sequence[type[np.generic]]:
    return [allowed] if isinstance(allowed, type) else [each for each in allowed if isinstance(each, type)]


def _words(allowed: Sequence[type[np.generic]]) -> str:
    return " ".join(str(element_type_of(np.dtype(each))) for each in allowed)


def python_value(attribute: IrAttribute | None) -> Any:
    """Convert an IR attribute to a Python value: a list for ONNX's lists, an array for a tensor."""
    if attribute is None:
        return None
    if is_array(attribute):
        return [python_value(each) for each in attribute.data]
    array = elements_array(attribute)
    return decode(attribute) if array is None else array
