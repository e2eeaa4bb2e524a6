"""Generators of instances of canonicalizations of arithmetic, scalars and old broadcasting."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import i1

from xonnc.dialects.onnx.attribute_builders import int_attr
from xonnc.dialects.onnx.types import element_type_of, tensor_type, unranked
from xonnc.fuzzing.rules.comparison import Closeness
from xonnc.fuzzing.rules.draws import Draw, Generator, Shape
from xonnc.fuzzing.rules.generators.canonicalize_moving import refactored
from xonnc.fuzzing.rules.instances import Example, ints
from xonnc.fuzzing.rules.values import Kind
from xonnc.rewriting.patterns import Array

REALS: tuple[Kind, ...] = (np.float32, np.float16, np.float64, ml_dtypes.bfloat16)


def clips(draw: Draw) -> Example:
    """Two Clips, whose intervals may be disjoint and some of whose bounds are absent."""
    names = ("low1", "high1", "low2", "high2")
    bounds = {name: draw.array(()) if draw.number_in(0, 3) else None for name in names}
    return Example({"x": draw.shape(), **bounds})


def image(draw: Draw, axes: int) -> Shape:
    """Return a shape with batch, channels and spatial axes."""
    return (draw.number_in(1, 2), draw.size(), *(draw.number_in(1, 6) for _ in range(axes)))


def global_average(draw: Draw) -> Example:
    """A global average pool with one to three spatial axes."""
    return Example({"x": image(draw, draw.number_in(1, 3))})


def global_maximum(draw: Draw) -> Example:
    """A global max pool with two spatial axes; for others, the reference's result has the wrong rank."""
    return Example({"x": image(draw, 2)})


def whole_power(draw: Draw) -> Example:
    """Pow with integer exponents up to 64, of shape [] or [1]; the base is near 1 if they are large."""
    exponent = draw.number % 66 if draw.is_float else draw.number % 8
    most = 6 if exponent < 4 else 1.2
    shape = draw.shape()
    base = draw.reals(-most, most, shape) if draw.is_float else draw.random.integers(-2, 3, shape)
    return Example({"x": base, "c": np.full(draw.pick((), (1,)), exponent)})


def mixed_power(draw: Draw) -> Example:
    """Pow with exponents of another type, whose values the base's type represents."""
    x, n = draw.broadcast(2)
    kind = draw.pick(np.int64, np.int32, np.float32, np.float64, np.int16, np.uint8)
    base = draw.reals(0.5, 3, x) if draw.is_float else draw.random.integers(1, 4, x)
    return Example({"x": base, "exponent": draw.random.integers(0, 4, n).astype(kind)})


def old_softmax(draw: Draw) -> Example:
    """An old Softmax; axes after the softmax axis have size 1."""
    shape = draw.shape(1, 3, empty=False)
    ones = draw.number_in(0, 2)
    axis = draw.pick(len(shape) - 1, -1) if not ones else len(shape) - 1
    return Example({"x": (*shape, *(1,) * ones)}, {"axis": axis}, opset=11)


