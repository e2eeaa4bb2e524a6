"""Constants, and tensors of one value: the operators with a syntax of their own."""

from __future__ import annotations

from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import FunctionType, LocationAttr, TensorType
from xdsl.interfaces import HasFolderInterface
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import ConstantLike, Pure
from xdsl.utils.exceptions import VerifyException

from xonnc.dialects.onnx.constraints import (
    ELEMENTS_ATTR,
    FLOAT_ARRAY_ATTR,
    FLOAT_ATTR,
    INT_ARRAY_ATTR,
    INT_ATTR,
    STRING_ARRAY_ATTR,
    STRING_ATTR,
    type_of,
    types,
)
from xonnc.dialects.onnx.elements import elements_array
from xonnc.dialects.onnx.elements.buffers import Array
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.types import element_type, is_ranked, static_shape

_ANY = "i1 ints uints int4s int2s floats bf16 float8s f8E8M0FNU float6s f4E2M1FN complexes string"


@irdl_op_definition
class ConstantOp(HasFolderInterface, OnnxOp):
    """
    A tensor known at compile time; one property holds it. In text it may be left out, in a model it may not.

    ```mlir
    %0 = onnx.Constant dense<[1, 2]> : tensor<2xi64>
    %1 = onnx.Constant {value_int = 1 : si64} : tensor<i64>
    ```
    """

    name = "onnx.Constant"

    OP_TYPE: ClassVar = "Constant"
    SINCE: ClassVar = 1

    T: ClassVar = types("T", _ANY)

    output = result_def(T)

    sparse_value = opt_prop_def(ELEMENTS_ATTR)
    value = opt_prop_def(ELEMENTS_ATTR)
    value_float = opt_prop_def(FLOAT_ATTR)
    value_floats = opt_prop_def(FLOAT_ARRAY_ATTR)
    value_int = opt_prop_def(INT_ATTR)
    value_ints = opt_prop_def(INT_ARRAY_ATTR)
    value_string = opt_prop_def(STRING_ATTR)
    value_strings = opt_prop_def(STRING_ARRAY_ATTR)

    traits = traits_def(Pure(), ConstantLike())

    @classmethod
    def from_attr(cls, value: Attribute, location: LocationAttr | None = None) -> ConstantOp:
        """The constant with this tensor, which gives the result its type."""
        op = cls.create(result_types=[_tensor_type(value)], properties={"value": value})
        if location is not None:
            op.location = location
        return op

    def fold(self) -> tuple[Attribute] | None:
        """The tensor; `None` for a constant written as numbers or strings."""
        return None if self.value is None else (self.value,)

    def verify_(self) -> None:
        super().verify_()
        found = [name for name in self.get_irdl_definition().properties if name in self.properties]
        if len(found) > 1:
            raise VerifyException(f"'onnx.Constant' op takes one value, found {', '.join(found)}")
        value = self.value or self.sparse_value
        if value is None:
            return
        type_, result = type_of(value), self.output.type
        if element_type(result) != element_type(_tensor_type(value)) or (
            is_ranked(result) and type_ != result
        ):
            raise VerifyException(
                f"'onnx.Constant' op has a value of type {type_} and a result of type {result}"
            )

    @classmethod
    def parse(cls, parser: Parser) -> ConstantOp:
        """`onnx.Constant dense<…> : type` or `onnx.Constant {…} : type`."""
        found = parser.parse_optional_dictionary_attr_dict()
        if not found and parser.parse_optional_punctuation(":") is None:
            start = parser.pos
            value = parser.parse_attribute()
            if not isinstance(type_of(value), TensorType):
                parser.raise_error(
                    "an elements attribute such as dense<1> : tensor<1xi64> is needed here", start, parser.pos
                )
            name = "sparse_value" if value.name == "builtin.sparse_elements" else "value"
            attributes = parser.parse_optional_dictionary_attr_dict()
            return cls.create(
                result_types=[_tensor_type(value)], properties={name: value}, attributes=attributes
            )
        if found:
            parser.parse_punctuation(":")
        known = cls.get_irdl_definition().properties
        return cls.create(
            result_types=[parser.parse_type()],
            properties={name: value for name, value in found.items() if name in known},
            attributes={name: value for name, value in found.items() if name not in known},
        )

    def print(self, printer: Printer) -> None:
        """The short form if a tensor gives the result its type."""
        for value in (self.value, self.sparse_value):
            if value is not None and type_of(value) == self.output.type:
                printer.print_string(" ")
                printer.print_attribute(value)
                _print_dictionary(printer, self.attributes)
                return
        _print_dictionary(printer, self.properties | self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.output.type)


