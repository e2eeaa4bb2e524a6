"""Generators of instances of the patterns of constant propagation."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from xonnc.dialects.onnx.types import element_type_of
from xonnc.fuzzing.rules.comparison import FOLDED, SAME, Closeness
from xonnc.fuzzing.rules.draws import Draw, Generator, Shape
from xonnc.fuzzing.rules.generators import text
from xonnc.fuzzing.rules.generators.constprop_moving import GENERATORS as MOVING
from xonnc.fuzzing.rules.instances import Example
from xonnc.fuzzing.rules.values import Kind
from xonnc.rewriting.patterns import Array
from xonnc.transforms.rules import constprop_elementwise, constprop_movement, constprop_reduction


def neutral(number: int) -> Generator:
    """A neutral element as an operand that broadcasts to the other one."""

    def make(draw: Draw) -> Example:
        shape = draw.shape()
        return Example({"x": shape, "c": np.full(draw.narrower(shape), number)})

    return make


def without_zeros(draw: Draw, shape: Shape) -> Array:
    """Return divisors, without 0 for integers."""
    array = draw.array(shape, special=draw.is_float)
    return np.where(array == 0, np.array(3, array.dtype), array) if draw.is_integer else array


def quotient(draw: Draw) -> Example:
    """A division, without 0 as an integer divisor."""
    a, b = draw.broadcast(2)
    return Example({"a": a, "b": without_zeros(draw, b)})


def remainder(draw: Draw) -> Example:
    """Mod with the sign of either operand; for floats that of the dividend only (fmod)."""
    a, b = draw.broadcast(2)
    return Example({"a": a, "b": without_zeros(draw, b)}, {"fmod": 1 if draw.is_float else draw.flag()})


def power(draw: Draw) -> Example:
    """Pow with small exponents, which are integers where the base may be negative."""
    a, b = draw.broadcast(2)
    if draw.is_integer:
        return Example({"a": draw.random.integers(0, 3, a), "b": draw.random.integers(0, 4, b)})
    if draw.flag():
        return Example({"a": a, "b": draw.random.integers(-3, 4, b)})
    return Example({"a": draw.reals(0, 3, a), "b": draw.reals(-2, 2, b)})


TARGETS: tuple[Kind, ...] = (
    np.float32,
    np.float16,
    np.float64,
    ml_dtypes.bfloat16,
    np.int8,
    np.int16,
    np.int32,
    np.int64,
    np.uint8,
    np.uint16,
    np.uint32,
    np.uint64,
    np.bool_,
    ml_dtypes.float8_e4m3fn,
    ml_dtypes.float8_e5m2,
)


def cast(draw: Draw) -> Example:
    """A cast of values in the target's range, and from float to float also of NaN and infinities."""
    target = draw.pick(*TARGETS)
    numbers = draw.reals(0 if np.dtype(target).name.startswith("uint") else -7, 7, draw.shape())
    to_float = np.dtype(target).kind == "f" or "float" in np.dtype(target).name
    if draw.is_float and to_float and numbers.size:
        numbers.reshape(-1)[: draw.number_in(0, 4)] = draw.pick(np.nan, np.inf, -np.inf, -0.0)
    return Example({"c": numbers}, {"to": element_type_of(np.dtype(target)), "saturate": draw.flag()})


def clip(draw: Draw) -> Example:
    """A Clip with bounds that may be absent, or with min > max."""
    low = draw.array(()) if draw.flag() else None
    return Example(
        {"c": draw.shape(), "low": low, "high": draw.array(()) if draw.flag() or not low else None}
    )


def where(draw: Draw) -> Example:
    """A Where with a condition of any shape."""
    condition, a, b = draw.broadcast(3)
    chosen = draw.pick(np.ones, np.zeros)(condition) if draw.flag() else draw.random.integers(0, 2, condition)
    return Example({"condition": chosen.astype(np.bool_), "a": a, "b": b})


