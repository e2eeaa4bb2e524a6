"""Data movement: transpose, reshape, split, slice, pad, gather and scatter."""

from __future__ import annotations

import numpy as np

from xonnc.fuzzing.model_builder import (
    BOOL,
    F32,
    FLOATS,
    I32,
    I64,
    NUMBERS,
    U8,
    ModelBuilder,
    ModelValue,
    NotApplicable,
)
from xonnc.fuzzing.motifs import versioned_operators

ANY = (*NUMBERS, BOOL)


def permutation(builder: ModelBuilder, rank: int) -> list[int]:
    """An order of the axes."""
    return builder.random.sample(range(rank), rank)


def transposed(builder: ModelBuilder, x: ModelValue) -> ModelValue:
    """Axes in another order, reversed if none is given."""
    return builder.node("Transpose", x, perm=None if builder.chance(0.2) else permutation(builder, x.rank))


def transposes(builder: ModelBuilder) -> None:
    """One or several in turn, in part ones that undo each other, something in between."""
    value = x = builder.take(ANY, (1, 2, 3, 4))
    perm = permutation(builder, x.rank)
    value = builder.node("Transpose", value, perm=perm)
    if builder.chance(0.3):
        builder.keep(value)
    if value.dtype in FLOATS and builder.chance(0.6):
        value = builder.node(builder.random.choice(("Relu", "Abs", "Neg", "Tanh")), value)
        if builder.chance(0.3):
            value = builder.node(
                "Add", value, builder.weights(value.dtype, *builder.broadcastable(value.shape))
            )
    back = [int(axis) for axis in np.argsort(perm)]
    if value.rank == len(back):
        value = builder.node(
            "Transpose", value, perm=back if builder.chance(0.6) else permutation(builder, x.rank)
        )
    builder.keep(value)


def factored(builder: ModelBuilder, count: int) -> list[int]:
    """Sizes of a shape of `count` elements."""
    sizes: list[int] = []
    for _ in range(builder.random.randint(0, 3)):
        divisors = [size for size in range(1, 7) if count and count % size == 0] or [1]
        sizes.append(builder.random.choice(divisors))
        count //= sizes[-1]
    sizes.insert(builder.random.randint(0, len(sizes)), count)
    return sizes


def reshaped(builder: ModelBuilder, x: ModelValue) -> ModelValue:
    """Another shape, spelled with -1 and 0 now and then."""
    sizes = factored(builder, x.size)
    allowzero = 1 if builder.opset >= 14 and builder.chance(0.15) else None
    if allowzero is None:
        sizes = [
            0 if axis < x.rank and size == x.shape[axis] and builder.chance(0.3) else size
            for axis, size in enumerate(sizes)
        ]
        if x.size == 0 and any(
            size == 0 and (axis >= x.rank or x.shape[axis]) for axis, size in enumerate(sizes)
        ):
            raise NotApplicable
    if x.size and builder.chance(0.5):
        sizes[builder.random.randrange(len(sizes))] = -1
    return builder.node("Reshape", x, builder.int64s(*sizes), allowzero=allowzero)


def reshapes(builder: ModelBuilder) -> None:
    """Reshape, Flatten, Squeeze and Unsqueeze in turn."""
    value = builder.take(ANY)
    for _ in range(builder.random.randint(1, 4)):
        value = rearranged(builder, value)
        if builder.chance(0.2):
            builder.keep(value)
    builder.keep(value)


def rearranged(builder: ModelBuilder, x: ModelValue) -> ModelValue:
    """The same elements in the same order, in another shape."""
    kind = builder.random.choice(("Reshape", "Reshape", "Flatten", "Squeeze", "Unsqueeze"))
    if kind == "Reshape":
        return reshaped(builder, x)
    if kind == "Flatten":
        lowest = -x.rank if builder.opset >= 11 else 0
        return builder.node(
            "Flatten", x, axis=builder.random.choice((None, builder.random.randint(lowest, x.rank)))
        )
    if kind == "Unsqueeze":
        return unsqueezed(builder, x)
    return squeezed(builder, x)


def unsqueezed(builder: ModelBuilder, x: ModelValue) -> ModelValue:
    """New dimensions of size 1 at one or two positions."""
    count = builder.random.choice((1, 1, 2))
    axes = builder.random.sample(range(x.rank + count), count)
    if builder.opset >= 11:
        axes = [axis - x.rank - count if builder.chance(0.3) else axis for axis in axes]
    if x.rank + count > 6:
        raise NotApplicable
    return versioned_operators.unsqueeze(builder, x, axes)


