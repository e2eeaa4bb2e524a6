"""Builder that lowering functions receive: TOSA values of the model's, constants as arrays, and refusals."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from xdsl.builder import Builder
from xdsl.dialects import tosa
from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseArrayBase,
    Float16Type,
    Float32Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    bf16,
    f16,
    f32,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.rewriter import InsertPoint
from xdsl.utils.hints import isa

from xonnc.dialects.onnx.elements import elements_array
from xonnc.dialects.onnx.locations import derived
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.types import element_type, element_type_of, numpy_dtype, static_shape, tensor_type
from xonnc.dialects.tosa.data_movement import ReshapeOp, TransposeOp
from xonnc.dialects.tosa.elementwise import CastOp
from xonnc.dialects.tosa.types import element_of, shape_of
from xonnc.lowering.onnx_to_tosa.constants import constant, constant_sizes
from xonnc.lowering.onnx_to_tosa.quantized_values import QuantizedValue

Array: TypeAlias = npt.NDArray[Any]

FLOATS = (f32, f16, bf16)
"""Element types of real numbers."""

ELEMENTS = (*FLOATS, i1, i8, i16, i32)
"""Element types that the ops emitted compute with."""

SHARED_ELEMENTS = 16
"""Constants up to this many elements are emitted once for all uses."""

NHWC, NCHW = (0, 2, 3, 1), (0, 3, 1, 2)
"""The order of dimensions that makes an NCHW image NHWC, and the one back."""


class Refused(Exception):
    """The current operator cannot be lowered; the message has the rule and the value found."""


class MissingOperand(Refused):
    """An operand of the current operator was itself refused, which has been reported."""


class TosaBuilder:
    """Builds the ops of one operator after another, inserted before it."""

    def __init__(self, block: Block) -> None:
        self.quantized: dict[SSAValue, QuantizedValue] = {}
        """Real tensors of the model whose integers are known: results of DequantizeLinear."""
        self.done: set[Operation] = set()
        """Operators that were lowered with one before them."""
        self._block = block
        self._values: dict[SSAValue, SSAValue] = {}
        self._constants: dict[tuple[object, ...], SSAValue] = {}
        self._last_constant: Operation | None = None
        self._at: Operation | None = None

    def start(self, op: Operation) -> None:
        """Set the insertion point before `op`, the next operator."""
        self._at = op

    def emit(
        self, kind: type[IRDLOperation], operands: Sequence[SSAValue], type_: Attribute, **props: Attribute
    ) -> SSAValue:
        """Insert an op of one result with a location derived from the current node; return its result."""
        op = kind.create(operands=operands, result_types=[type_], properties=props)
        assert self._at is not None, "start comes first"
        op.location = derived(self._at.location)
        Builder(InsertPoint.before(self._at)).insert(op)
        return op.results[0]

    def refuse(self, reason: str) -> NoReturn:
        """Refuse the current operator."""
        raise Refused(reason)

    # The model's values.

    def define(self, value: SSAValue, lowered: SSAValue) -> None:
        """Define what the model's `value` was lowered to."""
        self._values[value] = lowered

    def is_defined(self, value: SSAValue) -> bool:
        """Whether the model's `value` was lowered, or is a constant."""
        return value in self._values or value in self.quantized or self.constant(value) is not None

    def value(self, value: SSAValue) -> SSAValue:
        """Return the TOSA value of the model's `value`; integers become real, constants an op."""
        if value not in self._values:
            if value in self.quantized:
                self._values[value] = self._dequantized(self.quantized[value])
            elif (array := self.constant(value)) is not None:
                self._values[value] = self.const(array)
            else:
                raise MissingOperand("an operand was refused")
        return self._values[value]

    @contextmanager
    def standing_for(self, value: SSAValue, lowered: SSAValue) -> Generator[None]:
        """Let the integers of a quantized tensor stand for it while an operator is lowered."""
        before = self._values.get(value)
        self._values[value] = lowered
        yield
        if before is None:
            del self._values[value]
        else:
            self._values[value] = before

    def constant(self, value: SSAValue) -> Array | None:
        """Return the elements of a constant of the model, real if it is quantized; `None` for others."""
        if value in self.quantized:
            return self.quantized[value].real_array
        if not isinstance(value, OpResult) or not isinstance(value.op, ConstantOp):
            return None
        return None if value.op.value is None else elements_array(value.op.value)

    def fixed(self, value: SSAValue, what: str) -> Array:
        """Return the elements of an operand that must be constant."""
        array = self.constant(value)
        if array is None:
            self.refuse(f"{what} is computed at run time (TOSA takes a constant)")
        return array

    def integers(self, quantized: QuantizedValue) -> SSAValue:
        """Return the integers of a quantized tensor as a TOSA value."""
        if quantized.value is not None:
            return quantized.value
        assert quantized.array is not None
        return self.const(quantized.array)

    def _dequantized(self, quantized: QuantizedValue) -> SSAValue:
        """Return the real numbers of a quantized tensor: `(x - zero point) scale`."""
        if (real := quantized.real_array) is not None:
            return self.const(real)
        found = self.integers(quantized)
        shape = shape_of(found)
        scale, zero = quantized.of.along(len(shape))
        if zero.any():
            if element_of(found) != i32:
                found = self.emit(CastOp, [found], tensor_type(shape, i32))
            found = self.binary(tosa.SubOp, found, self.const(zero.astype(np.int32)))
        found = self.emit(CastOp, [found], tensor_type(shape, f32))
        return self.binary(tosa.MulOp, found, self.const(scale))

    # Ops that many lowerings emit.

    def const(self, array: Array) -> SSAValue:
        """Return a constant tensor; small equal ones are shared."""
        element = element_type_of(array.dtype)
        self.require_element(element)
        data = np.ascontiguousarray(array).tobytes()
        return self._shared((array.shape, element, data), array.size, lambda: constant(array))

    def shape(self, sizes: Sequence[int]) -> SSAValue:
        """Return a constant shape; equal ones are shared."""
        return self._shared((tuple(sizes), None), 0, lambda: constant_sizes(sizes))

    def _shared(self, key: tuple[object, ...], size: int, make: Callable[[], Operation]) -> SSAValue:
        """Return a constant, inserted at the start of the function, once if it is small."""
        if size <= SHARED_ELEMENTS and key in self._constants:
            return self._constants[key]
        op, last = make(), self._last_constant
        at = InsertPoint.at_start(self._block) if last is None else InsertPoint.after(last)
        Builder(at).insert(op)
        self._last_constant = op
        self._constants[key] = op.results[0]
        return op.results[0]

    def scalar(self, value: float, element: Attribute, rank: int = 1) -> SSAValue:
        """Return a constant of one element, with `rank` dimensions."""
        return self.const(np.full((1,) * rank, value, numpy_dtype(element)))

    def zero_point(self, of: SSAValue, value: int = 0) -> SSAValue:
        """Return a zero point for elements of the type that a TOSA value has."""
        return self.scalar(value, element_of(of))

    def reshape(self, value: SSAValue, sizes: Sequence[int]) -> SSAValue:
        """Return a TOSA value in another shape."""
        if shape_of(value) == tuple(sizes):
            return value
        return self.emit(ReshapeOp, [value, self.shape(sizes)], tensor_type(tuple(sizes), element_of(value)))

    def transpose(self, value: SSAValue, order: Sequence[int]) -> SSAValue:
        """Return a TOSA value with its dimensions in another order."""
        if list(order) == list(range(len(order))):
            return value
        shape = shape_of(value)
        type_ = tensor_type(tuple(shape[axis] for axis in order), element_of(value))
        return self.emit(TransposeOp, [value], type_, perms=DenseArrayBase.from_list(i32, list(order)))

    def unary(self, kind: type[IRDLOperation], value: SSAValue) -> SSAValue:
        """Return an elementwise function of one TOSA value."""
        return self.emit(kind, [value], value.type)

    def binary(
        self, kind: type[IRDLOperation], a: SSAValue, b: SSAValue, element: Attribute | None = None
    ) -> SSAValue:
        """Return an elementwise function of two TOSA values, broadcast as in ONNX."""
        a, b = self.aligned(a, b)
        shape = np.broadcast_shapes(shape_of(a), shape_of(b))
        shift = [self.scalar(0, i8)] if kind is tosa.MulOp else []
        return self.emit(kind, [a, b, *shift], tensor_type(shape, element or element_of(a)))

    def aligned(self, *values: SSAValue) -> list[SSAValue]:
        """Return TOSA values in shapes of one rank, by sizes of 1 in front."""
        rank = max(len(shape_of(value)) for value in values)
        return [self.reshape(each, (1,) * (rank - len(shape_of(each))) + shape_of(each)) for each in values]

    def clamp(self, value: SSAValue, low: float, high: float) -> SSAValue:
        """Return a TOSA value within bounds; NaN stays NaN."""
        bounds = {"min_val": self.number(low, value), "max_val": self.number(high, value)}
        return self.emit(tosa.ClampOp, [value], value.type, **bounds)

    def number(self, value: float, like: SSAValue) -> Attribute:
        """Return an attribute of the element type of a TOSA value."""
        element = element_of(like)
        if isinstance(element, Float32Type | Float16Type | BFloat16Type):
            return FloatAttr(float(value), element)
        assert isa(element, IntegerType)
        return IntegerAttr(int(value), element)

    def require_element(self, element: Attribute) -> None:
        """Refuse the current operator if TOSA lacks an element type."""
        if element not in ELEMENTS:
            self.refuse(f"elements of {element} (TOSA has f32, f16, bf16, i1, i8, i16 and i32)")

    def result_shape(self, op: OnnxOp) -> tuple[int, ...]:
        """Return the shape of the first result of an operator of the model."""
        shape = static_shape(op.results[0].type)
        if shape is None:
            self.refuse(f"its result is {op.results[0].type} (TOSA has static shapes); give sizes of inputs")
        return shape


