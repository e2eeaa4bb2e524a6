"""Elements that move: layouts, shapes, parts, borders, indices."""

from __future__ import annotations

import numpy as np

from xonnc.fuzzing.draft import BOOL, F32, FLOATS, I32, I64, NUMBERS, U8, Draft, Unfit, Value
from xonnc.fuzzing.themes import forms

ANY = (*NUMBERS, BOOL)


def permutation(draft: Draft, rank: int) -> list[int]:
    """An order of the axes."""
    return draft.random.sample(range(rank), rank)


def transposed(draft: Draft, x: Value) -> Value:
    """Axes in another order, reversed if none is given."""
    return draft.node("Transpose", x, perm=None if draft.chance(0.2) else permutation(draft, x.rank))


def transposes(draft: Draft) -> None:
    """One or several in turn, in part ones that undo each other, something in between."""
    value = x = draft.take(ANY, (1, 2, 3, 4))
    perm = permutation(draft, x.rank)
    value = draft.node("Transpose", value, perm=perm)
    if draft.chance(0.3):
        draft.keep(value)
    if value.dtype in FLOATS and draft.chance(0.6):
        value = draft.node(draft.random.choice(("Relu", "Abs", "Neg", "Tanh")), value)
        if draft.chance(0.3):
            value = draft.node("Add", value, draft.weights(value.dtype, *draft.broadcastable(value.shape)))
    back = [int(axis) for axis in np.argsort(perm)]
    if value.rank == len(back):
        value = draft.node("Transpose", value, perm=back if draft.chance(0.6) else permutation(draft, x.rank))
    draft.keep(value)


def factored(draft: Draft, count: int) -> list[int]:
    """Sizes of a shape of `count` elements."""
    sizes: list[int] = []
    for _ in range(draft.random.randint(0, 3)):
        divisors = [size for size in range(1, 7) if count and count % size == 0] or [1]
        sizes.append(draft.random.choice(divisors))
        count //= sizes[-1]
    sizes.insert(draft.random.randint(0, len(sizes)), count)
    return sizes


def reshaped(draft: Draft, x: Value) -> Value:
    """Another shape, spelled with -1 and 0 now and then."""
    sizes = factored(draft, x.size)
    allowzero = 1 if draft.opset >= 14 and draft.chance(0.15) else None
    if allowzero is None:
        sizes = [
            0 if axis < x.rank and size == x.shape[axis] and draft.chance(0.3) else size
            for axis, size in enumerate(sizes)
        ]
        if x.size == 0 and any(
            size == 0 and (axis >= x.rank or x.shape[axis]) for axis, size in enumerate(sizes)
        ):
            raise Unfit
    if x.size and draft.chance(0.5):
        sizes[draft.random.randrange(len(sizes))] = -1
    return draft.node("Reshape", x, draft.int64s(*sizes), allowzero=allowzero)


def reshapes(draft: Draft) -> None:
    """Reshape, Flatten, Squeeze and Unsqueeze in turn."""
    value = draft.take(ANY)
    for _ in range(draft.random.randint(1, 4)):
        value = rearranged(draft, value)
        if draft.chance(0.2):
            draft.keep(value)
    draft.keep(value)


def rearranged(draft: Draft, x: Value) -> Value:
    """The same elements in the same order, in another shape."""
    kind = draft.random.choice(("Reshape", "Reshape", "Flatten", "Squeeze", "Unsqueeze"))
    if kind == "Reshape":
        return reshaped(draft, x)
    if kind == "Flatten":
        lowest = -x.rank if draft.opset >= 11 else 0
        return draft.node(
            "Flatten", x, axis=draft.random.choice((None, draft.random.randint(lowest, x.rank)))
        )
    if kind == "Unsqueeze":
        return unsqueezed(draft, x)
    return squeezed(draft, x)


def unsqueezed(draft: Draft, x: Value) -> Value:
    """New dimensions of size 1 at one or two places."""
    count = draft.random.choice((1, 1, 2))
    axes = draft.random.sample(range(x.rank + count), count)
    if draft.opset >= 11:
        axes = [axis - x.rank - count if draft.chance(0.3) else axis for axis in axes]
    if x.rank + count > 6:
        raise Unfit
    return forms.unsqueeze(draft, x, axes)


