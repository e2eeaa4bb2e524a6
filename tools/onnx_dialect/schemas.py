"""The `onnx` package's operator schemas as plain data, spelled as the dialect spells them."""

from __future__ import annotations

import keyword
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

import onnx
import onnx.defs
from onnx.defs import OpSchema
from xdsl.ir import Operation

_ELEMENT_WORDS = {
    "bool": "i1",
    "int2": "i2",
    "int4": "i4",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint2": "ui2",
    "uint4": "ui4",
    "uint8": "ui8",
    "uint16": "ui16",
    "uint32": "ui32",
    "uint64": "ui64",
    "float16": "f16",
    "bfloat16": "bf16",
    "float": "f32",
    "double": "f64",
    "float8e4m3fn": "f8E4M3FN",
    "float8e4m3fnuz": "f8E4M3FNUZ",
    "float8e5m2": "f8E5M2",
    "float8e5m2fnuz": "f8E5M2FNUZ",
    "float8e8m0": "f8E8M0FNU",
    "float6e2m3": "f6E2M3FN",
    "float6e3m2": "f6E3M2FN",
    "float4e2m1": "f4E2M1FN",
    "complex64": "complex<f32>",
    "complex128": "complex<f64>",
    "string": "string",
}

Default = int | float | str | tuple[int, ...] | tuple[float, ...] | tuple[str, ...]


@dataclass(frozen=True)
class FormalParameter:
    """An operand or result."""

    name: str
    """The schema's name."""
    field: str
    """The name of the Python field."""
    variable: str
    """The type parameter's name, empty if the schema gives the type itself."""
    words: frozenset[str]
    """The types it may have, as `dialects/onnx/constraints.py` writes them."""
    is_optional: bool
    is_variadic: bool
    is_homogeneous: bool
    """Whether the values of a variadic one agree in type."""
    least: int
    """The minimum number of values of a variadic one."""


@dataclass(frozen=True)
class SchemaAttribute:
    """An attribute, a property of the op; one that holds a graph is a region."""

    name: str
    field: str
    kind: str
    """ONNX's name of its type: `INT`, `FLOATS`, `GRAPH`, …"""
    is_required: bool
    default: Default | None


@dataclass(frozen=True)
class OperatorSchema:
    """One version of an operator."""

    domain: str
    name: str
    theme: str
    """The folder of `onnx/defs` that has it: `math`, `nn`, …"""
    since: int
    doc: str
    text: str
    """All of the documentation, white space apart; two versions that say the same have the same."""
    is_deprecated: bool
    inputs: tuple[FormalParameter, ...]
    outputs: tuple[FormalParameter, ...]
    attributes: tuple[SchemaAttribute, ...]

    @property
    def values(self) -> tuple[FormalParameter, ...]:
        """Operands, then results."""
        return self.inputs + self.outputs

    def values_beside(self, other: OperatorSchema) -> tuple[FormalParameter, ...]:
        """The values at indices that `other` has too."""
        return self.inputs[: len(other.inputs)] + self.outputs[: len(other.outputs)]

    @property
    def properties(self) -> tuple[SchemaAttribute, ...]:
        """The attributes that are no graphs."""
        return tuple(attribute for attribute in self.attributes if attribute.kind != "GRAPH")

    @property
    def regions(self) -> tuple[SchemaAttribute, ...]:
        """The attributes that are graphs."""
        return tuple(attribute for attribute in self.attributes if attribute.kind == "GRAPH")


@cache
def operators() -> dict[tuple[str, str], tuple[OperatorSchema, ...]]:
    """Every version of every operator, oldest first, by domain and name."""
    schemas = sorted(
        onnx.defs.get_all_schemas_with_history(),
        key=lambda schema: (schema.domain, schema.name, schema.since_version),
    )
    versions: dict[tuple[str, str], list[OperatorSchema]] = {}
    for schema in schemas:
        versions.setdefault((schema.domain, schema.name), []).append(_operator(schema))
    newest = {key: found[-1] for key, found in versions.items()}
    return {
        key: tuple(replace(operator, theme=newest[key].theme) for operator in found)
        for key, found in versions.items()
    }


