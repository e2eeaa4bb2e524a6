"""Shapes of the ops that are not ONNX operators."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import AffineMapAttr, i64
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
)

from xonnc.dialects.onnx.layout import LayoutAttr
from xonnc.dialects.onnx.types import is_ranked, static_shape, tensor_type
from xonnc.transforms.shapes.control_flow import yielded
from xonnc.transforms.shapes.convolution import windows
from xonnc.transforms.shapes.data_movement import joined, permuted
from xonnc.transforms.shapes.inference_context import (
    UNKNOWN,
    Dim,
    InferenceContext,
    Shape,
    Types,
    infers,
    infers_dims,
    shape_slice,
    shown,
    static,
    typed,
)


@infers_dims("ConcatShapeTranspose")
def concat_shape_transpose(ctx: InferenceContext) -> Types:
    """[end - start], int64, and the concatenation with its axes permuted."""
    whole = joined(ctx)
    if whole is None:
        return [None, None]
    return [*typed((len(shape_slice(ctx, static(whole))),), i64), *ctx.ranked(permuted(ctx, whole))]


@infers("Fused")
def fused(ctx: InferenceContext) -> Types:
    """The types that the body yields."""
    ends = yielded(ctx.op, 0)
    return ends if len(ends) == len(ctx.op.results) else [None] * len(ctx.op.results)


@infers_dims("Im2Col")
def im2col(ctx: InferenceContext) -> Types:
    """[N, C × ∏ kernel, ∏ windows per axis]."""
    data, kernel = ctx.dims(0), ctx.integers("kernel_shape") or ()
    if data is None:
        return [None]
    columns = windows(ctx, data[2:], kernel)
    return ctx.ranked((data[0], ctx.product((data[1], *kernel)), ctx.product(columns)))


@infers("LayoutTransform")
def layout_transform(ctx: InferenceContext) -> Types:
    """The data's shape; the layout is that of a ranked result, else the target."""
    shape, element, known = ctx.shape(0), ctx.element(), ctx.op.results[0].type
    if shape is None or element is None:
        return [None]
    target = ctx.op.properties.get("target_layout")
    layout = known.encoding if is_ranked(known) else target if isinstance(target, LayoutAttr) else None
    made = tensor_type(shape, element)
    return [made if layout is None else type(made)(element, shape, layout)]


@infers("ShapeTransform")
def shape_transform(ctx: InferenceContext) -> Types:
    """One more than the largest index of each axis; the map is one-to-one."""
    shape, index_map = static_shape(ctx.op.operands[0].type), ctx.op.properties.get("index_map")
    if shape is None or not isinstance(index_map, AffineMapAttr):
        return [None]
    if 0 in shape:
        return [None]
    largest = tuple(size - 1 for size in shape)
    found = tuple(_largest(each, largest) + 1 for each in index_map.data.results)
    if prod(found) != prod(shape):
        raise ctx.fail(f"index_map takes the input {shown(shape)} to {shown(found)}: it is not one-to-one")
    return ctx.ranked(found)


def _largest(index: AffineExpr, dims: Shape) -> int:
    """Return the largest value of an index whose coefficients are not negative, of dims from 0 to `dims`."""
    match index:
        case AffineDimExpr():
            return dims[index.position]
        case AffineConstantExpr():
            return index.value
        case AffineBinaryOpExpr():
            left, right = _largest(index.lhs, dims), _largest(index.rhs, dims)
            match index.kind:
                case AffineBinaryOpKind.Add:
                    return left + right
                case AffineBinaryOpKind.Mul:
                    return left * right
                case AffineBinaryOpKind.FloorDiv:
                    return left // right
                case AffineBinaryOpKind.CeilDiv:
                    return -(-left // right)
                case AffineBinaryOpKind.Mod:
                    return min(left, right - 1)
        case _:
            # Symbols are refused by the verifier.
            raise NotImplementedError(index)


@infers_dims("UpsampleAndPad")
def upsample_and_pad(ctx: InferenceContext) -> Types:
    """stride (size - 1) + 1 + pads for each of the innermost axes that strides or pads name."""
    data = ctx.dims(0)
    if data is None:
        return [None]
    given, pads = ctx.integers("strides"), ctx.integers("pads")
    count = len(given) if given else len(pads) // 2 if pads else len(data)
    strides, pads = given or (1,) * count, pads or (0,) * (2 * count)
    if count > len(data) or len(pads) != 2 * count:
        raise ctx.fail(f"pads {shown(pads)} do not fit {len(data)} axes and strides {shown(strides)}")
    outer = data[: len(data) - count]
    spread: list[Dim] = []
    for axis, (size, stride) in enumerate(zip(data[len(outer) :], strides, strict=True)):
        padding = pads[axis] + pads[axis + count]
        # Without elements there is nothing between them.
        rest = padding if size == 0 else padding + 1 - stride
        spread.append(UNKNOWN if size == UNKNOWN else ctx.total((ctx.product((size, stride)), rest)))
    return ctx.ranked((*outer, *spread))