def squeezed(draft: Draft, x: Value) -> Value:
    """Without some of the dimensions of size 1."""
    ones = [axis for axis, size in enumerate(x.shape) if size == 1]
    if not ones or draft.chance(0.15):
        return forms.squeeze(draft, x, None)
    axes = draft.random.sample(ones, draft.random.randint(1, len(ones)))
    if draft.opset >= 11:
        axes = [axis - x.rank if draft.chance(0.3) else axis for axis in axes]
    else:
        # The onnx package finds the wrong rank if they are in another order.
        axes.sort()
    return forms.squeeze(draft, x, axes)


def squeezed_and_back(draft: Draft) -> None:
    """Unsqueeze then Squeeze, or the other way round, at the same axes or others."""
    value = draft.take(ANY, (0, 1, 2, 3))
    value = unsqueezed(draft, value)
    if draft.chance(0.3):
        value = unsqueezed(draft, value)
    draft.keep(squeezed(draft, value))


def joined(draft: Draft) -> None:
    """Concat of one to four parts, some of them constants, empty, or joined before."""
    x = draft.take(ANY, (1, 2, 3))
    axis = draft.random.randrange(x.rank)
    parts = [x]
    for _ in range(draft.random.randint(0, 3)):
        shape = list(x.shape)
        shape[axis] = draft.random.choice((0, 1, 2, 3))
        parts.append(draft.like(x, *shape))
    draft.random.shuffle(parts)
    value = draft.node(
        "Concat", *parts, axis=axis - x.rank if draft.opset >= 11 and draft.chance(0.3) else axis
    )
    if draft.chance(0.5):
        second = [value, draft.like(x, *value.shape)]
        draft.random.shuffle(second)
        value = draft.node(
            "Concat", *second, axis=axis if draft.chance(0.7) else draft.random.randrange(x.rank)
        )
    draft.keep(value)


def parts(draft: Draft) -> None:
    """Split evenly or not, in part put together again in the same order or another."""
    x = draft.take(ANY, (1, 2, 3))
    axis = draft.random.randrange(x.rank)
    cut = draft.random.randint(0, x.shape[axis])
    sizes = [cut, x.shape[axis] - cut]
    if x.shape[axis] > 2 and draft.chance(0.4):
        sizes = [1, 1, x.shape[axis] - 2]
    made = forms.split(draft, x, axis - x.rank if draft.opset >= 11 and draft.chance(0.3) else axis, sizes)
    if draft.chance(0.5):
        if draft.chance(0.3):
            made.reverse()
        draft.keep(draft.node("Concat", *made, axis=axis))
    else:
        draft.keep(*made[: draft.random.randint(1, len(made))])


def even_parts(draft: Draft) -> None:
    """Split by a number of parts."""
    x = draft.take(ANY, (1, 2, 3))
    axis = draft.random.randrange(x.rank)
    count = draft.random.randint(1, max(1, x.shape[axis]))
    if draft.opset >= 18:
        draft.keep(*draft.several("Split", x, count=count, axis=axis, num_outputs=count))
    elif x.shape[axis] % count == 0:
        draft.keep(*draft.several("Split", x, count=count, axis=axis))


def sliced(draft: Draft, x: Value) -> Value:
    """A part along one or two axes, ends in part out of range, steps in part negative."""
    axes = draft.random.sample(range(x.rank), draft.random.randint(1, min(2, x.rank)))
    starts: list[int] = []
    ends: list[int] = []
    steps: list[int] = []
    for axis in axes:
        size = x.shape[axis]
        step = draft.random.choice((1, 1, 1, 2, -1, -2)) if draft.opset >= 10 else 1
        low, high = draft.random.randint(-size - 1, size), draft.random.randint(0, size + 2)
        if draft.chance(0.2):
            low, high = 0, np.iinfo(np.int64).max
        first, last = (
            (low, high)
            if step > 0
            else (high, draft.random.choice((np.iinfo(np.int64).min, -size - 1, 0, -1)))
        )
        starts.append(first)
        ends.append(int(last))
        steps.append(step)
    if draft.opset >= 10:
        axes = [axis - x.rank if draft.chance(0.2) else axis for axis in axes]
    return forms.slices(draft, x, starts, ends, axes, steps)