def relu_and_pool(draw: Draw) -> Example:
    """A Relu and a max pool. Only onnxruntime pads it correctly; it ignores NaN, so there are no specials."""
    kernel = [draw.number_in(1, 3), draw.number_in(1, 3)]
    properties = {
        "kernel_shape": kernel,
        "pads": [draw.number_in(0, (size - 1) // 2) for size in (*kernel, *kernel)],
        "strides": [draw.number_in(1, 2), draw.number_in(1, 2)],
    }
    shape = (draw.number_in(1, 2), draw.size(), draw.number_in(4, 6), draw.number_in(4, 6))
    return Example({"x": shape}, properties={"MaxPoolSingleOut": properties}, specials=False, opset=14)


def expanded_scalar(draw: Draw) -> Example:
    """Two scalars, one of them expanded; integers are not 0, so that they can be divisors."""
    shapes = draw.pick((), (1,)), draw.pick((), (1,))
    k, c = (draw.array(shape, special=draw.is_float) for shape in shapes)
    if draw.is_integer:
        k, c = (np.where(each == 0, np.array(5, each.dtype), each) for each in (k, c))
    return Example({"k": k, "shape": ints(*draw.shape(1)), "c": c})


def reshaped(draw: Draw) -> Example:
    """An operation with a scalar after a Reshape with dimensions of 0 or -1."""
    shape, zero = draw.shape(), draw.flag()
    if 0 in shape:
        target = list(shape)
    else:
        target = refactored(draw, shape)
        target[draw.number_in(0, len(target) - 1)] = -1
    y = draw.array(draw.pick((), (1,)), special=draw.is_float)
    if draw.is_integer:
        y = np.where(y == 0, np.array(3, y.dtype), y)
    return Example({"x": shape, "shape": ints(*target), "y": y}, {"allowzero": zero})


WIDER: Mapping[str, tuple[Kind, ...]] = {
    "float32": (np.float64,),
    "float16": (np.float32, np.float64),
    "bfloat16": (np.float32, np.float64),
    "int8": (np.int16, np.int32, np.int64, np.float16, np.float32, np.float64),
    "uint8": (np.int16, np.uint16, np.int32, np.int64, np.float16, np.float32),
    "int16": (np.int32, np.int64, np.float32, np.float64),
    "uint16": (np.int32, np.uint32, np.int64, np.float32),
    "int32": (np.int64, np.float64),
    "uint32": (np.int64, np.uint64, np.float64),
}
"""The types that hold every number of a type."""


def compared_casts(draw: Draw) -> Example:
    """Numbers cast to a type that holds them all, or to their own."""
    a, b = draw.broadcast(2)
    own = draw.dtype.type
    to = draw.pick(own, *WIDER.get(draw.dtype.name, ()))
    element = element_type_of(np.dtype(to))
    return Example({"a": a, "b": b}, {"to": element, "saturate": 1}, types=[unranked(i1)])


FUNCTIONS: Mapping[str, Callable[[Array, Array], Array]] = {
    "Add": np.add,
    "And": np.logical_and,
    "Div": np.divide,
    "Equal": np.equal,
    "Greater": np.greater,
    "Less": np.less,
    "Mul": np.multiply,
    "Or": np.logical_or,
    "Pow": np.power,
    "Sub": np.subtract,
    "Xor": np.logical_xor,
}
"""The operators that once aligned their operands by an attribute, by their specification."""


def aligned(name: str) -> Generator:
    """The second operand along some axes of the first."""

    def make(draw: Draw) -> Example:
        shape = draw.shape(1)
        axis = draw.number_in(0, len(shape) - 1)
        narrow = shape[axis : draw.number_in(axis + 1, len(shape))]
        after = (1,) * (len(shape) - axis - len(narrow))

        def expected(feeds: Mapping[str, Array]) -> Sequence[Array]:
            a, b = feeds["a0"], feeds["b0"]
            with np.errstate(all="ignore"):
                found = np.asarray(FUNCTIONS[name](a, b.reshape(b.shape + after)))
            return [found if found.dtype == np.bool_ else found.astype(a.dtype)]

        made = i1 if name in LOGICAL else element_type_of(draw.dtype)
        return Example(
            {"a": np.abs(draw.array(shape)) if name == "Pow" else shape, "b": narrow},
            kept={"axis": int_attr(axis), "broadcast": int_attr(1)},
            types=[tensor_type(shape, made)],
            inferred=False,
            expected=expected,
        )

    return make


LOGICAL = {"And", "Equal", "Greater", "Less", "Or", "Xor"}

SCALARS = "Add Sub Mul Div SubRhs DivRhs".split()

FLOAT_TYPES = (np.float32, np.float64, np.float16)

GENERATORS: dict[str, Generator] = {
    "FuseConsecutiveClipsPattern": clips,
    "GlobalAveragePoolPattern": global_average,
    "GlobalMaxPoolPattern": global_maximum,
    "PowToMulRewritePattern": whole_power,
    "PowConversionRewritePattern": mixed_power,
    "SoftmaxV11ToLatestPattern": old_softmax,
    "ReorderReluMaxPoolPattern": relu_and_pool,
    **{f"PropagateScalarConstantExpandPattern{name}": expanded_scalar for name in SCALARS},
    **{f"PropagateReshapeThroughBinaryOpPattern{name}": reshaped for name in "Add Sub Mul Div".split()},
    "LessOpSameCastPattern": compared_casts,
    **{f"BinaryOpBroadcastAxisPattern{name}": aligned(name) for name in FUNCTIONS},
}

CLOSENESS: dict[str, Closeness] = {
    # A power of 64 takes six multiplications, each of which rounds and amplifies earlier errors.
    "PowToMulRewritePattern": Closeness(steps=84, narrow=64),
}

KINDS: dict[str, tuple[Kind, ...]] = {
    "ReorderReluMaxPoolPattern": (np.float32, np.float64, np.int8, np.uint8),
    # onnxruntime is the reference for old versions of Softmax.
    "SoftmaxV11ToLatestPattern": (np.float32, np.float64),
    **{f"BinaryOpBroadcastAxisPattern{name}": FLOAT_TYPES for name in ("Div", "Pow")},
}
