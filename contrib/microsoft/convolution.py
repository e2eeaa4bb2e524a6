"""Convolutions and poolings: fused, channels last, quantized."""

from __future__ import annotations

from typing import Any

import numpy as np

from xonnc.contrib.microsoft.common import (
    BYTES,
    Array,
    Samples,
    allowed,
    contrib,
    dequantize,
    normal,
    quantize,
    quantized,
    rank_of,
    scalar,
    wide,
)
from xonnc.contrib.microsoft.matmul import activate, activated
from xonnc.contrib.microsoft.windows import (
    convolution,
    max_pool,
    pool_attributes,
    pooled_type,
    to_channels_first,
    to_channels_last,
)
from xonnc.plugin import Builder, TensorType, Value, attribute, one, optional

REAL = (np.float32, np.float16, np.float64)
PADDINGS = ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")


def kernel_of(op: Any, w: TensorType, is_last: bool = False) -> list[int]:
    """Return the kernel's sizes: the attribute, or those of the weights (OI… or, with `is_last`, O…I)."""
    if op.kernel_shape:
        return list(op.kernel_shape)
    shape = w.shape
    if shape is None or not all(isinstance(each, int) for each in shape):
        raise op.fail("the sizes of the kernel are not known; give the node a kernel_shape")
    sizes: Any = shape[1:-1] if is_last else shape[2:]
    return list(sizes)


def convolved_type(op: Any, x: TensorType, w: TensorType, is_last: bool) -> TensorType:
    """Return the result type of a convolution, of images channels last with `is_last`."""
    if w.shape is None:
        return x.with_shape(None)
    return pooled_type(op, x, kernel_of(op, w), is_last, w.shape[0])


def move_channels(x: Array, is_last: bool) -> Array:
    """Transpose from channels last to channels first if `is_last`."""
    return np.moveaxis(x, -1, 1) if is_last else x


def restore_channels(y: Array, is_last: bool) -> Array:
    """Transpose from channels first to channels last if `is_last`."""
    return np.ascontiguousarray(np.moveaxis(y, 1, -1)) if is_last else y


def drawn_window(rng: np.random.Generator, index: int, kernel: list[int], count: int = 2) -> dict[str, Any]:
    """Return attributes of a sample convolution; `index` varies the kind of padding."""
    given: dict[str, Any] = {
        "kernel_shape": kernel,
        "strides": [int(each) for each in rng.integers(1, 3, count)],
    }
    if index % 3 == 2:
        return given | {"auto_pad": str(rng.choice(["VALID", "SAME_UPPER", "SAME_LOWER"]))}
    dilations = [int(each) for each in rng.integers(1, 3, count)]
    return given | {"pads": [int(each) for each in rng.integers(0, 2, 2 * count)], "dilations": dilations}


def drawn_sizes(rng: np.random.Generator, count: int) -> tuple[list[int], int, int, int]:
    """Return random sizes of the spatial axes, the number of groups, channels, and filters of a group."""
    group = int(rng.integers(1, 3))
    sizes = [int(each) for each in rng.integers(5, 9, count)]
    return sizes, group, group * int(rng.integers(1, 4)), int(rng.integers(1, 4))