def slices(draft: Draft) -> None:
    """Slices in turn."""
    value = draft.take(ANY, (1, 2, 3, 4))
    for _ in range(draft.random.randint(1, 3)):
        value = sliced(draft, value)
        if draft.chance(0.2):
            draft.keep(value)
    draft.keep(value)


def gathered(draft: Draft) -> None:
    """Gather with constant indices, in part negative, or indices that are an input."""
    x = draft.take(ANY, (1, 2, 3))
    axis = draft.random.randint(-x.rank, x.rank - 1)
    size = x.shape[axis]
    if not size:
        raise Unfit
    kind = draft.random.choice((I64, I32))
    shape = draft.shape(draft.random.choice((0, 0, 1, 2)))
    lowest = -size if draft.opset >= 11 else 0
    if draft.chance(0.3):
        indices = draft.input(kind, shape, lowest, size - 1)
    else:
        indices = draft.constant(draft.numpy.integers(lowest, size, shape).astype(kind))
    draft.keep(draft.node("Gather", x, indices, axis=axis))


def gathered_elements(draft: Draft) -> None:
    """GatherElements and ScatterElements."""
    x = draft.take(ANY, (1, 2, 3))
    axis = draft.random.randrange(x.rank)
    if not x.size:
        raise Unfit
    shape = list(x.shape)
    shape[axis] = draft.random.randint(1, 3)
    if draft.chance(0.5):
        indices = draft.constant(draft.numpy.integers(-x.shape[axis], x.shape[axis], shape))
        draft.keep(draft.node("GatherElements", x, indices, axis=axis))
        return
    # No index twice: which of two writes wins is not said.
    count = draft.random.randint(1, x.shape[axis])
    shape[axis] = count
    order = np.argsort(draft.numpy.random(x.shape), axis=axis).take(range(count), axis=axis)
    updates = draft.like(x, *shape)
    draft.keep(draft.node("ScatterElements", x, draft.constant(order.astype(np.int64)), updates, axis=axis))


def gathered_points(draft: Draft) -> None:
    """GatherND and ScatterND, indices in part negative."""
    x = draft.take((*FLOATS, I64, I32), (1, 2, 3))
    if not x.size:
        raise Unfit
    depth = draft.random.randint(1, x.rank)
    if draft.chance(0.5):
        rows = [[draft.random.randint(-size, size - 1) for size in x.shape[:depth]] for _ in range(2)]
        draft.keep(draft.node("GatherND", x, draft.constant(np.array(rows, np.int64))))
        return
    row = [draft.random.randint(-size, size - 1) for size in x.shape[:depth]]
    updates = draft.like(x, 1, *x.shape[depth:])
    draft.keep(draft.node("ScatterND", x, draft.constant(np.array([row], np.int64)), updates))


def expanded(draft: Draft) -> None:
    """Expand, in part to the shape that is there, in part before arithmetic that would do it anyway."""
    x = draft.take(ANY)
    shape = [draft.random.choice((2, 3)) if size == 1 and draft.chance(0.6) else size for size in x.shape]
    if draft.chance(0.3):
        shape.insert(0, draft.random.choice((1, 2)))
    if draft.chance(0.3):
        shape = [1 if draft.chance(0.5) else size for size in shape]
    value = forms.expand(draft, x, *shape)
    if x.dtype in FLOATS and draft.chance(0.4):
        value = draft.node("Mul", value, draft.like(value, *draft.broadcastable(value.shape)))
    draft.keep(value)


def tiled(draft: Draft) -> None:
    """Tile, by ones in part."""
    x = draft.take(ANY, (1, 2, 3))
    repeats = [draft.random.choice((1, 1, 2)) for _ in range(x.rank)]
    draft.keep(draft.node("Tile", x, draft.int64s(*repeats)))


