"""Scalar arithmetic, legacy broadcasting, comparisons of casts (docs/internals/onnx-rules.md §3.2, §3.4)."""

from __future__ import annotations

import numpy as np
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx.types import element_type, is_ranked, numpy_dtype, tensor_type
from xonnc.rewriting.attribute_conversion import decode
from xonnc.rewriting.onnx import ONNX, Cast, Expand, Less, Reshape, Unsqueeze
from xonnc.rewriting.patterns import Constant, MatchFailure, RewriteResult, Template, attr, const, value
from xonnc.rewriting.rules import Rule, rule, rules
from xonnc.transforms.numerics import is_float
from xonnc.transforms.rules.conditions import is_scalar, rank

x, y, a, b, k, c, shape = value.x, value.y, value.a, value.b, const.k, const.c, value.shape

ARITHMETIC = "Add Sub Mul Div".split()
ALIGNED = "Add And Div Equal Greater Less Mul Or Pow Sub Xor".split()
"""Ops with the `axis` and `broadcast` attributes of opsets before 7."""


def both_scalar(k: Constant, c: Constant) -> str | None:
    """k and c are scalars."""
    shapes = {k.type.get_shape(), c.type.get_shape()}
    return None if shapes <= {(), (1,)} else "a constant is not a scalar"


def names_sizes(shape: SSAValue) -> str | None:
    """The shape operand is ranked and not empty."""
    known = is_ranked(shape.type) and shape.type.get_shape() != (0,)
    return None if known else "the shape is empty or of unknown rank"


def y_is_scalar(y: SSAValue, reshape: Operation) -> str | None:
    """y is a scalar that adds no axis to the other operand."""
    if not is_scalar(y):
        return "y is not a scalar"
    # A y of shape [1] makes a result of shape [1] out of one without axes.
    if rank(y) == 1 and not rank(reshape.results[0]):
        return "y may have more axes than the other operand"
    return None


def of_scalars(op: Template) -> Rule:
    """expand(k) + c = expand(k + c)"""
    return rule(op(Expand(k, shape), c), Expand(op(k, c), shape), where=(both_scalar, names_sizes), bonus=-3)


def from_scalars(op: Template) -> Rule:
    """c - expand(k) = expand(c - k)"""
    return rule(op(c, Expand(k, shape)), Expand(op(c, k), shape), where=(both_scalar, names_sizes), bonus=-3)


def before_reshape(op: Template) -> Rule:
    """reshape(x) + y = reshape(x + y)"""
    return rule(
        op(Reshape(x, shape, allowzero=attr.allowzero).named("reshape"), y),
        Reshape(op(x, y), shape, allowzero=attr.allowzero),
        where=y_is_scalar,
        bonus=-1,
    )


def asks_for_axis(root: Operation) -> str | None:
    """The op has the broadcast attributes of opsets before 7."""
    if "axis" in root.attributes and decode(root.attributes.get("broadcast")) == 1:
        return None
    return "no attribute says how to align the operands"


def aligned(op: Template) -> Rule:
    """op(a, b) with `axis` is op(a, b with trailing axes of size 1), aligned at that axis of a"""

    # Highest priority: the other rules do not consider `axis` and `broadcast`, which are not attributes of
    # the current operator.
    @rule(op(a, b), where=asks_for_axis, bonus=9)
    def align(root: Operation, a: SSAValue, b: SSAValue) -> RewriteResult:
        """op(a, b) with `axis` is op(a, b with trailing axes of size 1), aligned at that axis of a"""
        axis, wide, narrow = decode(root.attributes["axis"]), rank(a), rank(b)
        if not isinstance(axis, int) or wide is None or narrow is None:
            return MatchFailure("the axis or a rank is not known")
        after = wide - axis - narrow
        if not 0 <= axis <= wide or after < 0:
            return MatchFailure(f"the second operand does not fit into the first from axis {axis} on")
        if not after or not is_ranked(b.type):
            return op(a, b)
        added = np.arange(narrow, wide - axis, dtype=np.int64)
        aligned_type = tensor_type((*b.type.get_shape(), *(1,) * after), b.type.element_type)
        return op(a, Unsqueeze(b, added).typed(aligned_type))

    return align


def cast_keeps_order(a: SSAValue, b: SSAValue, to: object, root: Operation) -> str | None:
    """The cast is exact for all values of the common operand type."""
    first, second = element_type(a.type), element_type(b.type)
    wide = element_type(root.operands[0].type)
    if first is None or first != second or wide is None:
        return "the operands' element types differ"
    narrow, made = numpy_dtype(first), numpy_dtype(wide)
    if narrow == np.bool_ or not np.can_cast(narrow, made, "safe"):
        return "the cast may make two numbers equal or turn their order round"
    # NumPy calls the cast from 64-bit integers to float64 safe, although it rounds above 2^53.
    if narrow.itemsize == 8 and narrow != made and is_float(made):
        return "doubles do not hold every integer of 64 bits"
    return None


RULES = rules(
    **{f"BinaryOpBroadcastAxisPattern{name}": aligned(Template(ONNX, name)) for name in ALIGNED},
    **{
        f"PropagateScalarConstantExpandPattern{name}": of_scalars(Template(ONNX, name)) for name in ARITHMETIC
    },
    # Add and Mul are commutative: other rules have already moved their constants to the right.
    **{
        f"PropagateScalarConstantExpandPattern{name}Rhs": from_scalars(Template(ONNX, name))
        for name in ("Sub", "Div")
    },
    **{
        f"PropagateReshapeThroughBinaryOpPattern{name}": before_reshape(Template(ONNX, name))
        for name in ARITHMETIC
    },
    # cast(a) < cast(b) = a < b; onnx-mlir requires casts of equal width, which are never exact
    LessOpSameCastPattern=rule(
        Less(Cast(a, to=attr.to, saturate=attr.saturate), Cast(b, to=attr.to, saturate=attr.saturate)),
        Less(a, b),
        where=cast_keeps_order,
    ),
)