@contrib("FusedConv")
class FusedConv:
    """Convolution, then the addition of a tensor and an activation, both optional."""

    inputs = (one("T", name="x"), one("T", name="w"), optional("T", name="bias"), optional("T", name="z"))
    outputs = one("T")
    types = allowed(T=REAL)
    activation = attribute(str, default="")
    activation_params = attribute(list[float], default=None)
    auto_pad = attribute(str, default="NOTSET", choices=PADDINGS)
    dilations = attribute(list[int], default=None)
    group = attribute(int, default=1)
    kernel_shape = attribute(list[int], default=None)
    pads = attribute(list[int], default=None)
    strides = attribute(list[int], default=None)

    @staticmethod
    def parameters(op: Any) -> tuple[str, float | None, float | None]:
        """Return the activation and its two parameters, `None` where absent."""
        given: list[Any] = [*(op.activation_params or []), None, None]
        return op.activation, given[0], given[1]

    @staticmethod
    def infer(op: Any) -> TensorType:
        return convolved_type(op, op.x, op.w, False)

    @staticmethod
    def reference(op: Any, x: Array, w: Array, bias: Array | None, z: Array | None) -> Array:
        y = convolution(op, wide(x), wide(w), None if bias is None else wide(bias))
        y = y if z is None else y + wide(z)
        return activated(y, *FusedConv.parameters(op)).astype(x.dtype)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        y = b.Conv(op.x, op.w, op.bias, group=op.group, **pool_attributes(op, op.kernel_shape))
        y = y if op.z is None else b.Add(y, op.z)
        return activate(b, y, *FusedConv.parameters(op))

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        kinds: list[tuple[str, list[float]]] = [
            ("Relu", []),
            ("LeakyRelu", [0.125]),
            ("Clip", [-0.5, 0.75]),
            ("HardSigmoid", [0.25, 0.5]),
            ("Tanh", []),
            ("Sigmoid", []),
        ]
        for index, (activation, parameters) in enumerate(kinds):
            sizes, group, channels, filters = drawn_sizes(rng, 2)
            kernel = [int(each) for each in rng.integers(1, 4, 2)]
            given = drawn_window(rng, index, kernel) | {"group": group, "activation": activation}
            w = normal(rng, filters * group, channels // group, *kernel)
            bias = normal(rng, filters * group) if index % 2 else None
            given |= {"activation_params": parameters} if parameters else {}
            yield [normal(rng, 2, channels, *sizes), w, bias], given


@contrib("NhwcConv")
class NhwcConv:
    """Convolution of images with channels last."""

    inputs = (one("T", name="x"), one("T", name="w"), optional("T", name="bias"))
    outputs = one("T")
    types = allowed(T=REAL)
    auto_pad = attribute(str, default="NOTSET", choices=PADDINGS)
    dilations = attribute(list[int], default=None)
    group = attribute(int, default=1)
    kernel_shape = attribute(list[int], default=None)
    pads = attribute(list[int], default=None)
    strides = attribute(list[int], default=None)

    @staticmethod
    def infer(op: Any) -> TensorType:
        if op.w.shape is None:
            return op.x.with_shape(None)
        return pooled_type(op, op.x, kernel_of(op, op.w, True), True, op.w.shape[0])

    @staticmethod
    def reference(op: Any, x: Array, w: Array, bias: Array | None) -> Array:
        weights = np.moveaxis(wide(w), -1, 1)
        y = convolution(op, np.moveaxis(wide(x), -1, 1), weights, None if bias is None else wide(bias))
        return restore_channels(y, True).astype(x.dtype)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        rank = rank_of(op, op.x)
        x, w = to_channels_first(b, op.x, rank), to_channels_first(b, op.w, rank)
        y = b.Conv(x, w, op.bias, group=op.group, **pool_attributes(op, op.kernel_shape))
        return to_channels_last(b, y, rank)

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for index in range(3):
            sizes, group, channels, filters = drawn_sizes(rng, 2)
            kernel = [int(each) for each in rng.integers(1, 4, 2)]
            given = drawn_window(rng, index, kernel) | {"group": group}
            w = normal(rng, filters * group, *kernel, channels // group)
            bias = normal(rng, filters * group) if index % 2 else None
            yield [normal(rng, 2, *sizes, channels), w, bias], given


@contrib("NhwcMaxPool")
class NhwcMaxPool:
    """Max pooling of 8-bit integers with channels last."""

    inputs = one("T", name="x")
    outputs = one("T")
    types = allowed(T=BYTES)
    auto_pad = attribute(str, default="NOTSET", choices=PADDINGS)
    ceil_mode = attribute(int, default=0)
    dilations = attribute(list[int], default=None)
    kernel_shape = attribute(list[int])
    pads = attribute(list[int], default=None)
    strides = attribute(list[int], default=None)

    @staticmethod
    def infer(op: Any) -> TensorType:
        return pooled_type(op, op.x, op.kernel_shape, True)

    @staticmethod
    def reference(op: Any, x: Array) -> Array:
        return restore_channels(max_pool(op, move_channels(x, True)), True)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        rank = rank_of(op, op.x)
        given = {**pool_attributes(op), "ceil_mode": op.ceil_mode}
        found = b.MaxPool(to_channels_first(b, op.x, rank), **given)
        return to_channels_last(b, found[0], rank)

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for index, dtype in enumerate((*BYTES, *BYTES)):
            given = drawn_window(rng, index, [int(each) for each in rng.integers(2, 4, 2)])
            sizes = [int(each) for each in rng.integers(5, 9, 2)]
            x, _, _ = quantized(rng, (2, *sizes, int(rng.integers(1, 5))), dtype)
            yield [x], given


@contrib("QLinearConv")
class QLinearConv:
    """Quantized convolution with an int32 bias at the product's scale; images may be channels last."""

    inputs = (
        one("T1", name="x"),
        one(np.float32, name="x_scale"),
        one("T1", name="x_zero"),
        one("T2", name="w"),
        one(np.float32, name="w_scale"),
        one("T2", name="w_zero"),
        one(np.float32, name="y_scale"),
        one("T3", name="y_zero"),
        optional(np.int32, name="bias"),
    )
    outputs = one("T3")
    types = allowed(T1=BYTES, T2=BYTES, T3=BYTES)
    auto_pad = attribute(str, default="NOTSET", choices=PADDINGS)
    channels_last = attribute(int, default=0)
    dilations = attribute(list[int], default=None)
    group = attribute(int, default=1)
    kernel_shape = attribute(list[int], default=None)
    pads = attribute(list[int], default=None)
    strides = attribute(list[int], default=None)

    @staticmethod
    def infer(op: Any) -> TensorType:
        return convolved_type(op, op.x, op.w, bool(op.channels_last)).with_dtype(op.y_zero.dtype)

    @staticmethod
    def reference(op: Any, *operands: Array) -> Array:
        x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias = operands
        absent: Any = None
        first = move_channels(dequantize(x, np.ones((), np.float32), x_zero), bool(op.channels_last))
        weights = dequantize(w, np.ones((), np.float32), w_zero, axis=0)
        # Sums of products of 8-bit integers are exact in float64.
        total = convolution(op, first.astype(np.float64), weights.astype(np.float64), None)
        channel = (-1, *[1] * (x.ndim - 2))
        total = total if bias is absent else total + bias.reshape(channel)
        scale = (x_scale * w_scale).astype(np.float32)
        y = total.astype(np.float32) * (scale.reshape(channel) if scale.size > 1 else scale.reshape(()))
        return restore_channels(quantize(y, y_scale, y_zero, y_zero.dtype), bool(op.channels_last))

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        rank = rank_of(op, op.x)
        x = to_channels_first(b, op.x, rank) if op.channels_last else op.x
        parameters = [scalar(b, each) for each in (op.x_scale, op.x_zero, op.w_scale, op.w_zero)]
        result = scalar(b, op.y_scale), scalar(b, op.y_zero), op.bias
        given = {"group": op.group, **pool_attributes(op, op.kernel_shape)}
        y = b.QLinearConv(x, *parameters[:2], op.w, *parameters[2:], *result, **given)
        return to_channels_last(b, y, rank) if op.channels_last else y

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        kinds = ((np.uint8, np.int8), (np.uint8, np.uint8), (np.int8, np.int8), (np.uint8, np.int8))
        for index, (dtype, weights) in enumerate(kinds):
            sizes, group, channels, filters = drawn_sizes(rng, 2)
            kernel = [int(each) for each in rng.integers(1, 4, 2)]
            given = drawn_window(rng, index, kernel) | {"group": group, "channels_last": index % 2}
            shape = (2, *sizes, channels) if index % 2 else (2, channels, *sizes)
            count = filters * group
            w, w_scale, w_zero = quantized(rng, (count, channels // group, *kernel), weights)
            if index > 1:
                w_scale, w_zero = rng.uniform(0.01, 0.1, count).astype(np.float32), np.zeros(count, weights)
            y_scale = np.asarray(rng.uniform(0.2, 1), np.float32)
            y_zero = np.asarray(rng.integers(0, 9), dtype)
            bias = rng.integers(-1000, 1000, count).astype(np.int32) if index else None
            yield [*quantized(rng, shape, dtype), w, w_scale, w_zero, y_scale, y_zero, bias], given


@contrib("ConvTransposeWithDynamicPads")
class ConvTransposeWithDynamicPads:
    """Transposed convolution with padding given by a tensor."""

    inputs = (
        one("T", name="x"),
        one("T", name="w"),
        optional(np.int64, name="padding"),
        optional("T", name="bias"),
    )
    outputs = one("T")
    types = allowed(T=REAL)
    auto_pad = attribute(str, default="NOTSET", choices=("NOTSET",))
    dilations = attribute(list[int], default=None)
    group = attribute(int, default=1)
    kernel_shape = attribute(list[int], default=None)
    output_padding = attribute(list[int], default=None)
    strides = attribute(list[int], default=None)

    @staticmethod
    def attributes_of(op: Any, count: int) -> tuple[list[int], list[int], list[int]]:
        """Return strides, dilations and the padding of the output."""
        ones = [1] * count
        return op.strides or ones, op.dilations or ones, op.output_padding or [0] * count

    @staticmethod
    def infer(op: Any) -> TensorType:
        pads = None if op.padding is None else op.constant(2)
        if op.x.shape is None or op.w.shape is None or (op.padding is not None and pads is None):
            return op.x.with_shape(None)
        kernel = kernel_of(op, op.w)
        count = len(kernel)
        strides, dilations, extra = ConvTransposeWithDynamicPads.attributes_of(op, count)
        cuts = [0] * 2 * count if pads is None else [int(each) for each in pads]
        sizes = [
            (size - 1) * strides[axis]
            + ((kernel[axis] - 1) * dilations[axis] + 1 + extra[axis] - cuts[axis] - cuts[axis + count])
            for axis, size in enumerate(op.x.shape[2:])
        ]
        return op.x.with_shape([op.x.shape[0], op.w.shape[1] * op.group, *sizes])

    @staticmethod
    def reference(op: Any, x: Array, w: Array, padding: Array | None, bias: Array | None) -> Array:
        count = w.ndim - 2
        strides, dilations, extra = ConvTransposeWithDynamicPads.attributes_of(op, count)
        spans = [(size - 1) * each + 1 for size, each in zip(w.shape[2:], dilations, strict=True)]
        sizes = [(x.shape[axis + 2] - 1) * strides[axis] + spans[axis] + extra[axis] for axis in range(count)]
        y = np.zeros((x.shape[0], w.shape[1] * op.group, *sizes), wide(x).dtype)
        inputs = np.split(wide(x), op.group, 1)
        for index, weights in enumerate(np.split(wide(w), op.group, 0)):
            part = y[:, index * w.shape[1] : (index + 1) * w.shape[1]]
            for position in np.ndindex(*w.shape[2:]):
                # Each element of the kernel adds the product with all inputs, spread by the strides.
                begins = [each * step for each, step in zip(position, dilations, strict=True)]
                found = tuple(
                    slice(begin, begin + (x.shape[axis + 2] - 1) * strides[axis] + 1, strides[axis])
                    for axis, begin in enumerate(begins)
                )
                product = np.tensordot(inputs[index], weights[(slice(None), slice(None), *position)], (1, 0))
                part[(slice(None), slice(None), *found)] += np.moveaxis(product, -1, 1)
        if bias is not None:
            y += wide(bias).reshape((-1, *[1] * count))
        cuts = [0] * 2 * count if padding is None else [int(each) for each in padding]
        cropped = [slice(cuts[axis], size - cuts[axis + count]) for axis, size in enumerate(sizes)]
        return y[(slice(None), slice(None), *cropped)].astype(x.dtype)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        count = rank_of(op, op.x) - 2
        names = ("strides", "dilations", "output_padding", "kernel_shape", "group")
        given = {name: getattr(op, name) for name in names if getattr(op, name) is not None}
        pads = None if op.padding is None else op.constant(2)
        if pads is not None:
            given["pads"] = [int(each) for each in pads]
        y = b.ConvTranspose(op.x, op.w, op.bias, **given)
        if op.padding is None or pads is not None:
            return y
        # Padding of a transposed convolution is what is cut off its result.
        before, after = b.Split(op.padding, [count, count], axis=0, outputs=2)
        ends = b.Sub(b.Shape(y, start=2), after)
        return b.Slice(y, before, ends, list(range(2, 2 + count)))

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for index in range(4):
            sizes, _, channels, filters = drawn_sizes(rng, 2)
            kernel = [int(each) for each in rng.integers(2, 4, 2)]
            strides = [int(each) for each in rng.integers(1, 3, 2)]
            given: dict[str, Any] = {"kernel_shape": kernel, "strides": strides}
            if index == 3:
                given["output_padding"] = [int(rng.integers(0, each)) for each in strides]
            w = normal(rng, channels, filters, *kernel)
            pads = rng.integers(0, 2, 4).astype(np.int64)
            bias = normal(rng, filters) if index % 2 else None
            yield [normal(rng, 2, channels, *sizes), w, pads, bias], given
