"""Elementwise operators: arithmetic with and without constants, comparison, logic, clipping."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xonnc.fuzzing.model_builder import (
    BOOL,
    F32,
    FLOATS,
    I32,
    I64,
    INTEGERS,
    NUMBERS,
    U8,
    U32,
    U64,
    ModelBuilder,
    ModelValue,
)
from xonnc.fuzzing.motifs import versioned_operators

SMOOTH = """Abs Neg Exp Sigmoid Tanh Relu Softplus Softsign Erf Sin Cos Atan Asinh Sinh Cosh Sign Ceil Floor
Round HardSwish Mish Identity Selu""".split()
PARTIAL = "Log Sqrt Reciprocal Acosh Atanh Asin Acos Tan".split()
ACTIVATIONS = {
    "LeakyRelu": "alpha",
    "Elu": "alpha",
    "ThresholdedRelu": "alpha",
    "Celu": "alpha",
    "HardSigmoid": "beta",
}
ARITHMETIC = ("Add", "Sub", "Mul", "Div")
COMPARISONS = ("Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual")


def unary(builder: ModelBuilder) -> None:
    """f(x), rarely one that is not defined for all numbers."""
    op_type = builder.random.choice(SMOOTH if builder.chance(0.8) else PARTIAL)
    builder.keep(builder.node(op_type, builder.take(FLOATS)))


def unary_of_integers(builder: ModelBuilder) -> None:
    """|x|, -x, sign(x), ~x."""
    builder.keep(
        builder.node(builder.random.choice(("Abs", "Neg", "Sign", "BitwiseNot")), builder.take(INTEGERS))
    )


def activation(builder: ModelBuilder) -> None:
    """An activation with a factor of its own."""
    op_type, name = builder.random.choice(list(ACTIVATIONS.items()))
    factor = builder.random.choice((None, 0.25, 1.0, 0.0, -0.5))
    builder.keep(builder.node(op_type, builder.take((F32,)), given={name: factor}))


def operated(builder: ModelBuilder, op_type: str, x: ModelValue, y: ModelValue) -> ModelValue:
    """One of the four operations either way round; never an integer divided by what could be zero."""
    if op_type == "Div" and x.dtype.kind != "f":
        return builder.node(op_type, x, builder.positive(x.dtype, *builder.broadcastable(x.shape)))
    return builder.node(op_type, *((x, y) if builder.chance(0.6) else (y, x)))


def binary(builder: ModelBuilder) -> None:
    """x op y, either broadcast to the other."""
    x = builder.take(NUMBERS)
    y = builder.like(x, *builder.broadcastable(x.shape))
    builder.keep(operated(builder, builder.random.choice(ARITHMETIC), x, y))


def chain_with_constants(builder: ModelBuilder) -> None:
    """(x op c) op d …, which reassociation collapses."""
    value = builder.take(NUMBERS)
    family = builder.random.choice((("Add",), ("Mul",), ("Add", "Sub"), ("Mul", "Div"), ARITHMETIC))
    for _ in range(builder.random.randint(2, 4)):
        shape = builder.broadcastable(value.shape) if builder.chance(0.5) else ()
        value = operated(builder, builder.random.choice(family), value, builder.weights(value.dtype, *shape))
        if builder.chance(0.2):
            builder.keep(value)
    builder.keep(value)


def sum_of_sums(builder: ModelBuilder) -> None:
    """(x + c) op (y + d), and the same with products."""
    x = builder.take(NUMBERS)
    y = builder.like(x, *x.shape)
    op_type = builder.random.choice(("Add", "Mul", "Sub", "Max", "Min"))
    left = builder.node(op_type, x, builder.weights(x.dtype, *builder.broadcastable(x.shape)))
    right = builder.node(op_type, y, builder.weights(x.dtype))
    builder.keep(builder.node(op_type, left, right))


def neutral_constant(builder: ModelBuilder) -> None:
    """x * 1, x + 0, x - 0, x / 1, x ^ 1, 0 + x …, where the constant may make the result larger."""
    x = builder.take(NUMBERS)
    op_type, number, right_only = builder.random.choice(
        (
            ("Mul", 1, False),
            ("Add", 0, False),
            ("Sub", 0, True),
            ("Div", 1, True),
            ("Pow", 1, True),
            ("Mul", 0, False),
            ("Sub", 0, False),
            ("Pow", 2, True),
            ("Pow", 0, True),
            ("Mul", -1, False),
        )
    )
    if number < 0 and x.dtype.kind == "u":
        number = 1
    shape = builder.broadcastable(x.shape) if builder.chance(0.5) else ()
    if builder.chance(0.2):
        shape = (1, *x.shape)
    constant = builder.constant(np.full(shape, number, x.dtype))
    builder.keep(
        builder.node(op_type, *((x, constant) if right_only or builder.chance(0.5) else (constant, x)))
    )


def almost_neutral_constant(builder: ModelBuilder) -> None:
    """The same with a constant that is neutral in all elements but one."""
    x = builder.take(NUMBERS, (1, 2, 3))
    numbers = np.ones(x.shape, x.dtype)
    if numbers.size:
        numbers.flat[builder.random.randrange(numbers.size)] = 3
    builder.keep(builder.node(builder.random.choice(("Mul", "Div")), x, builder.constant(numbers)))


def same_operand_twice(builder: ModelBuilder) -> None:
    """x - x, x + x, x * x, max(x, x), x == x, which do not simplify if x is NaN."""
    x = builder.take(NUMBERS)
    op_type = builder.random.choice(("Sub", "Add", "Mul", "Max", "Min", "Equal", "Less"))
    builder.keep(builder.node(op_type, x, x))


def divided_by_constant(builder: ModelBuilder) -> None:
    """x / c and c / x for floats, c zero now and then."""
    x = builder.take(FLOATS)
    c = builder.weights(x.dtype, *builder.broadcastable(x.shape))
    builder.keep(builder.node("Div", *((x, c) if builder.chance(0.7) else (c, x))))


def power(builder: ModelBuilder) -> None:
    """x ^ c for exponents that are written otherwise: 2, 0.5, 3, -1, 0."""
    x = builder.take(FLOATS)
    exponent = builder.random.choice((2.0, 0.5, 3.0, -1.0, 0.0, 1.0, -0.5, 4.0))
    kind = builder.random.choice((x.dtype, x.dtype, I64, I32)) if builder.opset >= 12 else x.dtype
    builder.keep(
        builder.node("Pow", x, builder.scalar(kind, exponent if kind.kind == "f" else round(exponent)))
    )


def power_of_integers(builder: ModelBuilder) -> None:
    """x ^ c for integers."""
    x = builder.take((I64, I32))
    builder.keep(
        builder.node(
            "Pow",
            x,
            builder.constant(builder.numpy.integers(0, 4, builder.broadcastable(x.shape)).astype(x.dtype)),
        )
    )


def remainder(builder: ModelBuilder) -> None:
    """x mod c, of integers or, with fmod, of floats."""
    x = builder.take(NUMBERS)
    shape = builder.broadcastable(x.shape)
    fmod = 1 if x.dtype.kind == "f" or builder.chance(0.3) else None
    divisor = builder.numpy.choice(np.array([1, 2, 3, 5] + ([] if x.dtype.kind == "u" else [-2, -3])), shape)
    builder.keep(builder.node("Mod", x, builder.constant(divisor.astype(x.dtype)), fmod=fmod))


def several_operands(builder: ModelBuilder) -> None:
    """Sum, mean, maximum and minimum of one to four operands."""
    op_type = builder.random.choice(("Sum", "Max", "Min", "Mean"))
    x = builder.take(FLOATS if op_type in ("Sum", "Mean") else NUMBERS)
    others = [builder.like(x, *builder.broadcastable(x.shape)) for _ in range(builder.random.randint(0, 3))]
    operands = [x, *others]
    builder.random.shuffle(operands)
    builder.keep(builder.node(op_type, *operands))


def limits(builder: ModelBuilder) -> None:
    """Chains of Clip, Relu, Min and Max, in part with limits the wrong way round."""
    value = builder.take((*FLOATS, I32, I64, U8))
    for _ in range(builder.random.randint(1, 4)):
        kind = builder.random.choice(("Clip", "Clip", "Relu", "Min", "Max"))
        numbers = (0, 1, 2, 6) if value.dtype.kind == "u" else (-2, 0, 1, 6, -1)
        if kind == "Relu":
            value = builder.node("Relu", value)
        elif kind == "Clip":
            low, high = (builder.random.choice((None, *numbers)) for _ in range(2))
            value = versioned_operators.clip(builder, value, low, high)
        else:
            operands = [value, builder.scalar(value.dtype, builder.random.choice(numbers))]
            builder.random.shuffle(operands)
            value = builder.node(kind, *operands)
        if builder.chance(0.2):
            builder.keep(value)
    builder.keep(value)


def dynamic_limits(builder: ModelBuilder) -> None:
    """A Clip whose limits are not constants."""
    x = builder.take(FLOATS)
    low, high = builder.input(x.dtype, (), -1, 1), builder.input(x.dtype, (), 0, 3)
    builder.keep(builder.node("Clip", x, builder.random.choice((low, None)) if x.is_bounded else low, high))


def compared(builder: ModelBuilder, x: ModelValue) -> ModelValue:
    """A condition of the shape of `x`, or of one that it broadcasts with."""
    y = builder.like(x, *builder.broadcastable(x.shape))
    return builder.node(builder.random.choice(COMPARISONS), x, y)


def comparison(builder: ModelBuilder) -> None:
    """x < y and the like, in part negated."""
    value = compared(builder, builder.take(NUMBERS))
    if builder.chance(0.4):
        value = builder.node("Not", value)
    builder.keep(value)


def logic(builder: ModelBuilder) -> None:
    """Conditions joined, in part with ones that are always true or false."""
    x = builder.take((BOOL,))
    op_type = builder.random.choice(("And", "Or", "Xor"))
    if builder.chance(0.5):
        y = builder.constant(np.full(builder.broadcastable(x.shape), builder.chance(0.5)))
    else:
        y = builder.like(x, *builder.broadcastable(x.shape))
    value = builder.node(op_type, x, y)
    if builder.chance(0.4):
        value = builder.node("Not", builder.node("Not", value))
    builder.keep(value)


def choice(builder: ModelBuilder) -> None:
    """Where, its condition negated, constant, or of another shape than the values."""
    x = builder.take(NUMBERS)
    y = builder.like(x, *builder.broadcastable(x.shape))
    kind = builder.random.randrange(4)
    if kind == 0:
        condition = builder.constant(np.full(builder.broadcastable(x.shape), builder.chance(0.5)))
    elif kind == 1:
        condition = compared(builder, x)
    else:
        condition = builder.like(builder.take((BOOL,)), *builder.broadcastable(x.shape))
    if kind == 3 or builder.chance(0.3):
        condition = builder.node("Not", condition)
    builder.keep(builder.node("Where", condition, *builder.random.sample((x, y), 2)))


def twice_undone(builder: ModelBuilder) -> None:
    """f(f(x)) for an f that undoes itself or changes nothing the second time."""
    op_type = builder.random.choice(
        ("Neg", "Not", "Abs", "Relu", "Ceil", "Floor", "Sign", "Round", "Identity", "Reciprocal")
    )
    x = builder.take((BOOL,) if op_type == "Not" else FLOATS)
    builder.keep(builder.node(op_type, builder.node(op_type, x)))


def tests_of_floats(builder: ModelBuilder) -> None:
    """IsNaN and IsInf."""
    x = builder.take(FLOATS)
    builder.keep(builder.node(builder.random.choice(("IsNaN", "IsInf")), x))


def bits(builder: ModelBuilder) -> None:
    """Bitwise operators and shifts by constants."""
    x = builder.take((U8, U32, U64))
    shape = builder.broadcastable(x.shape)
    if builder.chance(0.5):
        amount = builder.constant(builder.numpy.integers(0, 8, shape).astype(x.dtype))
        builder.keep(builder.node("BitShift", x, amount, direction=builder.random.choice(("LEFT", "RIGHT"))))
        return
    op_type = builder.random.choice(("BitwiseAnd", "BitwiseOr", "BitwiseXor"))
    builder.keep(builder.node(op_type, x, builder.like(x, *shape)))


def no_ops(builder: ModelBuilder) -> None:
    """Identity, Dropout, a sum of one operand."""
    x = builder.take(FLOATS)
    kind = builder.random.randrange(3)
    if kind == 0:
        builder.keep(builder.node("Identity", x))
    elif kind == 1:
        count = builder.random.choice((1, 1, 2))
        builder.keep(*versioned_operators.dropout(builder, x, builder.random.choice((0.0, 0.5)), count))
    else:
        builder.keep(builder.node("Sum", x))


def constant_arithmetic(builder: ModelBuilder) -> None:
    """Arithmetic on nothing but constants, which folds to one."""
    kind = builder.random.choice(NUMBERS)
    shape = builder.shape(builder.random.randint(0, 3))
    value = builder.weights(kind, *shape)
    for _ in range(builder.random.randint(1, 4)):
        other = builder.positive(kind, *builder.broadcastable(value.shape))
        op_type = builder.random.choice((*ARITHMETIC, "Max", "Min", "Neg", "Abs", "Sign"))
        value = builder.node(op_type, value, *((other,) if op_type in (*ARITHMETIC, "Max", "Min") else ()))
    builder.keep(value)


def wrapping_constants(builder: ModelBuilder) -> None:
    """Integers at the ends of their type, which wrap at each step."""
    kind = builder.random.choice((I32, I64, *INTEGERS))
    limits = np.iinfo(kind)
    ends: Sequence[int] = [limits.min, limits.max, 1, 0, limits.max - 1]
    value = builder.constant(builder.numpy.choice(np.array(ends, kind), builder.shape(1)))
    for _ in range(builder.random.randint(1, 3)):
        op_type = builder.random.choice(("Add", "Mul", "Sub"))
        value = builder.node(op_type, value, builder.positive(kind))
    if builder.chance(0.5):
        value = builder.node("Div", value, builder.constant(np.array(2, kind)))
    builder.keep(builder.node("Add", value, builder.take((kind,))))


MOTIFS = (
    unary,
    unary,
    unary_of_integers,
    activation,
    binary,
    binary,
    chain_with_constants,
    chain_with_constants,
    sum_of_sums,
    neutral_constant,
    almost_neutral_constant,
    same_operand_twice,
    divided_by_constant,
    power,
    power_of_integers,
    remainder,
    several_operands,
    limits,
    limits,
    dynamic_limits,
    comparison,
    logic,
    choice,
    twice_undone,
    tests_of_floats,
    bits,
    no_ops,
    constant_arithmetic,
    wrapping_constants,
)
