"""Sampling of images: crops of regions and grids of positions."""

from __future__ import annotations

from typing import Any

import numpy as np

from xonnc.contrib.microsoft.common import Array, Samples, allowed, contrib, normal
from xonnc.plugin import Builder, TensorType, Value, attribute, one

MODES = {"bilinear": "linear", "bicubic": "cubic", "nearest": "nearest"}
"""ONNX's names of the interpolation modes since opset 20."""


@contrib("CropAndResize")
class CropAndResize:
    """Regions of images, resized to a common size with corners aligned."""

    inputs = (
        one("T1", name="x"),
        one("T1", name="rois"),
        one(np.int32, name="batch_indices"),
        one(np.int32, name="crop_size"),
    )
    outputs = one("T1")
    types = allowed(T1=(np.float32, np.float16, np.float64))
    extrapolation_value = attribute(float, default=0.0)
    mode = attribute(str, default="bilinear", choices=("bilinear", "nearest"))

    @staticmethod
    def infer(op: Any) -> TensorType:
        size = op.constant(3)
        if size is None or op.x.shape is None or op.rois.shape is None:
            return op.x.with_shape(None)
        return op.x.with_shape([op.rois.shape[0], op.x.shape[1], int(size[0]), int(size[1])])

    @staticmethod
    def positions(first: Array, last: Array, count: int, size: int) -> Array:
        """Return the positions along an axis of `size` elements, one row for each region."""
        scale = np.float32(size - 1)
        if count == 1:
            return np.asarray(np.float32(0.5) * (first + last) * scale)[:, None]
        step = (last - first) * scale / np.float32(count - 1)
        return np.asarray(first[:, None] * scale + np.arange(count, dtype=np.float32) * step[:, None])

    @staticmethod
    def reference(op: Any, x: Array, rois: Array, batch_indices: Array, crop_size: Array) -> Array:
        height, width = x.shape[2:]
        regions = rois.astype(np.float32)
        rows = CropAndResize.positions(regions[:, 0], regions[:, 2], int(crop_size[0]), height)
        columns = CropAndResize.positions(regions[:, 1], regions[:, 3], int(crop_size[1]), width)
        inside = ((rows >= 0) & (rows <= height - 1))[:, :, None]
        inside = inside & ((columns >= 0) & (columns <= width - 1))[:, None]
        images = x.astype(np.float32)

        def at(row: Array, column: Array) -> Array:
            row = np.clip(row, 0, height - 1).astype(np.int64)[:, :, None]
            column = np.clip(column, 0, width - 1).astype(np.int64)[:, None]
            return images[batch_indices[:, None, None], :, row, column]

        if op.mode == "nearest":
            y = at(np.floor(rows + np.float32(0.5)), np.floor(columns + np.float32(0.5)))
        else:
            top, left = np.floor(rows), np.floor(columns)
            down, right = (rows - top)[:, :, None, None], (columns - left)[:, None, :, None]
            bottom, outer = np.ceil(rows), np.ceil(columns)
            upper = at(top, left) + (at(top, outer) - at(top, left)) * right
            lower = at(bottom, left) + (at(bottom, outer) - at(bottom, left)) * right
            y = upper + (lower - upper) * down
        y = np.where(inside[..., None], y, np.float32(op.extrapolation_value))
        return np.ascontiguousarray(np.moveaxis(y, -1, 1)).astype(x.dtype)

    @staticmethod
    def steps_of(op: Any, b: Builder, axis: int) -> tuple[Any, Any]:
        """
        Return the numbers of the positions along an axis, and the number of the last one.

        A single position is in the middle of the region: half of a step over the whole region.
        """
        size = op.constant(3)
        if size is not None:
            count = int(size[axis])
            steps = np.full(1, 0.5) if count == 1 else np.arange(count)
            return steps.astype(np.float32), np.full(1, max(count - 1, 1), np.float32)
        found = b.Slice(op.crop_size, [axis], [axis + 1], [0])
        is_one = b.Equal(found, np.ones(1, np.int32))
        steps = b.Cast(b.Range(np.int32(0), b.Squeeze(found, [0]), np.int32(1)), to=np.float32)
        last = b.Sub(b.Cast(found, to=np.float32), 1.0)
        return b.Where(is_one, np.full(1, 0.5, np.float32), steps), b.Max(last, 1.0)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        x = b.Cast(op.x, to=np.float32)
        sizes = b.Cast(b.Shape(x, start=2), to=np.float32)
        limits = b.Split(b.Sub(sizes, 1.0), [1, 1], axis=0, outputs=2)
        corners = b.Split(b.Cast(op.rois, to=np.float32), [1] * 4, axis=1, outputs=4)
        axes: list[tuple[Value, Value]] = []
        for axis in (0, 1):
            first, last = corners[axis], corners[axis + 2]
            steps, divisor = CropAndResize.steps_of(op, b, axis)
            step = b.Div(b.Mul(b.Sub(last, first), limits[axis]), divisor)
            found = b.Add(b.Mul(first, limits[axis]), b.Mul(steps, step))
            inside = b.And(b.GreaterOrEqual(found, 0.0), b.LessOrEqual(found, limits[axis]))
            axes.append((b.Where(inside, found, 0.0), inside))
        (rows, has_row), (columns, has_column) = axes
        rows, columns = b.Unsqueeze(rows, [2]), b.Unsqueeze(columns, [1])
        batch = b.Unsqueeze(op.batch_indices, [1, 2])
        pixels = b.Transpose(x, perm=[0, 2, 3, 1])
        zeros = b.Mul(b.Cast(b.Add(rows, columns), to=np.int64), np.int64(0))

        def at(row: Value, column: Value) -> Value:
            parts = (b.Cast(each, to=np.int64) for each in (batch, row, column))
            indices = [b.Unsqueeze(b.Add(zeros, part), [3]) for part in parts]
            return b.GatherND(pixels, b.Concat(*indices, axis=3))

        if op.mode == "nearest":
            y = at(b.Floor(b.Add(rows, 0.5)), b.Floor(b.Add(columns, 0.5)))
        else:
            top, left, bottom, right = b.Floor(rows), b.Floor(columns), b.Ceil(rows), b.Ceil(columns)
            down = b.Unsqueeze(b.Sub(rows, top), [3])
            across = b.Unsqueeze(b.Sub(columns, left), [3])
            upper, lower = at(top, left), at(bottom, left)
            upper = b.Add(upper, b.Mul(b.Sub(at(top, right), upper), across))
            lower = b.Add(lower, b.Mul(b.Sub(at(bottom, right), lower), across))
            y = b.Add(upper, b.Mul(b.Sub(lower, upper), down))
        inside = b.And(b.Unsqueeze(has_row, [2, 3]), b.Unsqueeze(has_column, [1, 3]))
        y = b.Where(inside, y, np.float32(op.extrapolation_value))
        return b.CastLike(b.Transpose(y, perm=[0, 3, 1, 2]), op.x)

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for mode, size in (
            ("bilinear", (3, 4)),
            ("nearest", (2, 5)),
            ("bilinear", (1, 3)),
            ("bilinear", (2, 1)),
        ):
            count, regions = int(rng.integers(1, 4)), int(rng.integers(1, 5))
            x = normal(rng, count, int(rng.integers(1, 4)), *(int(each) for each in rng.integers(2, 8, 2)))
            rois = rng.uniform(-0.2, 1.2, (regions, 4)).astype(np.float32)
            operands: list[Array | None] = [x, rois, rng.integers(0, count, regions).astype(np.int32)]
            yield [*operands, np.array(size, np.int32)], {"mode": mode, "extrapolation_value": 0.5}


