"""Arithmetic on shapes, whose results say how other values are shaped."""

from __future__ import annotations

import numpy as np

from xonnc.fuzzing.draft import BOOL, FLOATS, I64, NUMBERS, Draft, Unfit, Value
from xonnc.fuzzing.themes import forms
from xonnc.fuzzing.themes.casts import cast

ANY = (*NUMBERS, BOOL)


def known(value: Value, data: object) -> Value:
    """A value whose numbers follow from shapes."""
    numbers = np.array(data, value.dtype)
    return Value(value.name, value.dtype, numbers.shape, numbers, is_bounded=True)


def shape_of(draft: Draft, x: Value) -> Value:
    """Shape(x), part of it in part."""
    if draft.opset >= 15 and draft.chance(0.3):
        start, end = draft.random.choice((None, 1, -2, 0)), draft.random.choice((None, -1, 2, 9))
        return known(draft.node("Shape", x, start=start, end=end), x.shape[start or 0 : end])
    return known(draft.node("Shape", x), x.shape)


def size_at(draft: Draft, x: Value, axis: int, rank: int) -> Value:
    """One size of `x`, of rank 0 or 1, by Gather or Slice."""
    shape = known(draft.node("Shape", x), x.shape)
    if draft.chance(0.3) and rank == 1:
        return known(forms.slices(draft, shape, [axis], [axis + 1], [0], [1]), [x.shape[axis]])
    given = axis - x.rank if draft.opset >= 11 and draft.chance(0.3) else axis
    if rank == 1 and draft.chance(0.5):
        return known(draft.node("Gather", shape, draft.int64s(given)), [x.shape[axis]])
    value = draft.node("Gather", shape, draft.constant(np.array(given, np.int64)))
    value = known(value, x.shape[axis])
    return known(forms.unsqueeze(draft, value, [0]), [x.shape[axis]]) if rank else value


def computed_size(draft: Draft, x: Value, axis: int) -> Value:
    """A size with arithmetic that changes nothing in the end, or nothing at all done to it."""
    value = size_at(draft, x, axis, 0)
    number = x.shape[axis]
    if draft.chance(0.4):
        factor = draft.random.choice((2, 3))
        value = draft.node("Mul", value, draft.constant(np.array(factor, np.int64)))
        value = draft.node("Div", value, draft.constant(np.array(factor, np.int64)))
    if draft.chance(0.3):
        value = draft.node("Add", value, draft.constant(np.array(2, np.int64)))
        value = draft.node("Sub", value, draft.constant(np.array(2, np.int64)))
    if draft.chance(0.2):
        value = cast(draft, cast(draft, value, np.dtype(np.float32)), I64)
    return known(forms.unsqueeze(draft, value, [0]), [number])


def joined(draft: Draft, parts: list[Value]) -> Value:
    """Sizes in one list."""
    value = draft.node("Concat", *parts, axis=0)
    numbers = np.concatenate([part.data for part in parts if part.data is not None])
    return known(value, numbers)


def shaped(x: Value, *shape: int) -> list[Value]:
    """The type of a result that shape inference does not find."""
    return [Value("", x.dtype, shape, is_bounded=x.is_bounded)]


def reshape_by_sizes(draft: Draft) -> None:
    """Shape → Gather → Unsqueeze → Concat → Reshape, as exporters flatten and split heads."""
    x = draft.take(ANY, (2, 3, 4))
    if not x.size:
        raise Unfit
    kept = draft.random.randint(1, x.rank - 1)
    parts = [computed_size(draft, x, axis) for axis in range(kept)]
    tail = int(np.prod(x.shape[kept:]))
    parts.append(draft.int64s(draft.random.choice((-1, tail))))
    if draft.chance(0.3):
        parts.append(draft.int64s(1))
    sizes = joined(draft, parts)
    shape = (*x.shape[:kept], tail, *[1] * (len(parts) - kept - 1))
    draft.keep(draft.node("Reshape", x, sizes, results=shaped(x, *shape)))


def reshape_like(draft: Draft) -> None:
    """Reshape to the shape that another value has, or that `x` itself has."""
    x = draft.take(ANY, (1, 2, 3))
    flat = draft.node("Reshape", x, draft.int64s(-1)) if x.size else x
    middle = draft.node("Relu", flat) if x.dtype in FLOATS and draft.chance(0.5) else flat
    draft.keep(
        draft.node("Reshape", middle, known(draft.node("Shape", x), x.shape), results=shaped(x, *x.shape))
    )


