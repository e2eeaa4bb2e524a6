"""
Floats of 16 bits and less, which processors do not compute with: from bits and to bits.

A format is a row of a table; the code is the same for all. Bits move to where they are in an f32, whose
exponent is then put right by one product (or, of numbers below the smallest normal one, by one sum).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, nan

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    IntegerType,
    bf16,
    f4E2M1FN,
    f6E2M3FN,
    f6E3M2FN,
    f8E4M3FN,
    f8E4M3FNUZ,
    f8E5M2,
    f8E5M2FNUZ,
    f8E8M0FNU,
    f32,
    i32,
)
from xdsl.ir import Attribute, SSAValue

from xonnc.lowering.krnl_to_llvm.llvm_builder import Emitter, lanes_of, vector_of

F32_MANTISSA, F32_BIAS = 23, 127
F32_INFINITE = 0x7F800000


@dataclass(frozen=True)
class Format:
    """A small float: one bit of sign, then exponent, then mantissa; `largest` and the rest are bits."""

    width: int
    mantissa: int
    bias: int
    largest: int
    infinite: int | None = None
    no_number: int | None = None

    @property
    def is_unsigned_zero(self) -> bool:
        """Whether what would be -0 is no number, and is the only one."""
        return self.no_number == 1 << (self.width - 1)


FORMATS: dict[Attribute, Format] = {
    bf16: Format(16, 7, 127, 0x7F7F, 0x7F80, 0x7FC0),
    f8E4M3FN: Format(8, 3, 7, 0x7E, None, 0x7F),
    f8E4M3FNUZ: Format(8, 3, 8, 0x7F, None, 0x80),
    f8E5M2: Format(8, 2, 15, 0x7B, 0x7C, 0x7E),
    f8E5M2FNUZ: Format(8, 2, 16, 0x7F, None, 0x80),
    f6E2M3FN: Format(6, 3, 1, 0x1F),
    f6E3M2FN: Format(6, 2, 3, 0x1F),
    f4E2M1FN: Format(4, 1, 1, 0x7),
}


@dataclass(frozen=True)
class _Bits:
    """Integers of 32 bits."""

    to: Emitter
    type_: Attribute

    def number(self, value: int) -> SSAValue:
        return self.to.number(value, self.type_)

    def both(self, a: SSAValue, mask: int) -> SSAValue:
        return self.to.add(llvm.AndOp(a, self.number(mask)))

    def up(self, a: SSAValue, places: int) -> SSAValue:
        return self.to.add(llvm.ShlOp(a, self.number(places))) if places else a

    def down(self, a: SSAValue, places: int) -> SSAValue:
        return self.to.add(llvm.LShrOp(a, self.number(places))) if places else a

    def plus(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.to.add(llvm.AddOp(a, b))

    def either(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.to.add(llvm.OrOp(a, b))

    def pick(self, predicate: str, a: SSAValue, bound: int, then: SSAValue, other: SSAValue) -> SSAValue:
        return self.to.select(self.to.icmp(predicate, a, self.number(bound)), then, other)


def _bits(to: Emitter, like: SSAValue) -> _Bits:
    return _Bits(to, vector_of(i32, lanes_of(like)))


def decode(to: Emitter, value: SSAValue, format_: Attribute) -> SSAValue:
    """The f32 that the bits of a small float are."""
    on = _bits(to, value)
    float_ = vector_of(f32, lanes_of(value))
    bits = to.add(llvm.ZExtOp(value, on.type_))
    if format_ == f8E8M0FNU:
        power = on.pick("eq", bits, 0, on.number(1 << 22), on.up(bits, F32_MANTISSA))
        return to.add(llvm.BitcastOp(on.pick("eq", bits, 0xFF, on.number(0x7FC00000), power), float_))
    form = FORMATS[format_]
    top = form.width - 1
    size = on.both(bits, (1 << top) - 1)
    number = to.add(llvm.BitcastOp(on.up(size, F32_MANTISSA - form.mantissa), float_))
    if form.bias != F32_BIAS:
        number = to.fmul(number, to.number(2.0 ** (F32_BIAS - form.bias), float_))
    if form.bias != F32_BIAS and form.infinite is not None:
        number = on.pick("eq", size, form.infinite, to.number(inf, float_), number)
        number = on.pick("ugt", size, form.infinite, to.number(nan, float_), number)
    elif form.is_unsigned_zero:
        number = on.pick("eq", on.both(bits, (1 << form.width) - 1), 1 << top, to.number(nan, float_), number)
    elif form.infinite is None and form.no_number is not None:
        number = on.pick("eq", size, form.no_number, to.number(nan, float_), number)
    sign = on.up(on.both(bits, 1 << top), 31 - top)
    return to.add(llvm.BitcastOp(on.either(to.add(llvm.BitcastOp(number, on.type_)), sign), float_))


def encode(to: Emitter, value: SSAValue, format_: Attribute, saturate: bool, round_mode: str) -> SSAValue:
    """The bits of the nearest small float, to even where two are."""
    on = _bits(to, value)
    bits = to.add(llvm.BitcastOp(value, on.type_))
    size = on.both(bits, 0x7FFFFFFF)
    if format_ == f8E8M0FNU:
        return _narrow(to, _power(on, size, saturate, round_mode), 8)
    form = FORMATS[format_]
    shift = F32_MANTISSA - form.mantissa
    odd = on.both(on.down(size, shift), 1)
    rounded = on.down(on.plus(size, on.plus(odd, on.number((1 << (shift - 1)) - 1))), shift)
    made = rounded
    if form.bias != F32_BIAS:
        made = on.plus(rounded, on.number(-((F32_BIAS - form.bias) << form.mantissa)))
        made = _below_normal(on, size, made, form)
        beyond = form.largest if saturate else _beyond(form)
        made = on.pick("sgt", made, form.largest, on.number(beyond), made)
    no_number = form.no_number or 0
    made = on.pick("ugt", size, F32_INFINITE, on.number(no_number), made)
    sign = on.up(on.down(bits, 31), form.width - 1)
    if form.is_unsigned_zero:
        sign = on.pick("eq", on.both(made, no_number - 1), 0, on.number(0), sign)
    return _narrow(to, on.either(made, sign), 16 if form.width > 8 else 8)


def _beyond(form: Format) -> int:
    """What is too large for a format that does not saturate."""
    held = form.no_number if form.infinite is None else form.infinite
    return form.largest if held is None else held


def _below_normal(on: _Bits, size: SSAValue, made: SSAValue, form: Format) -> SSAValue:
    """Numbers below the smallest normal one are rounded by a sum whose last place is theirs."""
    float_ = vector_of(f32, lanes_of(size))
    offset = 1 - form.bias - form.mantissa + F32_MANTISSA
    small = on.to.fadd(on.to.add(llvm.BitcastOp(size, float_)), on.to.number(2.0**offset, float_))
    place = on.to.add(llvm.BitcastOp(small, on.type_))
    place = on.plus(place, on.number(-((offset + F32_BIAS) << F32_MANTISSA)))
    return on.pick("ult", size, (1 - form.bias + F32_BIAS) << F32_MANTISSA, place, made)


def _power(on: _Bits, size: SSAValue, saturate: bool, round_mode: str) -> SSAValue:
    """The exponent of f8E8M0FNU: sign left out; what is infinite is no number."""
    exponent = on.down(size, F32_MANTISSA)
    if round_mode == "up":
        exponent = on.down(on.plus(size, on.number((1 << F32_MANTISSA) - 1)), F32_MANTISSA)
    elif round_mode == "nearest":
        # Halves go up, but below the smallest normal number, where only more than half does.
        half = on.pick("ult", size, 1 << F32_MANTISSA, on.number((1 << 22) - 1), on.number(1 << 22))
        exponent = on.down(on.plus(size, half), F32_MANTISSA)
    if saturate:
        exponent = on.pick("ugt", exponent, 0xFE, on.number(0xFE), exponent)
    return on.pick("uge", size, F32_INFINITE, on.number(0xFF), exponent)


def _narrow(to: Emitter, bits: SSAValue, width: int) -> SSAValue:
    return to.add(llvm.TruncOp(bits, vector_of(IntegerType(width), lanes_of(bits))))


def to_odd(to: Emitter, value: SSAValue) -> SSAValue:
    """
    A double as an f32 towards 0, its last bit set if anything was lost.

    Rounding that again to fewer bits gives what rounding the double once would.
    """
    lanes = lanes_of(value)
    nearest = to.add(llvm.FPTruncOp(value, vector_of(f32, lanes)))
    back = to.add(llvm.FPExtOp(nearest, value.type))
    on = _bits(to, value)
    bits = to.add(llvm.BitcastOp(nearest, on.type_))
    is_above = to.fcmp("ogt", to.intrinsic("fabs", back), to.intrinsic("fabs", value))
    is_lost = to.fcmp("one", back, value)
    down = to.add(llvm.SubOp(bits, to.add(llvm.ZExtOp(is_above, on.type_))))
    made = on.either(down, to.add(llvm.ZExtOp(is_lost, on.type_)))
    return to.add(llvm.BitcastOp(made, nearest.type))
