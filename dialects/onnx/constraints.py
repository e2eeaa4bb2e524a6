"""
Constraints on the types of operands and results, and on the properties, of `onnx` ops.

`types("T", "floats i64")` says that a value is a tensor of f16, f32, f64 or i64, of any shape or rank,
and that all values of one op bound to `T` have the same element type. The words are MLIR element
types, groups of them (`GROUPS`), and `seq<…>`, `opt<…>`, `map<…, …>` around them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Generic

from typing_extensions import TypeVar
from xdsl.dialects import builtin
from xdsl.dialects.builtin import (
    ArrayAttr,
    Float32Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    NoneType,
    StringAttr,
    TensorType,
)
from xdsl.ir import Attribute, TypeAttribute
from xdsl.irdl import AtLeast, AttrConstraint, IntConstraint, RangeConstraint, RangeOf, VerificationContext
from xdsl.utils.exceptions import VerifyException

from xonnc.dialects.onnx.attribute_builders import SI64
from xonnc.dialects.onnx.types import MapType, OptType, SeqType, StringType, is_tensor, unranked

GROUPS: Mapping[str, str] = {
    "ints": "i8 i16 i32 i64",
    "uints": "ui8 ui16 ui32 ui64",
    "int4s": "i4 ui4",
    "int2s": "i2 ui2",
    "floats": "f16 f32 f64",
    "float8s": "f8E4M3FN f8E4M3FNUZ f8E5M2 f8E5M2FNUZ",
    "float6s": "f6E2M3FN f6E3M2FN",
    "complexes": "complex<f32> complex<f64>",
}
"""Groups of element types in the schemas of ONNX."""

_ELEMENTS: Mapping[str, Attribute] = {
    **{f"i{width}": IntegerType(width) for width in (1, 2, 4, 8, 16, 32, 64)},
    **{f"ui{width}": IntegerType(width, builtin.Signedness.UNSIGNED) for width in (2, 4, 8, 16, 32, 64)},
    "f16": builtin.f16,
    "bf16": builtin.bf16,
    "f32": builtin.f32,
    "f64": builtin.f64,
    "f8E4M3FN": builtin.f8E4M3FN,
    "f8E4M3FNUZ": builtin.f8E4M3FNUZ,
    "f8E5M2": builtin.f8E5M2,
    "f8E5M2FNUZ": builtin.f8E5M2FNUZ,
    "f8E8M0FNU": builtin.f8E8M0FNU,
    "f6E2M3FN": builtin.f6E2M3FN,
    "f6E3M2FN": builtin.f6E3M2FN,
    "f4E2M1FN": builtin.f4E2M1FN,
    "complex<f32>": builtin.ComplexType(builtin.f32),
    "complex<f64>": builtin.ComplexType(builtin.f64),
    "string": StringType(),
}

AttributeT = TypeVar("AttributeT", bound=Attribute, covariant=True)
_VariableMapping = Mapping[TypeVar, AttrConstraint[Attribute] | IntConstraint]


@dataclass(frozen=True)
class TypeConstraint(AttrConstraint[Attribute]):
    """A type of one of the kinds in `words`; values with the same `variable` have the same element type."""

    variable: str
    """The schema's type parameter; empty if the values need not agree."""
    words: str
    is_optional: bool = False
    """Whether the type may be `none`, for an absent optional value."""

    @cached_property
    def kinds(self) -> frozenset[Attribute]:
        """The permitted types without shapes: element types, or sequences, optionals and maps of them."""
        return frozenset(_parse(self.words))

    @cached_property
    def optional(self) -> TypeConstraint:
        """This constraint, or `none`."""
        return TypeConstraint(self.variable, self.words, is_optional=True)

    @cached_property
    def independent(self) -> TypeConstraint:
        """This constraint for the values of a heterogeneous variadic, which need not agree."""
        return TypeConstraint("", self.words, self.is_optional)

    @cached_property
    def one_or_more(self) -> RangeConstraint[Attribute]:
        """A range of at least one value."""
        return RangeOf(self).of_length(AtLeast(1))

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        if is_tensor(attr):
            kind = attr.element_type
        elif isinstance(attr, SeqType | OptType | MapType):
            kind = erase_shapes(attr)
        elif self.is_optional and isinstance(attr, NoneType):
            return
        else:
            kind = None
        if kind is None or kind not in self.kinds:
            raise VerifyException(f"{attr} is not {self.description}")
        if self.variable and constraint_context.get_variable(self.variable) != kind:
            self._bind(kind, attr, constraint_context)

    @property
    def description(self) -> str:
        """The constraint in words, for messages."""
        none = " or none" if self.is_optional else ""
        if "<" in self.words.replace("complex<", ""):
            return f"one of: {self.words}{none}"
        return f"a tensor of {self.words.replace(' ', ', ')}{none}"

    def _bind(self, kind: Attribute, attr: Attribute, context: VerificationContext) -> None:
        bound = context.get_variable(self.variable)
        if bound is not None:
            raise VerifyException(
                f"{attr} has element type {kind}, but {self.variable} is {bound} in an earlier value"
            )
        context.set_attr_variable(self.variable, kind)

    def variables(self) -> set[str]:
        return {self.variable} if self.variable else set()

    def mapping_type_vars(self, type_var_mapping: _VariableMapping) -> TypeConstraint:
        return self


