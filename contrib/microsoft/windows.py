"""Sliding windows: shape inference and NumPy references of pooling and convolution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from xonnc.contrib.microsoft.common import Array
from xonnc.plugin import Builder, TensorType, Value


def spatial(given: Sequence[int] | None, count: int, default: int = 1) -> list[int]:
    """Return an attribute with `count` integers, by default each `default`."""
    return [default] * count if given is None else list(given)


def padding(op: Any, sizes: Sequence[int], kernel: Sequence[int]) -> list[int]:
    """Return the padding for static sizes, ONNX's `pads`: the begins of all axes, then the ends."""
    count = len(kernel)
    if op.auto_pad == "VALID":
        return [0] * (2 * count)
    if op.auto_pad == "NOTSET":
        return spatial(op.pads, 2 * count, 0)
    strides = spatial(op.strides, count)
    dilations = spatial(getattr(op, "dilations", None), count)
    before: list[int] = []
    after: list[int] = []
    for size, width, stride, dilation in zip(sizes, kernel, strides, dilations, strict=True):
        total = max(0, (-(-size // stride) - 1) * stride + (width - 1) * dilation + 1 - size)
        small = total // 2
        is_upper = op.auto_pad == "SAME_UPPER"
        before.append(small if is_upper else total - small)
        after.append(total - small if is_upper else small)
    return [*before, *after]


def window_size(op: Any, size: Any, kernel: Sequence[int], axis: int) -> Any:
    """Return the output size of a pooling or convolution along a spatial axis; symbolic if `size` is."""
    count = len(kernel)
    stride = spatial(op.strides, count)[axis]
    if op.auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        return (size + (stride - 1)) // stride
    pads = [0] * (2 * count) if op.auto_pad == "VALID" else spatial(op.pads, 2 * count, 0)
    extent = (kernel[axis] - 1) * spatial(getattr(op, "dilations", None), count)[axis] + 1
    free = size + (pads[axis] + pads[axis + count] - extent)
    if not getattr(op, "ceil_mode", 0):
        return free // stride + 1
    found = (free + (stride - 1)) // stride + 1
    # With ceil_mode, ONNX drops a last window that begins past the input, in the padding at its end.
    is_outside = isinstance(found, int) and (found - 1) * stride >= size + pads[axis]
    return found - 1 if is_outside else found


def pooled_type(
    op: Any, x: TensorType, kernel: Sequence[int], is_last: bool, channels: Any = None
) -> TensorType:
    """Return the result type of a pooling or convolution; `is_last` means channels last (NHWC)."""
    shape = x.shape
    if shape is None:
        return x
    sizes = shape[1:-1] if is_last else shape[2:]
    if len(sizes) != len(kernel):
        raise op.fail(f"a kernel of {len(kernel)} axes slides over {len(sizes)}")
    found = [window_size(op, size, kernel, axis) for axis, size in enumerate(sizes)]
    depth = (shape[-1] if is_last else shape[1]) if channels is None else channels
    return x.with_shape([shape[0], *found, depth] if is_last else [shape[0], depth, *found])


def pool_attributes(op: Any, kernel: Sequence[int] | None = None) -> dict[str, Any]:
    """Return the attributes for ONNX's pooling and convolution operators that the node sets."""
    found = {
        "auto_pad": op.auto_pad,
        "kernel_shape": op.kernel_shape if kernel is None else list(kernel),
        "pads": op.pads if op.auto_pad == "NOTSET" else None,
        "strides": op.strides,
        "dilations": getattr(op, "dilations", None),
    }
    return {name: value for name, value in found.items() if value is not None}


def windows(op: Any, x: Array, kernel: Sequence[int], fill: float) -> Array:
    """Return a view of the windows over the spatial axes of NC…: NC, output axes, then kernel axes."""
    count = len(kernel)
    pads = padding(op, x.shape[2:], kernel)
    sizes = [window_size(op, size, kernel, axis) for axis, size in enumerate(x.shape[2:])]
    strides, dilations = spatial(op.strides, count), spatial(getattr(op, "dilations", None), count)
    extents = [(width - 1) * each + 1 for width, each in zip(kernel, dilations, strict=True)]
    # With ceil_mode, the last window may end past the padding: pad as far as it reaches.
    after = [
        max(0, (sizes[axis] - 1) * strides[axis] + extents[axis] - x.shape[axis + 2] - pads[axis])
        for axis in range(count)
    ]
    margins = [(0, 0), (0, 0), *zip(pads[:count], after, strict=True)]
    padded = np.pad(x, margins, constant_values=fill)
    axes = tuple(range(2, 2 + count))
    found = np.lib.stride_tricks.sliding_window_view(padded, extents, axes)
    steps = [slice(None)] * 2 + [
        slice(0, (size - 1) * stride + 1, stride) for size, stride in zip(sizes, strides, strict=True)
    ]
    return found[(*steps, *(slice(None, None, each) for each in dilations))]


def average_pool(op: Any, x: Array) -> Array:
    """Average pooling in float32, in NC… layout."""
    kernel = op.kernel_shape
    axes = tuple(range(-len(kernel), 0))
    total = windows(op, x, kernel, 0).sum(axes, dtype=np.float32)
    if op.count_include_pad:
        # The divisor counts the declared padding, but not what ceil_mode adds beyond it, which stays 0.
        pads = padding(op, x.shape[2:], kernel)
        count = len(kernel)
        margins = [(0, 0), (0, 0), *zip(pads[:count], pads[count:], strict=True)]
        inside = np.pad(np.ones_like(x), margins, constant_values=1)
        plain = type("Plain", (), {"auto_pad": "VALID", "strides": op.strides, "ceil_mode": op.ceil_mode})
        counts = windows(plain(), inside, kernel, 0).sum(axes)
    else:
        counts = windows(op, np.ones_like(x), kernel, 0).sum(axes)
    return np.asarray(total / counts, np.float32)


def max_pool(op: Any, x: Array) -> Array:
    """Max pooling of integers, in NC… layout."""
    fill = int(np.iinfo(x.dtype).min)
    return np.asarray(windows(op, x, op.kernel_shape, fill).max(tuple(range(-len(op.kernel_shape), 0))))


def convolution(op: Any, x: Array, w: Array, bias: Array | None) -> Array:
    """Grouped convolution of 1 to 3 spatial axes, in NC… layout."""
    groups = op.group
    count = w.ndim - 2
    found = windows(op, x, w.shape[2:], 0)
    batch, channels = x.shape[:2]
    spatial_sizes = found.shape[2 : 2 + count]
    grouped = found.reshape((batch, groups, channels // groups, *found.shape[2:]))
    weights = w.reshape((groups, w.shape[0] // groups, *w.shape[1:]))
    letters = "xyz"[:count]
    inner = "klm"[:count]
    y = np.einsum(f"ngc{letters}{inner},goc{inner}->ngo{letters}", grouped, weights, optimize=True)
    y = y.reshape((batch, w.shape[0], *spatial_sizes))
    return y if bias is None else y + bias.reshape((-1, *[1] * count))


def to_channels_first(b: Builder, x: Value, rank: int) -> Value:
    """Transpose from NHWC to NCHW."""
    return b.Transpose(x, perm=[0, rank - 1, *range(1, rank - 1)])


def to_channels_last(b: Builder, x: Value, rank: int) -> Value:
    """Transpose from NCHW to NHWC."""
    return b.Transpose(x, perm=[0, *range(2, rank), 1])
