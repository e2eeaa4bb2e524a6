"""Bodies of GNU C functions of `a`, `b`, `c` that compute operations on whole vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects import llvm
from xdsl.dialects.builtin import i1
from xdsl.ir import Operation

from xonnc.lowering.llvm_to_c.scalar_expressions import FLOAT, SIGNED, UNSIGNED, element
from xonnc.lowering.llvm_to_c.vector_types import MIN_VECTOR_BYTES, VectorType

CONVERT = "defined(XONNC_CONVERT)"
"""Whether the compiler has `__builtin_convertvector`."""

INT8_DOT = "int8_dot"
"""Stem of the int8 dot product, whose processor-specific macros are in `int8_dot.c`."""

Body: TypeAlias = Callable[[VectorType, Sequence[VectorType]], str]
"""Return the body for a result type and operand types; these may have fewer lanes than the operation."""


@dataclass(frozen=True)
class VectorOperation:
    """An operation on vectors."""

    stem: str
    """Identifies the operation, together with its types."""
    body: Body
    needs: str = ""
    """A preprocessor condition in addition to the vector size."""


FLOAT_PREDICATES = (
    "(a != a) & (a == a)",
    "a == b",
    "a > b",
    "a >= b",
    "a < b",
    "a <= b",
    "(a < b) | (a > b)",
    "(a == a) & (b == b)",
    "~((a < b) | (a > b))",
    "~(a <= b)",
    "~(a < b)",
    "~(a >= b)",
    "~(a > b)",
    "a != b",
    "(a != a) | (b != b)",
    "(a == a) | (a != a)",
)
"""By LLVM predicate, as in `scalar_expressions.py`; a result lane is a mask."""

INTEGER_PREDICATES = ("==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">=")


def vector_operation(
    op: Operation, result: VectorType, operands: Sequence[VectorType]
) -> VectorOperation | None:
    """Return the vector form of an operation; `None` if it is computed elementwise."""
    kind = type(op)
    is_boolean = element(op.operands[0].type) == i1
    match op:
        case llvm.AndOp() | llvm.OrOp() | llvm.XOrOp():
            return _binary(UNSIGNED[kind])
        case llvm.SelectOp():
            return VectorOperation("select", lambda to, _: f"return {_blend(to, 'a', 'b', 'c')};")
        case _ if is_boolean:
            return None
        case _ if kind in FLOAT:
            return _binary(FLOAT[kind])
        case llvm.UDivOp() | llvm.URemOp() | llvm.SDivOp() | llvm.SRemOp():
            return None
        case _ if kind in UNSIGNED:
            return _binary(UNSIGNED[kind])
        case _ if kind in SIGNED:
            return VectorOperation(
                "ashr", lambda to, _: f"return ({to.name})(({to.signed})a >> ({to.signed})b);"
            )
        case llvm.FMAOp():
            return None if result.bytes < MIN_VECTOR_BYTES else VectorOperation("fma", _fma)
        case llvm.FCmpOp(predicate=predicate):
            number = predicate.value.data
            return VectorOperation(
                f"fcmp{number}", lambda to, _: f"return ({to.name})({FLOAT_PREDICATES[number]});"
            )
        case llvm.ICmpOp(predicate=predicate):
            return _icmp(predicate.value.data)
        case llvm.CallIntrinsicOp():
            return _intrinsic(op.intrin.data, result, operands[0])
        case _:
            return _cast(op, result, operands[0])


def mask() -> VectorOperation:
    """Convert a mask to another lane width."""
    return VectorOperation("mask", _convert(True, True), CONVERT)


def mask_to_boolean() -> VectorOperation:
    """Convert a mask to integers 0 or 1."""
    return VectorOperation("truth", lambda _to, _of: "return a & 1;")


def _binary(symbol: str) -> VectorOperation:
    names = {"+": "add", "-": "sub", "*": "mul", "/": "div", "&": "and", "|": "or", "^": "xor"}
    names |= {"<<": "shl", ">>": "lshr"}
    return VectorOperation(names[symbol], lambda _to, _of: f"return a {symbol} b;")


def _fma(to: VectorType, _: Sequence[VectorType]) -> str:
    return f"return XONNC_FMA_{to.suffix}(a, b, c);"


def _icmp(number: int) -> VectorOperation:
    def body(to: VectorType, operands: Sequence[VectorType]) -> str:
        cast = f"({operands[0].signed})" if 2 <= number <= 5 else ""
        return f"return ({to.name})({cast}a {INTEGER_PREDICATES[number]} {cast}b);"

    return VectorOperation(f"icmp{number}", body)


def _blend(type_: VectorType, condition: str, then: str, other: str) -> str:
    """Return the expression that blends `then` and `other` by a mask."""
    bits = type_.bits.name
    return (
        f"({type_.name})((({bits}){then} & ({bits}){condition}) | (({bits}){other} & ~({bits}){condition}))"
    )


def _convert(from_signed: bool, to_signed: bool) -> Body:
    """Convert between element types, with signed or unsigned integers."""

    def body(to: VectorType, operands: Sequence[VectorType]) -> str:
        source = f"({operands[0].signed})a" if from_signed else "a"
        target = to.signed if to_signed else to.name
        return f"return ({to.name})__builtin_convertvector({source}, {target});"

    return body


def _cast(op: Operation, result: VectorType, source: VectorType) -> VectorOperation | None:
    if "u16" in (result.kind, source.kind) and isinstance(op, llvm.FPExtOp | llvm.FPTruncOp):
        return None
    match op:
        case llvm.FPExtOp() | llvm.FPTruncOp() | llvm.ZExtOp():
            return VectorOperation("convert", _convert(False, False), CONVERT)
        case llvm.TruncOp():
            return (
                None
                if element(op.results[0].type) == i1
                else VectorOperation("convert", _convert(False, False), CONVERT)
            )
        case llvm.SIToFPOp():
            return VectorOperation("from_signed", _convert(True, False), CONVERT)
        case llvm.SExtOp():
            return VectorOperation("extend", _convert(True, True), CONVERT)
        case llvm.BitcastOp():
            return VectorOperation("bits", lambda to, _: f"return ({to.name})a;")
        case _ if op.name == "llvm.uitofp":
            return VectorOperation("convert", _convert(False, False), CONVERT)
        case _ if op.name == "llvm.fneg":
            return VectorOperation("neg", lambda _to, _of: "return -a;")
        case _:
            return None


def _intrinsic(full: str, result: VectorType, source: VectorType) -> VectorOperation | None:
    names = full.removeprefix("llvm.").split(".")
    match names[0]:
        case "smax" | "smin" | "umax" | "umin":
            return _integer_extremum(names[0])
        case "maximum" | "minimum" if result.is_float:
            return _float_extremum(names[0])
        case "fabs" if result.is_float:
            return VectorOperation("fabs", _fabs)
        case "copysign" if result.is_float:
            return VectorOperation("copysign", _copysign)
        case "abs":
            return VectorOperation(
                "abs", lambda to, _: f"return {_blend(to, f'(({to.signed})a < 0)', '(0 - a)', 'a')};"
            )
        case "x86" if names[2] == "vpdpbusd":
            return VectorOperation(INT8_DOT, _int8_dot)
        case "fptosi" if source.kind == "f32" and result.width == 32:
            return VectorOperation("to_signed", _saturating_to_int, CONVERT)
        case _:
            return None


def _integer_extremum(name: str) -> VectorOperation:
    def body(to: VectorType, _: Sequence[VectorType]) -> str:
        cast = f"({to.signed})" if name[0] == "s" else ""
        order = ">" if name.endswith("max") else "<"
        return f"return {_blend(to, f'({cast}a {order} {cast}b)', 'a', 'b')};"

    return VectorOperation(name, body)


def _float_extremum(name: str) -> VectorOperation:
    """
    IEEE 754-2019 maximum and minimum: NaN if an operand is NaN, and -0 < +0.

    If neither operand is larger they are equal or unordered. Equal operands differ at most in the sign of a
    zero, which AND (maximum) or OR (minimum) of the bits combines; unordered ones add to NaN.
    """

    def body(to: VectorType, _: Sequence[VectorType]) -> str:
        order, bit = (">", "&") if name == "maximum" else ("<", "|")
        bits = to.bits.name
        equal = f"({to.name})(({bits})a {bit} ({bits})b)"
        same = _blend(to, "(a == b)", equal, "(a + b)")
        return (
            f"const {to.name} same = {same};\n"
            f"    const {to.name} other = {_blend(to, f'(b {order} a)', 'b', 'same')};\n"
            f"    return {_blend(to, f'(a {order} b)', 'a', 'other')};"
        )

    return VectorOperation(name, body)


def _sign(to: VectorType) -> str:
    return f"{1 << (to.width - 1):#x}u" + ("ll" if to.width == 64 else "")


def _fabs(to: VectorType, _: Sequence[VectorType]) -> str:
    return f"return ({to.name})(({to.bits.name})a & ~{_sign(to)});"


def _copysign(to: VectorType, _: Sequence[VectorType]) -> str:
    bits, sign = to.bits.name, _sign(to)
    return f"return ({to.name})((({bits})a & ~{sign}) | (({bits})b & {sign}));"


def _int8_dot(to: VectorType, operands: Sequence[VectorType]) -> str:
    """
    Int8 dot product of four u8 x s8 products per 32-bit lane.

    By one instruction (VNNI, i8mm); else by two 16-bit multiply-adds for even and odd bytes; else byte by
    byte with shifts. The 16-bit products cannot saturate: 255 * -128 * 2 fits 32 bits.
    """
    pairs = VectorType("u16", to.lanes * 2)
    bytes_, signed = f"({pairs.name})b", f"({pairs.signed})c"
    u, s = to.name, to.signed
    words = [
        f"((({u})b >> {8 * index} & 255) * ({u})(({s})(({u})c << {24 - 8 * index}) >> 24))"
        for index in range(4)
    ]
    return (
        f"\n#if defined(XONNC_DOT_{to.suffix})\n"
        f"    return XONNC_DOT_{to.suffix}(a, b, c);\n"
        f"#elif defined(XONNC_PAIRS_{to.suffix})\n"
        f"    const {to.name} even = XONNC_PAIRS_{to.suffix}({bytes_} & 255, {signed} << 8 >> 8);\n"
        f"    return a + even + XONNC_PAIRS_{to.suffix}({bytes_} >> 8, {signed} >> 8);\n"
        "#else\n"
        f"    return a + {' + '.join(words)};\n"
        "#endif"
    )


def _saturating_to_int(to: VectorType, operands: Sequence[VectorType]) -> str:
    """
    Convert f32 to i32 with saturation; NaN becomes 0.

    Clamp as float first: 0x1.fffffep30 is the largest f32 below 2^31, since 2^31 - 1 is not representable.
    Lanes of 2^31 and above are then set to 2^31 - 1.
    """
    float_ = operands[0]
    zero, low, high, end = (
        f"xonnc_splat_{float_.suffix}({number})"
        for number in ("0.0f", "-0x1p31f", "0x1.fffffep30f", "0x1p31f")
    )
    return (
        f"const {float_.name} number = {_blend(float_, '(a == a)', 'a', zero)};\n"
        f"    const {float_.name} raised = {_blend(float_, f'(number < {low})', low, 'number')};\n"
        f"    const {float_.name} limited = {_blend(float_, f'(raised > {high})', high, 'raised')};\n"
        f"    const {to.signed} whole = __builtin_convertvector(limited, {to.signed});\n"
        f"    return {_blend(to, f'(a >= {end})', f'xonnc_splat_{to.suffix}(0x7fffffffu)', 'whole')};"
    )