@cache
def types(variable: str, words: str) -> TypeConstraint:
    """Return the memoised constraint for a type parameter; see the module's docstring."""
    return TypeConstraint(variable, words)


def erase_shapes(type_: Attribute) -> Attribute:
    """Return a type without shapes: `f32` for `tensor<2xf32>`, `!onnx.Seq<tensor<*xf32>>` for a sequence."""
    return type_.element_type if is_tensor(type_) else _erased(type_)


def _erased(type_: Attribute) -> Attribute:
    """Return a type with its tensors unranked; a map has element types directly."""
    if is_tensor(type_):
        return unranked(type_.element_type)
    match type_:
        case SeqType():
            return SeqType(_erased(type_.element_type))
        case OptType():
            return OptType(_erased(type_.element_type))
        case MapType():
            return MapType(erase_shapes(type_.key_type), erase_shapes(type_.value_type))
        case _:
            return type_


def _parse(words: str) -> Iterator[Attribute]:
    for word in _split(words):
        head, _, inner = word.removesuffix(">").partition("<")
        if word in _ELEMENTS:
            yield _ELEMENTS[word]
        elif word in GROUPS:
            yield from _parse(GROUPS[word])
        elif head == "map":
            key, value = inner.split(",")
            yield MapType(_ELEMENTS[key.strip()], _ELEMENTS[value.strip()])
        else:
            holder = SeqType if head == "seq" else OptType
            yield from (holder(_held(kind)) for kind in _parse(inner))


def _held(kind: Attribute) -> Attribute:
    """Return the element of a sequence or optional: an unranked tensor for an element type."""
    return kind if isinstance(kind, SeqType | OptType | MapType) else unranked(kind)


def _split(words: str) -> Iterator[str]:
    """Split at the spaces outside of angle brackets."""
    depth, word = 0, ""
    for character in words:
        depth += (character == "<") - (character == ">")
        if character == " " and not depth:
            yield word
            word = ""
        else:
            word += character
    yield word


TENSOR = types(
    "", "i1 ints uints int4s int2s floats bf16 float8s f8E8M0FNU float6s f4E2M1FN complexes string"
)
BOOL = types("", "i1")
FLOAT = types("", "f32")
INT64 = types("", "i64")
STRINGS = types("", "string")


@dataclass(frozen=True)
class ScalarAttrConstraint(AttrConstraint[AttributeT], Generic[AttributeT]):
    """A scalar property: an attribute of class `base`, and of `type` if that is given."""

    base: type[Attribute]
    description: str
    type: Attribute | None = None

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        if not isinstance(attr, self.base) or (self.type is not None and type_of(attr) != self.type):
            raise VerifyException(f"{attr} is not {self.description}")

    def mapping_type_vars(self, type_var_mapping: _VariableMapping) -> ScalarAttrConstraint[AttributeT]:
        return self


@dataclass(frozen=True)
class ArrayAttrConstraint(AttrConstraint[ArrayAttr[AttributeT]], Generic[AttributeT]):
    """A list property."""

    element: ScalarAttrConstraint[AttributeT]
    description: str

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        elements = _elements_of(attr)
        if elements is None:
            raise VerifyException(f"{attr} is not {self.description}")
        for element in elements:
            self.element.verify(element, constraint_context)

    def mapping_type_vars(self, type_var_mapping: _VariableMapping) -> ArrayAttrConstraint[AttributeT]:
        return self


@dataclass(frozen=True)
class ElementsAttrConstraint(AttrConstraint[Attribute]):
    """A constant tensor: `dense<…>`, `dense_resource<…>`, or a constant of the pool."""

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        if not isinstance(type_of(attr), TensorType):
            raise VerifyException(f"{attr} is not a constant tensor such as dense<0> : tensor<1xi64>")

    def mapping_type_vars(self, type_var_mapping: _VariableMapping) -> ElementsAttrConstraint:
        return self


def type_of(attr: Attribute) -> Attribute | None:
    """Return the type of a typed attribute (a constant, integer or float), else `None`."""
    return getattr(attr, "type", None)


def _is_array(attr: Attribute) -> bool:
    return isinstance(attr, ArrayAttr)


def _elements_of(attr: Attribute) -> Sequence[Attribute] | None:
    return getattr(attr, "data", ()) if _is_array(attr) else None


INT_ATTR = ScalarAttrConstraint[IntegerAttr[IntegerType]](IntegerAttr, "an integer such as 1 : si64", SI64)
FLOAT_ATTR = ScalarAttrConstraint[FloatAttr[Float32Type]](
    FloatAttr, "a number such as 1.0 : f32", builtin.f32
)
STRING_ATTR = ScalarAttrConstraint[StringAttr](StringAttr, "a string")
TYPE_ATTR = ScalarAttrConstraint[TypeAttribute](TypeAttribute, "a type")
INT_ARRAY_ATTR = ArrayAttrConstraint(
    ScalarAttrConstraint[IntegerAttr[IntegerType]](IntegerAttr, "an i64 integer", builtin.i64),
    "a list of i64",
)
FLOAT_ARRAY_ATTR = ArrayAttrConstraint(FLOAT_ATTR, "a list of f32")
STRING_ARRAY_ATTR = ArrayAttrConstraint(STRING_ATTR, "a list of strings")
ELEMENTS_ATTR = ElementsAttrConstraint()