def _operator(schema: OpSchema) -> OperatorSchema:
    parameters = {
        constraint.type_param_str: frozenset(map(_word, constraint.allowed_type_strs))
        for constraint in schema.type_constraints
    }
    taken = set(_RESERVED | AMBIGUOUS)
    inputs = tuple(_values(schema.inputs, parameters, taken, "_in"))
    outputs = tuple(_values(schema.outputs, parameters, taken, "_out"))
    attributes = tuple(_attributes(schema, taken))
    return OperatorSchema(
        schema.domain,
        schema.name,
        schema.file.split("/")[-2],
        schema.since_version,
        schema.doc or "",
        _text(schema),
        schema.deprecated,
        inputs,
        outputs,
        attributes,
    )


def _text(schema: OpSchema) -> str:
    formals = [formal.description for formal in (*schema.inputs, *schema.outputs)]
    attributes = [schema.attributes[name].description for name in sorted(schema.attributes)]
    return " ".join(" ".join([schema.doc or "", *formals, *attributes]).split())


_RESERVED = frozenset(key for parent in Operation.mro()[:-1] for key in vars(parent))
"""Names that xDSL takes for itself: a field called so is dropped without a word."""


AMBIGUOUS = frozenset(("I", "O", "l"))
"""Names that look like numbers, which the linter refuses."""


def _field(name: str, taken: set[str], suffix: str) -> str:
    """A Python name for `name`: what an earlier field, xDSL or Python has is told apart by `suffix`."""
    field = "".join(character for character in name if character.isalnum() or character == "_")
    if field in taken or keyword.iskeyword(field):
        field += suffix
    taken.add(field)
    return field


def _values(
    formals: Sequence[OpSchema.FormalParameter],
    parameters: dict[str, frozenset[str]],
    taken: set[str],
    suffix: str,
) -> Iterator[FormalParameter]:
    for formal in formals:
        is_parameter = formal.type_str in parameters
        yield FormalParameter(
            formal.name,
            _field(formal.name, taken, suffix),
            formal.type_str if is_parameter else "",
            parameters[formal.type_str] if is_parameter else frozenset((_word(formal.type_str),)),
            formal.option == OpSchema.FormalParameterOption.Optional,
            formal.option == OpSchema.FormalParameterOption.Variadic,
            formal.is_homogeneous,
            formal.min_arity,
        )


_REGION_ORDER = ("then_branch", "else_branch")
"""Regions stand as onnx-mlir has them; the schema sorts its attributes by name."""


def _attributes(schema: OpSchema, taken: set[str]) -> Iterator[SchemaAttribute]:
    names = sorted(
        schema.attributes, key=lambda name: (name not in _REGION_ORDER, name == "else_branch", name)
    )
    for name in names:
        attribute = schema.attributes[name]
        kind = str(attribute.type).rpartition(".")[2]
        if schema.name == "Cast" and name == "to" and kind == "INT":
            kind = "TYPE_PROTO"
        yield SchemaAttribute(
            name, _field(name, taken, "_attr"), kind, attribute.required, _default(attribute.default_value)
        )


def _default(value: onnx.AttributeProto) -> Default | None:
    if value.type == onnx.AttributeProto.UNDEFINED:
        return None
    match onnx.helper.get_attribute_value(value):
        case bytes() as text:
            return text.decode()
        case int() | float() as number:
            return number
        case [bytes(), *_] as several:
            return tuple(text.decode() for text in several)
        case several:
            return tuple(several)


def _word(type_: str) -> str:
    """`seq(tensor(float))` is `seq<f32>`."""
    head, _, inner = type_.removesuffix(")").partition("(")
    match head:
        case "tensor":
            return _ELEMENT_WORDS[inner]
        case "seq":
            return f"seq<{_word(inner)}>"
        case "optional":
            return f"opt<{_word(inner)}>"
        case "map":
            key, value = inner.split(", ")
            return f"map<{_ELEMENT_WORDS[key]}, {_word(value) if '(' in value else _ELEMENT_WORDS[value]}>"
        case _:
            raise ValueError(f"{type_}: no type of a schema that this reader knows")
