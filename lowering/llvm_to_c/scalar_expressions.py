"""
Print scalar operations as C expressions.

Integers are unsigned in C, since unsigned arithmetic wraps as in LLVM; signed operations cast. Booleans are
bytes of 0 or 1. A float16 is its 16 bits: kernels only convert from and to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import copysign, isinf, isnan

import numpy as np
from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    f16,
    f32,
    f64,
    i1,
)
from xdsl.ir import Attribute, Operation

from xonnc.dialects.krnl.types import is_integer, is_vector
from xonnc.errors import XonncError

FLOAT_TYPES: dict[Attribute, str] = {f16: "uint16_t", f32: "float", f64: "double"}

UNSIGNED: dict[type[Operation], str] = {
    llvm.AddOp: "+",
    llvm.AndOp: "&",
    llvm.LShrOp: ">>",
    llvm.MulOp: "*",
    llvm.OrOp: "|",
    llvm.ShlOp: "<<",
    llvm.SubOp: "-",
    llvm.UDivOp: "/",
    llvm.URemOp: "%",
    llvm.XOrOp: "^",
}

SIGNED: dict[type[Operation], str] = {llvm.AShrOp: ">>", llvm.SDivOp: "/", llvm.SRemOp: "%"}

FLOAT: dict[type[Operation], str] = {
    llvm.FAddOp: "+",
    llvm.FDivOp: "/",
    llvm.FMulOp: "*",
    llvm.FSubOp: "-",
}

INTEGER_PREDICATES = ("==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">=")
"""By LLVM predicate; 2 to 5 are signed comparisons."""

FLOAT_PREDICATES = (
    "0",
    "{0} == {1}",
    "{0} > {1}",
    "{0} >= {1}",
    "{0} < {1}",
    "{0} <= {1}",
    "({0} < {1} || {0} > {1})",
    "({0} == {0} && {1} == {1})",
    "!({0} < {1} || {0} > {1})",
    "!({0} <= {1})",
    "!({0} < {1})",
    "!({0} >= {1})",
    "!({0} > {1})",
    "{0} != {1}",
    "({0} != {0} || {1} != {1})",
    "1",
)
"""By LLVM predicate: 1 to 7 are ordered (false for NaN), 8 to 14 unordered (true for NaN)."""

LIBM_FUNCTIONS = {
    "abs": "fabs",
    "ceil": "ceil",
    "copysign": "copysign",
    "fabs": "fabs",
    "floor": "floor",
    "fma": "fma",
    "round": "round",
    "roundeven": "nearbyint",
    "trunc": "trunc",
} | {
    name: name
    for name in (
        "acos acosh asin asinh atan atan2 atanh cos cosh exp exp2 log log10 log1p log2 pow sin sinh sqrt "
        "tan tanh expm1 erf"
    ).split()
}
"""LLVM intrinsics on floats with an equivalent in the C library."""


def c_type(type_: Attribute) -> str:
    """Return the C type of a scalar."""
    if isinstance(type_, llvm.LLVMPointerType):
        return "xonnc_bytes"
    if is_integer(type_):
        return f"uint{max(8, type_.width.data)}_t"
    if type_ not in FLOAT_TYPES:
        raise XonncError(f"C has no numbers of type {type_}; a shared library (.so) has")
    return FLOAT_TYPES[type_]


def element(type_: Attribute) -> Attribute:
    """Return the element type of a vector, or the type of a scalar."""
    return type_.element_type if is_vector(type_) else type_


def lanes(type_: Attribute) -> int:
    """Return the number of lanes; 1 for a scalar."""
    return type_.get_shape()[0] if is_vector(type_) else 1


def literals(attribute: Attribute, type_: Attribute) -> list[str]:
    """Return the literals of a constant, by lane."""
    match attribute:
        case IntegerAttr(value=value):
            return [literal(value.data, type_)]
        case FloatAttr(value=value):
            return [literal(value.data, type_)]
        case DenseIntOrFPElementsAttr():
            elements = list(attribute.get_values())
            elements = elements * lanes(type_) if len(elements) == 1 else elements
            return [
                literal(float(each) if isinstance(each, float) else each, element(type_)) for each in elements
            ]
        case _:
            raise XonncError(f"C has no constant {attribute}")


def literal(value: complex | tuple[object, ...], type_: Attribute) -> str:
    """Return a literal; floats are hexadecimal, which is exact."""
    if is_integer(type_) and isinstance(value, int):
        width = type_.width.data
        number = value & ((1 << width) - 1)
        return f"UINT64_C({number})" if width == 64 else f"{number}u"
    if not isinstance(value, float | int):
        raise XonncError(f"C has no constant {value} of type {type_}")
    number = float(value)
    if type_ == f16:
        return f"{int(np.float16(number).view(np.uint16))}u"
    if isnan(number):
        return "NAN"
    if isinf(number):
        return "INFINITY" if number > 0 else "(-INFINITY)"
    text = number.hex() + ("f" if type_ == f32 else "")
    return f"({text})" if copysign(1.0, number) < 0 else text


def signed(text: str, type_: Attribute) -> str:
    """Cast an integer to its signed type."""
    if type_ == i1:
        return f"-(int8_t){text}"
    assert is_integer(type_)
    return f"(int{type_.width.data}_t){text}"


def expression(op: Operation, operands: Sequence[str]) -> str:
    """Return the expression for one lane of a result; `operands` are that lane of each operand."""
    kind = type(op)
    result = element(op.results[0].type)
    source = element(op.operands[0].type)
    match op:
        case _ if kind in FLOAT:
            return f"{operands[0]} {FLOAT[kind]} {operands[1]}"
        case _ if kind in UNSIGNED or kind in SIGNED:
            return _integer(kind, result, operands)
        case llvm.FMAOp():
            return _call("fma", result, operands)
        case llvm.FRemOp():
            return _call("fmod", result, operands)
        case llvm.SelectOp():
            return f"{operands[0]} ? {operands[1]} : {operands[2]}"
        case llvm.ICmpOp(predicate=predicate):
            number = predicate.value.data
            sides = [signed(each, source) for each in operands] if 2 <= number <= 5 else operands
            return f"{sides[0]} {INTEGER_PREDICATES[number]} {sides[1]}"
        case llvm.FCmpOp(predicate=predicate):
            return FLOAT_PREDICATES[predicate.value.data].format(*operands)
        case llvm.CallIntrinsicOp():
            return _intrinsic(op.intrin.data, result, source, operands)
        case _:
            return _cast(op, source, result, operands[0])


def _integer(kind: type[Operation], type_: Attribute, operands: Sequence[str]) -> str:
    assert is_integer(type_)
    width = type_.width.data
    if kind in SIGNED:
        sides = [signed(each, type_) for each in operands]
        return f"({c_type(type_)})({sides[0]} {SIGNED[kind]} {sides[1]})"
    text = f"{operands[0]} {UNSIGNED[kind]} {operands[1]}"
    if width >= 32:
        return text
    # C promotes narrow operands to int, in which the product of two 16-bit integers would overflow.
    return f"({c_type(type_)})((uint32_t){text})" if width > 1 else f"({text}) & 1u"


def _call(name: str, type_: Attribute, operands: Sequence[str]) -> str:
    if type_ not in (f32, f64):
        raise XonncError(f"C has no {name} of {type_}; a shared library (.so) has")
    name = f"xonnc_{name}" if name in ("fma", "fmax", "fmin") else name
    return f"{name}{'f' if type_ == f32 else ''}({', '.join(operands)})"


def _intrinsic(full: str, result: Attribute, source: Attribute, operands: Sequence[str]) -> str:
    names = full.removeprefix("llvm.").split(".")
    name = ".".join(names[:2]) if names[0] in ("fptosi", "fptoui") else names[0]
    match name:
        case "smax" | "smin" | "umax" | "umin":
            sides = [signed(each, result) for each in operands] if name[0] == "s" else operands
            order = ">" if name.endswith("max") else "<"
            return f"{sides[0]} {order} {sides[1]} ? {operands[0]} : {operands[1]}"
        case "maximum" | "minimum":
            return _call(f"f{name[:3]}", result, operands)
        case "fptosi.sat" | "fptoui.sat":
            assert is_integer(result)
            sign = "i" if name == "fptosi.sat" else "u"
            return f"({c_type(result)})xonnc_to_{sign}64({operands[0]}, {result.width.data})"
        case "ptrmask":
            # All bits are kept (`LLVMBuilder.opaque`).
            return operands[0]
        case "x86" if names[2] == "vpdpbusd":
            return _int8_dot(operands)
        case "abs" if is_integer(source):
            return (
                f"{signed(operands[0], source)} < 0 ? ({c_type(result)})(0u - {operands[0]}) : {operands[0]}"
            )
        case _ if name in LIBM_FUNCTIONS:
            return _call(LIBM_FUNCTIONS[name], result, operands)
        case _:
            raise XonncError(f"C has no function '{full}'; a shared library (.so) has")


def _int8_dot(operands: Sequence[str]) -> str:
    """Return a sum plus the four products of u8 and s8 lanes that belong to it."""
    (total, index), (bytes_, _), (factors, _) = map(_array_of, operands)
    subscripts = [f"[4 * {index} + {number}]" for number in range(4)]
    products = " + ".join(f"{bytes_}{each} * (int8_t){factors}{each}" for each in subscripts)
    return f"{total}[{index}] + (uint32_t)({products})"


def _array_of(text: str) -> tuple[str, str]:
    """Split an element access into array and index."""
    array, _, index = text.removesuffix("]").rpartition("[")
    return array, index


def _cast(op: Operation, source: Attribute, result: Attribute, value: str) -> str:
    target = c_type(result)
    match op:
        case llvm.FPExtOp() if source == f16:
            return f"({target})xonnc_from_half({value})"
        case llvm.FPTruncOp() if result == f16 and source == f32:
            return f"xonnc_to_half({value})"
        case llvm.FPExtOp() | llvm.FPTruncOp() if f16 not in (source, result):
            return f"({target}){value}"
        case llvm.SIToFPOp():
            return f"({target}){signed(value, source)}"
        case llvm.SExtOp():
            return f"({target}){signed(value, source)}"
        case llvm.ZExtOp():
            return f"({target}){value}"
        case llvm.TruncOp():
            return f"{value} & 1u" if result == i1 else f"({target}){value}"
        case llvm.BitcastOp():
            return _bits(source, result, value)
        case llvm.PtrToIntOp():
            return f"({target})(uintptr_t){value}"
        case _ if (convert := CONVERSIONS.get(op.name)) is not None:
            return convert(target, value)
        case _:
            raise XonncError(f"C has no {op.name}; a shared library (.so) has")


CONVERSIONS: dict[str, Callable[[str, str], str]] = {
    "llvm.uitofp": lambda target, value: f"({target}){value}",
    "llvm.fneg": lambda target, value: f"-{value}",
}
"""Operations that xDSL has no class for, by name."""


def _bits(source: Attribute, result: Attribute, value: str) -> str:
    names: dict[Attribute, str] = {f32: "float", f64: "double"}
    if c_type(source) == c_type(result):
        return value
    if source in names and is_integer(result):
        return f"xonnc_bits_of_{names[source]}({value})"
    if result in names and is_integer(source):
        return f"xonnc_{names[result]}_of_bits({value})"
    if c_type(result) == "uint8_t":
        # The bytes of each element, in the order of memory.
        array, index = _array_of(value)
        return f"((const unsigned char *){array})[{index}]"
    raise XonncError(f"C has no bits of {source} as {result}; a shared library (.so) has")
