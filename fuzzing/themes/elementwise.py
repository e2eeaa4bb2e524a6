"""Element by element: arithmetic with and without constants, comparisons, logic, limits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xonnc.fuzzing.draft import BOOL, F32, FLOATS, I32, I64, INTEGERS, NUMBERS, U8, U32, U64, Draft, Value
from xonnc.fuzzing.themes import forms

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


def unary(draft: Draft) -> None:
    """f(x), rarely one that is not defined for all numbers."""
    op_type = draft.random.choice(SMOOTH if draft.chance(0.8) else PARTIAL)
    draft.keep(draft.node(op_type, draft.take(FLOATS)))


def unary_of_integers(draft: Draft) -> None:
    """|x|, -x, sign(x), ~x."""
    draft.keep(draft.node(draft.random.choice(("Abs", "Neg", "Sign", "BitwiseNot")), draft.take(INTEGERS)))


def activation(draft: Draft) -> None:
    """An activation with a factor of its own."""
    op_type, name = draft.random.choice(list(ACTIVATIONS.items()))
    factor = draft.random.choice((None, 0.25, 1.0, 0.0, -0.5))
    draft.keep(draft.node(op_type, draft.take((F32,)), given={name: factor}))


def operated(draft: Draft, op_type: str, x: Value, y: Value) -> Value:
    """One of the four operations either way round; never an integer divided by what could be zero."""
    if op_type == "Div" and x.dtype.kind != "f":
        return draft.node(op_type, x, draft.positive(x.dtype, *draft.broadcastable(x.shape)))
    return draft.node(op_type, *((x, y) if draft.chance(0.6) else (y, x)))


def binary(draft: Draft) -> None:
    """x op y, either broadcast to the other."""
    x = draft.take(NUMBERS)
    y = draft.like(x, *draft.broadcastable(x.shape))
    draft.keep(operated(draft, draft.random.choice(ARITHMETIC), x, y))


def chain_with_constants(draft: Draft) -> None:
    """(x op c) op d …, which reassociation collapses."""
    value = draft.take(NUMBERS)
    family = draft.random.choice((("Add",), ("Mul",), ("Add", "Sub"), ("Mul", "Div"), ARITHMETIC))
    for _ in range(draft.random.randint(2, 4)):
        shape = draft.broadcastable(value.shape) if draft.chance(0.5) else ()
        value = operated(draft, draft.random.choice(family), value, draft.weights(value.dtype, *shape))
        if draft.chance(0.2):
            draft.keep(value)
    draft.keep(value)


def sum_of_sums(draft: Draft) -> None:
    """(x + c) op (y + d), and the same with products."""
    x = draft.take(NUMBERS)
    y = draft.like(x, *x.shape)
    op_type = draft.random.choice(("Add", "Mul", "Sub", "Max", "Min"))
    left = draft.node(op_type, x, draft.weights(x.dtype, *draft.broadcastable(x.shape)))
    right = draft.node(op_type, y, draft.weights(x.dtype))
    draft.keep(draft.node(op_type, left, right))


def neutral_constant(draft: Draft) -> None:
    """x * 1, x + 0, x - 0, x / 1, x ^ 1, 0 + x …, where the constant may make the result larger."""
    x = draft.take(NUMBERS)
    op_type, number, right_only = draft.random.choice(
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
    shape = draft.broadcastable(x.shape) if draft.chance(0.5) else ()
    if draft.chance(0.2):
        shape = (1, *x.shape)
    constant = draft.constant(np.full(shape, number, x.dtype))
    draft.keep(draft.node(op_type, *((x, constant) if right_only or draft.chance(0.5) else (constant, x))))


def almost_neutral_constant(draft: Draft) -> None:
    """The same with a constant that is neutral in all places but one."""
    x = draft.take(NUMBERS, (1, 2, 3))
    numbers = np.ones(x.shape, x.dtype)
    if numbers.size:
        numbers.flat[draft.random.randrange(numbers.size)] = 3
    draft.keep(draft.node(draft.random.choice(("Mul", "Div")), x, draft.constant(numbers)))


def same_operand_twice(draft: Draft) -> None:
    """x - x, x + x, x * x, max(x, x), x == x, which are not what they seem if x is no number."""
    x = draft.take(NUMBERS)
    op_type = draft.random.choice(("Sub", "Add", "Mul", "Max", "Min", "Equal", "Less"))
    draft.keep(draft.node(op_type, x, x))


def divided_by_constant(draft: Draft) -> None:
    """x / c and c / x for floats, c zero now and then."""
    x = draft.take(FLOATS)
    c = draft.weights(x.dtype, *draft.broadcastable(x.shape))
    draft.keep(draft.node("Div", *((x, c) if draft.chance(0.7) else (c, x))))


def power(draft: Draft) -> None:
    """x ^ c for exponents that are written otherwise: 2, 0.5, 3, -1, 0."""
    x = draft.take(FLOATS)
    exponent = draft.random.choice((2.0, 0.5, 3.0, -1.0, 0.0, 1.0, -0.5, 4.0))
    kind = draft.random.choice((x.dtype, x.dtype, I64, I32)) if draft.opset >= 12 else x.dtype
    draft.keep(draft.node("Pow", x, draft.scalar(kind, exponent if kind.kind == "f" else round(exponent))))


def power_of_integers(draft: Draft) -> None:
    """x ^ c for integers."""
    x = draft.take((I64, I32))
    draft.keep(
        draft.node(
            "Pow", x, draft.constant(draft.numpy.integers(0, 4, draft.broadcastable(x.shape)).astype(x.dtype))
        )
    )


def remainder(draft: Draft) -> None:
    """x mod c, of integers or, with fmod, of floats."""
    x = draft.take(NUMBERS)
    shape = draft.broadcastable(x.shape)
    fmod = 1 if x.dtype.kind == "f" or draft.chance(0.3) else None
    divisor = draft.numpy.choice(np.array([1, 2, 3, 5] + ([] if x.dtype.kind == "u" else [-2, -3])), shape)
    draft.keep(draft.node("Mod", x, draft.constant(divisor.astype(x.dtype)), fmod=fmod))


def several_operands(draft: Draft) -> None:
    """Sum, mean, maximum and minimum of one to four operands."""
    op_type = draft.random.choice(("Sum", "Max", "Min", "Mean"))
    x = draft.take(FLOATS if op_type in ("Sum", "Mean") else NUMBERS)
    others = [draft.like(x, *draft.broadcastable(x.shape)) for _ in range(draft.random.randint(0, 3))]
    operands = [x, *others]
    draft.random.shuffle(operands)
    draft.keep(draft.node(op_type, *operands))


def limits(draft: Draft) -> None:
    """Chains of Clip, Relu, Min and Max, in part with limits the wrong way round."""
    value = draft.take((*FLOATS, I32, I64, U8))
    for _ in range(draft.random.randint(1, 4)):
        kind = draft.random.choice(("Clip", "Clip", "Relu", "Min", "Max"))
        numbers = (0, 1, 2, 6) if value.dtype.kind == "u" else (-2, 0, 1, 6, -1)
        if kind == "Relu":
            value = draft.node("Relu", value)
        elif kind == "Clip":
            low, high = (draft.random.choice((None, *numbers)) for _ in range(2))
            value = forms.clip(draft, value, low, high)
        else:
            operands = [value, draft.scalar(value.dtype, draft.random.choice(numbers))]
            draft.random.shuffle(operands)
            value = draft.node(kind, *operands)
        if draft.chance(0.2):
            draft.keep(value)
    draft.keep(value)


def dynamic_limits(draft: Draft) -> None:
    """A Clip whose limits are not constants."""
    x = draft.take(FLOATS)
    low, high = draft.input(x.dtype, (), -1, 1), draft.input(x.dtype, (), 0, 3)
    draft.keep(draft.node("Clip", x, draft.random.choice((low, None)) if x.is_bounded else low, high))


def compared(draft: Draft, x: Value) -> Value:
    """A condition of the shape of `x`, or of one that it broadcasts with."""
    y = draft.like(x, *draft.broadcastable(x.shape))
    return draft.node(draft.random.choice(COMPARISONS), x, y)


def comparison(draft: Draft) -> None:
    """x < y and the like, in part negated."""
    value = compared(draft, draft.take(NUMBERS))
    if draft.chance(0.4):
        value = draft.node("Not", value)
    draft.keep(value)


def logic(draft: Draft) -> None:
    """Conditions joined, in part with ones that are always true or false."""
    x = draft.take((BOOL,))
    op_type = draft.random.choice(("And", "Or", "Xor"))
    if draft.chance(0.5):
        y = draft.constant(np.full(draft.broadcastable(x.shape), draft.chance(0.5)))
    else:
        y = draft.like(x, *draft.broadcastable(x.shape))
    value = draft.node(op_type, x, y)
    if draft.chance(0.4):
        value = draft.node("Not", draft.node("Not", value))
    draft.keep(value)


def choice(draft: Draft) -> None:
    """Where, its condition negated, constant, or of another shape than the values."""
    x = draft.take(NUMBERS)
    y = draft.like(x, *draft.broadcastable(x.shape))
    kind = draft.random.randrange(4)
    if kind == 0:
        condition = draft.constant(np.full(draft.broadcastable(x.shape), draft.chance(0.5)))
    elif kind == 1:
        condition = compared(draft, x)
    else:
        condition = draft.like(draft.take((BOOL,)), *draft.broadcastable(x.shape))
    if kind == 3 or draft.chance(0.3):
        condition = draft.node("Not", condition)
    draft.keep(draft.node("Where", condition, *draft.random.sample((x, y), 2)))


def twice_undone(draft: Draft) -> None:
    """f(f(x)) for an f that undoes itself or changes nothing the second time."""
    op_type = draft.random.choice(
        ("Neg", "Not", "Abs", "Relu", "Ceil", "Floor", "Sign", "Round", "Identity", "Reciprocal")
    )
    x = draft.take((BOOL,) if op_type == "Not" else FLOATS)
    draft.keep(draft.node(op_type, draft.node(op_type, x)))


def tests_of_floats(draft: Draft) -> None:
    """IsNaN and IsInf."""
    x = draft.take(FLOATS)
    draft.keep(draft.node(draft.random.choice(("IsNaN", "IsInf")), x))


def bits(draft: Draft) -> None:
    """Bitwise operators and shifts by constants."""
    x = draft.take((U8, U32, U64))
    shape = draft.broadcastable(x.shape)
    if draft.chance(0.5):
        amount = draft.constant(draft.numpy.integers(0, 8, shape).astype(x.dtype))
        draft.keep(draft.node("BitShift", x, amount, direction=draft.random.choice(("LEFT", "RIGHT"))))
        return
    op_type = draft.random.choice(("BitwiseAnd", "BitwiseOr", "BitwiseXor"))
    draft.keep(draft.node(op_type, x, draft.like(x, *shape)))


def nothing_done(draft: Draft) -> None:
    """Identity, Dropout, a sum of one operand."""
    x = draft.take(FLOATS)
    kind = draft.random.randrange(3)
    if kind == 0:
        draft.keep(draft.node("Identity", x))
    elif kind == 1:
        count = draft.random.choice((1, 1, 2))
        draft.keep(*forms.dropout(draft, x, draft.random.choice((0.0, 0.5)), count))
    else:
        draft.keep(draft.node("Sum", x))


def constants_alone(draft: Draft) -> None:
    """Arithmetic on nothing but constants, which folds to one."""
    kind = draft.random.choice(NUMBERS)
    shape = draft.shape(draft.random.randint(0, 3))
    value = draft.weights(kind, *shape)
    for _ in range(draft.random.randint(1, 4)):
        other = draft.positive(kind, *draft.broadcastable(value.shape))
        op_type = draft.random.choice((*ARITHMETIC, "Max", "Min", "Neg", "Abs", "Sign"))
        value = draft.node(op_type, value, *((other,) if op_type in (*ARITHMETIC, "Max", "Min") else ()))
    draft.keep(value)


def wrapping_constants(draft: Draft) -> None:
    """Integers at the ends of their type, which wrap at each step."""
    kind = draft.random.choice((I32, I64, *INTEGERS))
    limits = np.iinfo(kind)
    ends: Sequence[int] = [limits.min, limits.max, 1, 0, limits.max - 1]
    value = draft.constant(draft.numpy.choice(np.array(ends, kind), draft.shape(1)))
    for _ in range(draft.random.randint(1, 3)):
        op_type = draft.random.choice(("Add", "Mul", "Sub"))
        value = draft.node(op_type, value, draft.positive(kind))
    if draft.chance(0.5):
        value = draft.node("Div", value, draft.constant(np.array(2, kind)))
    draft.keep(draft.node("Add", value, draft.take((kind,))))


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
    nothing_done,
    constants_alone,
    wrapping_constants,
)