@irdl_op_definition
class ConstantOfShapeOp(OnnxOp):
    """
    A tensor of the given shape, each element the one of `value`, or zero.

    ```mlir
    %1 = onnx.ConstantOfShape(%0) {value = dense<1.0> : tensor<1xf32>} : (tensor<2xi64>) -> tensor<?x?xf32>
    ```
    """

    name = "onnx.ConstantOfShape"

    OP_TYPE: ClassVar = "ConstantOfShape"
    SINCE: ClassVar = 9

    T1: ClassVar = types("T1", "i64")
    T2: ClassVar = types("T2", "i1 ints uints int4s int2s floats bf16 float8s f8E8M0FNU f4E2M1FN")

    input = operand_def(T1)

    output = result_def(T2)

    value = opt_prop_def(ELEMENTS_ATTR)

    traits = traits_def(Pure())

    def verify_(self) -> None:
        super().verify_()
        shape, value = self.input.type, self.value
        if is_ranked(shape) and len(shape.get_shape()) != 1:
            raise VerifyException("'onnx.ConstantOfShape' op Input tensor must be a 1D tensor")
        if value is None:
            return
        type_ = _tensor_type(value)
        count = prod(static_shape(type_) or ())
        if count != 1:
            raise VerifyException(f"'onnx.ConstantOfShape' op has a value of {count} elements; it takes one")
        if element_type(type_) != element_type(self.output.type):
            raise VerifyException(
                f"'onnx.ConstantOfShape' op has a value of type {type_} "
                f"and a result of type {self.output.type}"
            )

    @classmethod
    def parse(cls, parser: Parser) -> ConstantOfShapeOp:
        """`onnx.ConstantOfShape(%0) {…} : (type) -> type`."""
        parser.parse_punctuation("(")
        operand = parser.parse_unresolved_operand()
        parser.parse_punctuation(")")
        found = parser.parse_optional_dictionary_attr_dict()
        parser.parse_punctuation(":")
        start = parser.pos
        type_ = parser.parse_type()
        if not isinstance(type_, FunctionType) or len(type_.inputs.data) != 1:
            parser.raise_error("a function type of one input is needed here", start, parser.pos)
        value = found.pop("value", None)
        return cls.create(
            operands=parser.resolve_operands([operand], type_.inputs.data, parser.pos),
            result_types=type_.outputs.data,
            properties={} if value is None else {"value": value},
            attributes=found,
        )

    def print(self, printer: Printer) -> None:
        """No space before the bracket, no angle brackets around properties."""
        printer.print_string("(")
        printer.print_ssa_value(self.input)
        printer.print_string(")")
        _print_dictionary(printer, self.properties | self.attributes)
        printer.print_string(" : (")
        printer.print_attribute(self.input.type)
        printer.print_string(") -> ")
        printer.print_attribute(self.output.type)


def constant_elements(value: SSAValue) -> Array | None:
    """The elements of a value that a constant gives."""
    owner = value.owner
    if isinstance(owner, ConstantOp) and owner.value is not None:
        return elements_array(owner.value)
    return None


def _print_dictionary(printer: Printer, attributes: dict[str, Attribute]) -> None:
    """` {name = value, …}` by name, nothing if there is none."""
    if attributes:
        printer.print_string(" ")
        printer.print_attr_dict(dict(sorted(attributes.items())))


def _tensor_type(value: Attribute) -> Attribute:
    type_ = type_of(value)
    if type_ is None:
        raise VerifyException(f"{value} is not a constant tensor such as dense<0> : tensor<1xi64>")
    return type_


OPS: tuple[type[OnnxOp], ...] = (ConstantOfShapeOp, ConstantOp)
