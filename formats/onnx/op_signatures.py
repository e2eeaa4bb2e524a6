"""Mapping of op classes to the input, output and attribute lists of nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute
from xdsl.irdl import AttrConstraint, ResultDef, VarOperandDef, VarResultDef, VerificationContext
from xdsl.utils.exceptions import VerifyException

from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.types import NONE
from xonnc.formats.onnx.node_attributes import KINDS, Kind
from xonnc.formats.onnx.schemas import schema_of


@dataclass(frozen=True)
class OpSignature:
    """The counts of operands and results of an op class; a variadic group is always the last one."""

    operands: int
    """Number of operands that are not variadic; absent ones are `none`."""
    has_variadic_operand: bool
    """Whether further operands may follow."""
    results: int
    required_results: frozenset[int]
    """Results that exist even if a node omits them."""
    has_variadic_result: bool
    properties: frozenset[str]
    type_properties: frozenset[str]
    """Properties that hold a type where ONNX has a `DataType` number (`Cast.to`)."""
    regions: tuple[str, ...]
    defaults: Mapping[str, Attribute]
    """Default values of properties."""


@cache
def op_signature_of(op_class: type[OnnxOp]) -> OpSignature:
    """Return the signature of an op class."""
    definition = op_class.get_irdl_definition()
    operands = [kind for _, kind in definition.operands]
    results = [kind for _, kind in definition.results]
    properties = definition.properties
    return OpSignature(
        operands=sum(not isinstance(kind, VarOperandDef) for kind in operands),
        has_variadic_operand=any(isinstance(kind, VarOperandDef) for kind in operands),
        results=sum(not isinstance(kind, VarResultDef) for kind in results),
        required_results=frozenset(index for index, kind in enumerate(results) if not _may_be_absent(kind)),
        has_variadic_result=any(isinstance(kind, VarResultDef) for kind in results),
        properties=frozenset(properties),
        type_properties=frozenset(name for name, kind in properties.items() if _takes(kind.constr, f32)),
        regions=tuple(name for name, _ in definition.regions),
        defaults={
            name: kind.default_value for name, kind in properties.items() if kind.default_value is not None
        },
    )


@cache
def attribute_kinds(domain: str, op_type: str, opset: int) -> Mapping[str, Kind]:
    """Return the kinds of an operator's attributes by the schema in force at an opset."""
    schema = schema_of(domain, op_type, opset)
    if schema is None:
        return {}
    return {
        name: KINDS[str(attribute.type).rpartition(".")[2]] for name, attribute in schema.attributes.items()
    }


def _may_be_absent(result: ResultDef) -> bool:
    try:
        result.constr.verify((NONE,), VerificationContext())
    except VerifyException:
        return False
    return True


def _takes(constraint: AttrConstraint[Attribute], attribute: Attribute) -> bool:
    try:
        constraint.verify(attribute, VerificationContext())
    except VerifyException:
        return False
    return True
