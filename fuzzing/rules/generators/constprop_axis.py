"""Generators of instances of rules that gather, scatter, sort or reduce constants along an axis."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import i64

from xonnc.dialects.onnx.types import element_type_of, unranked
from xonnc.fuzzing.rules.comparison import FOLDED, SAME, Closeness
from xonnc.fuzzing.rules.draws import Draw, Generator, Shape
from xonnc.fuzzing.rules.instances import Example, as_array, ints
from xonnc.fuzzing.rules.values import Kind
from xonnc.rewriting.onnx import Identity
from xonnc.rewriting.patterns import Array, const
from xonnc.transforms.rules import constprop_axes, constprop_indexing


def along(draw: Draw) -> Example:
    """Operators along one axis."""
    shape = draw.shape(1, empty=False)
    return Example({"c": shape}, {"axis": draw.axis(len(shape))})


def as_rows(draw: Draw) -> Example:
    """Axes from `axis` on are flattened, as up to opset 12."""
    shape = draw.shape(1, empty=False)
    return Example({"c": shape}, {"axis": draw.axis(len(shape))}, opset=11, specials=False)


def by_norm(draw: Draw) -> Example:
    """LpNormalization with p = 1, where the reference omits absolute values, or p = 2."""
    shape = draw.shape(1, empty=False)
    attributes = {"axis": draw.axis(len(shape)), "p": draw.pick(1, 2)}
    return Example({"c": shape}, attributes, specials=False, opset=14)


def local_response(draw: Draw) -> Example:
    """LRN with odd windows, also wider than the channels; the reference is wrong for few channels."""
    shape = draw.shape(4, 4, empty=False)
    return Example(
        {"c": shape},
        {
            "size": draw.pick(1, 3, 5),
            "alpha": float(draw.reals(0, 1, ())),
            "beta": float(draw.reals(0, 2, ())),
            "bias": float(draw.reals(1, 3, ())),
        },
        specials=False,
        opset=14,
    )


def extremum(draw: Draw) -> Example:
    """ArgMax and ArgMin with ties, of which the first or the last index counts."""
    shape = draw.shape(1, empty=False)
    return Example(
        {"c": np.rint(draw.reals(0, 4, shape))},
        {"axis": draw.axis(len(shape)), "keepdims": draw.flag(), "last": draw.flag()},
        types=[unranked(i64)],
    )


def cumulative(draw: Draw) -> Example:
    """CumSum in either direction, inclusive or exclusive."""
    shape = draw.shape(1, empty=False)
    axis = np.array(draw.axis(len(shape)), draw.pick(np.int32, np.int64))
    return Example(
        {"c": shape, "axis": axis}, {"exclusive": draw.flag(), "reverse": draw.flag()}, own=("axis",)
    )


EQUATIONS = (
    ("ij,jk->ik", ("ij", "jk")),
    ("bij,bjk->bik", ("bij", "bjk")),
    ("ij->ji", ("ij",)),
    ("ij->i", ("ij",)),
    ("i,i", ("i", "i")),
    ("ii->i", ("ii",)),
    ("i,j->ij", ("i", "j")),
    ("ij,ij->", ("ij", "ij")),
    (" b i j , j -> b i", ("bij", "j")),
)


def einsum(draw: Draw) -> Example:
    """Einsum: matrix products, sums, diagonals, outer products."""
    equation, terms = draw.pick(*EQUATIONS)
    sizes = {label: draw.number_in(1, 4) for label in "bijk"}
    shapes = {f"constants{n}": tuple(sizes[label] for label in term) for n, term in enumerate(terms)}
    return Example(
        dict(shapes), {"equation": equation}, counts={"constants": len(terms)}, specials=draw.is_integer
    )


def reversal(draw: Draw) -> Example:
    """ReverseSequence with lengths from 0 to the whole axis."""
    shape = draw.shape(2, 4, empty=False)
    batch = draw.flag()
    lengths = ints(*(draw.number_in(0, shape[1 - batch]) for _ in range(shape[batch])))
    return Example({"c": shape, "lengths": lengths}, {"batch": batch, "time": 1 - batch}, own=("lengths",))


def top(draw: Draw) -> Example:
    """TopK with ties, and any k."""
    shape = draw.shape(1, empty=False)
    axis = draw.axis(len(shape))
    return Example(
        {"c": np.rint(draw.reals(0, 6, shape)), "k": ints(draw.number_in(0, shape[axis]))},
        {"axis": axis, "largest": draw.flag()},
        own=("k",),
        types=[unranked(element_type_of(draw.dtype)), unranked(i64)],
    )


def unique(draw: Draw) -> Example:
    """Unique of elements, or of slices of axis 0 except for strings; the reference supports no other axis."""
    is_text = draw.dtype.hasobject
    shape = draw.shape(1, 1 if is_text or draw.flag() else 3, empty=False)
    axis = 0 if len(shape) > 1 else draw.pick(None, None if is_text else 0)
    return Example(
        {"c": np.rint(draw.reals(0, 3, shape))},
        {"axis": axis, "ordered": 1 if len(shape) > 1 else draw.flag()},
        types=[unranked(element_type_of(draw.dtype)), *[unranked(i64)] * 3],
    )


def compression(draw: Draw) -> Example:
    """Compress of elements, or of slices; elements beyond a shorter condition are dropped."""
    shape = draw.shape(1)
    axis = draw.pick(None, draw.axis(len(shape)))
    size = int(np.prod(shape)) if axis is None else shape[axis]
    condition = draw.random.integers(0, 2, draw.number_in(0, size)).astype(np.bool_)
    return Example({"c": shape, "condition": condition}, {"axis": axis})


def blocks(to_space: bool) -> Generator:
    """Blocks of one to three, in both orders."""

    def make(draw: Draw) -> Example:
        size, many = draw.number_in(1, 3), draw.number_in(1, 2)
        pixels = (draw.number_in(1, 3), draw.number_in(1, 3))
        if to_space:
            shape: Shape = (draw.number_in(1, 2), many * size**2, *pixels)
        else:
            shape = (draw.number_in(1, 2), many, pixels[0] * size, pixels[1] * size)
        return Example(
            {"c": shape}, {"blocksize": size, "mode": draw.pick("DCR", "CRD") if to_space else "DCR"}
        )

    return make


def eye(draw: Draw) -> Example:
    """Of the data's type, or of another one."""
    code, kind = draw.pick((None, draw.dtype), (1, np.dtype(np.float32)), (7, np.dtype(np.int64)))
    return Example(
        {"x": (draw.size(), draw.size())},
        {"dtype": code, "k": draw.number_in(-2, 2)},
        types=[unranked(element_type_of(kind))],
    )


