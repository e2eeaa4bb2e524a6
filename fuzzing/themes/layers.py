"""Layers of networks: convolutions, pools, normalisations, and what is folded into them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from xonnc.fuzzing.draft import F16, F32, F64, Attribute, Draft, Unfit, Value
from xonnc.fuzzing.themes import forms

KINDS = (F32, F32, F32, F32, F64, F16)


def image(draft: Draft, spatial: int | None = None) -> Value:
    """A batch of images: one that is there, or an input."""
    ranks = (3, 4, 5) if spatial is None else (spatial + 2,)
    known = [one for one in draft.readable() if one.dtype in KINDS and one.rank in ranks and one.size]
    if known and draft.chance(0.6):
        return draft.random.choice(known)
    count = draft.random.choice((2, 2, 2, 1, 3)) if spatial is None else spatial
    sizes = [draft.random.choice((3, 4, 5, 6)) for _ in range(count)]
    return draft.input(
        draft.random.choice(KINDS), (draft.random.choice((1, 2)), draft.random.choice((1, 2, 4)), *sizes)
    )


def window(draft: Draft, spatial: int) -> dict[str, Attribute]:
    """Strides, dilations and a border, each left out in part."""
    found: dict[str, Attribute] = {}
    if draft.chance(0.4):
        found["strides"] = [draft.random.choice((1, 1, 2)) for _ in range(spatial)]
    if draft.chance(0.5):
        found["pads"] = [draft.random.choice((0, 1)) for _ in range(2 * spatial)]
    elif draft.chance(0.25):
        found["auto_pad"] = draft.random.choice(("SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"))
    return found


def require_windows(x: Value, kernel: Sequence[int], attributes: Mapping[str, Attribute]) -> None:
    """`Unfit` where no window fits: rounded towards zero, the sizes that onnx computes hide that."""
    if str(attributes.get("auto_pad")).startswith("SAME"):
        return
    pads, apart = attributes.get("pads"), attributes.get("dilations")
    for axis, (size, taps) in enumerate(zip(x.shape[2:], kernel, strict=True)):
        border = sum(map(int, pads[axis :: len(kernel)])) if isinstance(pads, list) else 0
        step = int(apart[axis]) if isinstance(apart, list) else 1
        if size + border < (taps - 1) * step + 1:
            raise Unfit


def convolved(draft: Draft, x: Value) -> Value:
    """A convolution with constant weights, and in part biases that are constant or an input."""
    spatial = x.rank - 2
    if spatial < 1:
        raise Unfit
    channels = x.shape[1]
    group = draft.random.choice([1, 1, channels])
    outputs = group * draft.random.choice((1, 2, 3))
    kernel = [draft.random.choice((1, 2, 3)) for _ in range(spatial)]
    weights = draft.weights(x.dtype, outputs, channels // group, *kernel)
    bias = draft.like(x, outputs) if draft.chance(0.5) else None
    attributes = window(draft, spatial)
    if draft.chance(0.2) and attributes.get("auto_pad", "NOTSET") == "NOTSET":
        attributes["dilations"] = [draft.random.choice((1, 2)) for _ in range(spatial)]
    require_windows(x, kernel, attributes)
    made = draft.node(
        "Conv",
        x,
        weights,
        bias,
        group=group if group > 1 or draft.chance(0.3) else None,
        kernel_shape=kernel if draft.chance(0.6) else None,
        given=attributes,
    )
    if min(made.shape) < 1:
        raise Unfit
    return made


def followed(draft: Draft, value: Value) -> Value:
    """What often stands after a layer of channels, and may go into its weights."""
    channels = value.shape[1]
    by_channel = (channels, *[1] * (value.rank - 2))
    kind = draft.random.choice(
        ("BN", "BN", "Mul", "Add", "Sub", "Div", "Relu", "Clip", "scalar", "whole", "Sum")
    )
    if kind == "BN":
        return normalized(draft, value)
    if kind in ("Mul", "Add", "Sub", "Div"):
        shape = by_channel if draft.chance(0.7) else (1, *by_channel)
        constant = (draft.positive if kind == "Div" else draft.weights)(value.dtype, *shape)
        return draft.node(
            kind, *((value, constant) if kind == "Div" or draft.chance(0.7) else (constant, value))
        )
    if kind == "scalar":
        return draft.node(draft.random.choice(("Mul", "Add")), value, draft.scalar(value.dtype, 0.5))
    if kind == "whole":
        return draft.node(
            draft.random.choice(("Mul", "Add")), value, draft.weights(value.dtype, *value.shape[1:])
        )
    if kind == "Sum":
        return draft.node("Sum", value, draft.weights(value.dtype, *by_channel))
    if kind == "Clip":
        return forms.clip(draft, value, draft.random.choice((None, 0, -1)), draft.random.choice((None, 6)))
    return draft.node("Relu", value)


def normalized(draft: Draft, value: Value) -> Value:
    """A batch normalisation of inference with finite constants, or now and then with inputs."""
    count = value.shape[1]
    kinds = [value.dtype] * 4
    if draft.opset >= 15 and draft.chance(0.1):
        kinds[2:] = [F32, F32]
    scale, shift, mean = (draft.weights(kind, count, is_finite=True) for kind in kinds[:3])
    if draft.chance(0.1):
        mean = draft.input(kinds[2], (count,), -4, 4)
    variance = draft.positive(kinds[3], count)
    epsilon = draft.random.choice((None, 1e-3, 1e-5))
    return draft.node("BatchNormalization", value, scale, shift, mean, variance, epsilon=epsilon)


def convolution(draft: Draft) -> None:
    """A convolution, a border before it in part, and what may be folded into it; all read again in part."""
    value = image(draft)
    if draft.chance(0.3):
        value = padded(draft, value)
    value = convolved(draft, value)
    for _ in range(draft.random.randint(0, 3)):
        if draft.chance(0.15):
            draft.keep(value)
        value = followed(draft, value)
    draft.keep(value)


def padded(draft: Draft, value: Value) -> Value:
    """A border that a window may take over, if it is of zeros and not on batch or channels."""
    spatial = value.rank - 2
    pads = [draft.random.choice((0, 1, 1, 2)) for _ in range(2 * spatial)]
    edges = [0, 0] if draft.chance(0.85) else [0, 1]
    mode = "constant" if draft.chance(0.8) else "edge"
    filling = draft.random.choice((None, 0.0, 0.0, 1.0)) if mode == "constant" else None
    return forms.pad(draft, value, [*edges, *pads[:spatial], 0, 0, *pads[spatial:]], mode, filling)


def transposed_convolution(draft: Draft) -> None:
    """A transposed convolution and what follows it."""
    x = image(draft)
    spatial = x.rank - 2
    kernel = [draft.random.choice((1, 2, 3)) for _ in range(spatial)]
    group = draft.random.choice([1, 1, x.shape[1]])
    count = draft.random.choice((1, 2))
    weights = draft.weights(x.dtype, x.shape[1], count, *kernel)
    bias = draft.weights(x.dtype, count * group) if draft.chance(0.5) else None
    strides = [draft.random.choice((1, 2)) for _ in range(spatial)] if draft.chance(0.5) else None
    value = draft.node("ConvTranspose", x, weights, bias, group=group, strides=strides, kernel_shape=kernel)
    for _ in range(draft.random.randint(0, 2)):
        value = followed(draft, value)
    draft.keep(value)


def pool(draft: Draft) -> None:
    """A pool, a border before it in part, an activation after it in part."""
    value = image(draft)
    if draft.chance(0.5):
        value = padded(draft, value)
    spatial = value.rank - 2
    op_type = draft.random.choice(("MaxPool", "MaxPool", "AveragePool", "AveragePool", "LpPool"))
    kernel = [draft.random.choice((2, 3)) for _ in range(spatial)]
    attributes = window(draft, spatial)
    if op_type == "AveragePool":
        attributes["count_include_pad"] = draft.random.choice((None, 0, 1))
    # Before opset 22, onnx counts windows that lie in the border alone, which nobody computes.
    is_clear = draft.opset >= 22 or "pads" not in attributes
    if draft.opset >= 10 and op_type != "LpPool" and is_clear:
        attributes["ceil_mode"] = draft.random.choice((None, None, 0, 1))
    if draft.chance(0.2) and op_type == "MaxPool":
        value = draft.node("Relu", value)
    require_windows(value, kernel, attributes)
    value = draft.node(op_type, value, kernel_shape=kernel, given=attributes)
    if min(value.shape) < 1:
        raise Unfit
    draft.keep(draft.node("Relu", value) if draft.chance(0.3) else value)


def global_pool(draft: Draft) -> None:
    """The mean or maximum of each channel, flattened in part."""
    op_type, x = draft.random.choice(("GlobalAveragePool", "GlobalMaxPool")), image(draft)
    if op_type == "GlobalMaxPool" and not x.is_bounded:
        # Whether a maximum is a number if one of several is not, ONNX does not say.
        raise Unfit
    value = draft.node(op_type, x)
    if draft.chance(0.5):
        value = draft.node("Flatten", value)
    draft.keep(value)


def normalization(draft: Draft) -> None:
    """A batch normalisation alone, two of them, or one after arithmetic."""
    value = draft.take(KINDS, (2, 3, 4))
    if not value.size:
        raise Unfit
    for _ in range(draft.random.randint(1, 2)):
        if draft.chance(0.4):
            value = followed(draft, value)
        value = normalized(draft, value)
    draft.keep(value)


def other_normalization(draft: Draft) -> None:
    """Of instances, groups, layers, and over neighbouring channels."""
    kind = draft.random.choice(
        (
            "InstanceNormalization",
            "LayerNormalization",
            "LRN",
            "GroupNormalization",
            "RMSNormalization",
            "MeanVarianceNormalization",
            "LpNormalization",
        )
    )
    x = image(draft)
    count = x.shape[1]
    if kind == "InstanceNormalization":
        if x.size == x.shape[0] * count:
            # An element less itself is zero, which onnxruntime finds but for roundings, times hundreds.
            raise Unfit
        draft.keep(draft.node(kind, x, draft.weights(x.dtype, count), draft.weights(x.dtype, count)))
    elif kind == "LayerNormalization":
        axis = draft.random.randint(1, x.rank - 1)
        scale = draft.weights(x.dtype, *x.shape[axis:])
        bias = draft.weights(x.dtype, *x.shape[axis:]) if draft.chance(0.6) else None
        draft.keep(draft.node(kind, x, scale, bias, axis=axis))
    elif kind == "RMSNormalization":
        draft.keep(draft.node(kind, x, draft.weights(x.dtype, x.shape[-1])))
    elif kind == "GroupNormalization":
        size = count if draft.opset >= 21 else 1
        draft.keep(
            draft.node(kind, x, draft.weights(x.dtype, size), draft.weights(x.dtype, size), num_groups=1)
        )
    elif kind == "LRN":
        draft.keep(draft.node(kind, x, size=3))
    else:
        draft.keep(draft.node(kind, x))


def layer_norm_written_out(draft: Draft) -> None:
    """A layer normalisation in its parts, as exporters write it."""
    x = draft.take((F32, F64), (2, 3, 4))
    mean = forms.with_axes(draft, "ReduceMean", x, [-1], 18)
    centred = draft.node("Sub", x, mean)
    square = (
        draft.node("Pow", centred, draft.scalar(x.dtype, 2))
        if draft.chance(0.6)
        else draft.node("Mul", centred, centred)
    )
    variance = forms.with_axes(draft, "ReduceMean", square, [-1], 18)
    deviation = draft.node("Sqrt", draft.node("Add", variance, draft.scalar(x.dtype, 1e-5)))
    value = draft.node("Div", centred, deviation)
    value = draft.node("Mul", value, draft.weights(x.dtype, x.shape[-1]))
    if draft.chance(0.7):
        value = draft.node("Add", value, draft.weights(x.dtype, x.shape[-1]))
    if draft.chance(0.15):
        draft.keep(centred)
    draft.keep(value)


def gelu_written_out(draft: Draft) -> None:
    """A Gelu in its parts, exact or by tanh; in single precision, as the operator's own constants are."""
    x = draft.take((F32,))
    if draft.chance(0.6):
        scaled = draft.node("Div", x, draft.constant(np.array(np.sqrt(2), x.dtype)))
        inner = draft.node("Add", draft.node("Erf", scaled), draft.scalar(x.dtype, 1))
    else:
        cube = draft.node("Pow", x, draft.scalar(x.dtype, 3))
        sum_ = draft.node("Add", x, draft.node("Mul", cube, draft.constant(np.array(0.044715, x.dtype))))
        scaled = draft.node("Mul", sum_, draft.constant(np.array(np.sqrt(2 / np.pi), x.dtype)))
        inner = draft.node("Add", draft.node("Tanh", scaled), draft.scalar(x.dtype, 1))
    half = draft.scalar(x.dtype, 0.5)
    if draft.chance(0.5):
        draft.keep(draft.node("Mul", draft.node("Mul", x, inner), half))
    else:
        draft.keep(draft.node("Mul", x, draft.node("Mul", inner, half)))


