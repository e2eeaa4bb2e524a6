"""
Canonicalisation of the compiler's own ops: layout conversion, index maps, interior padding
(docs/internals/onnx-rules.md §3.3).
"""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx.types import is_ranked
from xonnc.rewriting.onnx import LayoutTransform, Pad, ShapeTransform, UpsampleAndPad
from xonnc.rewriting.patterns import MatchFailure, RewriteResult, attr, value
from xonnc.rewriting.rules import rule, rules
from xonnc.transforms.rules.conditions import first_type_is_result_type, rank

x = value.x


def one_layout(root: Operation) -> str | None:
    """Operand and result have the same layout and element type."""
    before, after = root.operands[0].type, root.results[0].type
    if not is_ranked(before) or not is_ranked(after):
        return "a rank is not known"
    same = before.encoding == after.encoding and before.element_type == after.element_type
    return None if same else "the layout changes"


def is_identity(index_map: AffineMapAttr) -> str | None:
    """The index map is the identity."""
    found = index_map.data
    return None if found == type(found).identity(found.num_dims) else "elements move"


@rule(ShapeTransform(ShapeTransform(x, index_map=attr.first), index_map=attr.second))
def one_map(x: SSAValue, first: AffineMapAttr, second: AffineMapAttr) -> RewriteResult:
    """g(f(x)) = (g f)(x)"""
    if second.data.num_dims != len(first.data.results):
        return MatchFailure("the maps do not fit together")
    return ShapeTransform(x, index_map=AffineMapAttr(second.data.compose(first.data)))


def no_zeros_between(strides: tuple[int, ...] | None) -> str | None:
    """Every stride is 1."""
    return None if set(strides or ()) <= {1} else "a stride is not 1"


def no_zeros_around(pads: tuple[int, ...] | None) -> str | None:
    """Every padding is 0."""
    return "there is padding" if any(pads or ()) else None


@rule(UpsampleAndPad(x, strides=attr.strides, pads=attr.pads), where=no_zeros_between)
def only_pads(x: SSAValue, pads: tuple[int, ...] | None) -> RewriteResult:
    """UpsampleAndPad with strides of 1 is a Pad of the innermost axes"""
    axes = rank(x)
    if axes is None or not pads or not any(pads) or len(pads) % 2:
        return MatchFailure("the rank is not known, or there is no padding")
    padded = len(pads) // 2
    outer = (0,) * (axes - padded)
    amounts = np.array((*outer, *pads[:padded], *outer, *pads[padded:]), np.int64)
    return Pad(x, amounts, None, None, mode="constant")


RULES = rules(
    # layout(layout(x, l), m) = layout(x, m)
    ONNXLayoutTransformFusionPattern=rule(
        LayoutTransform(LayoutTransform(x), target_layout=attr.layout),
        LayoutTransform(x, target_layout=attr.layout),
    ),
    # layout(x, l) = x if x has the layout l
    ONNXLayoutTransformEliminationPattern=rule(LayoutTransform(x), x, where=one_layout),
    ShapeTransformComposePattern=one_map,
    # identity(x) = x
    ShapeTransformIdentityPattern=rule(
        ShapeTransform(x, index_map=attr.index_map), x, where=(first_type_is_result_type, is_identity)
    ),
    RemoveIdentityUpsampleAndPadPattern=rule(
        UpsampleAndPad(x, strides=attr.strides, pads=attr.pads),
        x,
        where=(first_type_is_result_type, no_zeros_between, no_zeros_around),
    ),
    ConvertUpsampleAndPadToPadPattern=only_pads,
)
