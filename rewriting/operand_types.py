"""What is wrong with the types of an op's operands and results, in the words of ONNX."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import NoneType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import OperandDef, RangeLengthConstraint, RangeOf, ResultDef, VariadicDef

from xonnc.dialects.onnx.constraints import TypeConstraint, erase_shapes
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.types import MapType, OptType, SeqType, StringType, element_type, numpy_dtype

MANY = 6
"""Element types listed one by one; of more, those that `FAMILIES` has are told together."""

FAMILIES = {
    "signed integers": ("int8", "int16", "int32", "int64"),
    "unsigned integers": ("uint8", "uint16", "uint32", "uint64"),
    "4-bit integers": ("int4", "uint4"),
    "2-bit integers": ("int2", "uint2"),
    "8-bit floats": ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"),
    "6-bit floats": ("float6_e2m3fn", "float6_e3m2fn"),
    "complex numbers": ("complex64", "complex128"),
}
"""Element types that operators take all or none of."""


@dataclass(frozen=True)
class Parameter:
    """An operand or a result of an op class, with its values."""

    name: str
    is_input: bool
    definition: OperandDef | ResultDef
    values: Sequence[SSAValue]

    @property
    def constraint(self) -> TypeConstraint | None:
        """Return the constraint of each value."""
        range_ = self.definition.constr
        inner = range_.constraint if isinstance(range_, RangeLengthConstraint) else range_
        return (
            inner.constr if isinstance(inner, RangeOf) and isinstance(inner.constr, TypeConstraint) else None
        )

    def title(self, index: int) -> str:
        """Return the name of a value for messages."""
        position = f"[{index}]" if isinstance(self.definition, VariadicDef) else ""
        return f"{'input' if self.is_input else 'output'} '{self.name}{position}'"


def operand_fault(op: OnnxOp) -> str | None:
    """Return what is wrong with the types of operands and results, or `None`."""
    bound: dict[str, tuple[Attribute, str]] = {}
    return next((fault for each in _parameters(op) for fault in _faults(each, bound)), None)


def _parameters(op: OnnxOp) -> Iterator[Parameter]:
    definition = op.get_irdl_definition()
    for is_input, fields in (True, definition.operands), (False, definition.results):
        for name, field in fields:
            found: SSAValue | Sequence[SSAValue] | None = getattr(op, name)
            values = [found] if isinstance(found, SSAValue) else list(found or ())
            yield Parameter(name, is_input, field, values)


def _faults(parameter: Parameter, bound: dict[str, tuple[Attribute, str]]) -> Iterator[str]:
    constraint = parameter.constraint
    if constraint is None:
        return
    if not parameter.values and isinstance(parameter.definition.constr, RangeLengthConstraint):
        yield f"there are no {'inputs' if parameter.is_input else 'outputs'}; the operator needs at least one"
    for index, value in enumerate(parameter.values):
        title, type_ = parameter.title(index), value.type
        if isinstance(type_, NoneType):
            if not constraint.is_optional:
                yield f"{title} is missing; the operator requires it"
            continue
        kind, verb = erase_shapes(type_), "is" if parameter.is_input else "is declared"
        if kind not in constraint.kinds:
            rule = f"{'takes' if parameter.is_input else 'gives'} {_any_of(constraint.kinds, type_)}"
            yield f"{title} {verb} {type_words(type_)}; the operator {rule}"
        elif constraint.variable:
            known, first = bound.setdefault(constraint.variable, (kind, title))
            if known != kind:
                yield (
                    f"{title} {verb} {type_words(type_)}, but {first} is {type_words(known)}; "
                    "the operator needs one type for both"
                )


def type_words(type_: Attribute) -> str:
    """Return a type without shapes in ONNX's names: `float32`, `a sequence of int64`."""
    match type_:
        case SeqType():
            return f"a sequence of {type_words(type_.element_type)}"
        case OptType():
            return f"an optional {type_words(type_.element_type).removeprefix('a ')}"
        case MapType():
            return f"a map of {type_words(type_.key_type)} to {type_words(type_.value_type)}"
        case StringType():
            return "string"
        case NoneType():
            return "nothing"
        case _:
            element = element_type(type_)
            return numpy_dtype(type_).name if element is None else type_words(element)


def _any_of(kinds: Iterable[Attribute], like: Attribute) -> str:
    """List the permitted types: elements by name, sequences and others only if `like` is one of them."""
    elements = [kind for kind in kinds if not isinstance(kind, SeqType | OptType | MapType)]
    words = _listed([type_words(kind) for kind in elements])
    for holder, plural in (SeqType, "sequences"), (OptType, "optional values"), (MapType, "maps"):
        held = [kind for kind in kinds if isinstance(kind, holder)]
        if held and isinstance(like, holder):
            words += [type_words(kind) for kind in sorted(held, key=str)]
        elif held:
            words.append(plural)
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _listed(names: Sequence[str]) -> list[str]:
    """Sort names; put families in their place where there are many."""
    left, families = set(names), list[str]()
    for family, members in FAMILIES.items() if len(names) > MANY else ():
        if left.issuperset(members):
            left.difference_update(members)
            families.append(family)
    return [*families, *sorted(left, key=lambda name: (name.rstrip("0123456789"), len(name), name))]