@contrib("GridSample")
class GridSample:
    """Samples of images at a grid of positions, interpolated."""

    inputs = (one("T1", name="x"), one("T1", name="grid"))
    outputs = one("T1")
    types = allowed(T1=(np.float32,))
    align_corners = attribute(int, default=0)
    mode = attribute(str, default="bilinear", choices=tuple(MODES))
    padding_mode = attribute(str, default="zeros", choices=("zeros", "border", "reflection"))

    @staticmethod
    def infer(op: Any) -> TensorType:
        if op.x.shape is None or op.grid.shape is None:
            return op.x.with_shape(None)
        return op.x.with_shape([*op.x.shape[:2], *op.grid.shape[1:3]])

    @staticmethod
    def resolved(op: Any, position: Array, size: int) -> Array:
        """Return positions moved into an axis as the padding mode says."""
        least, most = (0.0, size - 1.0) if op.align_corners else (-0.5, size - 0.5)
        if op.padding_mode == "border":
            is_outside = (position < least) | (position > most)
            return np.where(is_outside, np.clip(position, 0, size - 1), position)
        if op.padding_mode == "zeros" or most <= least:
            return position if op.padding_mode == "zeros" else np.zeros_like(position)
        span = most - least
        folded = np.mod(np.abs(position - least), 2 * span)
        return np.where(folded > span, 2 * span - folded, folded) + least

    @staticmethod
    def pixels(op: Any, x: Array, rows: Array, columns: Array) -> Array:
        """Return the elements at integer positions, those outside as the padding mode says."""
        height, width = x.shape[2:]
        inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
        row = np.clip(GridSample.resolved(op, rows, height), 0, height - 1).astype(np.int64)
        column = np.clip(GridSample.resolved(op, columns, width), 0, width - 1).astype(np.int64)
        found = x[np.arange(len(x))[:, None, None], :, row, column]
        return np.where(inside[..., None], found, 0) if op.padding_mode == "zeros" else found

    @staticmethod
    def weights(op: Any, offset: Array) -> dict[int, Array]:
        """Return the weight of each neighbour of a position by its distance in elements."""
        if op.mode == "nearest":
            return {0: np.ones_like(offset)}
        if op.mode == "bilinear":
            return {0: 1 - offset, 1: offset}
        found: dict[int, Array] = {}
        for step in (-1, 0, 1, 2):
            # Cubic convolution with a = -0.75.
            t = np.abs(offset - step)
            near = (1.25 * t - 2.25) * t * t + 1
            far = ((-0.75 * t + 3.75) * t - 6) * t + 3
            found[step] = np.where(t <= 1, near, far)
        return found

    @staticmethod
    def reference(op: Any, x: Array, grid: Array) -> Array:
        positions: list[Array] = []
        for axis, size in ((1, x.shape[2]), (0, x.shape[3])):
            value = grid[..., axis].astype(np.float64)
            at = (value + 1) / 2 * (size - 1) if op.align_corners else ((value + 1) * size - 1) / 2
            positions.append(GridSample.resolved(op, at, size) if op.mode != "bicubic" else at)
        bases = [np.rint(each) if op.mode == "nearest" else np.floor(each) for each in positions]
        parts = [GridSample.weights(op, at - base) for at, base in zip(positions, bases, strict=True)]
        y = np.zeros((x.shape[0], *grid.shape[1:3], x.shape[1]))
        for down, row_weight in parts[0].items():
            for across, column_weight in parts[1].items():
                found = GridSample.pixels(op, x, bases[0] + down, bases[1] + across)
                y += (row_weight * column_weight)[..., None] * found
        return np.ascontiguousarray(np.moveaxis(y, -1, 1)).astype(x.dtype)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        given = {"align_corners": op.align_corners, "padding_mode": op.padding_mode}
        return b.GridSample(op.x, op.grid, mode=MODES[op.mode], **given)

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for mode in MODES:
            for padding in ("zeros", "border", "reflection"):
                shape = (int(rng.integers(1, 3)), int(rng.integers(1, 4)))
                x = normal(rng, *shape, *(int(each) for each in rng.integers(2, 7, 2)))
                grid = rng.uniform(-1.3, 1.3, (shape[0], *rng.integers(1, 5, 2), 2)).astype(np.float32)
                given = {"mode": mode, "padding_mode": padding, "align_corners": int(rng.integers(0, 2))}
                yield [x, grid], given
