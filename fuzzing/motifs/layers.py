"""Layers of networks: convolutions, pools, normalisations, and what is folded into them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from xonnc.fuzzing.model_builder import F16, F32, F64, Attribute, ModelBuilder, ModelValue, NotApplicable
from xonnc.fuzzing.motifs import versioned_operators

KINDS = (F32, F32, F32, F32, F64, F16)


def image(builder: ModelBuilder, spatial: int | None = None) -> ModelValue:
    """A batch of images: one that is there, or an input."""
    ranks = (3, 4, 5) if spatial is None else (spatial + 2,)
    known = [one for one in builder.readable() if one.dtype in KINDS and one.rank in ranks and one.size]
    if known and builder.chance(0.6):
        return builder.random.choice(known)
    count = builder.random.choice((2, 2, 2, 1, 3)) if spatial is None else spatial
    sizes = [builder.random.choice((3, 4, 5, 6)) for _ in range(count)]
    return builder.input(
        builder.random.choice(KINDS),
        (builder.random.choice((1, 2)), builder.random.choice((1, 2, 4)), *sizes),
    )


def window(builder: ModelBuilder, spatial: int) -> dict[str, Attribute]:
    """Strides, dilations and a border, each left out in part."""
    found: dict[str, Attribute] = {}
    if builder.chance(0.4):
        found["strides"] = [builder.random.choice((1, 1, 2)) for _ in range(spatial)]
    if builder.chance(0.5):
        found["pads"] = [builder.random.choice((0, 1)) for _ in range(2 * spatial)]
    elif builder.chance(0.25):
        found["auto_pad"] = builder.random.choice(("SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"))
    return found


def require_windows(x: ModelValue, kernel: Sequence[int], attributes: Mapping[str, Attribute]) -> None:
    """`NotApplicable` where no window fits: rounded towards zero, the sizes that onnx computes hide that."""
    if str(attributes.get("auto_pad")).startswith("SAME"):
        return
    pads, apart = attributes.get("pads"), attributes.get("dilations")
    for axis, (size, taps) in enumerate(zip(x.shape[2:], kernel, strict=True)):
        border = sum(map(int, pads[axis :: len(kernel)])) if isinstance(pads, list) else 0
        step = int(apart[axis]) if isinstance(apart, list) else 1
        if size + border < (taps - 1) * step + 1:
            raise NotApplicable


def convolved(builder: ModelBuilder, x: ModelValue) -> ModelValue:
    """A convolution with constant weights, and in part biases that are constant or an input."""
    spatial = x.rank - 2
    if spatial < 1:
        raise NotApplicable
    channels = x.shape[1]
    group = builder.random.choice([1, 1, channels])
    outputs = group * builder.random.choice((1, 2, 3))
    kernel = [builder.random.choice((1, 2, 3)) for _ in range(spatial)]
    weights = builder.weights(x.dtype, outputs, channels // group, *kernel)
    bias = builder.like(x, outputs) if builder.chance(0.5) else None
    attributes = window(builder, spatial)
    if builder.chance(0.2) and attributes.get("auto_pad", "NOTSET") == "NOTSET":
        attributes["dilations"] = [builder.random.choice((1, 2)) for _ in range(spatial)]
    require_windows(x, kernel, attributes)
    made = builder.node(
        "Conv",
        x,
        weights,
        bias,
        group=group if group > 1 or builder.chance(0.3) else None,
        kernel_shape=kernel if builder.chance(0.6) else None,
        given=attributes,
    )
    if min(made.shape) < 1:
        raise NotApplicable
    return made


def followed(builder: ModelBuilder, value: ModelValue) -> ModelValue:
    """What often stands after a layer of channels, and may go into its weights."""
    channels = value.shape[1]
    by_channel = (channels, *[1] * (value.rank - 2))
    kind = builder.random.choice(
        ("BN", "BN", "Mul", "Add", "Sub", "Div", "Relu", "Clip", "scalar", "whole", "Sum")
    )
    if kind == "BN":
        return normalized(builder, value)
    if kind in ("Mul", "Add", "Sub", "Div"):
        shape = by_channel if builder.chance(0.7) else (1, *by_channel)
        constant = (builder.positive if kind == "Div" else builder.weights)(value.dtype, *shape)
        return builder.node(
            kind, *((value, constant) if kind == "Div" or builder.chance(0.7) else (constant, value))
        )
    if kind == "scalar":
        return builder.node(builder.random.choice(("Mul", "Add")), value, builder.scalar(value.dtype, 0.5))
    if kind == "whole":
        return builder.node(
            builder.random.choice(("Mul", "Add")), value, builder.weights(value.dtype, *value.shape[1:])
        )
    if kind == "Sum":
        return builder.node("Sum", value, builder.weights(value.dtype, *by_channel))
    if kind == "Clip":
        return versioned_operators.clip(
            builder, value, builder.random.choice((None, 0, -1)), builder.random.choice((None, 6))
        )
    return builder.node("Relu", value)


def normalized(builder: ModelBuilder, value: ModelValue) -> ModelValue:
    """
    A batch normalisation of inference with finite constants, or now and then with inputs.

    Doubles have no float32 statistics: ONNX leaves open in which of both types √(var + epsilon) is computed.
    """
    count = value.shape[1]
    kinds = [value.dtype] * 4
    if builder.opset >= 15 and builder.chance(0.1) and value.dtype != F64:
        kinds[2:] = [F32, F32]
    scale, shift, mean = (builder.weights(kind, count, is_finite=True) for kind in kinds[:3])
    if builder.chance(0.1):
        mean = builder.input(kinds[2], (count,), -4, 4)
    variance = builder.positive(kinds[3], count)
    epsilon = builder.random.choice((None, 1e-3, 1e-5))
    return builder.node("BatchNormalization", value, scale, shift, mean, variance, epsilon=epsilon)


def convolution(builder: ModelBuilder) -> None:
    """A convolution, a border before it in part, and what may be folded into it; all read again in part."""
    value = image(builder)
    if builder.chance(0.3):
        value = padded(builder, value)
    value = convolved(builder, value)
    for _ in range(builder.random.randint(0, 3)):
        if builder.chance(0.15):
            builder.keep(value)
        value = followed(builder, value)
    builder.keep(value)


def padded(builder: ModelBuilder, value: ModelValue) -> ModelValue:
    """A border that a window may take over, if it is of zeros and not on batch or channels."""
    spatial = value.rank - 2
    pads = [builder.random.choice((0, 1, 1, 2)) for _ in range(2 * spatial)]
    edges = [0, 0] if builder.chance(0.85) else [0, 1]
    mode = "constant" if builder.chance(0.8) else "edge"
    filling = builder.random.choice((None, 0.0, 0.0, 1.0)) if mode == "constant" else None
    return versioned_operators.pad(
        builder, value, [*edges, *pads[:spatial], 0, 0, *pads[spatial:]], mode, filling
    )


def transposed_convolution(builder: ModelBuilder) -> None:
    """A transposed convolution and what follows it."""
    x = image(builder)
    spatial = x.rank - 2
    kernel = [builder.random.choice((1, 2, 3)) for _ in range(spatial)]
    group = builder.random.choice([1, 1, x.shape[1]])
    count = builder.random.choice((1, 2))
    weights = builder.weights(x.dtype, x.shape[1], count, *kernel)
    bias = builder.weights(x.dtype, count * group) if builder.chance(0.5) else None
    strides = [builder.random.choice((1, 2)) for _ in range(spatial)] if builder.chance(0.5) else None
    value = builder.node("ConvTranspose", x, weights, bias, group=group, strides=strides, kernel_shape=kernel)
    for _ in range(builder.random.randint(0, 2)):
        value = followed(builder, value)
    builder.keep(value)


def pool(builder: ModelBuilder) -> None:
    """A pool, a border before it in part, an activation after it in part."""
    value = image(builder)
    if builder.chance(0.5):
        value = padded(builder, value)
    spatial = value.rank - 2
    op_type = builder.random.choice(("MaxPool", "MaxPool", "AveragePool", "AveragePool", "LpPool"))
    kernel = [builder.random.choice((2, 3)) for _ in range(spatial)]
    attributes = window(builder, spatial)
    if op_type == "AveragePool":
        attributes["count_include_pad"] = builder.random.choice((None, 0, 1))
    # Before opset 22, onnx counts windows that lie entirely in the padding, which no runtime computes.
    is_clear = builder.opset >= 22 or "pads" not in attributes
    if builder.opset >= 10 and op_type != "LpPool" and is_clear:
        attributes["ceil_mode"] = builder.random.choice((None, None, 0, 1))
    if builder.chance(0.2) and op_type == "MaxPool":
        value = builder.node("Relu", value)
    require_windows(value, kernel, attributes)
    value = builder.node(op_type, value, kernel_shape=kernel, given=attributes)
    if min(value.shape) < 1:
        raise NotApplicable
    builder.keep(builder.node("Relu", value) if builder.chance(0.3) else value)


def global_pool(builder: ModelBuilder) -> None:
    """The mean or maximum of each channel, flattened in part."""
    op_type, x = builder.random.choice(("GlobalAveragePool", "GlobalMaxPool")), image(builder)
    if op_type == "GlobalMaxPool" and not x.is_bounded:
        # Whether a maximum is a number if one of several is not, ONNX does not say.
        raise NotApplicable
    value = builder.node(op_type, x)
    if builder.chance(0.5):
        value = builder.node("Flatten", value)
    builder.keep(value)


def normalization(builder: ModelBuilder) -> None:
    """A batch normalisation alone, two of them, or one after arithmetic."""
    value = builder.take(KINDS, (2, 3, 4))
    if not value.size:
        raise NotApplicable
    for _ in range(builder.random.randint(1, 2)):
        if builder.chance(0.4):
            value = followed(builder, value)
        value = normalized(builder, value)
    builder.keep(value)


def other_normalization(builder: ModelBuilder) -> None:
    """Of instances, groups, layers, and over neighbouring channels."""
    kind = builder.random.choice(
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
    x = image(builder)
    count = x.shape[1]
    if kind == "InstanceNormalization":
        if x.size == x.shape[0] * count:
            # x - mean of one element is 0; onnxruntime's rounding error is amplified by 1/sqrt(epsilon).
            raise NotApplicable
        builder.keep(builder.node(kind, x, builder.weights(x.dtype, count), builder.weights(x.dtype, count)))
    elif kind == "LayerNormalization":
        axis = builder.random.randint(1, x.rank - 1)
        scale = builder.weights(x.dtype, *x.shape[axis:])
        bias = builder.weights(x.dtype, *x.shape[axis:]) if builder.chance(0.6) else None
        builder.keep(builder.node(kind, x, scale, bias, axis=axis))
    elif kind == "RMSNormalization":
        builder.keep(builder.node(kind, x, builder.weights(x.dtype, x.shape[-1])))
    elif kind == "GroupNormalization":
        size = count if builder.opset >= 21 else 1
        builder.keep(
            builder.node(
                kind, x, builder.weights(x.dtype, size), builder.weights(x.dtype, size), num_groups=1
            )
        )
    elif kind == "LRN":
        builder.keep(builder.node(kind, x, size=3))
    else:
        builder.keep(builder.node(kind, x))


def decomposed_layer_norm(builder: ModelBuilder) -> None:
    """A layer normalisation in its parts, as exporters write it."""
    x = builder.take((F32, F64), (2, 3, 4))
    mean = versioned_operators.with_axes(builder, "ReduceMean", x, [-1], 18)
    centred = builder.node("Sub", x, mean)
    square = (
        builder.node("Pow", centred, builder.scalar(x.dtype, 2))
        if builder.chance(0.6)
        else builder.node("Mul", centred, centred)
    )
    variance = versioned_operators.with_axes(builder, "ReduceMean", square, [-1], 18)
    deviation = builder.node("Sqrt", builder.node("Add", variance, builder.scalar(x.dtype, 1e-5)))
    value = builder.node("Div", centred, deviation)
    value = builder.node("Mul", value, builder.weights(x.dtype, x.shape[-1]))
    if builder.chance(0.7):
        value = builder.node("Add", value, builder.weights(x.dtype, x.shape[-1]))
    if builder.chance(0.15):
        builder.keep(centred)
    builder.keep(value)


def decomposed_gelu(builder: ModelBuilder) -> None:
    """A Gelu in its parts, exact or by tanh; in single precision, as the operator's own constants are."""
    x = builder.take((F32,))
    if builder.chance(0.6):
        scaled = builder.node("Div", x, builder.constant(np.array(np.sqrt(2), x.dtype)))
        inner = builder.node("Add", builder.node("Erf", scaled), builder.scalar(x.dtype, 1))
    else:
        cube = builder.node("Pow", x, builder.scalar(x.dtype, 3))
        sum_ = builder.node(
            "Add", x, builder.node("Mul", cube, builder.constant(np.array(0.044715, x.dtype)))
        )
        scaled = builder.node("Mul", sum_, builder.constant(np.array(np.sqrt(2 / np.pi), x.dtype)))
        inner = builder.node("Add", builder.node("Tanh", scaled), builder.scalar(x.dtype, 1))
    half = builder.scalar(x.dtype, 0.5)
    if builder.chance(0.5):
        builder.keep(builder.node("Mul", builder.node("Mul", x, inner), half))
    else:
        builder.keep(builder.node("Mul", x, builder.node("Mul", inner, half)))