def matrices(draw: Draw, inner: int) -> tuple[Shape, Shape]:
    """Return shapes of two MatMul operands: vectors, matrices, batches that broadcast."""
    batch = draw.broadcast(2, 2)
    left: Shape = (*batch[0], draw.size(empty=True), inner)
    right: Shape = (*batch[1], inner, draw.size(empty=True))
    return (left[-1:] if draw.number_in(0, 4) == 0 else left), (
        right[-2:-1] if draw.number_in(0, 4) == 0 else right
    )


def product(draw: Draw) -> Example:
    """A MatMul; no special floats, since on overflow the result depends on the order of the sums."""
    a, b = matrices(draw, draw.size(empty=True))
    return Example({"a": a, "b": b}, specials=draw.is_integer)


def product_with_zeros(left: bool) -> Generator:
    """A MatMul with one operand of zeros."""

    def make(draw: Draw) -> Example:
        a, b = matrices(draw, draw.size(empty=True))
        return Example({"c": np.zeros(a), "x": b} if left else {"x": a, "c": np.zeros(b)})

    return make


def zero_points(draw: Draw, a: Shape, b: Shape) -> tuple[Array | None, Array | None]:
    """Return zero points, per tensor or for each row of the left and each column of the right operand."""
    rows, columns = (a[-2], 1), b[-1:]
    az, bz = (draw.array(draw.pick((), shape)) if draw.number_in(0, 2) else None for shape in (rows, columns))
    return az, bz


def integer_product(draw: Draw) -> Example:
    """An int8 product with zero points."""
    a, b = (draw.size(), 3), (3, draw.size())
    az, bz = zero_points(draw, a, b)
    return Example({"a": a, "b": b, "az": az, "bz": bz})


def everywhere(zero: Array | None, shape: Shape) -> Array:
    """Return a matrix all of whose elements are the zero point."""
    return np.zeros(shape) if zero is None else np.broadcast_to(zero, shape)


def integer_product_of_nothing(left: bool) -> Generator:
    """An int8 product with one operand all of whose elements are its zero point."""

    def make(draw: Draw) -> Example:
        a, b = (draw.size(), 3), (3, draw.size())
        az, bz = zero_points(draw, a, b)
        if left:
            return Example({"c": everywhere(az, a), "x": b, "az": az, "bz": bz})
        return Example({"x": a, "c": everywhere(bz, b), "az": az, "bz": bz})

    return make


def gemm(draw: Draw) -> Example:
    """A Gemm with random attributes; alpha and beta are 1 for integers."""
    m, k, n, ta, tb = draw.size(), draw.size(), draw.size(), draw.flag(), draw.flag()
    c = draw.pick(None, (), (1,), (n,), (m, 1), (1, n), (m, n))
    alpha, beta = (draw.real(), draw.real()) if draw.is_float else (1.0, 1.0)
    return Example(
        {"a": (k, m) if ta else (m, k), "b": (n, k) if tb else (k, n), "c": c},
        {"alpha": alpha, "beta": beta, "transa": ta, "transb": tb},
        # The reference multiplies integers by alpha in float64, and computes 0 times infinity as 0.
        specials=False,
    )


def reduction(draw: Draw) -> Example:
    """A reduction over some axes, all, or none; not over empty axes where that has no result."""
    shape = draw.shape(empty=False)
    axes = draw.axes(len(shape)) if draw.number_in(0, 3) else None
    return Example(
        {"c": shape, "axes": None if axes is None else np.array(axes, np.int64)},
        {"keepdims": draw.flag(), "noop": draw.flag()},
        # The reference divides sums in float64.
        specials=draw.dtype.itemsize < 8 or draw.is_float,
    )


def formula(draw: Draw) -> Example:
    """A reduction over explicit axes: the reference fails without them, and gives NaN for infinities."""
    shape = draw.shape(empty=False)
    axes = np.array(draw.axes(len(shape)) or range(len(shape)), np.int64)
    return Example({"c": shape, "axes": axes}, {"keepdims": draw.flag(), "noop": 0}, specials=False)


