"""
Element types of results that a model does not declare; shapes are left to shape inference.

Most follow from the schema: a result whose type parameter is also an operand's has that operand's element
type, and a parameter with a single allowed type has that. The rest depends on attributes, subgraphs or
containers, in `_SPECIAL`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

import onnx
from xdsl.dialects.builtin import f32, i64
from xdsl.ir import Attribute, Region

from xonnc.dialects.onnx.types import (
    NONE,
    MapType,
    OptType,
    SeqType,
    StringType,
    element_type,
    is_tensor,
    tensor_type,
    unranked,
)
from xonnc.formats.onnx.schemas import default_of, schema_of
from xonnc.formats.onnx.tensors import DATA_TYPES, ELEMENT_TYPES
from xonnc.formats.onnx.value_types import to_type

_STRING = StringType()


@dataclass(frozen=True)
class NodeDescription:
    """The properties of a node that determine its result types."""

    domain: str
    op_type: str
    opset: int
    attributes: Mapping[str, onnx.AttributeProto]
    operands: Sequence[Attribute]
    regions: Sequence[Region]

    def operand(self, index: int) -> Attribute:
        """Return the type of an operand, or `none` if it is absent."""
        return self.operands[index] if index < len(self.operands) else NONE

    def number(self, name: str) -> int | None:
        """Return an integer attribute or its default."""
        found = self.attributes.get(name) or default_of(self.domain, self.op_type, self.opset, name)
        return found.i if found is not None else None


Rule: TypeAlias = Callable[[NodeDescription, int], Attribute]


def result_type(node: NodeDescription, index: int) -> Attribute:
    """Return the type of result `index`, or `none` if unknown."""
    special = _SPECIAL.get(node.op_type)
    known = special(node, index) if special is not None else NONE
    return known if known != NONE else _by_schema(node, index)


@dataclass(frozen=True)
class _TypeSource:
    """The source of a result's type by the schema: an operand, or a fixed type."""

    operand: int | None = None
    fixed: Attribute = NONE


@cache
def _sources(domain: str, op_type: str, opset: int) -> tuple[_TypeSource, ...]:
    schema = schema_of(domain, op_type, opset)
    if schema is None:
        return ()
    operands = {formal.type_str: index for index, formal in reversed(list(enumerate(schema.inputs)))}
    allowed = {
        constraint.type_param_str: constraint.allowed_type_strs for constraint in schema.type_constraints
    }
    sources: list[_TypeSource] = []
    for formal in schema.outputs:
        choices = list(allowed.get(formal.type_str, [formal.type_str]))
        if formal.type_str in operands and len(choices) > 1:
            sources.append(_TypeSource(operand=operands[formal.type_str]))
        else:
            sources.append(_TypeSource(fixed=_named_type(choices[0]) if len(choices) == 1 else NONE))
    return tuple(sources)


def _by_schema(node: NodeDescription, index: int) -> Attribute:
    sources = _sources(node.domain, node.op_type, node.opset)
    if not sources:
        return NONE
    source = sources[min(index, len(sources) - 1)]
    if source.operand is None:
        return source.fixed
    # A state that is given back and was not given has the type of the first operand (LinearAttention).
    operand = node.operand(source.operand)
    return _same_element(operand if operand != NONE else node.operand(0))


@cache
def _named_type(text: str) -> Attribute:
    """`tensor(int64)` as a type; `none` for what is not a tensor."""
    kind, _, element = text.rstrip(")").partition("(")
    number = onnx.TensorProto.DataType.keys().index(element.upper()) if kind == "tensor" and element else 0
    found = ELEMENT_TYPES.get(number)
    return unranked(found) if found is not None else NONE


def _same_element(type_: Attribute) -> Attribute:
    element = element_type(type_)
    return type_ if element is None else unranked(element)


def _of_number(number: int | None) -> Attribute:
    element = ELEMENT_TYPES.get(number or 0)
    return NONE if element is None else unranked(element)


def _by_attribute(name: str, otherwise: int = 0) -> Rule:
    """Return a rule that takes the element type from an attribute, else from an operand."""

    def rule(node: NodeDescription, index: int) -> Attribute:
        named = _of_number(node.number(name))
        return named if named != NONE else _same_element(node.operand(otherwise))

    return rule


def _quantized(node: NodeDescription, index: int) -> Attribute:
    if node.operand(2) != NONE:
        return _same_element(node.operand(2))
    return _of_number(node.number("output_dtype") or onnx.TensorProto.UINT8)


def _layer_normalization(node: NodeDescription, index: int) -> Attribute:
    return _of_number(node.number("stash_type")) if index else NONE


def _constant_of_shape(node: NodeDescription, index: int) -> Attribute:
    value = node.attributes.get("value")
    return unranked(f32) if value is None else _of_number(value.t.data_type)


def _constant(node: NodeDescription, index: int) -> Attribute:
    for name, given in node.attributes.items():
        match name:
            case "value_int":
                return tensor_type((), i64)
            case "value_ints":
                return tensor_type((len(given.ints),), i64)
            case "value_float":
                return tensor_type((), f32)
            case "value_floats":
                return tensor_type((len(given.floats),), f32)
            case "value_string":
                return tensor_type((), _STRING)
            case "value_strings":
                return tensor_type((len(given.strings),), _STRING)
            case "sparse_value":
                element = ELEMENT_TYPES.get(given.sparse_tensor.values.data_type)
                dims = given.sparse_tensor.dims
                return NONE if element is None else tensor_type(tuple(dims), element)
            case _:
                continue
    return NONE