def decomposed_swish(builder: ModelBuilder) -> None:
    """x sigmoid(x), or what looks like it."""
    x = builder.take(KINDS)
    value = builder.node(
        "Sigmoid", x if builder.chance(0.7) else builder.node("Mul", x, builder.scalar(x.dtype, 1.5))
    )
    builder.keep(builder.node("Mul", *builder.random.sample((x, value), 2)))


def softmax(builder: ModelBuilder) -> None:
    """Softmax and its kin along any axis, a logarithm after it in part."""
    x = builder.take((F32, F64), (1, 2, 3), bounded=True)
    op_type = builder.random.choice(("Softmax", "Softmax", "LogSoftmax", "Hardmax"))
    axis = builder.random.choice((None, builder.random.randrange(x.rank)))
    if axis is None and x.rank == 1 and builder.opset < 13:
        # The axis is 1 then.
        raise NotApplicable
    if op_type == "Softmax" and builder.chance(0.4):
        # Far apart, the logarithm of what became zero is an infinity that LogSoftmax does not make.
        builder.keep(
            builder.node("Log", builder.node(op_type, versioned_operators.clip(builder, x, -8, 8), axis=axis))
        )
        return
    value = builder.node(op_type, x, axis=axis)
    builder.keep(value)


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
    decomposed_layer_norm,
    decomposed_gelu,
    decomposed_swish,
    softmax,
)