def squeezed(builder: ModelBuilder, x: ModelValue) -> ModelValue:
    """Without some of the dimensions of size 1."""
    ones = [axis for axis, size in enumerate(x.shape) if size == 1]
    if not ones or builder.chance(0.15):
        return versioned_operators.squeeze(builder, x, None)
    axes = builder.random.sample(ones, builder.random.randint(1, len(ones)))
    if builder.opset >= 11:
        axes = [axis - x.rank if builder.chance(0.3) else axis for axis in axes]
    else:
        # The onnx package finds the wrong rank if they are in another order.
        axes.sort()
    return versioned_operators.squeeze(builder, x, axes)


def squeezed_and_back(builder: ModelBuilder) -> None:
    """Unsqueeze then Squeeze, or the other way round, at the same axes or others."""
    value = builder.take(ANY, (0, 1, 2, 3))
    value = unsqueezed(builder, value)
    if builder.chance(0.3):
        value = unsqueezed(builder, value)
    builder.keep(squeezed(builder, value))


def joined(builder: ModelBuilder) -> None:
    """Concat of one to four parts, some of them constants, empty, or joined before."""
    x = builder.take(ANY, (1, 2, 3))
    axis = builder.random.randrange(x.rank)
    parts = [x]
    for _ in range(builder.random.randint(0, 3)):
        shape = list(x.shape)
        shape[axis] = builder.random.choice((0, 1, 2, 3))
        parts.append(builder.like(x, *shape))
    builder.random.shuffle(parts)
    value = builder.node(
        "Concat", *parts, axis=axis - x.rank if builder.opset >= 11 and builder.chance(0.3) else axis
    )
    if builder.chance(0.5):
        second = [value, builder.like(x, *value.shape)]
        builder.random.shuffle(second)
        value = builder.node(
            "Concat", *second, axis=axis if builder.chance(0.7) else builder.random.randrange(x.rank)
        )
    builder.keep(value)


def splits(builder: ModelBuilder) -> None:
    """Split into equal or unequal parts, sometimes concatenated again in any order."""
    x = builder.take(ANY, (1, 2, 3))
    axis = builder.random.randrange(x.rank)
    cut = builder.random.randint(0, x.shape[axis])
    sizes = [cut, x.shape[axis] - cut]
    if x.shape[axis] > 2 and builder.chance(0.4):
        sizes = [1, 1, x.shape[axis] - 2]
    made = versioned_operators.split(
        builder, x, axis - x.rank if builder.opset >= 11 and builder.chance(0.3) else axis, sizes
    )
    if builder.chance(0.5):
        if builder.chance(0.3):
            made.reverse()
        builder.keep(builder.node("Concat", *made, axis=axis))
    else:
        builder.keep(*made[: builder.random.randint(1, len(made))])