def _sequence_of_operand(node: NodeDescription, index: int) -> Attribute:
    element = _same_element(node.operand(0))
    return SeqType(element) if element != NONE else NONE


def _element_of_container(node: NodeDescription, index: int) -> Attribute:
    """Return the element type of the container in operand 0; other values are their own element."""
    container = node.operand(0)
    return _same_element(container.element_type if isinstance(container, SeqType | OptType) else container)


def _sequence_empty(node: NodeDescription, index: int) -> Attribute:
    return SeqType(_of_number(node.number("dtype") or onnx.TensorProto.FLOAT))


def _optional(node: NodeDescription, index: int) -> Attribute:
    declared = node.attributes.get("type")
    if declared is not None:
        return OptType(to_type(declared.tp, "Optional"))
    return OptType(node.operand(0)) if node.operand(0) != NONE else NONE


def _yielded(node: NodeDescription, index: int) -> Attribute:
    """Return the type that the first subgraph yields at `index`."""
    for region in node.regions:
        last = region.block.last_op if region.blocks else None
        if last is not None and index < len(last.operands):
            return last.operands[index].type
    return NONE


def _if(node: NodeDescription, index: int) -> Attribute:
    types = {_yielded(NodeDescription("", "", 0, {}, (), (region,)), index) for region in node.regions}
    return _same_element(types.pop()) if len(types) == 1 else _same_element(_yielded(node, index))


def _loop(node: NodeDescription, index: int) -> Attribute:
    carried = len(node.operands) - 2
    return _same_element(node.operand(index + 2) if index < carried else _yielded(node, index + 1))


def _scan(node: NodeDescription, index: int) -> Attribute:
    return _same_element(_yielded(node, index))


def _sequence_map(node: NodeDescription, index: int) -> Attribute:
    element = _yielded(node, index)
    return SeqType(_same_element(element)) if element != NONE else NONE


def _class_label(node: NodeDescription, index: int) -> Attribute:
    if index:
        return NONE
    return unranked(_STRING if "classlabels_strings" in node.attributes else i64)


def _label_encoder(node: NodeDescription, index: int) -> Attribute:
    for name, given in node.attributes.items():
        if name == "values_tensor":
            return _of_number(given.t.data_type)
        if name in ("values_int64s", "values_floats", "values_strings") and (
            given.ints or given.floats or given.strings
        ):
            return unranked({"values_int64s": i64, "values_floats": f32}.get(name, _STRING))
    return unranked(i64 if element_type(node.operand(0)) == _STRING else _STRING)


def _cast_map(node: NodeDescription, index: int) -> Attribute:
    cast_to = node.attributes.get("cast_to")
    elements = {b"TO_STRING": _STRING, b"TO_INT64": i64}
    return unranked(f32 if cast_to is None else elements.get(cast_to.s, f32))


def _dict_vectorizer(node: NodeDescription, index: int) -> Attribute:
    source = node.operand(0)
    if not isinstance(source, MapType):
        return NONE
    value = source.value_type
    return _same_element(value) if is_tensor(value) or value not in DATA_TYPES else unranked(value)


def _zip_map(node: NodeDescription, index: int) -> Attribute:
    key = _STRING if "classlabels_strings" in node.attributes else i64
    return SeqType(MapType(key, tensor_type((), f32)))


_SPECIAL: dict[str, Rule] = {
    "Bernoulli": _by_attribute("dtype"),
    "BitCast": _by_attribute("to"),
    "BlackmanWindow": _by_attribute("output_datatype"),
    "Cast": _by_attribute("to"),
    "CastMap": _cast_map,
    "CategoryMapper": _label_encoder,
    "ConcatFromSequence": _element_of_container,
    "Constant": _constant,
    "ConstantOfShape": _constant_of_shape,
    "DequantizeLinear": _by_attribute("output_dtype", otherwise=1),
    "DictVectorizer": _dict_vectorizer,
    "EyeLike": _by_attribute("dtype"),
    "Gradient": lambda node, index: _same_element(node.operand(0)),
    "HammingWindow": _by_attribute("output_datatype"),
    "HannWindow": _by_attribute("output_datatype"),
    "If": _if,
    "LabelEncoder": _label_encoder,
    "LayerNormalization": _layer_normalization,
    "LinearClassifier": _class_label,
    "Loop": _loop,
    "MelWeightMatrix": _by_attribute("output_datatype"),
    "Multinomial": _by_attribute("dtype"),
    "Optional": _optional,
    "OptionalGetElement": _element_of_container,
    "QuantizeLinear": _quantized,
    "RandomNormal": _by_attribute("dtype"),
    "RandomNormalLike": _by_attribute("dtype"),
    "RandomUniform": _by_attribute("dtype"),
    "RandomUniformLike": _by_attribute("dtype"),
    "SVMClassifier": _class_label,
    "Scan": _scan,
    "SequenceAt": _element_of_container,
    "SequenceConstruct": _sequence_of_operand,
    "SequenceEmpty": _sequence_empty,
    "SequenceMap": _sequence_map,
    "SplitToSequence": _sequence_of_operand,
    "TreeEnsembleClassifier": _class_label,
    "ZipMap": _zip_map,
}
"""Rules of operators whose result types do not follow from the schema alone."""
