"""
Constant folding of data movement, as NumPy views where possible (docs/internals/onnx-rules.md §2.4, §2.7).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, prod

import numpy as np
from xdsl.ir import Attribute, Operation

from xonnc.dialects.onnx.elements import elements_array
from xonnc.rewriting.onnx import (
    Concat,
    ConstantOfShape,
    Expand,
    Gather,
    NonZero,
    Pad,
    Range,
    Reshape,
    Slice,
    Split,
    SplitV13,
    Squeeze,
    SqueezeV11,
    Tile,
    Transpose,
    Unsqueeze,
    UnsqueezeV11,
)
from xonnc.rewriting.patterns import (
    Array,
    Constant,
    MatchFailure,
    RewriteResult,
    attr,
    compute,
    const,
    consts,
    maybe,
    root,
)
from xonnc.rewriting.rules import rule, rules
from xonnc.transforms.rules.folding_limits import too_large
from xonnc.transforms.shapes.inference_context import axis_slice
from xonnc.transforms.shapes.slicing import equal_parts

c = const.c


def int_values_of(constant: Constant | None) -> tuple[int, ...] | None:
    """Return the integers of a constant, or `None` if it is absent."""
    return None if constant is None else tuple(int(number) for number in constant.array.reshape(-1))


def normalised(axes: Sequence[int], rank: int) -> tuple[int, ...] | None:
    """Return non-negative axes, or `None` if one is out of range."""
    if any(not -rank <= axis < rank for axis in axes):
        return None
    return tuple(axis % rank for axis in axes)


def reshaped_shape(shape: Sequence[int], target: Sequence[int], allow_zero: bool) -> tuple[int, ...] | None:
    """Return the shape that Reshape to `target` gives a tensor of `shape`, or `None` if it is invalid."""
    if len([size for size in target if size == -1]) > 1 or any(size < -1 for size in target):
        return None
    if not allow_zero and any(size == 0 and index >= len(shape) for index, size in enumerate(target)):
        return None
    # The dimension at -1 makes the number of elements equal; beside a dimension of 0, it is undefined.
    filled = [shape[index] if size == 0 and not allow_zero else size for index, size in enumerate(target)]
    if -1 in filled:
        others = prod(size for size in filled if size != -1)
        if others == 0 or prod(shape) % others:
            return None
        filled[filled.index(-1)] = prod(shape) // others
    return tuple(filled) if prod(filled) == prod(shape) else None


def transposed(c: Constant, perm: tuple[int, ...] | None) -> RewriteResult:
    """Axis i of the result is axis perm[i]; an absent perm reverses the axes"""
    tensor = c.tensor
    rank = len(tensor.shape)
    axes = normalised(perm, rank) if perm is not None else tuple(reversed(range(rank)))
    if axes is None or sorted(axes) != list(range(rank)):
        return MatchFailure(f"perm {perm} is no permutation of {rank} axes")
    return c.attribute if axes == tuple(range(rank)) else tensor.transpose(axes)


def reshaped(c: Constant, shape: Constant, allowzero: int) -> RewriteResult:
    """Reshape: the same elements in row-major order"""
    tensor = c.tensor
    result_shape = reshaped_shape(tensor.shape, int_values_of(shape) or (), bool(allowzero))
    if result_shape is None:
        return MatchFailure(f"{list(tensor.shape)} does not reshape to {int_values_of(shape)}")
    return c.attribute if result_shape == tensor.shape else tensor.reshape(result_shape)


def squeezed(c: Constant, axes: Constant | None) -> RewriteResult:
    """Drop the given axes, or all axes of size 1"""
    return _squeezed(c, int_values_of(axes))


def squeezed_v11(c: Constant, axes: tuple[int, ...] | None) -> RewriteResult:
    """Drop the given axes, or all axes of size 1"""
    return _squeezed(c, axes)


def _squeezed(c: Constant, axes: tuple[int, ...] | None) -> RewriteResult:
    tensor = c.tensor
    if axes is None:
        axes = tuple(axis for axis, size in enumerate(tensor.shape) if size == 1)
    removed = normalised(axes, len(tensor.shape))
    if removed is None or any(tensor.shape[axis] != 1 for axis in removed):
        return MatchFailure(f"axes {list(axes)} of {list(tensor.shape)} are not all of length one")
    return tensor.squeeze(removed) if removed else c.attribute


def unsqueezed(c: Constant, axes: Constant) -> RewriteResult:
    """Insert axes of size 1 at the given positions"""
    return _unsqueezed(c, int_values_of(axes) or ())


def unsqueezed_v11(c: Constant, axes: tuple[int, ...]) -> RewriteResult:
    """Insert axes of size 1 at the given positions"""
    return _unsqueezed(c, axes)


def _unsqueezed(c: Constant, axes: tuple[int, ...]) -> RewriteResult:
    tensor = c.tensor
    new = normalised(axes, len(tensor.shape) + len(axes))
    if new is None or len(set(new)) != len(new):
        return MatchFailure(f"axes {list(axes)} are not distinct axes of the result")
    return tensor.unsqueeze(new) if new else c.attribute


def sliced(
    c: Constant, starts: Constant, ends: Constant, axes: Constant | None, steps: Constant | None
) -> RewriteResult:
    """Slice: every step-th element from start to end along the axes"""
    tensor = c.tensor
    begins, stops = int_values_of(starts) or (), int_values_of(ends) or ()
    sliced_axes = normalised(int_values_of(axes) or tuple(range(len(begins))), len(tensor.shape))
    strides = int_values_of(steps) or (1,) * len(begins)
    if (
        sliced_axes is None
        or 0 in strides
        or not len(begins) == len(stops) == len(sliced_axes) == len(strides)
    ):
        return MatchFailure("starts, ends, axes and steps do not fit together")
    cuts = [slice(None)] * len(tensor.shape)
    for normalised_axes, start, end, step in zip(sliced_axes, begins, stops, strides, strict=True):
        cuts[normalised_axes] = axis_slice(start, end, step, tensor.shape[normalised_axes])
    return tensor.slice(cuts)


def split(root: Operation, c: Constant, sizes: Constant | None, axis: int) -> RewriteResult:
    """Split into consecutive parts along an axis"""
    tensor = c.tensor
    axes = normalised([axis], len(tensor.shape))
    if axes is None:
        return MatchFailure(f"there is no axis {axis}")
    size = tensor.shape[axes[0]]
    parts = int_values_of(sizes) or equal_parts(size, len(root.results))
    if sum(parts) != size or len(parts) != len(root.results) or min(parts) < 0:
        return MatchFailure(f"an axis of {size} does not split into {list(parts)}")
    return tensor.split(axes[0], parts)


def concatenated(constants: tuple[Constant, ...], axis: int) -> RewriteResult:
    """The operands concatenated along an axis"""
    arrays = [constant.array for constant in constants]
    if len(arrays) == 1:
        return constants[0].attribute
    axes = normalised([axis], arrays[0].ndim)
    if axes is None:
        return MatchFailure(f"there is no axis {axis}")
    return np.concatenate(arrays, axis=axes[0], dtype=arrays[0].dtype)


def expanded(c: Constant, shape: Constant) -> RewriteResult:
    """Broadcast to a shape"""
    tensor = c.tensor
    try:
        result_shape = np.broadcast_shapes(tensor.shape, int_values_of(shape) or ())
    except ValueError:
        return MatchFailure(f"{list(tensor.shape)} does not broadcast to {int_values_of(shape)}")
    if result_shape == tensor.shape:
        return c.attribute
    return too_large(result_shape, tensor.dtype, prod(tensor.shape) * tensor.dtype.itemsize) or tensor.expand(
        result_shape
    )


def gathered(c: Constant, indices: Constant, axis: int) -> RewriteResult:
    """The slices along the axis at the indices"""
    array, index_array = c.array, indices.array
    axes = normalised([axis], array.ndim)
    if axes is None:
        return MatchFailure(f"there is no axis {axis}")
    size = array.shape[axes[0]]
    if np.any((index_array < -size) | (index_array >= size)):
        return MatchFailure(f"an index is not in [{-size}, {size})")
    shape = (*array.shape[: axes[0]], *index_array.shape, *array.shape[axes[0] + 1 :])
    if index_array.size == 1:
        # A slice is a view: it copies no elements.
        only = int(index_array.reshape(())) % size
        cut = c.tensor.slice([*[slice(None)] * axes[0], slice(only, only + 1)])
        return cut.reshape(shape)
    if (refusal := too_large(shape, array.dtype, array.nbytes + index_array.nbytes)) is not None:
        return refusal
    return np.take(
        array, np.where(index_array < 0, index_array + size, index_array).astype(np.int64), axis=axes[0]
    )


def padded(
    c: Constant, pads: Constant, fill: Constant | None, axes: Constant | None, mode: str
) -> RewriteResult:
    """Pad at both ends of the axes; a negative pad crops"""
    array = c.array
    amounts = int_values_of(pads) or ()
    padded_axes = normalised(int_values_of(axes) or tuple(range(array.ndim)), array.ndim)
    if padded_axes is None or len(amounts) != 2 * len(padded_axes) or mode not in _PAD_MODES:
        return MatchFailure("pads, axes and mode do not fit together")
    widths = [(0, 0)] * array.ndim
    for number, normalised_axes in enumerate(padded_axes):
        widths[normalised_axes] = (amounts[number], amounts[number + len(padded_axes)])
    cuts = tuple(
        slice(max(0, -before), size - max(0, -after))
        for size, (before, after) in zip(array.shape, widths, strict=True)
    )
    cropped = array[cuts]
    grown = [(max(0, before), max(0, after)) for before, after in widths]
    sizes = [size + sum(width) for size, width in zip(cropped.shape, grown, strict=True)]
    if (refusal := too_large(sizes, array.dtype, array.nbytes)) is not None:
        return refusal
    if mode != "constant":
        return MatchFailure("nothing to repeat") if 0 in cropped.shape else _repeat(cropped, grown, mode)
    filling = nothing(array.dtype) if fill is None else fill.array.reshape(-1)[0]
    result = np.full(sizes, filling, array.dtype)
    inside = zip(cropped.shape, grown, strict=True)
    result[tuple(slice(before, before + size) for size, (before, _) in inside)] = cropped
    return result


def nothing(dtype: np.dtype[np.generic]) -> object:
    """Return the default fill: zero, or the empty string."""
    return b"" if dtype == np.object_ else np.zeros((), dtype)


_PAD_MODES = ("constant", "edge", "reflect", "wrap")


def _repeat(array: Array, widths: Sequence[tuple[int, int]], mode: str) -> Array:
    for axis, (size, width) in enumerate(zip(array.shape, widths, strict=True)):
        array = np.take(array, _source_places(size, width, mode), axis=axis)
    return array


def _source_places(size: int, width: tuple[int, int], mode: str) -> Array:
    """Return the source index of each element of a padded axis."""
    positions = np.arange(-width[0], size + width[1])
    if mode == "edge":
        return np.clip(positions, 0, size - 1)
    if mode == "wrap" or size == 1:
        return positions % size
    # The edge elements are not repeated: the pattern 0, …, size - 1, …, 1 has this period.
    period = 2 * (size - 1)
    folded = np.abs(positions) % period
    return np.minimum(folded, period - folded)


def tiled(c: Constant, repeats: Constant) -> RewriteResult:
    """Tile: c repeated along every axis"""
    counts = int_values_of(repeats) or ()
    if len(counts) != c.array.ndim or min(counts, default=0) < 0:
        return MatchFailure(f"repeats {list(counts)} do not fit {list(c.array.shape)}")
    if set(counts) <= {1}:
        return c.attribute
    sizes = [size * count for size, count in zip(c.array.shape, counts, strict=True)]
    return too_large(sizes, c.array.dtype, c.array.nbytes) or np.tile(c.array, counts)


def filled(shape: Constant, value: Attribute | None) -> RewriteResult:
    """ConstantOfShape: one value at all positions"""
    sizes = int_values_of(shape) or ()
    if min(sizes, default=0) < 0:
        return MatchFailure(f"{list(sizes)} is no shape")
    element = np.zeros((), np.float32) if value is None else elements_array(value)
    if element is None or element.size != 1:
        return MatchFailure("value holds no single element")
    return too_large(sizes, element.dtype) or np.broadcast_to(element.reshape(()), sizes)


def counted(start: Constant, limit: Constant, delta: Constant) -> RewriteResult:
    """Range: start + i delta, up to and without the limit"""
    first, last, step = (bound.array.reshape(()) for bound in (start, limit, delta))
    if not step:
        return MatchFailure("delta is zero")
    if first.dtype.kind in "iu":
        count = max(0, -((int(first) - int(last)) // int(step)))
    else:
        count = max(0, ceil((float(last) - float(first)) / float(step)))
    if (refusal := too_large((count,), first.dtype)) is not None:
        return refusal
    # Multiples of delta in 64 bits, rounded once: repeated addition would accumulate rounding errors.
    wide = np.int64 if first.dtype.kind in "iu" else np.float64
    return (first.astype(wide) + np.arange(count, dtype=wide) * step.astype(wide)).astype(first.dtype)


def non_zero(c: Constant) -> RewriteResult:
    """NonZero: the indices of the non-zero elements, one column each"""
    if c.array.ndim == 0:
        return MatchFailure("a scalar has no indices")
    return np.array(np.nonzero(c.array), np.int64)


axes = maybe.axes

RULES = rules(
    ConcatofConst=rule(
        Concat(consts.constants, axis=attr.axis), compute(concatenated, consts.constants, attr.axis)
    ),
    ConstantOfShapeofConst=rule(
        ConstantOfShape(const.shape, value=attr.value), compute(filled, const.shape, attr.value)
    ),
    ExpandofConst=rule(Expand(c, const.shape), compute(expanded, c, const.shape)),
    GatherofConst=rule(
        Gather(c, const.indices, axis=attr.axis), compute(gathered, c, const.indices, attr.axis)
    ),
    NonZeroOfConst=rule(NonZero(c), compute(non_zero, c)),
    PadOfConst=rule(
        Pad(c, const.pads, maybe.fill, axes, mode=attr.mode),
        compute(padded, c, const.pads, maybe.fill, axes, attr.mode),
    ),
    RangeConstProp=rule(
        Range(const.start, const.limit, const.delta), compute(counted, const.start, const.limit, const.delta)
    ),
    ReshapeofConst=rule(
        Reshape(c, const.shape, allowzero=attr.allowzero), compute(reshaped, c, const.shape, attr.allowzero)
    ),
    SliceofConst=rule(
        Slice(c, const.starts, const.ends, axes, maybe.steps),
        compute(sliced, c, const.starts, const.ends, axes, maybe.steps),
    ),
    SplitOfConst=rule(
        Split(c, maybe.sizes, axis=attr.axis), compute(split, root, c, maybe.sizes, attr.axis), bonus=-1
    ),
    SplitV13OfConst=rule(
        SplitV13(c, maybe.sizes, axis=attr.axis), compute(split, root, c, maybe.sizes, attr.axis), bonus=-1
    ),
    SqueezeofConst=rule(Squeeze(c, axes), compute(squeezed, c, axes)),
    SqueezeV11ofConst=rule(SqueezeV11(c, axes=attr.axes), compute(squeezed_v11, c, attr.axes)),
    TileofConst=rule(Tile(c, const.repeats), compute(tiled, c, const.repeats)),
    TransposeofConst=rule(Transpose(c, perm=attr.perm), compute(transposed, c, attr.perm)),
    UnsqueezeofConst=rule(Unsqueeze(c, const.axes), compute(unsqueezed, c, const.axes)),
    UnsqueezeV11ofConst=rule(UnsqueezeV11(c, axes=attr.axes), compute(unsqueezed_v11, c, attr.axes)),
)

EXPANDING = frozenset({"ExpandofConst"})
"""Rules subject to the expansion bound."""