def even_splits(builder: ModelBuilder) -> None:
    """Split by a number of parts, of which only the last may be smaller."""
    x = builder.take(ANY, (1, 2, 3))
    axis = builder.random.randrange(x.rank)
    count = builder.random.randint(1, max(1, x.shape[axis]))
    if builder.opset >= 18 and -(-x.shape[axis] // count) * (count - 1) <= x.shape[axis]:
        builder.keep(*builder.node_with_outputs("Split", x, count=count, axis=axis, num_outputs=count))
    elif builder.opset < 18 and x.shape[axis] % count == 0:
        builder.keep(*builder.node_with_outputs("Split", x, count=count, axis=axis))


def sliced(builder: ModelBuilder, x: ModelValue) -> ModelValue:
    """A part along one or two axes, ends in part out of range, steps in part negative."""
    axes = builder.random.sample(range(x.rank), builder.random.randint(1, min(2, x.rank)))
    starts: list[int] = []
    ends: list[int] = []
    steps: list[int] = []
    for axis in axes:
        size = x.shape[axis]
        step = builder.random.choice((1, 1, 1, 2, -1, -2)) if builder.opset >= 10 else 1
        low, high = builder.random.randint(-size - 1, size), builder.random.randint(0, size + 2)
        if builder.chance(0.2):
            low, high = 0, np.iinfo(np.int64).max
        first, last = (
            (low, high)
            if step > 0
            else (high, builder.random.choice((np.iinfo(np.int64).min, -size - 1, 0, -1)))
        )
        starts.append(first)
        ends.append(int(last))
        steps.append(step)
    if builder.opset >= 10:
        axes = [axis - x.rank if builder.chance(0.2) else axis for axis in axes]
    return versioned_operators.slices(builder, x, starts, ends, axes, steps)


def slices(builder: ModelBuilder) -> None:
    """Slices in turn."""
    value = builder.take(ANY, (1, 2, 3, 4))
    for _ in range(builder.random.randint(1, 3)):
        value = sliced(builder, value)
        if builder.chance(0.2):
            builder.keep(value)
    builder.keep(value)


def gathered(builder: ModelBuilder) -> None:
    """Gather with constant indices, in part negative, or indices that are an input."""
    x = builder.take(ANY, (1, 2, 3))
    axis = builder.random.randint(-x.rank, x.rank - 1)
    size = x.shape[axis]
    if not size:
        raise NotApplicable
    kind = builder.random.choice((I64, I32))
    shape = builder.shape(builder.random.choice((0, 0, 1, 2)))
    lowest = -size if builder.opset >= 11 else 0
    if builder.chance(0.3):
        indices = builder.input(kind, shape, lowest, size - 1)
    else:
        indices = builder.constant(builder.numpy.integers(lowest, size, shape).astype(kind))
    builder.keep(builder.node("Gather", x, indices, axis=axis))


def gathered_elements(builder: ModelBuilder) -> None:
    """GatherElements and ScatterElements."""
    x = builder.take(ANY, (1, 2, 3))
    axis = builder.random.randrange(x.rank)
    if not x.size:
        raise NotApplicable
    shape = list(x.shape)
    shape[axis] = builder.random.randint(1, 3)
    if builder.chance(0.5):
        indices = builder.constant(builder.numpy.integers(-x.shape[axis], x.shape[axis], shape))
        builder.keep(builder.node("GatherElements", x, indices, axis=axis))
        return
    # No index twice: which of two writes wins is not said.
    count = builder.random.randint(1, x.shape[axis])
    shape[axis] = count
    order = np.argsort(builder.numpy.random(x.shape), axis=axis).take(range(count), axis=axis)
    updates = builder.like(x, *shape)
    builder.keep(
        builder.node("ScatterElements", x, builder.constant(order.astype(np.int64)), updates, axis=axis)
    )


def gathered_nd(builder: ModelBuilder) -> None:
    """GatherND and ScatterND, indices in part negative."""
    x = builder.take((*FLOATS, I64, I32), (1, 2, 3))
    if not x.size:
        raise NotApplicable
    depth = builder.random.randint(1, x.rank)
    if builder.chance(0.5):
        rows = [[builder.random.randint(-size, size - 1) for size in x.shape[:depth]] for _ in range(2)]
        builder.keep(builder.node("GatherND", x, builder.constant(np.array(rows, np.int64))))
        return
    row = [builder.random.randint(-size, size - 1) for size in x.shape[:depth]]
    updates = builder.like(x, 1, *x.shape[depth:])
    builder.keep(builder.node("ScatterND", x, builder.constant(np.array([row], np.int64)), updates))


def expanded(builder: ModelBuilder) -> None:
    """Expand, in part to the shape that is there, in part before arithmetic that would do it anyway."""
    x = builder.take(ANY)
    shape = [builder.random.choice((2, 3)) if size == 1 and builder.chance(0.6) else size for size in x.shape]
    if builder.chance(0.3):
        shape.insert(0, builder.random.choice((1, 2)))
    if builder.chance(0.3):
        shape = [1 if builder.chance(0.5) else size for size in shape]
    value = versioned_operators.expand(builder, x, *shape)
    if x.dtype in FLOATS and builder.chance(0.4):
        value = builder.node("Mul", value, builder.like(value, *builder.broadcastable(value.shape)))
    builder.keep(value)


def tiled(builder: ModelBuilder) -> None:
    """Tile, by ones in part."""
    x = builder.take(ANY, (1, 2, 3))
    repeats = [builder.random.choice((1, 1, 2)) for _ in range(x.rank)]
    builder.keep(builder.node("Tile", x, builder.int64s(*repeats)))


def padded(builder: ModelBuilder) -> None:
    """Pad in all modes, twice now and then, negative in part."""
    value = builder.take((*FLOATS, I32, I64, U8), (1, 2, 3, 4))
    mode = builder.random.choice(("constant", "constant", "reflect", "edge"))
    for _ in range(builder.random.randint(1, 2)):
        pads = [
            builder.random.choice((0, 0, 1, 2) if mode == "constant" else (0, 1))
            for _ in range(2 * value.rank)
        ]
        if mode == "constant" and builder.chance(0.15):
            pads[0] = -1
        if (mode == "reflect" and min(value.shape) < 2) or 0 in value.shape:
            raise NotApplicable
        filling = builder.random.choice((None, 0.0, 1.0, 2.5)) if mode == "constant" else None
        value = versioned_operators.pad(
            builder, value, pads, mode, filling if filling is None or value.dtype in FLOATS else 3
        )
    builder.keep(value)


def depth_space(builder: ModelBuilder) -> None:
    """DepthToSpace and SpaceToDepth."""
    if builder.chance(0.5):
        x = builder.input(F32, (1, 4, 2, 3))
        mode = builder.random.choice((None, "CRD", "DCR")) if builder.opset >= 11 else None
        builder.keep(builder.node("DepthToSpace", x, blocksize=2, mode=mode))
    else:
        builder.keep(builder.node("SpaceToDepth", builder.input(F32, (2, 1, 4, 2)), blocksize=2))


def triangle(builder: ModelBuilder) -> None:
    """The upper or lower triangle of matrices."""
    x = builder.take((*FLOATS, I64), (2, 3))
    offset = (
        builder.constant(np.array(builder.random.randint(-2, 2), np.int64)) if builder.chance(0.5) else None
    )
    builder.keep(builder.node("Trilu", x, offset, upper=builder.random.choice((None, 0, 1))))


def one_hot(builder: ModelBuilder) -> None:
    """OneHot of indices in and out of range."""
    indices = builder.input(I64, builder.shape(builder.random.randint(0, 2)), -4, 6)
    values = builder.constant(np.array([0, 1], np.float32))
    depth = builder.constant(np.array(4, np.int64))
    builder.keep(builder.node("OneHot", indices, depth, values, axis=builder.random.choice((None, -1, 0))))


def compressed(builder: ModelBuilder) -> None:
    """Compress by a constant condition."""
    x = builder.take(ANY, (1, 2, 3))
    axis = builder.random.randrange(x.rank)
    condition = builder.numbers(BOOL, (x.shape[axis],))
    shape = list(x.shape)
    shape[axis] = int(condition.sum())
    result = ModelValue("", x.dtype, tuple(shape), is_bounded=x.is_bounded)
    builder.keep(builder.node("Compress", x, builder.constant(condition), axis=axis, results=[result]))


def nonzero_constant(builder: ModelBuilder) -> None:
    """NonZero of a constant, which says where to gather."""
    x = builder.take((*FLOATS, I64), (1,))
    if not x.size:
        raise NotApplicable
    mask = builder.numbers(I64, x.shape)
    count = int(np.count_nonzero(mask))
    found = builder.node(
        "NonZero", builder.constant(mask), results=[ModelValue("", I64, (1, count), is_bounded=True)]
    )
    rows = builder.node("Transpose", found, perm=[1, 0])
    builder.keep(
        builder.node(
            "GatherND", x, rows, results=[ModelValue("", x.dtype, (count,), is_bounded=x.is_bounded)]
        )
    )


def resized(builder: ModelBuilder) -> None:
    """Resize to the same size or twice as large."""
    x = builder.take((F32,), (4,))
    factor = builder.random.choice((1.0, 2.0))
    mode = builder.random.choice(("nearest", "linear"))
    scales = builder.constant(np.array([1, 1, factor, factor], np.float32))
    if builder.opset < 10:
        builder.keep(builder.node("Upsample", x, scales, mode=mode))
    elif builder.opset < 11:
        builder.keep(builder.node("Resize", x, scales, mode=mode))
    else:
        roi = None if builder.opset >= 13 else builder.constant(np.zeros(0, np.float32))
        builder.keep(builder.node("Resize", x, roi, scales, mode=mode))


MOTIFS = (
    transposes,
    transposes,
    reshapes,
    reshapes,
    squeezed_and_back,
    joined,
    joined,
    splits,
    even_splits,
    slices,
    slices,
    gathered,
    gathered,
    gathered_elements,
    gathered_nd,
    expanded,
    tiled,
    padded,
    depth_space,
    triangle,
    one_hot,
    compressed,
    nonzero_constant,
    resized,
)