def swish_written_out(draft: Draft) -> None:
    """x sigmoid(x), or what looks like it."""
    x = draft.take(KINDS)
    value = draft.node(
        "Sigmoid", x if draft.chance(0.7) else draft.node("Mul", x, draft.scalar(x.dtype, 1.5))
    )
    draft.keep(draft.node("Mul", *draft.random.sample((x, value), 2)))


def softmax(draft: Draft) -> None:
    """Softmax and its kin along any axis, a logarithm after it in part."""
    x = draft.take((F32, F64), (1, 2, 3), bounded=True)
    op_type = draft.random.choice(("Softmax", "Softmax", "LogSoftmax", "Hardmax"))
    axis = draft.random.choice((None, draft.random.randrange(x.rank)))
    if axis is None and x.rank == 1 and draft.opset < 13:
        # The axis is 1 then.
        raise Unfit
    if op_type == "Softmax" and draft.chance(0.4):
        # Far apart, the logarithm of what became zero is an infinity that LogSoftmax does not make.
        draft.keep(draft.node("Log", draft.node(op_type, forms.clip(draft, x, -8, 8), axis=axis)))
        return
    value = draft.node(op_type, x, axis=axis)
    draft.keep(value)


MOTIFS = (
    convolution,
    convolution,
    convolution,
    convolution,
    transposed_convolution,
    pool,
    pool,
    global_pool,
    normalization,
    other_normalization,
    layer_norm_written_out,
    gelu_written_out,
    swish_written_out,
    softmax,
)