def flattening(draw: Draw) -> Example:
    """Before any axis, and after the last."""
    shape = draw.shape(empty=False)
    return Example({"c": shape}, {"axis": draw.number_in(-len(shape), len(shape))})


def element_indices(draw: Draw, shape: Shape, axis: int, longer: bool) -> Array:
    """Indices along an axis, distinct at each position."""
    size = shape[axis]
    count = draw.number_in(1, size + 2) if longer else draw.number_in(1, size)
    others = [1 if n == axis % len(shape) else each for n, each in enumerate(shape)]
    lines = [
        draw.random.integers(-size, size, count) if longer else draw.random.permutation(size)[:count]
        for _ in range(int(np.prod(others)))
    ]
    found = np.array(lines, np.int64).reshape(
        *[each for n, each in enumerate(others) if n != axis % len(shape)], count
    )
    return np.moveaxis(found, -1, axis % len(shape))


def gathered_elements(draw: Draw) -> Example:
    """Indices from either end; the reference miscounts negative axes."""
    shape = draw.shape(1, 3, empty=False)
    axis = draw.axis(len(shape), negative=False)
    return Example({"c": shape, "indices": element_indices(draw, shape, axis, True)}, {"axis": axis})


def scattered_elements(draw: Draw) -> Example:
    """Each element once; replaced or accumulated."""
    shape = draw.shape(1, 3, empty=False)
    axis = draw.axis(len(shape))
    indices = element_indices(draw, shape, axis, False)
    numbers = draw.is_integer or draw.is_float
    kinds = ("none", "add", "mul", "max", "min") if numbers else ("none",)
    return Example(
        {"c": shape, "indices": indices, "updates": indices.shape},
        {"axis": axis, "reduction": draw.pick(*kinds)},
        specials=False,
    )


def scattered(draw: Draw) -> Example:
    """As before opset 11, which the reference does not have."""
    shape = draw.shape(1, 3, empty=False)
    axis = draw.axis(len(shape))
    indices = element_indices(draw, shape, axis, False)
    data, updates = draw.array(shape), draw.array(indices.shape)
    result = data.copy()
    for index in np.ndindex(*indices.shape):
        target = list(index)
        target[axis] = int(indices[index])
        result[tuple(target)] = updates[index]
    return Example(
        {"c": data, "indices": indices, "updates": updates},
        {"axis": axis},
        expected=lambda feeds: [as_array(result)],
    )


def slice_indices(draw: Draw, shape: Shape, lead: Shape, twice: bool) -> Array:
    """Rows of indices into the first axes."""
    depth = draw.number_in(1, len(shape))
    rows = int(np.prod(lead))
    if twice:
        columns = [draw.random.integers(-size, size, rows) for size in shape[:depth]]
        return np.stack(columns, -1).astype(np.int64).reshape(*lead, depth)
    positions = draw.random.permutation(int(np.prod(shape[:depth])))[:rows]
    return np.stack(np.unravel_index(positions, shape[:depth]), -1).astype(np.int64)