def array_attr(*values: int) -> Attribute:
    """Return `array<i64: …>`."""
    return DenseArrayBase.from_list(i64, list(values))


Lower: TypeAlias = "Callable[[Any, TosaBuilder], SSAValue | Sequence[SSAValue]]"

LOWERINGS: dict[type[OnnxOp], Lower] = {}
"""The lowering function of each operator; it returns the value of the first result, or of all."""

QUANTIZED: dict[type[OnnxOp], Callable[[Any, TosaBuilder], bool]] = {}
"""Lowerings in integers, tried first; they return whether they lowered the operator."""

LowerT = TypeVar("LowerT", bound=Lower)
QuantizedT = TypeVar("QuantizedT", bound="Callable[[Any, TosaBuilder], bool]")


def lowers(*kinds: type[OnnxOp]) -> Callable[[LowerT], LowerT]:
    """Register a function as the lowering of operators."""

    def register(function: LowerT) -> LowerT:
        LOWERINGS.update(dict.fromkeys(kinds, function))
        return function

    return register


def lowers_quantized(*kinds: type[OnnxOp]) -> Callable[[QuantizedT], QuantizedT]:
    """Register a function as the lowering of operators on quantized operands."""

    def register(function: QuantizedT) -> QuantizedT:
        QUANTIZED.update(dict.fromkeys(kinds, function))
        return function

    return register


def is_real(value: SSAValue) -> bool:
    """Whether a TOSA value has real elements."""
    return element_type(value.type) in FLOATS