def bordered(draft: Draft) -> None:
    """Pad in all modes, twice now and then, negative in part."""
    value = draft.take((*FLOATS, I32, I64, U8), (1, 2, 3, 4))
    mode = draft.random.choice(("constant", "constant", "reflect", "edge"))
    for _ in range(draft.random.randint(1, 2)):
        pads = [
            draft.random.choice((0, 0, 1, 2) if mode == "constant" else (0, 1)) for _ in range(2 * value.rank)
        ]
        if mode == "constant" and draft.chance(0.15):
            pads[0] = -1
        if (mode == "reflect" and min(value.shape) < 2) or 0 in value.shape:
            raise Unfit
        filling = draft.random.choice((None, 0.0, 1.0, 2.5)) if mode == "constant" else None
        value = forms.pad(
            draft, value, pads, mode, filling if filling is None or value.dtype in FLOATS else 3
        )
    draft.keep(value)


def blocks(draft: Draft) -> None:
    """DepthToSpace and SpaceToDepth."""
    if draft.chance(0.5):
        x = draft.input(F32, (1, 4, 2, 3))
        mode = draft.random.choice((None, "CRD", "DCR")) if draft.opset >= 11 else None
        draft.keep(draft.node("DepthToSpace", x, blocksize=2, mode=mode))
    else:
        draft.keep(draft.node("SpaceToDepth", draft.input(F32, (2, 1, 4, 2)), blocksize=2))


def triangle(draft: Draft) -> None:
    """The upper or lower triangle of matrices."""
    x = draft.take((*FLOATS, I64), (2, 3))
    offset = draft.constant(np.array(draft.random.randint(-2, 2), np.int64)) if draft.chance(0.5) else None
    draft.keep(draft.node("Trilu", x, offset, upper=draft.random.choice((None, 0, 1))))


def one_hot(draft: Draft) -> None:
    """OneHot of indices in and out of range."""
    indices = draft.input(I64, draft.shape(draft.random.randint(0, 2)), -4, 6)
    values = draft.constant(np.array([0, 1], np.float32))
    depth = draft.constant(np.array(4, np.int64))
    draft.keep(draft.node("OneHot", indices, depth, values, axis=draft.random.choice((None, -1, 0))))


def chosen(draft: Draft) -> None:
    """Compress by a constant condition."""
    x = draft.take(ANY, (1, 2, 3))
    axis = draft.random.randrange(x.rank)
    condition = draft.numbers(BOOL, (x.shape[axis],))
    shape = list(x.shape)
    shape[axis] = int(condition.sum())
    result = Value("", x.dtype, tuple(shape), is_bounded=x.is_bounded)
    draft.keep(draft.node("Compress", x, draft.constant(condition), axis=axis, results=[result]))


def places(draft: Draft) -> None:
    """NonZero of a constant, which says where to gather."""
    x = draft.take((*FLOATS, I64), (1,))
    if not x.size:
        raise Unfit
    mask = draft.numbers(I64, x.shape)
    count = int(np.count_nonzero(mask))
    found = draft.node("NonZero", draft.constant(mask), results=[Value("", I64, (1, count), is_bounded=True)])
    rows = draft.node("Transpose", found, perm=[1, 0])
    draft.keep(
        draft.node("GatherND", x, rows, results=[Value("", x.dtype, (count,), is_bounded=x.is_bounded)])
    )


def resized(draft: Draft) -> None:
    """Resize to the same size or twice as large."""
    x = draft.take((F32,), (4,))
    factor = draft.random.choice((1.0, 2.0))
    mode = draft.random.choice(("nearest", "linear"))
    scales = draft.constant(np.array([1, 1, factor, factor], np.float32))
    if draft.opset < 10:
        draft.keep(draft.node("Upsample", x, scales, mode=mode))
    elif draft.opset < 11:
        draft.keep(draft.node("Resize", x, scales, mode=mode))
    else:
        roi = None if draft.opset >= 13 else draft.constant(np.zeros(0, np.float32))
        draft.keep(draft.node("Resize", x, roi, scales, mode=mode))


MOTIFS = (
    transposes,
    transposes,
    reshapes,
    reshapes,
    squeezed_and_back,
    joined,
    joined,
    parts,
    even_parts,
    slices,
    slices,
    gathered,
    gathered,
    gathered_elements,
    gathered_points,
    expanded,
    tiled,
    bordered,
    blocks,
    triangle,
    one_hot,
    chosen,
    places,
    resized,
)
