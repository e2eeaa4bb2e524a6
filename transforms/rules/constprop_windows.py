"""Constant folding of pooling and convolution by sliding-window views."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.ir import Operation

from xonnc.rewriting.attribute_conversion import decode
from xonnc.rewriting.onnx import (
    AveragePool,
    Conv,
    ConvTranspose,
    GlobalAveragePool,
    GlobalLpPool,
    GlobalMaxPool,
    LpPool,
    MaxPool,
    MaxPoolSingleOut,
)
from xonnc.rewriting.patterns import (
    Array,
    Constant,
    MatchFailure,
    RewriteResult,
    Template,
    compute,
    const,
    maybe,
    root,
)
from xonnc.rewriting.rules import Rule, rule, rules
from xonnc.transforms.numerics import computed_in, is_float, matmul
from xonnc.transforms.rules.constprop_reduction import lowest
from xonnc.transforms.rules.folding_limits import MAX_BYTES, MAX_PRODUCTS, too_large
from xonnc.transforms.shapes.convolution import same_pads, transposed_pads

c = const.c


@dataclass(frozen=True)
class SlidingWindows:
    """Sliding windows of a pool or convolution, per spatial axis."""

    sizes: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    counts: tuple[int, ...]
    """Number of windows."""

    @staticmethod
    def of(op: Operation, sizes: tuple[int, ...], kernel: tuple[int, ...]) -> SlidingWindows | None:
        """Return the windows of an op for data of these dimensions, or `None` if properties do not match."""
        axes = len(sizes)
        ones, zeros = (1,) * axes, (0,) * axes
        strides, dilations = _numbers(op, "strides") or ones, _numbers(op, "dilations") or ones
        if (
            not axes == len(kernel) == len(strides) == len(dilations)
            or min(*kernel, *strides, *dilations) < 1
        ):
            return None
        spans = [(size - 1) * dilation + 1 for size, dilation in zip(kernel, dilations, strict=True)]
        auto_pad = decode(op.properties.get("auto_pad")) or "NOTSET"
        if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
            pads = same_pads(sizes, spans, strides, upper=auto_pad == "SAME_UPPER")
        else:
            pads = (_numbers(op, "pads") if auto_pad == "NOTSET" else None) or (*zeros, *zeros)
        if len(pads) != 2 * axes or min(pads) < 0:
            return None
        before, after = pads[:axes], pads[axes:]
        ceil = bool(decode(op.properties.get("ceil_mode")) or 0)
        counts: list[int] = []
        for size, span, stride, first, last in zip(sizes, spans, strides, before, after, strict=True):
            free = size + first + last - span
            if free < 0 or size == 0:
                return None
            count = (-(-free // stride) if ceil else free // stride) + 1
            # With ceil_mode, a window that starts in the end padding is dropped.
            counts.append(count - 1 if ceil and (count - 1) * stride >= size + first else count)
        return SlidingWindows(sizes, kernel, strides, dilations, before, after, tuple(counts))

    def seen(self, array: Array, filling: object) -> Array:
        """Return all windows as a view of the padded data: [n, c, *positions, *kernel]."""
        spans = [(size - 1) * step + 1 for size, step in zip(self.kernel, self.dilations, strict=True)]
        ends = [
            max(0, (count - 1) * stride + span - size - first)
            for count, stride, span, size, first in zip(
                self.counts, self.strides, spans, self.sizes, self.before, strict=True
            )
        ]
        widths = [(0, 0), (0, 0), *zip(self.before, ends, strict=True)]
        padded = np.pad(array, widths, constant_values=np.asarray(filling, array.dtype))
        axes = tuple(range(2, array.ndim))
        views = np.lib.stride_tricks.sliding_window_view(padded, tuple(spans), axis=axes)
        starts = [
            slice(0, (n - 1) * stride + 1, stride)
            for n, stride in zip(self.counts, self.strides, strict=True)
        ]
        inside = [slice(None, None, step) for step in self.dilations]
        return views[(slice(None), slice(None), *starts, *inside)]

    @property
    def inner(self) -> tuple[int, ...]:
        """Return the window axes of `seen`."""
        return tuple(range(-len(self.kernel), 0))

    def counted(self, include_pads: bool) -> Array:
        """Return the number of data elements (with `include_pads`, also pads) per window."""
        ones = np.ones((1, 1, *self.sizes), np.int64)
        if not include_pads:
            return np.sum(self.seen(ones, 0), axis=self.inner)
        padded = np.pad(ones, [(0, 0), (0, 0), *zip(self.before, self.after, strict=True)], constant_values=1)
        zeros = (0,) * len(self.kernel)
        sizes = tuple(padded.shape[2:])
        unpadded = SlidingWindows(sizes, self.kernel, self.strides, self.dilations, zeros, zeros, self.counts)
        return np.sum(unpadded.seen(padded, 0), axis=self.inner)


def _numbers(op: Operation, name: str) -> tuple[int, ...] | None:
    found = decode(op.properties.get(name))
    return tuple(each for each in found if isinstance(each, int)) if isinstance(found, tuple) else None


def windows_of(root: Operation, array: Array, kernel: tuple[int, ...]) -> SlidingWindows | MatchFailure:
    """Return the windows of a pool."""
    found = SlidingWindows.of(root, array.shape[2:], kernel) if array.ndim > 2 else None
    if found is None:
        return MatchFailure(f"the window does not fit data of shape {list(array.shape)}")
    products = prod(array.shape[:2]) * prod(found.counts) * prod(kernel)
    return MatchFailure(f"{products} elements in all windows") if products > MAX_PRODUCTS >> 6 else found


def pool(op: Template, function: Callable[[Operation, Array, SlidingWindows], RewriteResult]) -> Rule:
    """Return the rule that folds a pooling operator: f of the elements in each window."""

    def pooled(root: Operation, c: Constant) -> RewriteResult:
        array = c.array
        found = windows_of(root, array, _numbers(root, "kernel_shape") or ())
        if isinstance(found, MatchFailure):
            return found
        if is_float(array.dtype) and np.any(np.isnan(array)):
            return MatchFailure("NaN has no order")
        with np.errstate(all="ignore"):
            return function(root, array, found)

    return rule(op(c), compute(pooled, root, c))


def average(root: Operation, array: Array, windows: SlidingWindows) -> RewriteResult:
    """Mean of each window, with or without the pads counted (`count_include_pad`)"""
    sums = np.sum(computed_in(windows.seen(array, 0)), axis=windows.inner)
    counts = windows.counted(bool(decode(root.properties.get("count_include_pad")) or 0))
    return (sums / counts).astype(array.dtype)


def norm(root: Operation, array: Array, windows: SlidingWindows) -> RewriteResult:
    """p-norm of each window"""
    p = decode(root.properties.get("p"))
    if not isinstance(p, int) or p < 1:
        return MatchFailure(f"p is {p}")
    powers = np.power(np.abs(computed_in(windows.seen(array, 0))), p)
    return np.power(np.sum(powers, axis=windows.inner), 1 / p).astype(array.dtype)


def maximum(root: Operation, array: Array, windows: SlidingWindows) -> RewriteResult:
    """Maximum of each window, and its flat index in the data"""
    seen = windows.seen(array, lowest(array.dtype))
    largest = np.max(seen, axis=windows.inner)
    if len(root.results) == 1 or root.results[1].first_use is None:
        return largest if len(root.results) == 1 else (largest, None)
    # Flat indices count over the whole tensor; `storage_order` 1 makes only the spatial part column-major.
    column_major = bool(decode(root.properties.get("storage_order")) or 0)
    order = "F" if column_major else "C"
    inside = np.arange(prod(windows.sizes), dtype=np.int64).reshape(windows.sizes, order=order)
    planes = np.arange(prod(array.shape[:2]), dtype=np.int64).reshape(
        *array.shape[:2], *[1] * len(windows.sizes)
    )
    positions = windows.seen(planes * inside.size + inside, -1)
    flat = (*largest.shape, prod(windows.kernel))
    values, numbers = seen.reshape(flat), positions.reshape(flat)
    # Pads are the lowest value: if the data contain it too, the index of the maximum must not be that of a
    # pad.
    first = np.argmax((values == largest[..., None]) & (numbers >= 0), axis=-1)
    return (largest, np.take_along_axis(numbers, first[..., None], -1)[..., 0])


def over_all(op: Template, function: Callable[[Array, tuple[int, ...]], Array]) -> Rule:
    """Return the rule that folds a global pool: f of all elements of a channel."""

    def pooled(c: Constant) -> RewriteResult:
        array = c.array
        if array.ndim < 3 or 0 in array.shape[2:]:
            return MatchFailure(f"there is nothing to pool in shape {list(array.shape)}")
        return np.asarray(function(array, tuple(range(2, array.ndim)))).astype(array.dtype)

    return rule(op(c), compute(pooled, c))


def mean(array: Array, axes: tuple[int, ...]) -> Array:
    """The mean"""
    return np.mean(computed_in(array), axis=axes, keepdims=True)


def largest(array: Array, axes: tuple[int, ...]) -> Array:
    """The maximum"""
    return np.max(array, axis=axes, keepdims=True)


def norm_of_all(root: Operation, c: Constant) -> RewriteResult:
    """p-norm of all elements of a channel"""
    array, p = c.array, decode(root.properties.get("p"))
    if array.ndim < 3 or not isinstance(p, int) or p < 1:
        return MatchFailure(f"p is {p}, the shape {list(array.shape)}")
    powers = np.power(np.abs(computed_in(array)), p)
    return np.power(np.sum(powers, axis=tuple(range(2, array.ndim)), keepdims=True), 1 / p).astype(
        array.dtype
    )


@dataclass(frozen=True)
class ScatterWindows:
    """Scatter positions of a transposed convolution (col2im), per spatial axis."""

    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    uncropped: tuple[int, ...]
    """Output dimensions before cropping."""
    before: tuple[int, ...]
    after: tuple[int, ...]

    @staticmethod
    def of(op: Operation, sizes: tuple[int, ...], kernel: tuple[int, ...]) -> ScatterWindows | None:
        """Return the scatter positions of an op for data of these dimensions, or `None`."""
        axes = len(sizes)
        ones, zeros = (1,) * axes, (0,) * axes
        strides, dilations = _numbers(op, "strides") or ones, _numbers(op, "dilations") or ones
        extra, pads = _numbers(op, "output_padding") or zeros, _numbers(op, "pads") or (*zeros, *zeros)
        if not axes == len(kernel) == len(strides) == len(dilations) == len(extra) or len(pads) != 2 * axes:
            return None
        uncropped = tuple(
            (size - 1) * stride + (width - 1) * step + 1 + more
            for size, stride, width, step, more in zip(sizes, strides, kernel, dilations, extra, strict=True)
        )
        auto_pad, output_shape = (
            decode(op.properties.get("auto_pad")) or "NOTSET",
            _numbers(op, "output_shape"),
        )
        if auto_pad in ("SAME_UPPER", "SAME_LOWER") and not output_shape:
            output_shape = tuple(size * stride for size, stride in zip(sizes, strides, strict=True))
        if output_shape:
            totals = [size - each for size, each in zip(uncropped, output_shape[-axes:], strict=True)]
            ends = [transposed_pads(total, auto_pad == "SAME_UPPER") for total in totals]
            pads = (*(before for before, _ in ends), *(after for _, after in ends))
        elif auto_pad == "VALID":
            pads = (*zeros, *zeros)
        fits = min(pads[:axes]) >= 0 and all(
            size - pads[n] - pads[n + axes] > 0 for n, size in enumerate(uncropped)
        )
        return ScatterWindows(strides, dilations, uncropped, pads[:axes], pads[axes:]) if fits else None

    def target(self, tap: tuple[int, ...], sizes: tuple[int, ...]) -> tuple[slice, ...]:
        """Return the output slice of the products with one kernel element."""
        return tuple(
            slice(at * step, at * step + (size - 1) * stride + 1, stride)
            for at, step, size, stride in zip(tap, self.dilations, sizes, self.strides, strict=True)
        )


def transposed(root: Operation, c: Constant, weights: Constant, bias: Constant | None) -> RewriteResult:
    """Transposed convolution: scatter-add of each element times the weights (col2im)"""
    array, filters = c.array, weights.array
    group = decode(root.properties.get("group")) or 1
    if array.ndim < 3 or filters.ndim != array.ndim or not isinstance(group, int) or 0 in array.shape:
        return MatchFailure("data and weights do not fit")
    spread = ScatterWindows.of(root, array.shape[2:], filters.shape[2:])
    if spread is None or array.shape[1] % group or filters.shape[0] != array.shape[1]:
        return MatchFailure("data, weights and properties do not fit")
    batch, kernel, depth, made = array.shape[0], filters.shape[2:], array.shape[1] // group, filters.shape[1]
    if array.size * made * prod(kernel) > MAX_PRODUCTS:
        return MatchFailure("there are too many products to sum")
    if (
        refusal := too_large((batch, group * made, *spread.uncropped), array.dtype, array.nbytes)
    ) is not None:
        return refusal
    wide = np.float64 if array.dtype.itemsize > 4 else np.float32
    data = array.astype(wide).reshape(batch, group, depth, -1)
    columns = filters.astype(wide).reshape(group, depth, made, *kernel)
    uncropped = np.zeros((batch, group, made, *spread.uncropped), wide)
    for tap in np.ndindex(*kernel):
        terms = np.einsum("ngcp,gcm->ngmp", data, columns[(slice(None), slice(None), slice(None), *tap)])
        target = (slice(None), slice(None), slice(None), *spread.target(tap, array.shape[2:]))
        uncropped[target] += terms.reshape(batch, group, made, *array.shape[2:])
    longer = [max(0, -last) for last in spread.after]
    uncropped = np.pad(uncropped, [(0, 0)] * 3 + [(0, more) for more in longer])
    cut = [slice(*ends) for ends in zip(spread.before, _from_end(spread), strict=True)]
    found = uncropped[(slice(None), slice(None), slice(None), *cut)]
    found = found.reshape(batch, group * made, *found.shape[3:]).astype(array.dtype)
    return found if bias is None else found + bias.array.reshape(-1, *[1] * len(kernel))


def _from_end(spread: ScatterWindows) -> list[int]:
    return [size - last for size, last in zip(spread.uncropped, spread.after, strict=True)]


def convolved(root: Operation, c: Constant, weights: Constant, bias: Constant | None) -> RewriteResult:
    """Convolution by im2col: a matrix product per group"""
    array, filters = c.array, weights.array
    group = decode(root.properties.get("group")) or 1
    if not isinstance(group, int) or array.ndim < 3 or filters.ndim != array.ndim:
        return MatchFailure("data and weights do not fit")
    made, depth = filters.shape[:2]
    if array.shape[1] != depth * group or made % group or 0 in filters.shape:
        return MatchFailure(f"{array.shape[1]} channels in {group} groups of {depth}")
    windows = SlidingWindows.of(root, array.shape[2:], filters.shape[2:])
    if windows is None:
        return MatchFailure(f"the window does not fit data of shape {list(array.shape)}")
    batch, pixels, terms = array.shape[0], prod(windows.counts), prod(filters.shape[1:])
    if batch * pixels * made * terms > MAX_PRODUCTS or batch * group * pixels * terms * 8 > 4 * MAX_BYTES:
        return MatchFailure("there are too many products to sum")
    if (refusal := too_large((batch, made, *windows.counts), array.dtype, array.nbytes)) is not None:
        return refusal
    axes = len(windows.kernel)
    seen = windows.seen(array, 0).reshape(batch, group, depth, *windows.counts, *windows.kernel)
    # im2col: [n, group, windows, channels · kernel] times [group, channels · kernel, output channels].
    order = (0, 1, *range(3, 3 + axes), 2, *range(3 + axes, 3 + 2 * axes))
    rows = seen.transpose(order).reshape(batch, group, pixels, terms)
    columns = filters.reshape(group, made // group, terms).transpose(0, 2, 1)
    found = matmul(rows, columns).transpose(0, 1, 3, 2).reshape(batch, made, *windows.counts)
    return found if bias is None else found + bias.array.reshape(-1, *[1] * axes)


RULES = rules(
    AveragePoolofConst=pool(AveragePool, average),
    ConvofConst=rule(
        Conv(c, const.weights, maybe.bias), compute(convolved, root, c, const.weights, maybe.bias)
    ),
    ConvTransposeofConst=rule(
        ConvTranspose(c, const.weights, maybe.bias), compute(transposed, root, c, const.weights, maybe.bias)
    ),
    GlobalAveragePoolofConst=over_all(GlobalAveragePool, mean),
    GlobalLpPoolofConst=rule(GlobalLpPool(c), compute(norm_of_all, root, c)),
    GlobalMaxPoolofConst=over_all(GlobalMaxPool, largest),
    LpPoolofConst=pool(LpPool, norm),
    MaxPoolSingleOutofConst=pool(MaxPoolSingleOut, maximum),
    MaxPoolofConst=pool(MaxPool, maximum),
)
