"""Generators of instances of the canonicalisations of shapes put together from sizes, and of resizes."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX

from xonnc.dialects.onnx.types import element_type_of, tensor_type
from xonnc.fuzzing.rules.draws import Draw, Generator, Shape
from xonnc.fuzzing.rules.generators.canonicalize_layer import SINGLE
from xonnc.fuzzing.rules.instances import Example, Given, ints
from xonnc.fuzzing.rules.values import Kind
from xonnc.rewriting.onnx import Concat, Dim, Equal, Expand, Reshape, Slice, Transpose, Unsqueeze, Where
from xonnc.rewriting.patterns import Node, Pattern, const, value

OWN = ("k", "n", "one", "other", "four")
"""Names of sizes, which are 64-bit integers whatever the data are."""


def first(axis: int = 0) -> Node:
    """A size of the data."""
    return Dim(value.x, axis=axis)


def any_size(draw: Draw, x: Shape) -> Pattern:
    """One of the sizes of the data."""
    return first(draw.axis(len(x), negative=False))


def never_equal(draw: Draw) -> Example:
    """Sizes compared with what no size is."""
    x, count = draw.shape(1), draw.number_in(1, 3)
    sizes = [draw.pick(any_size(draw, x), const.one) for _ in range(count)]
    n = -draw.random.integers(1, 4, draw.pick((), (1,), (count,)))
    values: dict[str, Given] = {
        "x": x,
        "one": ints(draw.number_in(1, 5)),
        "n": np.asarray(n, np.int64),
        "a": draw.pick((), (1,), (count,)),
        "b": (count,),
    }
    return Example(values, pattern=Where(Equal(Concat(*sizes, axis=0), const.n), value.a, value.b), own=OWN)


def chosen(swapped: bool) -> Generator:
    """Sizes chosen one by one: equal constants, unequal ones, and sizes that no negative number equals."""

    def make(draw: Draw) -> Example:
        x, count = draw.shape(1), draw.number_in(1, 3)
        sizes = [draw.pick(any_size(draw, x), const.one) for _ in range(count)]
        others: list[Pattern] = [
            draw.pick(first(draw.axis(len(x), False)), value.other) for _ in range(count)
        ]
        values: dict[str, Given] = {
            "x": x,
            "one": ints(draw.pick(-1, 4)),
            "n": np.full(draw.pick((1,), (count,)), -1, np.int64),
            "k": draw.random.integers(1, 9, draw.pick((1,), (count,))).astype(np.int64),
            "other": ints(draw.number_in(1, 9)),
        }
        both = Concat(*sizes, axis=0), const.n
        equal = Equal(*reversed(both)) if swapped else Equal(*both)
        return Example(values, pattern=Where(equal, const.k, Concat(*others, axis=0)), own=OWN)

    return make


def size_of_reshape(draw: Draw) -> Example:
    """The first size stays, the others are one."""
    x = (draw.size(empty=True), *draw.shape(1, 3, empty=False))
    rest = int(np.prod(x[1:]))
    pattern = Dim(
        Reshape(value.x, Concat(first(), const.one, axis=0), allowzero=0), axis=draw.number_in(0, 1)
    )
    return Example({"x": x, "one": ints(rest)}, pattern=pattern, own=OWN)


def size_of_transpose(draw: Draw) -> Example:
    """Any axis of any permutation."""
    shape = draw.shape(1)
    axis = draw.axis(len(shape), negative=False)
    return Example({"x": shape}, pattern=Dim(Transpose(value.x, perm=draw.perm(len(shape))), axis=axis))


def wider_expand(draw: Draw) -> Example:
    """A scalar expanded to a list, or to several sizes, and axes added to it."""
    count = draw.number_in(1, 2)
    if count == 1:
        shape: Pattern = value.shape
    else:
        shape = Concat(value.shape, const.one, axis=0)
    more = draw.number_in(1, 3)
    values: dict[str, Given] = {
        "s": draw.pick((), (1,)),
        "shape": ints(draw.size(empty=True)),
        "one": ints(draw.size()),
        "axes": ints(*draw.axes(count + more, more, more)),
    }
    return Example(values, pattern=Unsqueeze(Expand(value.s, shape), const.axes), own=OWN)


def smaller_expand(draw: Draw) -> Example:
    """A scalar expanded to two sizes, cut along the second one, whose size is not known before."""
    length, step = draw.size(), draw.pick(1, 2)
    start, end = draw.number_in(-3, 2), draw.pick(9, -1, 2, 3)
    left = len(range(length)[start:end:step])
    pattern = Slice(
        Expand(value.s, Concat(const.four, first(), axis=0)),
        value.starts,
        const.ends,
        const.axes,
        const.steps,
    )
    four = draw.size()
    made = len(range(four)[start:end:step])
    axis = draw.flag()
    values: dict[str, Given] = {
        "s": draw.pick((), (1,)),
        "four": ints(four),
        "x": (length,),
        "starts": ints(start),
        "ends": ints(end),
        "axes": ints(axis),
        "steps": ints(step),
    }
    sizes = (four, left) if axis else (made, DYNAMIC_INDEX)
    return Example(values, pattern=pattern, own=OWN, types=[tensor_type(sizes, element_type_of(draw.dtype))])


def one_of_parts(draw: Draw) -> Example:
    """One element of a list of single elements, or of a list of longer ones."""
    count = draw.number_in(1, 4)
    lengths = [1 if draw.number_in(0, 5) else 2 for _ in range(count)]
    parts: list[Pattern] = [getattr(value, f"part{index}") for index in range(count)]
    values: dict[str, Given] = {f"part{index}": (length,) for index, length in enumerate(lengths)}
    start = draw.number_in(-count, count - 1)
    end = draw.pick(start + 1 if start != -1 else 2**31, 2**31) if start in (count - 1, -1) else start + 1
    return Example(
        {**values, "starts": ints(start), "ends": ints(end), "axes": ints(0), "steps": None},
        pattern=Slice(Concat(*parts, axis=0), const.starts, const.ends, const.axes, value.steps),
    )


def resize(draw: Draw) -> Example:
    """A resize of images to which a tensor without elements says nothing."""
    shape: Shape = (1, draw.number_in(1, 2), draw.number_in(2, 4), draw.number_in(2, 4))
    nothing = np.zeros(0, np.float32)
    sizes = ints(1, shape[1], draw.number_in(2, 6), draw.number_in(2, 6))
    scales = np.array([1, 1, draw.pick(0.5, 1, 1.5, 2), draw.pick(0.5, 1, 2, 3)], np.float32)
    by_sizes = draw.flag()
    # Inference refuses what has both, though one says nothing.
    both = by_sizes and draw.flag()
    mode = draw.pick("nearest", "linear", "cubic")
    where = draw.pick("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")
    properties = {"mode": mode, "coordinate_transformation_mode": where}
    return Example(
        {
            "x": shape,
            "roi": nothing,
            "scales": (nothing if both else None) if by_sizes else scales,
            "sizes": sizes if by_sizes else None,
        },
        properties={f"Resize{version}": properties for version in ("", "V18", "V13")},
        inferred=not both,
        specials=False,
    )


def spread(padded: bool) -> Generator:
    """Nothing between elements, and something or nothing around."""

    def make(draw: Draw) -> Example:
        shape = (draw.size(), draw.size(), *(draw.size() for _ in range(draw.number_in(1, 3))))
        axes = len(shape) - 2
        pads = [draw.number_in(0, 2) if padded else 0 for _ in range(2 * axes)]
        around = [before + after for before, after in zip(pads[:axes], pads[axes:], strict=True)]
        made = (*shape[:2], *(size + more for size, more in zip(shape[2:], around, strict=True)))
        return Example(
            {"x": shape},
            {"strides": [1] * axes, "pads": pads},
            types=[tensor_type(made, element_type_of(draw.dtype))],
        )

    return make


GENERATORS: dict[str, Generator] = {
    "AlwaysFalseWherePattern": never_equal,
    "RemoveWhereEqualPattern": chosen(False),
    "RemoveWhereEqualPatternRhs": chosen(True),
    "DimOpFromReshapeInputPattern": size_of_reshape,
    "DimOpFromTransposeInputPattern": size_of_transpose,
    "ReplaceUnsqueezeOfExpandRewritePattern": wider_expand,
    "ReplaceSliceOfExpandRewritePattern": smaller_expand,
    "SliceConcatNoOpPattern": one_of_parts,
    **{f"EmptyTensorInputsResizePattern{version}": resize for version in ("", "V18", "V13")},
    "RemoveIdentityUpsampleAndPadPattern": spread(False),
    "ConvertUpsampleAndPadToPadPattern": spread(True),
}

KINDS: dict[str, tuple[Kind, ...]] = {
    **{f"EmptyTensorInputsResizePattern{version}": (*SINGLE, np.float64) for version in ("", "V18", "V13")},
}