def expand_by_sizes(draft: Draft) -> None:
    """Expand to a shape that was computed."""
    x = draft.take(ANY, (1, 2, 3))
    y = draft.take(ANY, (1, 2, 3))
    target = shape_of(draft, y)
    assert target.data is not None
    try:
        shape = np.broadcast_shapes(x.shape, tuple(int(size) for size in target.data))
    except ValueError:
        raise Unfit from None
    draft.keep(draft.node("Expand", x, target, results=shaped(x, *shape)))


def filled(draft: Draft) -> None:
    """ConstantOfShape of a computed shape, added to what had the shape."""
    x = draft.take(FLOATS, (1, 2, 3))
    sizes = known(draft.node("Shape", x), x.shape)
    value = None
    if draft.chance(0.7):
        from onnx import numpy_helper

        value = numpy_helper.from_array(np.array([draft.random.choice((0, 1, 2.5))], x.dtype))
    elif x.dtype != np.float32:
        raise Unfit
    made = draft.node("ConstantOfShape", sizes, value=value, results=shaped(x, *x.shape))
    draft.keep(draft.node(draft.random.choice(("Add", "Mul")), x, made))


def part_by_sizes(draft: Draft) -> None:
    """Slice up to a size that another value has."""
    x = draft.take(ANY, (1, 2, 3))
    if draft.opset < 10:
        raise Unfit
    axis = draft.random.randrange(x.rank)
    end = size_at(draft, x, axis, 1)
    assert end.data is not None
    start = draft.random.randint(0, x.shape[axis])
    if draft.chance(0.3):
        end = known(draft.node("Sub", end, draft.int64s(1)), end.data - 1)
    assert end.data is not None
    # A size 0 less one counts from the end.
    last = int(end.data[0])
    length = len(range(x.shape[axis])[start:last])
    shape = (*x.shape[:axis], length, *x.shape[axis + 1 :])
    draft.keep(
        draft.node("Slice", x, draft.int64s(start), end, draft.int64s(axis), results=shaped(x, *shape))
    )


def range_of_size(draft: Draft) -> None:
    """Range up to a size, as positions of a sequence are numbered."""
    x = draft.take(ANY, (1, 2, 3))
    axis = draft.random.randrange(x.rank)
    start, step = (draft.constant(np.array(one, np.int64)) for one in (0, 1))
    end = size_at(draft, x, axis, 0)
    made = draft.node("Range", start, end, step, results=[Value("", I64, (x.shape[axis],), is_bounded=True)])
    draft.keep(draft.node("Mul", made, draft.constant(np.array(2, np.int64))) if draft.chance(0.5) else made)


def constant_range(draft: Draft) -> None:
    """Range of constants, floats too."""
    kind = draft.random.choice((I64, np.dtype(np.int32), np.dtype(np.float32), np.dtype(np.float64)))
    start, end, step = (
        np.array(one, kind) for one in draft.random.choice(((0, 5, 1), (5, 0, -2), (1, 1, 1), (-3, 4, 3)))
    )
    if kind.kind == "f" and draft.chance(0.6):
        start, end, step = (np.array(one, kind) for one in (0.1, 1.05, 0.1))
    count = max(0, int(np.ceil((end - start) / step)))
    operands = [draft.constant(one) for one in (start, end, step)]
    draft.keep(draft.node("Range", *operands, results=[Value("", kind, (count,), is_bounded=True)]))


def size_as_value(draft: Draft) -> None:
    """A size or the number of elements as data."""
    x = draft.take(ANY, (1, 2, 3))
    if draft.chance(0.5):
        draft.keep(known(draft.node("Size", x), x.size))
    else:
        value = shape_of(draft, x)
        draft.keep(value)
        if value.data is not None and value.data.size:
            draft.keep(draft.node("ReduceProd", value, keepdims=draft.random.choice((0, 1))))


def tiled_by_sizes(draft: Draft) -> None:
    """Tile by a size of another value."""
    x = draft.take(ANY, (1,))
    y = draft.take(ANY, (1, 2))
    times = size_at(draft, y, 0, 1)
    draft.keep(draft.node("Tile", x, times, results=shaped(x, x.shape[0] * y.shape[0])))


def permuted_by_sizes(draft: Draft) -> None:
    """The shape of a transposed or reshaped value, taken apart."""
    x = draft.take(ANY, (2, 3, 4))
    perm = draft.random.sample(range(x.rank), x.rank)
    y = draft.node("Transpose", x, perm=perm)
    value = size_at(draft, y, draft.random.randrange(y.rank), 1)
    draft.keep(value, y)


MOTIFS = (
    reshape_by_sizes,
    reshape_by_sizes,
    reshape_by_sizes,
    reshape_like,
    expand_by_sizes,
    filled,
    part_by_sizes,
    range_of_size,
    constant_range,
    size_as_value,
    tiled_by_sizes,
    permuted_by_sizes,
)
