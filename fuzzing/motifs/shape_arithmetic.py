"""Shape computations that determine the shapes of other values."""

from __future__ import annotations

import numpy as np

from xonnc.fuzzing.model_builder import BOOL, FLOATS, I64, NUMBERS, ModelBuilder, ModelValue, NotApplicable
from xonnc.fuzzing.motifs import versioned_operators
from xonnc.fuzzing.motifs.casts import cast

ANY = (*NUMBERS, BOOL)


def known(value: ModelValue, data: object) -> ModelValue:
    """A value whose numbers follow from shapes."""
    numbers = np.array(data, value.dtype)
    return ModelValue(value.name, value.dtype, numbers.shape, numbers, is_bounded=True)


def shape_of(builder: ModelBuilder, x: ModelValue) -> ModelValue:
    """Shape(x), part of it in part."""
    if builder.opset >= 15 and builder.chance(0.3):
        start, end = builder.random.choice((None, 1, -2, 0)), builder.random.choice((None, -1, 2, 9))
        return known(builder.node("Shape", x, start=start, end=end), x.shape[start or 0 : end])
    return known(builder.node("Shape", x), x.shape)


def size_at(builder: ModelBuilder, x: ModelValue, axis: int, rank: int) -> ModelValue:
    """One size of `x`, of rank 0 or 1, by Gather or Slice."""
    shape = known(builder.node("Shape", x), x.shape)
    if builder.chance(0.3) and rank == 1:
        return known(
            versioned_operators.slices(builder, shape, [axis], [axis + 1], [0], [1]), [x.shape[axis]]
        )
    given = axis - x.rank if builder.opset >= 11 and builder.chance(0.3) else axis
    if rank == 1 and builder.chance(0.5):
        return known(builder.node("Gather", shape, builder.int64s(given)), [x.shape[axis]])
    value = builder.node("Gather", shape, builder.constant(np.array(given, np.int64)))
    value = known(value, x.shape[axis])
    return known(versioned_operators.unsqueeze(builder, value, [0]), [x.shape[axis]]) if rank else value


def computed_size(builder: ModelBuilder, x: ModelValue, axis: int) -> ModelValue:
    """A size with arithmetic that changes nothing in the end, or nothing at all done to it."""
    value = size_at(builder, x, axis, 0)
    number = x.shape[axis]
    if builder.chance(0.4):
        factor = builder.random.choice((2, 3))
        value = builder.node("Mul", value, builder.constant(np.array(factor, np.int64)))
        value = builder.node("Div", value, builder.constant(np.array(factor, np.int64)))
    if builder.chance(0.3):
        value = builder.node("Add", value, builder.constant(np.array(2, np.int64)))
        value = builder.node("Sub", value, builder.constant(np.array(2, np.int64)))
    if builder.chance(0.2):
        value = cast(builder, cast(builder, value, np.dtype(np.float32)), I64)
    return known(versioned_operators.unsqueeze(builder, value, [0]), [number])


def joined(builder: ModelBuilder, parts: list[ModelValue]) -> ModelValue:
    """Sizes in one list."""
    value = builder.node("Concat", *parts, axis=0)
    numbers = np.concatenate([part.data for part in parts if part.data is not None])
    return known(value, numbers)


def shaped(x: ModelValue, *shape: int) -> list[ModelValue]:
    """The type of a result that shape inference does not find."""
    return [ModelValue("", x.dtype, shape, is_bounded=x.is_bounded)]


def reshape_by_sizes(builder: ModelBuilder) -> None:
    """Shape → Gather → Unsqueeze → Concat → Reshape, as exporters flatten and split heads."""
    x = builder.take(ANY, (2, 3, 4))
    if not x.size:
        raise NotApplicable
    leading = builder.random.randint(1, x.rank - 1)
    parts = [computed_size(builder, x, axis) for axis in range(leading)]
    tail = int(np.prod(x.shape[leading:]))
    parts.append(builder.int64s(builder.random.choice((-1, tail))))
    if builder.chance(0.3):
        parts.append(builder.int64s(1))
    sizes = joined(builder, parts)
    shape = (*x.shape[:leading], tail, *[1] * (len(parts) - leading - 1))
    builder.keep(builder.node("Reshape", x, sizes, results=shaped(x, *shape)))


def reshape_like(builder: ModelBuilder) -> None:
    """Reshape to the shape that another value has, or that `x` itself has."""
    x = builder.take(ANY, (1, 2, 3))
    flat = builder.node("Reshape", x, builder.int64s(-1)) if x.size else x
    middle = builder.node("Relu", flat) if x.dtype in FLOATS and builder.chance(0.5) else flat
    builder.keep(
        builder.node("Reshape", middle, known(builder.node("Shape", x), x.shape), results=shaped(x, *x.shape))
    )


