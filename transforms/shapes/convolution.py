"""Shapes of convolutions and pooling."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i32, i64

from xonnc.transforms.shapes.inference_context import (
    UNKNOWN,
    Dim,
    Dims,
    InferenceContext,
    Shape,
    Types,
    differ,
    infers_dims,
    shown,
    static,
    typed,
)


@infers_dims("Conv", "ConvInteger", "QLinearConv")
def conv(ctx: InferenceContext) -> Types:
    """[N, filters, one dimension per spatial axis]."""
    weight = 3 if ctx.name == "QLinearConv" else 1
    data, filters = ctx.dims(0), ctx.dims(weight)
    if data is None or filters is None:
        return [None]
    if len(data) != len(filters) or len(data) < 3:
        raise ctx.fail(f"{ctx.operand(0)} and {ctx.operand(weight)} need one rank, at least 3")
    group = ctx.integer("group", 1)
    channels = ctx.product((filters[1], group))
    if differ(data[1], channels):
        raise ctx.fail(
            f"{data[1]} channels are not {filters[1]} of each filter times {group} groups: "
            f"{ctx.operand(0)} and {ctx.operand(weight)}"
        )
    ctx.equate(data[1], channels)
    kernel = ctx.integers("kernel_shape") or static(filters[2:])
    sizes = windows(ctx, data[2:], kernel)
    elements = {"ConvInteger": i32, "QLinearConv": ctx.element(7 if weight == 3 else 0)}
    element = elements.get(ctx.name, ctx.element())
    return typed((data[0], filters[0], *sizes), element)


@infers_dims("AveragePool", "LpPool", "MaxPool", "MaxPoolSingleOut")
def pool(ctx: InferenceContext) -> Types:
    """[N, C, one dimension per spatial axis]."""
    data, kernel = ctx.dims(0), ctx.integers("kernel_shape") or ()
    result_count = len(ctx.op.results)
    if data is None:
        return [None] * result_count
    if len(data) < 3:
        raise ctx.fail(f"data {shown(data)} has no axes to pool")
    counts = windows(ctx, data[2:], kernel, ceil=bool(ctx.integer("ceil_mode")))
    _cut_single_windows(ctx, data[2:], counts)
    shape = (*data[:2], *counts)
    return [*ctx.ranked(shape), *typed(shape, i64)][:result_count]


def _cut_single_windows(ctx: InferenceContext, sizes: Dims, counts: Sequence[Dim]) -> None:
    """
    Cut the kernel of a pool to an axis that its only window covers, e.g. 1280 to the 7 rows of EfficientNet's
    image in transformers.

    What is beyond the axis takes no part, except for padding that an average counts.
    """
    kernel, pads = list(ctx.integers("kernel_shape") or ()), list(ctx.integers("pads") or ())
    axes = len(kernel)
    strides, dilations = list(steps(ctx, "strides", axes)), steps(ctx, "dilations", axes)
    if len(pads) != 2 * axes:
        return
    counts_pads = bool(ctx.integer("count_include_pad"))
    for axis, (size, count, dilation) in enumerate(zip(sizes, counts, dilations, strict=True)):
        if not isinstance(size, int) or count != 1 or dilation != 1 or min(pads[axis::axes]) < 0:
            continue
        if counts_pads and any(pads[axis::axes]):
            continue
        if 0 < size < kernel[axis] and size <= kernel[axis] - pads[axis]:
            kernel[axis], strides[axis], pads[axis], pads[axis + axes] = size, 1, 0, 0
    ctx.set_window("kernel_shape", kernel)
    ctx.set_window("strides", strides)
    ctx.set_window("pads", pads)


@infers_dims("GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool")
def global_pool(ctx: InferenceContext) -> Types:
    """[N, C, 1, …]."""
    data = ctx.dims(0)
    if data is None:
        return [None]
    if len(data) < 3:
        raise ctx.fail(f"data {shown(data)} has no axes to pool")
    return ctx.ranked((*data[:2], *(1 for _ in data[2:])))


@infers_dims("ConvTranspose")
def conv_transpose(ctx: InferenceContext) -> Types:
    """[N, filters × groups, stride (size - 1) + window - pads per axis]."""
    data, filters = ctx.dims(0), ctx.dims(1)
    if data is None or filters is None or len(data) != len(filters):
        return [None]
    axes = len(data) - 2
    ctx.equate(data[1], filters[0])
    kernel = ctx.integers("kernel_shape") or static(filters[2:])
    strides, dilations = steps(ctx, "strides", axes), steps(ctx, "dilations", axes)
    extra = ctx.integers("output_padding") or (0,) * axes
    channels = ctx.product((filters[1], ctx.integer("group", 1)))
    given, auto_pad = ctx.integers("output_shape"), ctx.text("auto_pad", "NOTSET")
    pads = ctx.integers("pads") or (0,) * (2 * axes)
    sizes: list[Dim] = []
    for axis, size in enumerate(data[2:]):
        if given:
            sizes.append(given[axis - axes])
        elif UNKNOWN in (size, kernel[axis]):
            sizes.append(UNKNOWN)
        elif auto_pad.startswith("SAME"):
            sizes.append(ctx.product((size, strides[axis])))
        else:
            padding = 0 if auto_pad == "VALID" else pads[axis] + pads[axis + axes]
            window = (kernel[axis] - 1) * dilations[axis] + 1
            rest = extra[axis] + window - padding - strides[axis]
            sizes.append(ctx.total((ctx.product((size, strides[axis])), rest)))
    return ctx.ranked((data[0], channels, *sizes))


def steps(ctx: InferenceContext, name: str, axes: int) -> Shape:
    """Return strides or dilations, one per axis."""
    found = ctx.integers(name) or (1,) * axes
    if len(found) != axes or min(found) < 1:
        raise ctx.fail(f"{name} {shown(found)} are not {axes} positive numbers")
    return found


def windows(ctx: InferenceContext, sizes: Dims, kernel: Shape, ceil: bool = False) -> list[Dim]:
    """
    Return the number of windows per axis; write resolved properties to the op unless windows are kept.

    Absent strides and dilations become ones, an absent kernel becomes that of the weights, `auto_pad` becomes
    pads where dimensions are static (docs/internals/onnx-rules.md §1.5).
    """
    axes = len(sizes)
    if len(kernel) != axes:
        raise ctx.fail(f"kernel_shape {shown(kernel)} needs {axes} sizes")
    strides, dilations = steps(ctx, "strides", axes), steps(ctx, "dilations", axes)
    spans = [
        UNKNOWN if size == UNKNOWN else (size - 1) * dilation + 1
        for size, dilation in zip(kernel, dilations, strict=True)
    ]
    pads = resolved_pads(ctx, static(sizes), spans, strides)
    if UNKNOWN not in kernel:
        ctx.set_window("kernel_shape", kernel)
    ctx.set_window("strides", strides)
    if not ctx.name.endswith("Pool") and ctx.name != "MaxPoolSingleOut":
        # Pools have dilations only since opset 10 (MaxPool) and 19 (AveragePool): do not write what older
        # models cannot have.
        ctx.set_window("dilations", dilations)
    found: list[Dim] = []
    for axis, (size, span, stride) in enumerate(zip(sizes, spans, strides, strict=True)):
        found.append(_window_count(ctx, size, span, stride, pads, axis, ceil))
    return found


def resolved_pads(ctx: InferenceContext, sizes: Shape, spans: Sequence[int], strides: Shape) -> Shape | None:
    """Return the pads, or `None` if `auto_pad` depends on a dynamic dimension."""
    axes, auto_pad = len(sizes), ctx.text("auto_pad", "NOTSET")
    if auto_pad in ("NOTSET", ""):
        pads = ctx.integers("pads") or (0,) * (2 * axes)
        if len(pads) != 2 * axes:
            raise ctx.fail(f"pads {shown(pads)} need {2 * axes} numbers")
    elif auto_pad == "VALID":
        pads = (0,) * (2 * axes)
    elif auto_pad not in ("SAME_UPPER", "SAME_LOWER"):
        raise ctx.fail(f"auto_pad {auto_pad!r} is none of NOTSET, VALID, SAME_UPPER, SAME_LOWER")
    elif UNKNOWN in (*sizes, *spans):
        return None
    else:
        pads = same_pads(sizes, spans, strides, upper=auto_pad == "SAME_UPPER")
    ctx.set_window("pads", pads)
    ctx.set_window("auto_pad", "NOTSET")
    return pads


def same_pads(sizes: Shape, spans: Sequence[int], strides: Shape, upper: bool) -> Shape:
    """Return pads for ceil(size / stride) windows; the odd one is at the end if `upper`."""
    totals = [
        max(0, (-(-size // stride) - 1) * stride + span - size)
        for size, span, stride in zip(sizes, spans, strides, strict=True)
    ]
    small, large = [total // 2 for total in totals], [total - total // 2 for total in totals]
    return (*small, *large) if upper else (*large, *small)


def transposed_pads(total: int, upper: bool) -> tuple[int, int]:
    """
    Return the pads that a transposed convolution of a given output shape crops before and after an axis.

    An odd one is at the end if `upper`. With a negative `total` (the output shape is larger than the windows
    reach) nothing is cropped and zeros follow, as for `output_padding`; node test
    `test_convtranspose_output_shape` and onnxruntime agree.
    """
    if total <= 0:
        return 0, total
    small, large = total // 2, total - total // 2
    return (small, large) if upper else (large, small)


def _window_count(
    ctx: InferenceContext, size: Dim, span: int, stride: int, pads: Shape | None, axis: int, ceil: bool
) -> Dim:
    if pads is None:
        return ctx.floor(ctx.total((size, stride - 1)), stride)
    if UNKNOWN in (size, span):
        return UNKNOWN
    before, after = pads[axis], pads[axis + len(pads) // 2]
    free = ctx.total((size, before + after - span))
    if not isinstance(free, int) or not isinstance(size, int):
        is_floor = not ceil or stride == 1
        return ctx.total((ctx.floor(free, stride), 1)) if is_floor else UNKNOWN
    # With ceil_mode, the last window may reach beyond the padded axis, also if it is the only one.
    positions = (-(-free // stride) if ceil else free // stride) + 1
    # One that starts in the end padding is dropped (clarified by ONNX opset 19).
    if ceil and (positions - 1) * stride >= size + before:
        positions -= 1
    if positions < 1:
        raise ctx.fail(
            f"a window of {span} does not fit into axis {axis + 2} of {size} with pads {before}, {after}"
        )
    return positions