def old_formula(draw: Draw) -> Example:
    """The same with axes as an attribute."""
    shape = draw.shape(empty=False)
    axes = draw.axes(len(shape)) if draw.number_in(0, 3) else None
    properties = {"axes": None if not axes else list(axes), "keepdims": draw.flag()}
    return Example({"c": shape}, properties, specials=False, opset=13)


BY_FORMULA = [f"Reduce{name}ofConst" for name in ("L1", "L2", "LogSum", "SumSquare")]
BY_OLD_FORMULA = [f"Reduce{name}V13ofConst" for name in ("L1", "L2", "LogSum", "LogSumExp", "SumSquare")]

GENERATORS: dict[str, Generator] = {
    **dict.fromkeys(BY_FORMULA, formula),
    **dict.fromkeys(BY_OLD_FORMULA, old_formula),
    **text.CONSTPROP,
    "AddZerosOnRhs": neutral(0),
    "SubZerosOnRhs": neutral(0),
    "MulOnesOnRhs": neutral(1),
    "DivOnesOnRhs": neutral(1),
    "DivConstProp": quotient,
    "ModConstPropPattern": remainder,
    "PowConstProp": power,
    "CastofConst": cast,
    "ClipConstProp": clip,
    "WhereConstProp": where,
    "GemmConstProp": gemm,
    "MatMulOfConsts": product,
    "MatMulIntegerOfConsts": integer_product,
    "MatMulZerosOnLhs": product_with_zeros(True),
    "MatMulZerosOnRhs": product_with_zeros(False),
    "MatMulIntegerConstZeroLhs": integer_product_of_nothing(True),
    "MatMulIntegerConstZeroRhs": integer_product_of_nothing(False),
    **dict.fromkeys([f"Reduce{name}ConstProp" for name in ("Max", "Mean", "Min", "Prod", "Sum")], reduction),
    **MOVING,
}

CLOSENESS: dict[str, Closeness] = {
    **dict.fromkeys(constprop_elementwise.RULES, FOLDED),
    **dict.fromkeys(constprop_reduction.RULES, FOLDED),
    **dict.fromkeys(constprop_movement.RULES, SAME),
    # The reference accumulates float16 and bfloat16 in their own type; here they are accumulated in float64.
    "ReduceMeanConstProp": Closeness(ulps=1, steps=4, narrow=4),
    **dict.fromkeys((*BY_FORMULA, *BY_OLD_FORMULA), Closeness(ulps=2, steps=4)),
    # Of a sum that cancels, the logarithm magnifies the error.
    **dict.fromkeys(("ReduceLogSumofConst", "ReduceLogSumV13ofConst"), Closeness(ulps=2, steps=256)),
    # The reference rounds the product, the factors and the sum one by one.
    "GemmConstProp": Closeness(ulps=1, steps=2, narrow=4),
    # The reference rounds each step to the type; here steps are computed in float64.
    "SigmoidofConst": Closeness(ulps=2),
    # The reference has numpy take (start + delta) - start for delta.
    "RangeConstProp": Closeness(ulps=8),
    # The reference uses NumPy's float32 functions; here float64 results are rounded once.
    **dict.fromkeys(
        [f"{name}ofConst" for name in ("Cos", "Exp", "Log", "Sin", "Tan", "Tanh")], Closeness(ulps=4)
    ),
    # The reference computes erf to seven digits, for float64 too.
    "ErfofConst": Closeness(ulps=2, single=True),
}

FINITE: dict[str, str] = {
    "ClipConstProp": "without a bound the largest finite number is one, which the reference leaves out"
}

BYTES = (np.int8, np.uint8)

KINDS: dict[str, tuple[Kind, ...]] = {
    **{f"MatMulInteger{name}": BYTES for name in ("ConstZeroLhs", "ConstZeroRhs", "OfConsts")},
    # The reference squares integers in their own type, and sums narrow floats as such.
    **dict.fromkeys((*BY_FORMULA, *BY_OLD_FORMULA), (np.float32, np.float64)),
    "RangeConstProp": (np.float32, np.int64, np.float64, np.int32, np.int16),
}
"""Types that other operands, or inference, take for granted."""