def gathered_slices(draw: Draw) -> Example:
    """Elements and slices, in batches too."""
    shape = draw.shape(1, 4, empty=False)
    batch = draw.number_in(0, len(shape) - 1)
    lead = (*shape[:batch], *draw.shape(1, 2, empty=False))
    indices = slice_indices(draw, shape[batch:], lead, True)
    return Example({"c": shape, "indices": indices}, {"batch_dims": batch})


def scattered_slices(draw: Draw) -> Example:
    """Each slice at most once if it replaces, any number of times if it accumulates."""
    shape = draw.shape(1, 3, empty=False)
    numbers = draw.is_integer or draw.is_float
    reduction = draw.pick("none", "add", "mul", "max", "min") if numbers else "none"
    indices = slice_indices(draw, shape, (draw.number_in(1, 3),), reduction != "none")
    updates = (*indices.shape[:-1], *shape[indices.shape[-1] :])
    return Example(
        {"c": shape, "indices": indices, "updates": updates}, {"reduction": reduction}, specials=False
    )


def one_hot(draw: Draw) -> Example:
    """Indices in range, from the end, and out of range, which are nowhere."""
    shape, depth = draw.shape(1, 2), draw.number_in(1, 4)
    return Example(
        {
            "indices": draw.random.integers(-depth - 1, depth + 2, shape).astype(np.int64),
            "depth": draw.pick(np.array(depth), ints(depth)),
            "values": (2,),
        },
        {"axis": draw.axis(len(shape) + 1)},
        own=("depth",),
        types=[unranked(element_type_of(draw.dtype))],
    )


def triangle(draw: Draw) -> Example:
    """Above any diagonal, or below."""
    shape = draw.shape(2, 4)
    return Example(
        {"c": shape, "k": draw.pick(None, np.array(draw.number_in(-3, 3)))},
        {"upper": draw.flag()},
        own=("k",),
    )


GENERATORS: dict[str, Generator] = {
    "ArgMaxofConst": extremum,
    "ArgMinofConst": extremum,
    "CompressofConst": compression,
    "CumProdofConst": cumulative,
    "CumSumofConst": cumulative,
    "DepthToSpaceofConst": blocks(True),
    "EinsumofConst": einsum,
    "EyeLikeofShape": eye,
    "FlattenofConst": flattening,
    "GatherElementsofConst": gathered_elements,
    "GatherNDofConst": gathered_slices,
    "HardmaxV11ofConst": as_rows,
    "HardmaxofConst": along,
    "IdentityofConst": lambda draw: Example({"c": draw.shape()}, pattern=Identity(const.c)),
    "LRNofConst": local_response,
    "LogSoftmaxV11ofConst": as_rows,
    "LogSoftmaxofConst": along,
    "LpNormalizationofConst": by_norm,
    "OneHotofConst": one_hot,
    "ReverseSequenceofConst": reversal,
    "ScatterElementsofConst": scattered_elements,
    "ScatterNDOfConst": scattered_slices,
    "ScatterofConst": scattered,
    "SoftmaxV11ofConst": as_rows,
    "SoftmaxofConst": along,
    "SpaceToDepthofConst": blocks(False),
    "TopKofConst": top,
    "TriluofConst": triangle,
    "UniqueofConst": unique,
}

CLOSENESS: dict[str, Closeness] = {
    **dict.fromkeys(constprop_axes.RULES, FOLDED),
    **dict.fromkeys(constprop_indexing.RULES, SAME),
}

# The reference takes the logarithm of what it has rounded.
CLOSENESS["LogSoftmaxofConst"] = Closeness(ulps=1, steps=2, narrow=2)
# So does onnxruntime, which sums in another order and has powers and exponentials of its own.
for name in ("LRNofConst", "LogSoftmaxV11ofConst", "SoftmaxV11ofConst"):
    CLOSENESS[name] = Closeness(ulps=1, steps=2)

# The reference sums products in another order.
CLOSENESS["EinsumofConst"] = Closeness(ulps=1, steps=1)

FINITE: dict[str, str] = {}

# What onnxruntime has, which alone knows the old meaning.
KINDS: dict[str, tuple[Kind, ...]] = {
    "HardmaxV11ofConst": (np.float32,),
    "LRNofConst": (np.float32,),
    "LogSoftmaxV11ofConst": (np.float32, np.float64),
    "LpNormalizationofConst": (np.float32, np.float64),
    "SoftmaxV11ofConst": (np.float32, np.float64),
}
