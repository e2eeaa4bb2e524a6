"""Expressions on scalars in a kernel, with Python's operators."""

from __future__ import annotations

from typing import TypeAlias

from xdsl.dialects import arith, math
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import IndexType, IntegerType, f32, f64, i1, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from xonnc.dialects.krnl.math import ErfOp
from xonnc.dialects.krnl.types import is_integer
from xonnc.lowering.onnx_to_krnl.builders.kernel_builder import KernelBuilder
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import Size, is_static

INDEX = IndexType()

ROUND_MAGIC = 12582912.0
"""
1.5 · 2²³: adding it to an f32 below 2²² rounds to the nearest integer, ties to even, in the low mantissa
bits.
"""
ROUND_MAGIC_BITS = 0x4B400000

ROUND_MAGIC_F64 = 1.5 * 2**52
"""1.5 · 2⁵²: the same for an f64. Its low 32 bits are 0, so those of the sum are the integer."""

Number: TypeAlias = "Scalar | float"


class Scalar:
    """
    A float, signed integer, index or boolean SSA value of a kernel.

    Operands are of one type; Python numbers become constants of it. Integer division truncates, so it is
    floor division only for operands that are not negative.
    """

    def __init__(self, kernel: KernelBuilder, value: SSAValue) -> None:
        self.kernel = kernel
        self.value = value

    @property
    def type(self) -> Attribute:
        """The type of the value."""
        return self.value.type

    @property
    def is_float(self) -> bool:
        """Whether it is f32 or f64."""
        return self.type in (f32, f64)

    def like(self, number: Number) -> Scalar:
        """Return a number as a scalar of this one's type."""
        if isinstance(number, Scalar):
            return number
        if self.type == INDEX:
            return Scalar(self.kernel, self.kernel.index(int(number)))
        return Scalar(self.kernel, self.kernel.constant(number, self.type))

    def made(self, op: Operation) -> Scalar:
        """Insert an op of a single result, and return that."""
        return Scalar(self.kernel, self.kernel.add(op))

    def _with(self, other: Number, floats: type[Operation], integers: type[Operation]) -> Scalar:
        kind = floats if self.is_float else integers
        values = [self.value, self.like(other).value]
        return self.made(kind.create(operands=values, result_types=[self.type]))

    def __add__(self, other: Number) -> Scalar:
        return self._with(other, arith.AddfOp, arith.AddiOp)

    def scaled_by(self, factor: int) -> Scalar:
        """Return the product with a constant: this value itself for 1."""
        return self if factor == 1 else self * factor

    def offset_by(self, number: Size) -> Scalar:
        """Return the sum with a constant, this value itself for 0, or of an index with a symbolic size."""
        if not is_static(number):
            return Scalar(self.kernel, self.kernel.affine(self.value, 1, number))
        return self + number if number else self

    def __radd__(self, other: Number) -> Scalar:
        return self.like(other) + self

    def __sub__(self, other: Number) -> Scalar:
        return self._with(other, arith.SubfOp, arith.SubiOp)

    def __rsub__(self, other: Number) -> Scalar:
        return self.like(other) - self

    def __mul__(self, other: Number) -> Scalar:
        return self._with(other, arith.MulfOp, arith.MuliOp)

    def __rmul__(self, other: Number) -> Scalar:
        return self.like(other) * self

    def __truediv__(self, other: Number) -> Scalar:
        return self.made(arith.DivfOp(self.value, self.like(other).value))

    def __rtruediv__(self, other: Number) -> Scalar:
        return self.like(other) / self

    def __floordiv__(self, other: Number) -> Scalar:
        return self.made(arith.DivSIOp(self.value, self.like(other).value))

    def __mod__(self, other: Number) -> Scalar:
        return self.made(arith.RemSIOp(self.value, self.like(other).value))

    def __neg__(self) -> Scalar:
        return self.like(-0.0 if self.is_float else 0) - self

    def __and__(self, other: Number) -> Scalar:
        return self.made(arith.AndIOp(self.value, self.like(other).value))

    def __or__(self, other: Number) -> Scalar:
        return self.made(arith.OrIOp(self.value, self.like(other).value))

    def __xor__(self, other: Number) -> Scalar:
        return self.made(arith.XOrIOp(self.value, self.like(other).value))

    def divide_unsigned(self, divisor: Number) -> Scalar:
        """The quotient of integers, both unsigned."""
        return self.made(arith.DivUIOp(self.value, self.like(divisor).value))

    def remainder_unsigned(self, divisor: Number) -> Scalar:
        """The remainder of a division of integers, both unsigned."""
        return self.made(arith.RemUIOp(self.value, self.like(divisor).value))

    def shift_left(self, bits: Number) -> Scalar:
        """The integer shifted left by a number of bits."""
        return self.made(arith.ShLIOp(self.value, self.like(bits).value))

    def shift_right(self, bits: Number) -> Scalar:
        """The integer shifted right by a number of bits, zeros coming in."""
        return self.made(arith.ShRUIOp(self.value, self.like(bits).value))

    def shift_right_signed(self, bits: Number) -> Scalar:
        """The integer shifted right by a number of bits, copies of its sign coming in."""
        return self.made(arith.ShRSIOp(self.value, self.like(bits).value))

    def bitcast(self, type_: Attribute) -> Scalar:
        """The same bits as another type of the same width."""
        return self.made(arith.BitcastOp(self.value, type_))

    def __invert__(self) -> Scalar:
        return self ^ (1 if self.type == i1 else -1)

    def compare(self, other: Number, predicate: str) -> Scalar:
        """Compare by `eq`, `ne`, `lt`, `le`, `gt` or `ge`."""
        second = self.like(other).value
        if self.is_float:
            # NaN differs from everything, itself too, and is not ordered.
            return self.made(
                arith.CmpfOp(self.value, second, f"{'u' if predicate == 'ne' else 'o'}{predicate}")
            )
        signed = predicate if predicate in ("eq", "ne") else f"s{predicate}"
        return self.made(arith.CmpiOp(self.value, second, signed))

    def __lt__(self, other: Number) -> Scalar:
        return self.compare(other, "lt")

    def __le__(self, other: Number) -> Scalar:
        return self.compare(other, "le")

    def __gt__(self, other: Number) -> Scalar:
        return self.compare(other, "gt")

    def __ge__(self, other: Number) -> Scalar:
        return self.compare(other, "ge")

    def equals(self, other: Number) -> Scalar:
        """Whether both are equal."""
        return self.compare(other, "eq")

    def differs(self, other: Number) -> Scalar:
        """Whether they are not equal; true for NaN."""
        return self.compare(other, "ne")

    def compare_unsigned(self, other: Number, predicate: str) -> Scalar:
        """Compare integers, both unsigned, by `lt`, `le`, `gt` or `ge`."""
        return self.made(arith.CmpiOp(self.value, self.like(other).value, f"u{predicate}"))

    def is_nan(self) -> Scalar:
        """Whether a float is NaN."""
        return self.made(arith.CmpfOp(self.value, self.value, "uno"))

    def is_number(self) -> Scalar:
        """Whether a float is not NaN."""
        return self.made(arith.CmpfOp(self.value, self.value, "ord"))

    def select(self, then: Number, otherwise: Number) -> Scalar:
        """Select by this boolean; at least one operand is a Scalar."""
        if isinstance(then, Scalar):
            first, second = then, then.like(otherwise)
        else:
            assert isinstance(otherwise, Scalar)
            first, second = otherwise.like(then), otherwise
        return self.made(arith.SelectOp(self.value, first.value, second.value))

    def maximum(self, bound: Number, flags: FastMathFlagsAttr | None = None) -> Scalar:
        """The larger of both; NaN if one is NaN."""
        if flags is not None:
            return self.made(arith.MaximumfOp(self.value, self.like(bound).value, flags))
        return self._with(bound, arith.MaximumfOp, arith.MaxSIOp)

    def minimum(self, bound: Number, flags: FastMathFlagsAttr | None = None) -> Scalar:
        """The smaller of both; NaN if one is NaN."""
        if flags is not None:
            return self.made(arith.MinimumfOp(self.value, self.like(bound).value, flags))
        return self._with(bound, arith.MinimumfOp, arith.MinSIOp)

    def clamp(self, low: Number, high: Number) -> Scalar:
        """Clamp to [low, high]."""
        return self.maximum(low).minimum(high)

    def multiply_add(self, factor: Number, addend: Number) -> Scalar:
        """The product with a factor plus an addend, rounded once."""
        return self.made(math.FmaOp(self.value, self.like(factor).value, self.like(addend).value))

    def copy_sign(self, other: Scalar) -> Scalar:
        """The float with the sign of another."""
        return self.made(math.CopySignOp(self.value, other.value))

    def power(self, exponent: Number) -> Scalar:
        """The float to the power of another."""
        return self.made(math.PowFOp(self.value, self.like(exponent).value))

    def function(self, kind: type[Operation]) -> Scalar:
        """Apply an op of one float."""
        return self.made(kind.create(operands=[self.value], result_types=[self.type]))

    def abs(self) -> Scalar:
        """Absolute value."""
        return self.function(math.AbsFOp) if self.is_float else self.maximum(-self)

    def ceil(self) -> Scalar:
        """Round up to an integer."""
        return self.function(math.CeilOp)

    def cos(self) -> Scalar:
        """Cosine."""
        return self.function(math.CosOp)

    def erf(self) -> Scalar:
        """The error function."""
        return self.function(ErfOp)

    def exp(self, flags: FastMathFlagsAttr | None = None) -> Scalar:
        """`e^x`"""
        return self.made(math.ExpOp(self.value, flags))

    def floor(self) -> Scalar:
        """Round down to an integer."""
        return self.function(math.FloorOp)

    def log(self) -> Scalar:
        """The natural logarithm."""
        return self.function(math.LogOp)

    def round(self) -> Scalar:
        """Round to the nearest integer, ties to even."""
        return self.function(math.RoundEvenOp)

    def sin(self) -> Scalar:
        """Sine."""
        return self.function(math.SinOp)

    def sqrt(self) -> Scalar:
        """The square root."""
        return self.function(math.SqrtOp)

    def tanh(self) -> Scalar:
        """The hyperbolic tangent."""
        return self.function(math.TanhOp)

    def trunc(self) -> Scalar:
        """Round to an integer, towards 0."""
        return self.function(math.TruncOp)

    def small_integer(self) -> Scalar:
        """Convert an integral f32 within ±2²² to i32."""
        return (self + ROUND_MAGIC).bitcast(i32) - ROUND_MAGIC_BITS

    def stored_as(self, element: Attribute, saturate: bool = True, round_mode: str = "up") -> Scalar:
        """Convert to the stored form of an element type."""
        return Scalar(self.kernel, self.kernel.to_storage_type(self.value, element, saturate, round_mode))

    def rounded_to(self, element: Attribute) -> Scalar:
        """Round to an element type; the result is in the type that kernels compute in."""
        return self.stored_as(element).widened(element)

    def widened(self, element: Attribute) -> Scalar:
        """Convert the stored form of an element type to the type that kernels compute in."""
        return Scalar(self.kernel, self.kernel.to_compute_type(self.value, element))

    def to(self, type_: Attribute, unsigned: bool = False) -> Scalar:
        """
        Convert to another type.

        Floats are truncated to integers, saturating. `unsigned` is for signless integers that are unsigned.
        """
        if self.type == type_:
            return self
        if self.type == INDEX:
            number = type_ if is_integer(type_) and type_ != i1 else i64
            return self.made(arith.IndexCastOp(self.value, number)).to(type_)
        if type_ == INDEX:
            return self.made(arith.IndexCastOp(self.to(i64, unsigned).value, INDEX))
        if self.is_float:
            return self._float_to(type_)
        unsigned = unsigned or self.type == i1
        if is_integer(type_):
            return self._resized(type_, unsigned)
        assert is_integer(self.type)
        wide = self._resized(i32 if self.type.width.data < i32.width.data else i64, unsigned)
        return self.made(arith.SIToFPOp(wide.value, f64 if type_ == f64 else f32))

    def _float_to(self, type_: Attribute) -> Scalar:
        if type_ == f64:
            return self.made(arith.ExtFOp(self.value, f64))
        if type_ == f32:
            return self.made(arith.TruncFOp(self.value, f32))
        if type_ == i1:
            return self.differs(0)
        assert is_integer(type_)
        return self.made(arith.FPToSIOp(self.value, type_))

    def _resized(self, type_: IntegerType, unsigned: bool) -> Scalar:
        assert is_integer(self.type)
        width = self.type.width.data
        if width == type_.width.data:
            return self
        if width > type_.width.data:
            return self.differs(0) if type_ == i1 else self.made(arith.TruncIOp(self.value, type_))
        return self.made((arith.ExtUIOp if unsigned else arith.ExtSIOp)(self.value, type_))
