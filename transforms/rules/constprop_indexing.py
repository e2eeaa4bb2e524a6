"""Constant folding of gather, scatter, one-hot, and depth/space rearrangement."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
import numpy.typing as npt
from xdsl.ir import SSAValue

from xonnc.dialects.onnx.types import ELEMENT_TYPES_BY_CODE, element_type, numpy_dtype, static_shape
from xonnc.rewriting.onnx import (
    Compress,
    DepthToSpace,
    EyeLike,
    Flatten,
    GatherElements,
    GatherND,
    Identity,
    OneHot,
    Scatter,
    ScatterElements,
    ScatterND,
    SpaceToDepth,
    Trilu,
)
from xonnc.rewriting.patterns import (
    Array,
    Constant,
    MatchFailure,
    RewriteResult,
    attr,
    compute,
    const,
    maybe,
    value,
)
from xonnc.rewriting.rules import rule, rules
from xonnc.transforms.constant_evaluation import constant_value
from xonnc.transforms.numerics import cast, is_float
from xonnc.transforms.rules.constprop_movement import normalised
from xonnc.transforms.rules.folding_limits import too_large

c = const.c

REDUCTIONS: dict[str, np.ufunc] = {
    "add": np.add,
    "max": np.maximum,
    "min": np.minimum,
    "mul": np.multiply,
}
"""NumPy function of each `reduction`."""


def counted_from_front(indices: Array, size: int) -> Array | None:
    """Normalise indices to be non-negative; return `None` if one is out of range."""
    if np.any((indices < -size) | (indices >= size)):
        return None
    return np.where(indices < 0, indices + size, indices).astype(np.int64)


def numbered(shape: Sequence[int], rank: int) -> list[npt.NDArray[np.int64]]:
    """Return index arrays of the first axes, shaped for broadcasting."""
    return [
        np.arange(size, dtype=np.int64).reshape([-1 if n == axis else 1 for n in range(rank)])
        for axis, size in enumerate(shape)
    ]


def gathered_elements(c: Constant, indices: Constant, axis: int) -> RewriteResult:
    """GatherElements: result[i, j] = c[index[i, j], j] for axis 0, likewise for other axes and ranks"""
    array, index_array = c.array, indices.array
    axes = normalised([axis], array.ndim)
    if axes is None or index_array.ndim != array.ndim:
        return MatchFailure(f"indices of rank {index_array.ndim} along axis {axis} of rank {array.ndim}")
    cuts = tuple(slice(None) if n == axes[0] else slice(size) for n, size in enumerate(index_array.shape))
    resolved = counted_from_front(index_array, array.shape[axes[0]])
    if resolved is None or any(
        size > limit
        for n, (size, limit) in enumerate(zip(index_array.shape, array.shape, strict=True))
        if n != axes[0]
    ):
        return MatchFailure("an index is out of range")
    return np.take_along_axis(array[cuts], resolved, axes[0])


def gathered_slices(c: Constant, indices: Constant, batch_dims: int) -> RewriteResult:
    """GatherND: the element or slice at each index tuple, per batch entry"""
    array, index_array = c.array, indices.array
    depth = index_array.shape[-1] if index_array.ndim else 0
    if not index_array.ndim or not 0 <= batch_dims < index_array.ndim or batch_dims + depth > array.ndim:
        return MatchFailure(f"indices of shape {list(index_array.shape)} do not fit {list(array.shape)}")
    batch = array.shape[:batch_dims]
    if index_array.shape[:batch_dims] != batch:
        return MatchFailure("batch dimensions differ")
    columns = [counted_from_front(index_array[..., n], array.shape[batch_dims + n]) for n in range(depth)]
    known = [column for column in columns if column is not None]
    if len(known) < depth:
        return MatchFailure("an index is out of range")
    rest = index_array.ndim - 1 - batch_dims
    grid = numbered(batch, batch_dims + rest)
    found = array[(*grid, *known)]
    return np.broadcast_to(found, (*index_array.shape[:-1], *array.shape[batch_dims + depth :]))


def scattered_elements(
    c: Constant, indices: Constant, updates: Constant, axis: int, reduction: str = "none"
) -> RewriteResult:
    """ScatterElements: a copy with result[index[i, j], j] = update[i, j] for axis 0, likewise for others"""
    array, index_array, new = c.array, indices.array, updates.array
    axes = normalised([axis], array.ndim)
    if axes is None or index_array.ndim != array.ndim or index_array.shape != new.shape:
        return MatchFailure("indices and updates do not fit")
    resolved = counted_from_front(index_array, array.shape[axes[0]])
    if resolved is None or any(
        size > limit
        for n, (size, limit) in enumerate(zip(index_array.shape, array.shape, strict=True))
        if n != axes[0]
    ):
        return MatchFailure("an index is out of range")
    grid = numbered(index_array.shape, index_array.ndim)
    grid[axes[0]] = resolved
    return put(array, tuple(grid), new, reduction)


def scattered_slices(c: Constant, indices: Constant, updates: Constant, reduction: str) -> RewriteResult:
    """ScatterND: a copy with the slice at each index tuple replaced or reduced; later updates win"""
    array, index_array, new = c.array, indices.array, updates.array
    depth = index_array.shape[-1] if index_array.ndim else 0
    if not depth or depth > array.ndim or new.shape != (*index_array.shape[:-1], *array.shape[depth:]):
        return MatchFailure("indices and updates do not fit")
    columns = [counted_from_front(index_array[..., n], array.shape[n]) for n in range(depth)]
    known = [column for column in columns if column is not None]
    return (
        put(array, tuple(known), new, reduction)
        if len(known) == depth
        else MatchFailure("an index is out of range")
    )


def put(array: Array, positions: tuple[Array, ...], new: Array, reduction: str) -> RewriteResult:
    """Return a copy with `new` scattered at `positions`, replacing or reducing in order."""
    result = np.array(array)
    if reduction == "none":
        result[positions] = new
        return result
    if reduction not in REDUCTIONS or (array.dtype.kind not in "iufc" and "float" not in array.dtype.name):
        return MatchFailure(f"reduction {reduction!r} is not defined for {array.dtype}")
    with np.errstate(all="ignore"):
        REDUCTIONS[reduction].at(result, positions, new)
    if reduction in ("max", "min") and is_float(array.dtype):
        # NumPy may keep either of 0 and -0; IEEE 754-2019 `maximum` and `minimum` define 0 > -0.
        is_least = reduction == "min"
        has_sign = (array == 0) & (np.signbit(array) == is_least)
        np.logical_or.at(has_sign, positions, (new == 0) & (np.signbit(new) == is_least))
        result[(result == 0) & has_sign] = -0.0 if is_least else 0.0
    return result


def compressed(c: Constant, condition: Constant, axis: int | None) -> RewriteResult:
    """The elements, or slices along an axis, for which the condition holds"""
    array, mask = c.array, condition.array.reshape(-1)
    if axis is None:
        return (
            np.compress(mask, array) if mask.size <= array.size else MatchFailure("the condition is too long")
        )
    axes = normalised([axis], array.ndim)
    if axes is None or mask.size > array.shape[axes[0]]:
        return MatchFailure(f"a condition of {mask.size} along axis {axis} of {list(array.shape)}")
    return np.compress(mask, array, axis=axes[0])


def integers(array: Array) -> Array:
    """Cast indices to int64 as ONNX does; uint64 values above its range are clamped."""
    if is_float(array.dtype):
        return cast(np.dtype(np.int64), saturate=True, nearest=False)(array)
    largest = np.iinfo(np.int64).max
    return (np.minimum(array, np.uint64(largest)) if array.dtype == np.uint64 else array).astype(np.int64)


def one_hot(indices: Constant, depth: Constant, values: Constant, axis: int) -> RewriteResult:
    """OneHot: values[1] where the position along the new axis equals the index, else values[0]"""
    index_array, sizes = integers(indices.array), integers(depth.array).reshape(-1)
    axes = normalised([axis], index_array.ndim + 1)
    if axes is None or len(sizes) != 1 or sizes[0] < 0 or values.array.shape != (2,):
        return MatchFailure("depth, values or axis do not fit")
    count = int(sizes[0])
    shape = (*index_array.shape[: axes[0]], count, *index_array.shape[axes[0] :])
    if (refusal := too_large(shape, values.array.dtype)) is not None:
        return refusal
    classes = np.arange(count).reshape([-1 if n == axes[0] else 1 for n in range(len(shape))])
    hot = classes == np.expand_dims(np.where(index_array < 0, index_array + count, index_array), axes[0])
    return values.array[hot.astype(np.int64)]


def eye_like(x: SSAValue, dtype: int | None, k: int) -> RewriteResult:
    """EyeLike: ones on the k-th diagonal, else zeros"""
    shape = static_shape(x.type)
    element = element_type(x.type) if dtype is None else ELEMENT_TYPES_BY_CODE.get(dtype)
    if shape is None or len(shape) not in (1, 2) or element is None:
        return MatchFailure("the shape or the element type is not known")
    sizes, kind = (shape[0], shape[-1]), numpy_dtype(element)
    return too_large(sizes, kind) or np.eye(*sizes, k=k).astype(kind)


def triangle(c: Constant, k: Constant | None, upper: int) -> RewriteResult:
    """Trilu: the upper or lower triangle from the k-th diagonal on, else zeros"""
    array = c.array
    if array.ndim < 2 or array.dtype == np.object_:
        return MatchFailure("there is no matrix of numbers")
    diagonal = 0 if k is None else int(k.array.reshape(()))
    rows, columns = numbered(array.shape[-2:], 2)
    offset: npt.NDArray[np.int64] = columns - rows
    mask = offset >= diagonal if upper else offset <= diagonal
    return np.where(mask, array, np.zeros((), array.dtype))


def depth_to_space(c: Constant, blocksize: int, mode: str) -> RewriteResult:
    """DepthToSpace: move channels into blocks of pixels"""
    shape = c.type.get_shape()
    if len(shape) != 4 or blocksize < 1 or shape[1] % blocksize**2:
        return MatchFailure(f"{list(shape)} has no channels for blocks of {blocksize}")
    batch, channels, height, width = shape
    left = channels // blocksize**2
    if mode == "CRD":
        blocks = c.array.reshape(batch, left, blocksize, blocksize, height, width).transpose(0, 1, 4, 2, 5, 3)
    else:
        blocks = c.array.reshape(batch, blocksize, blocksize, left, height, width).transpose(0, 3, 4, 1, 5, 2)
    return blocks.reshape(batch, left, height * blocksize, width * blocksize)


def space_to_depth(c: Constant, blocksize: int, mode: str) -> RewriteResult:
    """SpaceToDepth: move blocks of pixels into channels"""
    shape = c.type.get_shape()
    if len(shape) != 4 or blocksize < 1 or shape[2] % blocksize or shape[3] % blocksize:
        return MatchFailure(f"{list(shape)} does not divide into blocks of {blocksize}")
    batch, channels, height, width = shape
    rows, columns = height // blocksize, width // blocksize
    blocks = c.array.reshape(batch, channels, rows, blocksize, columns, blocksize)
    order = (0, 1, 3, 5, 2, 4) if mode == "CRD" else (0, 3, 5, 1, 2, 4)
    return blocks.transpose(order).reshape(batch, channels * blocksize**2, rows, columns)


def flattened(c: Constant, axis: int) -> RewriteResult:
    """Flatten to a matrix whose rows are the axes before `axis`"""
    shape = c.type.get_shape()
    if not -len(shape) <= axis <= len(shape):
        return MatchFailure(f"there is no axis {axis}")
    cut = axis + len(shape) if axis < 0 else axis
    flat_shape = (prod(shape[:cut]), prod(shape[cut:]))
    return c.attribute if flat_shape == shape else c.tensor.reshape(flat_shape)


def itself(x: SSAValue) -> RewriteResult:
    """Identity of a constant, or of a sequence or optional of constants"""
    return MatchFailure("it is not made of constants alone") if constant_value(x) is None else x


RULES = rules(
    CompressofConst=rule(
        Compress(c, const.condition, axis=attr.axis), compute(compressed, c, const.condition, attr.axis)
    ),
    DepthToSpaceofConst=rule(
        DepthToSpace(c, blocksize=attr.blocksize, mode=attr.mode),
        compute(depth_to_space, c, attr.blocksize, attr.mode),
    ),
    EyeLikeofShape=rule(
        EyeLike(value.x, dtype=attr.dtype, k=attr.k), compute(eye_like, value.x, attr.dtype, attr.k)
    ),
    FlattenofConst=rule(Flatten(c, axis=attr.axis), compute(flattened, c, attr.axis)),
    GatherElementsofConst=rule(
        GatherElements(c, const.indices, axis=attr.axis),
        compute(gathered_elements, c, const.indices, attr.axis),
    ),
    GatherNDofConst=rule(
        GatherND(c, const.indices, batch_dims=attr.batch_dims),
        compute(gathered_slices, c, const.indices, attr.batch_dims),
    ),
    IdentityofConst=rule(Identity(value.x), compute(itself, value.x)),
    OneHotofConst=rule(
        OneHot(const.indices, const.depth, const.values, axis=attr.axis),
        compute(one_hot, const.indices, const.depth, const.values, attr.axis),
    ),
    ScatterElementsofConst=rule(
        ScatterElements(c, const.indices, const.updates, axis=attr.axis, reduction=attr.reduction),
        compute(scattered_elements, c, const.indices, const.updates, attr.axis, attr.reduction),
    ),
    ScatterNDOfConst=rule(
        ScatterND(c, const.indices, const.updates, reduction=attr.reduction),
        compute(scattered_slices, c, const.indices, const.updates, attr.reduction),
    ),
    ScatterofConst=rule(
        Scatter(c, const.indices, const.updates, axis=attr.axis),
        compute(scattered_elements, c, const.indices, const.updates, attr.axis),
    ),
    SpaceToDepthofConst=rule(
        SpaceToDepth(c, blocksize=attr.blocksize, mode=attr.mode),
        compute(space_to_depth, c, attr.blocksize, attr.mode),
    ),
    TriluofConst=rule(Trilu(c, maybe.k, upper=attr.upper), compute(triangle, c, maybe.k, attr.upper)),
)
