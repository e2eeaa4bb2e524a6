"""Instances of the patterns of canonicalisations, for the shared test of all rules."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, f32, f64, i1, i16, i64

from xonnc.dialects.onnx.types import element_type_of, tensor_type, unranked
from xonnc.fuzzing.rules.instances import EVERY, FLOATS, INTEGERS, Example, ints
from xonnc.rewriting.onnx import (
    Add,
    Concat,
    Dim,
    Div,
    Equal,
    Expand,
    LeakyRelu,
    MatMul,
    Mul,
    Relu,
    Reshape,
    Slice,
    Split,
    Squeeze,
    Transpose,
    Where,
)
from xonnc.rewriting.onnx import Gemm as Linear
from xonnc.rewriting.patterns import Array, Literal, Node, Pattern, Template, absent, const, value

ODD = np.array([[np.nan, np.inf, -np.inf], [-0.0, 0.0, -7.5]])
"""Floats that are easily lost."""

NUMBERS = tuple(kind for kind in EVERY if kind is not np.bool_)
SIZES = (np.int64,)
"""The only type that shapes have."""

SINGLE = {"RemoveGroupNormPattern1"}
"""Rules for what is computed in single precision whatever its type."""


def expanded(*shapes: tuple[int, ...]) -> list[Example]:
    """A scalar expanded, and one by itself."""
    return [
        Example({"k": np.full(shape, number), "shape": ints(2, 3), "c": np.array(3)}, dtypes=NUMBERS)
        for shape in shapes
        for number in (7, 0, 100)
    ] + [
        Example({"k": np.array([number]), "shape": ints(3), "c": np.array([0.1])}, dtypes=FLOATS)
        for number in (np.nan, np.inf, -np.inf, -0.0)
    ]


def reshaped() -> list[Example]:
    """A scalar after a reshape."""
    shapes: Sequence[tuple[Array | tuple[int, ...], tuple[int, ...]]] = (
        ((2, 6), (3, 4)),
        (ODD, (0, -1)),
        ((2, 0), (5, 0)),
        ((), (1, 1)),
    )
    return [
        Example({"x": x, "shape": ints(*shape), "y": y}, {"allowzero": 0}, dtypes=dtypes)
        for y in (np.array([3]), np.array(-2))
        for x, shape in shapes
        for dtypes in ((FLOATS if x is ODD else NUMBERS),)
    ]


def compared() -> list[Example]:
    """Numbers cast to a type that holds them all."""
    casts = (
        (f64, (np.float32, np.float16, np.int32, np.int8, np.uint8)),
        (f32, (np.float16, np.int8, np.uint8)),
        (i64, (np.int32, np.int8, np.uint8)),
        (i16, (np.int8, np.uint8)),
    )
    return [
        Example({"a": a, "b": (2, 3)}, {"to": to, "saturate": 1}, dtypes=dtypes, types=[unranked(i1)])
        for to, dtypes in casts
        for a in ((2, 3), (3,))
    ] + [
        Example(
            {"a": ODD, "b": ODD[::-1]}, {"to": f64, "saturate": 1}, dtypes=[np.float32], types=[unranked(i1)]
        )
    ]


def sizes(pattern: Node, **values: Array | tuple[int, ...]) -> Example:
    """An instance of a pattern about shapes."""
    return Example(values, pattern=pattern, dtypes=SIZES)


DIM = Dim(value.x, axis=0)
"""The first size of x."""

CHOICE = {"x": (4, 3), "one": np.array([-1]), "n": np.array([-1, -1]), "k": np.array([7, 9])}
COMPARED = Concat(DIM, const.one, axis=0)


def chosen(equal: Node) -> list[Example]:
    """Sizes chosen one by one."""
    others = Concat(value.p, value.q, axis=0)
    return [
        sizes(Where(equal, const.k, given), p=(1,), q=(1,), **{**CHOICE, **changed})
        for given in (others, COMPARED)
        for changed in ({}, {"one": np.array([5])}, {"n": np.array([-1]), "k": np.array([8])})
    ]


def dynamic(*second: Pattern) -> Node:
    """Two reshapes, the first one to a size of x and 6."""
    first = Concat(DIM, const.six, axis=0)
    return Reshape(Reshape(value.x, first, allowzero=0), Concat(*second, axis=0), allowzero=0)


IMAGES = {"x": (2, 4, 3, 5), "scale": (4,), "bias": (4,)}
GROUPS: dict[str, Literal] = {"epsilon": 1e-3, "groups": 2, "stash": 1}


def normalised(axis: int, b: tuple[int, ...], *, x: tuple[int, ...] = (2, 3, 4)) -> Example:
    """A layer normalisation and a bias."""
    return Example(
        {"x": x, "scale": x[axis:], "b": b},
        properties={"LayerNormalization": {"axis": axis, "epsilon": 1e-3}},
        dtypes=FLOATS,
    )


NETWORKS = {"RNN": (1, "h"), "GRU": (3, "h"), "LSTM": (4, "hc")}
"""How many gates each network has, and its states."""


def recurrent(name: str, batch_first: bool) -> list[Example]:
    """A network in one direction, and in both; onnxruntime knows lengths, the reference batches first."""
    gates, states = NETWORKS[name]
    found: list[Example] = []
    for direction, both in (("forward", 1), ("bidirectional", 2)):
        state = (3, both, 4) if batch_first else (both, 3, 4)
        given = dict.fromkeys(states, state)
        values: dict[str, Array | tuple[int, ...] | None] = {
            "x": (3, 5, 2) if batch_first else (5, 3, 2),
            "w": (both, gates * 4, 2),
            "r": (both, gates * 4, 4),
            "b": None if both == 1 else (both, 2 * gates * 4),
            "lengths": None if batch_first else np.array([5, 5, 5], np.int32),
            "peepholes": None,
            **(given if both == 2 else dict.fromkeys(states)),
        }
        found.append(
            Example(
                values,
                properties={name: {"hidden_size": 4, "direction": direction}},
                dtypes=[np.float32],
                types=[unranked(f32)] * (len(states) + 1),
                opset=None if batch_first else 14,
            )
        )
    return found


SCALED = {"a": (2, 3), "w": (3, 4), "d": (4,), "y": (4, 2), "c": np.array([0.125])}


def attention(op: Template) -> list[Example]:
    """A scale after projections, on either side, with moves in between."""
    product = Add(MatMul(value.a, const.w), const.d)
    linear = Linear(value.a, const.w, const.d, alpha=0.5, beta=2.0)
    plain = Linear(value.a, const.w, absent, alpha=0.5)
    moved = Transpose(Reshape(product, const.shape), perm=[1, 0])
    squeezed = Squeeze(Reshape(plain, const.shape), const.axes)
    patterns: list[tuple[Node, dict[str, Array | tuple[int, ...]]]] = [
        (op(MatMul(product, value.y), const.c), {}),
        (op(MatMul(linear, value.y), const.c), {"c": np.array(3.0)}),
        (op(MatMul(plain, value.y), const.c), {}),
        (op(MatMul(value.y, moved), const.c), {"y": (3, 2), "shape": ints(4, 2)}),
        (op(MatMul(value.y, squeezed), const.c), {"y": (3, 2), "shape": ints(1, 2, 4), "axes": ints(0)}),
    ]
    return [Example({**SCALED, **changed}, pattern=pattern, dtypes=FLOATS) for pattern, changed in patterns]


def resized(inferred: bool, **given: Array | None) -> Example:
    """A resize with empty tensors."""
    values = {"x": (1, 1, 2, 3), "roi": np.zeros(0, np.float32), "scales": None, "sizes": None, **given}
    return Example(values, dtypes=[np.float32], inferred=inferred)


EXAMPLES: dict[str, list[Example]] = {
    **{
        f"PropagateScalarConstantExpandPattern{name}": expanded((1,), ())
        for name in "Add Sub Mul Div".split()
    },
    **{f"PropagateScalarConstantExpandPattern{name}Rhs": expanded((1,), ()) for name in ("Sub", "Div")},
    **{f"PropagateReshapeThroughBinaryOpPattern{name}": reshaped() for name in "Add Sub Mul Div".split()},
    "LessOpSameCastPattern": compared(),
    "AlwaysFalseWherePattern": [
        sizes(Where(Equal(Concat(DIM, const.one, axis=0), const.n), value.a, value.b), **changed)
        for changed in (
            {"x": (4, 3), "one": np.array([5]), "n": np.array([-1, -2]), "a": (2,), "b": (2,)},
            {"x": (0, 3), "one": np.array([5]), "n": np.array(-1), "a": (), "b": (2,)},
        )
    ],
    "RemoveWhereEqualPattern": chosen(Equal(COMPARED, const.n)),
    "RemoveWhereEqualPatternRhs": chosen(Equal(const.n, COMPARED)),
    "DimOpFromReshapeInputPattern": [
        sizes(
            Dim(Reshape(value.x, Concat(DIM, const.c, axis=0), allowzero=0), axis=axis), x=(4, 3), c=ints(3)
        )
        for axis in (0, 1)
    ]
    + [sizes(Dim(Reshape(value.x, Concat(DIM, const.c, axis=0), allowzero=0), axis=0), x=(0, 3), c=ints(3))],
    "DimOpFromTransposeInputPattern": [
        sizes(Dim(Transpose(value.x, perm=[2, 0, 1]), axis=axis), x=(4, 3, 2)) for axis in (0, 1, 2)
    ],
    "ReplaceUnsqueezeOfExpandRewritePattern": [
        Example({"s": s, "shape": ints(4), "axes": axes}, dtypes=EVERY)
        for s in ((), (1,))
        for axes in (ints(0), ints(-1, 0), ints(1, 2))
    ],
    "ReplaceSliceOfExpandRewritePattern": [
        Example(
            {
                "s": (),
                "four": np.array([4]),
                "x": (3,),
                "starts": ints(1),
                "ends": ints(9),
                "axes": ints(0),
                "steps": ints(step),
            },
            pattern=Slice(
                Expand(value.s, Concat(const.four, DIM, axis=0)), value.starts, const.ends, axes, const.steps
            ),
            types=[tensor_type((left, DYNAMIC_INDEX), i64)],
            dtypes=SIZES,
        )
        for step, left in ((1, 3), (2, 2))
        for axes in (const.axes, absent)
    ],
    "SliceConcatNoOpPattern": [
        Example(
            {"starts": ints(start), "ends": ints(end), "axes": ints(0), "steps": None, "p": (1,), "q": (1,)},
            pattern=Slice(
                Concat(value.p, value.q, value.p, axis=0), const.starts, const.ends, const.axes, value.steps
            ),
        )
        for start, end in ((1, 2), (-2, -1), (2, 99), (0, 1))
    ],
    "FuseTwoReshapesPattern": [
        Example({"x": (2, 6), "first": ints(*first), "second": ints(*second)}, pattern=pattern)
        for pattern in (Reshape(Reshape(value.x, const.first, allowzero=0), const.second, allowzero=0),)
        for first, second in (((3, 4), (0, -1, 2)), ((0, 3, 2), (0, 6)))
    ]
    + [
        Example(
            {"x": x, "six": np.array([6]), "two": np.array([2]), "three": np.array([3])},
            pattern=pattern,
            dtypes=SIZES,
        )
        for x in ((4, 3, 2), (0, 3, 2))
        for pattern in (dynamic(DIM, const.two, const.three), dynamic(DIM, const.six))
    ],
    "RemoveEmptyInputInConcatPattern": [
        Example({"p": p, "q": (0,)}, pattern=Concat(value.q, value.p, value.q, value.p, axis=0))
        for p in ((2,), (1,))
    ]
    + [Example({"p": (2,), "q": (0,)}, pattern=Concat(value.q, value.p, axis=0))],
    "SwapReshapeMatMulPattern": [
        Example(
            {"a": a, "shape": ints(*shape), "b": b},
            pattern=MatMul(Reshape(value.a, const.shape, allowzero=0), value.b),
            dtypes=(*FLOATS, np.int32, np.int64),
        )
        for a, shape, b in (((2, 3, 4), (6, 4), (4, 5)), ((2, 1, 3, 4), (-1, 4), (4, 1)))
    ],
    "PropagateConstantScalingInAttentionLayerPatternMul": attention(Mul),
    "PropagateConstantScalingInAttentionLayerPatternDiv": attention(Div),
    "RemoveInstanceNormPattern": [
        Example(IMAGES, {"epsilon": 1e-3}, dtypes=FLOATS),
        Example({**IMAGES, "x": (1, 4, 7)}, {"epsilon": 1e-5}, dtypes=FLOATS),
    ],
    "RemoveGroupNormPattern1": [
        Example(IMAGES, {**GROUPS, "groups": groups}, dtypes=FLOATS) for groups in (1, 2, 4)
    ],
    "RemoveGroupNormPattern2": [
        Example(
            {**IMAGES, "scale": (groups,), "bias": (groups,)}, {**GROUPS, "groups": groups}, dtypes=FLOATS
        )
        for groups in (1, 2, 4)
    ],
    **{
        f"PropagateBiasIntoLayerNormRewritePatternLayerNormalization{side}": [
            normalised(2, (4,)),
            normalised(1, (3, 4)),
            normalised(1, (1,)),
            normalised(0, (3, 1), x=(2, 3, 4)),
        ]
        for side in ("", "Rhs")
    },
    **{f"RNNOpRewriteLayoutPattern{name}": recurrent(name, True) for name in NETWORKS},
    **{f"RNNOpRewriteSeqLenPattern{name}": recurrent(name, False) for name in NETWORKS},
    **{
        f"PullOpThroughSplitPattern{name}": [
            Example(
                {"x": x, "sizes": ints(1, 2)}, pattern=op(Split(value.x, value.sizes, axis=1)), dtypes=dtypes
            )
            for x, dtypes in (((2, 3), kinds), (ODD, FLOATS))
        ]
        for name, op, kinds in (("Relu", Relu, (*FLOATS, *INTEGERS)), ("LeakyRelu", LeakyRelu, FLOATS))
    },
    **{
        f"EmptyTensorInputsResizePattern{version}": [
            resized(True, scales=np.array([1, 1, 2, 2], np.float32)),
            resized(True, sizes=ints(1, 1, 3, 3)),
            # Inference refuses what has both, though one says nothing.
            resized(False, scales=np.zeros(0, np.float32), sizes=ints(1, 1, 3, 3)),
        ]
        for version in ("", "V18", "V13")
    },
    "RemoveIdentityUpsampleAndPadPattern": [
        Example(
            {"x": (1, 2, 3, 3)},
            {"strides": [1, 1], "pads": [0, 0, 0, 0]},
            dtypes=[dtype],
            types=[tensor_type((1, 2, 3, 3), element_type_of(np.dtype(dtype)))],
        )
        for dtype in NUMBERS
    ],
    "ConvertUpsampleAndPadToPadPattern": [
        Example({"x": (1, 2, 3, 3)}, {"strides": [1, 1], "pads": pads}, dtypes=NUMBERS)
        for pads in ([1, 0, 2, 3], [0, 0, 0, 1])
    ],
}