def expand_by_sizes(builder: ModelBuilder) -> None:
    """Expand to a shape that was computed."""
    x = builder.take(ANY, (1, 2, 3))
    y = builder.take(ANY, (1, 2, 3))
    target = shape_of(builder, y)
    assert target.data is not None
    try:
        shape = np.broadcast_shapes(x.shape, tuple(int(size) for size in target.data))
    except ValueError:
        raise NotApplicable from None
    builder.keep(builder.node("Expand", x, target, results=shaped(x, *shape)))


def filled(builder: ModelBuilder) -> None:
    """ConstantOfShape of a computed shape, added to what had the shape."""
    x = builder.take(FLOATS, (1, 2, 3))
    sizes = known(builder.node("Shape", x), x.shape)
    value = None
    if builder.chance(0.7):
        from onnx import numpy_helper

        value = numpy_helper.from_array(np.array([builder.random.choice((0, 1, 2.5))], x.dtype))
    elif x.dtype != np.float32:
        raise NotApplicable
    made = builder.node("ConstantOfShape", sizes, value=value, results=shaped(x, *x.shape))
    builder.keep(builder.node(builder.random.choice(("Add", "Mul")), x, made))


def part_by_sizes(builder: ModelBuilder) -> None:
    """Slice up to a size that another value has."""
    x = builder.take(ANY, (1, 2, 3))
    if builder.opset < 10:
        raise NotApplicable
    axis = builder.random.randrange(x.rank)
    end = size_at(builder, x, axis, 1)
    assert end.data is not None
    start = builder.random.randint(0, x.shape[axis])
    if builder.chance(0.3):
        end = known(builder.node("Sub", end, builder.int64s(1)), end.data - 1)
    assert end.data is not None
    # A size 0 less one counts from the end.
    last = int(end.data[0])
    length = len(range(x.shape[axis])[start:last])
    shape = (*x.shape[:axis], length, *x.shape[axis + 1 :])
    builder.keep(
        builder.node("Slice", x, builder.int64s(start), end, builder.int64s(axis), results=shaped(x, *shape))
    )


def range_of_size(builder: ModelBuilder) -> None:
    """Range up to a size, as positions of a sequence are numbered."""
    x = builder.take(ANY, (1, 2, 3))
    axis = builder.random.randrange(x.rank)
    start, step = (builder.constant(np.array(one, np.int64)) for one in (0, 1))
    end = size_at(builder, x, axis, 0)
    made = builder.node(
        "Range", start, end, step, results=[ModelValue("", I64, (x.shape[axis],), is_bounded=True)]
    )
    builder.keep(
        builder.node("Mul", made, builder.constant(np.array(2, np.int64))) if builder.chance(0.5) else made
    )


def constant_range(builder: ModelBuilder) -> None:
    """Range of constants, floats too."""
    kind = builder.random.choice((I64, np.dtype(np.int32), np.dtype(np.float32), np.dtype(np.float64)))
    start, end, step = (
        np.array(one, kind) for one in builder.random.choice(((0, 5, 1), (5, 0, -2), (1, 1, 1), (-3, 4, 3)))
    )
    if kind.kind == "f" and builder.chance(0.6):
        start, end, step = (np.array(one, kind) for one in (0.1, 1.05, 0.1))
    count = max(0, int(np.ceil((end - start) / step)))
    operands = [builder.constant(one) for one in (start, end, step)]
    builder.keep(builder.node("Range", *operands, results=[ModelValue("", kind, (count,), is_bounded=True)]))


def size_as_value(builder: ModelBuilder) -> None:
    """A size or the number of elements as data."""
    x = builder.take(ANY, (1, 2, 3))
    if builder.chance(0.5):
        builder.keep(known(builder.node("Size", x), x.size))
    else:
        value = shape_of(builder, x)
        builder.keep(value)
        if value.data is not None and value.data.size:
            builder.keep(builder.node("ReduceProd", value, keepdims=builder.random.choice((0, 1))))


def tiled_by_sizes(builder: ModelBuilder) -> None:
    """Tile by a size of another value."""
    x = builder.take(ANY, (1,))
    y = builder.take(ANY, (1, 2))
    times = size_at(builder, y, 0, 1)
    builder.keep(builder.node("Tile", x, times, results=shaped(x, x.shape[0] * y.shape[0])))


def permuted_by_sizes(builder: ModelBuilder) -> None:
    """The shape of a transposed or reshaped value, taken apart."""
    x = builder.take(ANY, (2, 3, 4))
    perm = builder.random.sample(range(x.rank), x.rank)
    y = builder.node("Transpose", x, perm=perm)
    value = size_at(builder, y, builder.random.randrange(y.rank), 1)
    builder.keep(value, y)


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
