"""Recompose LayerNormalization and RMSNormalization (docs/internals/onnx-rules.md §6.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from xdsl.dialects.builtin import DYNAMIC_INDEX, f64
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx.elements import elements_array
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.ops.math.arithmetic import AddOp, DivOp, MulOp, PowOp, SubOp
from xonnc.dialects.onnx.ops.math.elementwise import ReciprocalOp, SqrtOp
from xonnc.dialects.onnx.ops.reduction.sum import ReduceMeanOp, ReduceMeanV13Op
from xonnc.dialects.onnx.types import NONE, element_type, is_ranked, numpy_dtype
from xonnc.rewriting.attribute_conversion import decode
from xonnc.rewriting.onnx import LayerNormalization, Mul, RMSLayerNormalization, RMSNormalization
from xonnc.rewriting.patterns import ImperativeRewrite, MatchFailure, RewriteResult, value
from xonnc.rewriting.rules import rule, rules
from xonnc.transforms.numerics import is_float
from xonnc.transforms.rules.conditions import rank
from xonnc.transforms.rules.op_builder import OpBuilder
from xonnc.transforms.rules.recompose_matchers import (
    alike,
    broadcasts_into,
    either_way,
    exact_type,
    holds,
    made_by,
    number_in,
)

_Found = TypeVar("_Found")

SINGLE = 1
"""`stash_type` of normalisations in float32."""

Quotient: TypeAlias = tuple[SSAValue, SSAValue, tuple[SSAValue, ...]]
"""Dividend, the operand of the square root, and the values between."""


@dataclass(frozen=True)
class Forms:
    """Accepted decompositions."""

    quotients: Sequence[Callable[[SSAValue], Iterator[Quotient]]]
    squares: Sequence[Callable[[SSAValue], SSAValue | None]]
    means: Sequence[Callable[[SSAValue], tuple[SSAValue, int] | None]]


@dataclass(frozen=True)
class Normalized:
    """`scale x / √(mean(x²) + epsilon)`, the mean from `axis` on; x may have its own mean subtracted."""

    x: SSAValue
    scale: SSAValue
    axis: int
    epsilon: float
    centered: SSAValue | None
    """The value from which the mean was subtracted to give x."""


def over_root(found: SSAValue) -> Iterator[Quotient]:
    """d / √v"""
    quotient = made_by(found, DivOp)
    root = made_by(quotient.B, SqrtOp) if quotient else None
    if quotient is not None and root is not None:
        yield quotient.A, root.X, (found, quotient.B)


def times_inverse(found: SSAValue) -> Iterator[Quotient]:
    """d (1 / √v)"""
    product = made_by(found, MulOp)
    for d, inverse in either_way(product) if product else ():
        reciprocal, quotient = made_by(inverse, ReciprocalOp), made_by(inverse, DivOp)
        below = reciprocal.X if reciprocal else quotient.B if quotient and is_one(quotient.A) else None
        root = made_by(below, SqrtOp) if below is not None else None
        if below is not None and root is not None:
            yield d, root.X, (found, inverse, below)


def by_power(found: SSAValue) -> Iterator[Quotient]:
    """d v ^ -½, d / v ^ ½"""
    product, quotient = made_by(found, MulOp), made_by(found, DivOp)
    pairs = [(*pair, -0.5) for pair in either_way(product)] if product else []
    pairs += [(quotient.A, quotient.B, 0.5)] if quotient else []
    for d, inverse, exponent in pairs:
        power = made_by(inverse, PowOp)
        if power is not None and holds(power.Y, exponent, power.X):
            yield d, power.X, (found, inverse)


def is_one(found: SSAValue) -> bool:
    """Return whether a value is a constant 1 of one element."""
    return number_in(found) == 1 and is_ranked(found.type) and set(found.type.get_shape()) <= {1}


def product_with_itself(found: SSAValue) -> SSAValue | None:
    """d d"""
    product = made_by(found, MulOp)
    return product.A if product is not None and product.A is product.B else None


def second_power(found: SSAValue) -> SSAValue | None:
    """d ^ 2"""
    power = made_by(found, PowOp)
    return power.X if power is not None and holds(power.Y, 2, power.X) else None


def mean_by_property(found: SSAValue) -> tuple[SSAValue, int] | None:
    """Return the operand and the first axis of a ReduceMean over trailing axes with keepdims."""
    mean = made_by(found, ReduceMeanV13Op)
    axes = decode(mean.axes) if mean else None
    if mean is None or not isinstance(axes, tuple) or decode(mean.keepdims) != 1:
        return None
    return last_axes(mean.data, [axis for axis in axes if isinstance(axis, int)])


def mean_by_operand(found: SSAValue) -> tuple[SSAValue, int] | None:
    """Return the same as `mean_by_property`, for axes as a constant operand."""
    mean = made_by(found, ReduceMeanOp)
    constant = made_by(mean.axes, ConstantOp) if mean else None
    elements = constant.properties.get("value") if constant else None
    axes = elements_array(elements) if elements else None
    if mean is None or axes is None or decode(mean.keepdims) != 1:
        return None
    return last_axes(mean.data, [int(axis) for axis in axes.reshape(-1)])


def last_axes(data: SSAValue, axes: Sequence[int]) -> tuple[SSAValue, int] | None:
    """Return `data` and the first axis, if the axes are all trailing ones."""
    data_rank = rank(data)
    if data_rank is None or not axes:
        return None
    found = sorted({axis + data_rank if axis < 0 else axis for axis in axes})
    return (data, found[0]) if found == list(range(found[0], data_rank)) else None


def find(root: Operation, forms: Forms) -> Normalized | str:
    """Return the normalisation that ends in `root`, a Mul, else the reason."""
    reason = "no factor is divided by a root"
    for normal, scale in either_way(root):
        for quotient in forms.quotients:
            for x, below, between in quotient(normal):
                found = variance(x, below, forms)
                if isinstance(found, str):
                    reason = found
                elif not all(each.has_one_use() for each in (below, *between)):
                    reason = "something in between has other readers"
                else:
                    axis, epsilon = found
                    return Normalized(x, scale, axis, epsilon, center(x, axis, forms))
    return reason


def variance(x: SSAValue, below: SSAValue, forms: Forms) -> tuple[int, float] | str:
    """Return first axis and epsilon, if `below` is mean(x²) + epsilon, else the reason."""
    total = made_by(below, AddOp)
    for mean, added in either_way(total) if total else ():
        epsilon = number_in(added)
        reduced = first_of(forms.means, mean)
        square = first_of(forms.squares, reduced[0]) if reduced else None
        if reduced is None or square is None or not alike(square, x):
            continue
        if epsilon is None or not is_scalar_of(added, x):
            return "epsilon is no constant"
        if not mean.has_one_use() or not reduced[0].has_one_use():
            return "something in between has other readers"
        return reduced[1], epsilon
    return "the root is not of a mean of squares and an epsilon"


def is_scalar_of(added: SSAValue, x: SSAValue) -> bool:
    """Return whether a one-element constant adds no axis to a mean of x."""
    size = rank(added)
    data_rank = rank(x)
    shape = added.type.get_shape() if is_ranked(added.type) else ()
    return size is not None and data_rank is not None and size <= data_rank and set(shape) <= {1}


def center(x: SSAValue, axis: int, forms: Forms) -> SSAValue | None:
    """Return the value whose mean from `axis` on is subtracted in x, or `None`."""
    difference = made_by(x, SubOp)
    reduced = first_of(forms.means, difference.B) if difference else None
    if difference is None or reduced is None or reduced[1] != axis or reduced[0] is not difference.A:
        return None
    readers = {use.operation for use in difference.B.uses}
    same = all(isinstance(reader, SubOp) and alike(reader.C, x) for reader in readers)
    return difference.A if same else None


def first_of(readers: Sequence[Callable[[SSAValue], _Found | None]], found: SSAValue) -> _Found | None:
    """Return the first result of the matchers that is not `None`, or `None`."""
    return next((read for reader in readers if (read := reader(found)) is not None), None)


def type_problem(found: Normalized) -> str | None:
    """Return why no normalisation operator can replace the match, or `None`."""
    element = element_type(found.x.type)
    # The operator computes in float32, which is too narrow for float64.
    if element is None or element == f64 or not is_float(numpy_dtype(element)):
        return "only for floats of single precision or less"
    if found.centered is not None and not is_ranked(found.centered.type):
        return "the rank is not known"
    return None if broadcasts_into(found.scale, found.x) else "the scale may make the result larger"


def is_whole_scale(found: Normalized) -> bool:
    """Return whether the scale has one value per normalised element, as runtimes require."""
    sizes = found.x.type.get_shape()[found.axis :] if is_ranked(found.x.type) else ()
    scale = found.scale.type
    return DYNAMIC_INDEX not in sizes and is_ranked(scale) and scale.get_shape() == sizes


def write(found: Normalized) -> ImperativeRewrite:
    """Create LayerNormalization, or RMSNormalization if no mean is subtracted."""

    def apply(root: Operation) -> Sequence[SSAValue]:
        writer = OpBuilder(root)
        properties = {"axis": found.axis, "epsilon": found.epsilon, "stash_type": SINGLE}
        x = found.x if found.centered is None else found.centered
        template, absent = (RMSLayerNormalization, 1) if found.centered is None else (LayerNormalization, 2)
        types = [exact_type(root.results[0], x), *(NONE,) * absent]
        return writer.all(template, x, found.scale, writer.none(), types=types, **properties)[:1]

    return ImperativeRewrite(apply)


PEER = Forms((over_root, times_inverse), (product_with_itself,), (mean_by_property,))

EVERY = Forms(
    (over_root, times_inverse, by_power),
    (product_with_itself, second_power),
    (mean_by_property, mean_by_operand),
)


@rule(Mul(value.a, value.b))
def layer_norm(root: Operation) -> RewriteResult:
    """
    scale (x - mean) / √(mean((x - mean)²) + epsilon) is LayerNormalization

    It is RMSLayerNormalization if no mean is subtracted. Epsilon is that of the constant; onnx-mlir
    loses it. The scale must broadcast to x without enlarging it.
    """
    found = find(root, PEER)
    if isinstance(found, str):
        return MatchFailure(found)
    problem = type_problem(found)
    return MatchFailure(problem) if problem else write(found)


def standard(root: Operation) -> Normalized | MatchFailure:
    """Return the ONNX normalisation that ends in `root`, else the reason."""
    found = find(root, EVERY)
    if isinstance(found, str):
        return MatchFailure(found)
    if problem := type_problem(found):
        return MatchFailure(problem)
    return found if is_whole_scale(found) else MatchFailure("there is not one scale for each element")


@rule(Mul(value.a, value.b))
def standard_layer_norm(root: Operation) -> RewriteResult:
    """scale (x - mean) / √(mean((x - mean)²) + epsilon) is LayerNormalization"""
    found = standard(root)
    if isinstance(found, MatchFailure):
        return found
    return MatchFailure("no mean is subtracted") if found.centered is None else write(found)


@rule(Mul(value.a, value.b))
def standard_rms_norm(root: Operation) -> RewriteResult:
    """scale x / √(mean(x²) + epsilon) is RMSNormalization"""
    found = standard(root)
    if isinstance(found, MatchFailure):
        return found
    if found.centered is not None:
        return MatchFailure("a mean is subtracted")
    normal = RMSNormalization(found.x, found.scale, axis=found.axis, epsilon=found.epsilon, stash_type=SINGLE)
    return normal.typed(exact_type(root.results[0], found.x))


RULES = rules(RecomposeLayerNormFromMulPattern=layer_norm)

STANDARD = rules(RecomposeLayerNormalization=standard_layer_norm, RecomposeRMSNormalization=standard_rms_norm)
"""Rules for models whose opset has the operators, for all accepted decompositions."""
