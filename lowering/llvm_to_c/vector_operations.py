"""What ops give on whole vectors, as bodies of GNU C functions of `a`, `b` and `c`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects import llvm
from xdsl.dialects.builtin import i1
from xdsl.ir import Operation

from xonnc.lowering.llvm_to_c.scalar_expressions import FLOAT, SIGNED, UNSIGNED, element
from xonnc.lowering.llvm_to_c.vector_types import LEAST_BYTES, Vector

CONVERT = "defined(XONNC_CONVERT)"
"""Whether the compiler has `__builtin_convertvector`."""

INT8_DOT = "int8_dot"
"""The op that `int8_dot.c` has the instructions for."""

Body: TypeAlias = Callable[[Vector, Sequence[Vector]], str]
"""The text for a result and operands of these types, which may be halves of those of the op."""


@dataclass(frozen=True)
class Form:
    """One op on vectors."""

    stem: str
    """With the types, what there is to know of the op."""
    body: Body
    needs: str = ""
    """A condition of C's preprocessor beside that the processor has vectors that long."""


FLOAT_ORDER = (
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
"""By predicate, as in `expressions.py`."""

INTEGER_ORDER = ("==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">=")


def form_of(op: Operation, result: Vector, operands: Sequence[Vector]) -> Form | None:
    """How an op is written on vectors; `None` if it is number by number."""
    kind = type(op)
    is_truth = element(op.operands[0].type) == i1
    match op:
        case llvm.AndOp() | llvm.OrOp() | llvm.XOrOp():
            return _binary(UNSIGNED[kind])
        case llvm.SelectOp():
            return Form("select", lambda to, _: f"return {_either(to, 'a', 'b', 'c')};")
        case _ if is_truth:
            return None
        case _ if kind in FLOAT:
            return _binary(FLOAT[kind])
        case llvm.UDivOp() | llvm.URemOp() | llvm.SDivOp() | llvm.SRemOp():
            return None
        case _ if kind in UNSIGNED:
            return _binary(UNSIGNED[kind])
        case _ if kind in SIGNED:
            return Form("ashr", lambda to, _: f"return ({to.name})(({to.signed})a >> ({to.signed})b);")
        case llvm.FMAOp():
            return None if result.bytes < LEAST_BYTES else Form("fma", _fma)
        case llvm.FCmpOp(predicate=predicate):
            number = predicate.value.data
            return Form(f"fcmp{number}", lambda to, _: f"return ({to.name})({FLOAT_ORDER[number]});")
        case llvm.ICmpOp(predicate=predicate):
            return _icmp(predicate.value.data)
        case llvm.CallIntrinsicOp():
            return _intrinsic(op.intrin.data, result, operands[0])
        case _:
            return _cast(op, result, operands[0])


def mask() -> Form:
    """Truth values of one width as those of another."""
    return Form("mask", _convert(True, True), CONVERT)


def truth() -> Form:
    """Truth values as integers, 0 or 1."""
    return Form("truth", lambda _to, _of: "return a & 1;")


def _binary(symbol: str) -> Form:
    names = {"+": "add", "-": "sub", "*": "mul", "/": "div", "&": "and", "|": "or", "^": "xor"}
    names |= {"<<": "shl", ">>": "lshr"}
    return Form(names[symbol], lambda _to, _of: f"return a {symbol} b;")


def _fma(to: Vector, _: Sequence[Vector]) -> str:
    return f"return XONNC_FMA_{to.suffix}(a, b, c);"


def _icmp(number: int) -> Form:
    def body(to: Vector, operands: Sequence[Vector]) -> str:
        cast = f"({operands[0].signed})" if 2 <= number <= 5 else ""
        return f"return ({to.name})({cast}a {INTEGER_ORDER[number]} {cast}b);"

    return Form(f"icmp{number}", body)


def _either(type_: Vector, condition: str, then: str, other: str) -> str:
    """`then` in the lanes where the bits of the condition are set."""
    bits = type_.bits.name
    return (
        f"({type_.name})((({bits}){then} & ({bits}){condition}) | (({bits}){other} & ~({bits}){condition}))"
    )


def _convert(from_signed: bool, to_signed: bool) -> Body:
    """Numbers of one type as the nearest of another, integers with or without sign."""

    def body(to: Vector, operands: Sequence[Vector]) -> str:
        source = f"({operands[0].signed})a" if from_signed else "a"
        target = to.signed if to_signed else to.name
        return f"return ({to.name})__builtin_convertvector({source}, {target});"

    return body


def _cast(op: Operation, result: Vector, source: Vector) -> Form | None:
    if "u16" in (result.kind, source.kind) and isinstance(op, llvm.FPExtOp | llvm.FPTruncOp):
        return None
    match op:
        case llvm.FPExtOp() | llvm.FPTruncOp() | llvm.ZExtOp():
            return Form("convert", _convert(False, False), CONVERT)
        case llvm.TruncOp():
            return (
                None
                if element(op.results[0].type) == i1
                else Form("convert", _convert(False, False), CONVERT)
            )
        case llvm.SIToFPOp():
            return Form("from_signed", _convert(True, False), CONVERT)
        case llvm.SExtOp():
            return Form("extend", _convert(True, True), CONVERT)
        case llvm.BitcastOp():
            return Form("bits", lambda to, _: f"return ({to.name})a;")
        case _ if op.name == "llvm.uitofp":
            return Form("convert", _convert(False, False), CONVERT)
        case _ if op.name == "llvm.fneg":
            return Form("neg", lambda _to, _of: "return -a;")
        case _:
            return None


def _intrinsic(full: str, result: Vector, source: Vector) -> Form | None:
    names = full.removeprefix("llvm.").split(".")
    match names[0]:
        case "smax" | "smin" | "umax" | "umin":
            return _integer_extreme(names[0])
        case "maximum" | "minimum" if result.is_float:
            return _extreme(names[0])
        case "fabs" if result.is_float:
            return Form("fabs", _fabs)
        case "copysign" if result.is_float:
            return Form("copysign", _copysign)
        case "abs":
            return Form(
                "abs", lambda to, _: f"return {_either(to, f'(({to.signed})a < 0)', '(0 - a)', 'a')};"
            )
        case "x86" if names[2] == "vpdpbusd":
            return Form(INT8_DOT, _int8_dot)
        case "fptosi" if source.kind == "f32" and result.width == 32:
            return Form("to_signed", _saturated, CONVERT)
        case _:
            return None


def _integer_extreme(name: str) -> Form:
    def body(to: Vector, _: Sequence[Vector]) -> str:
        cast = f"({to.signed})" if name[0] == "s" else ""
        order = ">" if name.endswith("max") else "<"
        return f"return {_either(to, f'({cast}a {order} {cast}b)', 'a', 'b')};"

    return Form(name, body)


def _extreme(name: str) -> Form:
    """No number where one is none, for which the sum does; zeros differ in the sign alone."""

    def body(to: Vector, _: Sequence[Vector]) -> str:
        order, bit = (">", "&") if name == "maximum" else ("<", "|")
        bits = to.bits.name
        equal = f"({to.name})(({bits})a {bit} ({bits})b)"
        same = _either(to, "(a == b)", equal, "(a + b)")
        return (
            f"const {to.name} same = {same};\n"
            f"    const {to.name} other = {_either(to, f'(b {order} a)', 'b', 'same')};\n"
            f"    return {_either(to, f'(a {order} b)', 'a', 'other')};"
        )

    return Form(name, body)


def _sign(to: Vector) -> str:
    return f"{1 << (to.width - 1):#x}u" + ("ll" if to.width == 64 else "")


def _fabs(to: Vector, _: Sequence[Vector]) -> str:
    return f"return ({to.name})(({to.bits.name})a & ~{_sign(to)});"


def _copysign(to: Vector, _: Sequence[Vector]) -> str:
    bits, sign = to.bits.name, _sign(to)
    return f"return ({to.name})((({bits})a & ~{sign}) | (({bits})b & {sign}));"


def _int8_dot(to: Vector, operands: Sequence[Vector]) -> str:
    """
    Four products in each lane: by one instruction, or by pairs of 16 bits, the even and the odd bytes.

    Without either, bytes are taken out of their lanes one by one.
    """
    pairs = Vector("u16", to.lanes * 2)
    bytes_, signed = f"({pairs.name})b", f"({pairs.signed})c"
    u, s = to.name, to.signed
    words = [
        f"((({u})b >> {8 * place} & 255) * ({u})(({s})(({u})c << {24 - 8 * place}) >> 24))"
        for place in range(4)
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


def _saturated(to: Vector, operands: Sequence[Vector]) -> str:
    """Integers of 32 bits: limited as floats, the largest of which is below the largest integer."""
    float_ = operands[0]
    zero, low, high, end = (
        f"xonnc_splat_{float_.suffix}({number})"
        for number in ("0.0f", "-0x1p31f", "0x1.fffffep30f", "0x1p31f")
    )
    return (
        f"const {float_.name} number = {_either(float_, '(a == a)', 'a', zero)};\n"
        f"    const {float_.name} raised = {_either(float_, f'(number < {low})', low, 'number')};\n"
        f"    const {float_.name} limited = {_either(float_, f'(raised > {high})', high, 'raised')};\n"
        f"    const {to.signed} whole = __builtin_convertvector(limited, {to.signed});\n"
        f"    return {_either(to, f'(a >= {end})', f'xonnc_splat_{to.suffix}(0x7fffffffu)', 'whole')};"
    )
