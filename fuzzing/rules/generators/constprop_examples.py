"""Examples of patterns of constant propagation, for the shared test of all rules."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import f16, f64, i1, i8, i32, i64

from xonnc.dialects.onnx.types import element_type_of
from xonnc.fuzzing.rules.instances import FLOATS, INTEGERS, Example, example, ints
from xonnc.rewriting.patterns import Array

ZERO, ONE = np.zeros((1, 3)), np.ones((3,))

REDUCED: tuple[tuple[tuple[int, ...], Array | None, int, int], ...] = (
    ((2, 3, 4), ints(0, -1), 1, 0),
    ((2, 3, 4), ints(1), 0, 0),
    ((2, 3), None, 0, 0),
    ((2, 3), None, 1, 1),
)

EXAMPLES: dict[str, list[Example]] = {
    "AddZerosOnRhs": [example(x=(2, 3), c=ZERO)],
    "SubZerosOnRhs": [example(x=(2, 3), c=ZERO)],
    "MulOnesOnRhs": [example(x=(2, 3), c=ONE)],
    "DivOnesOnRhs": [example(x=(2, 3), c=ONE)],
    "DivConstProp": [
        example(a=np.array([[-7, 7, 0], [5, -5, 9]]), b=np.array([2, -2, 3])),
        Example({"a": (2, 3), "b": (3,)}, dtypes=FLOATS),
    ],
    "ModConstPropPattern": [
        Example({"a": np.array([-7, 7, 0, 5]), "b": np.array([2, -2, 3, 4])}, {"fmod": 0}, dtypes=INTEGERS),
        Example({"a": np.array([-7.5, 7.5, 0]), "b": np.array([2, -2, 3])}, {"fmod": 0}, dtypes=FLOATS),
        Example({"a": np.array([-7, 7, 0, 5.5]), "b": np.array([2, -2, 3, 4])}, {"fmod": 1}),
    ],
    "PowConstProp": [
        Example({"a": np.array([2.0, 3.0, -2.0]), "b": np.array([3.0, 0.0, 2.0])}),
        Example({"a": (2, 3), "b": (3,)}, dtypes=FLOATS),
    ],
    "CastofConst": [
        Example({"c": np.array([1.5, 0.5, 2.5, 0.0, 100.25])}, {"saturate": 1, "to": to})
        for to in (i8, i32, i64, i1, f16, f64, element_type_of(np.dtype(np.uint8)))
    ]
    + [Example({"c": np.array([-1.5, -0.5, -100])}, {"saturate": 1, "to": to}) for to in (i32, i64, i1, f64)],
    "ClipConstProp": [
        example(c=(2, 3), low=np.array(-0.5), high=np.array(0.5)),
        example(c=(2, 3), low=None, high=np.array(0.5)),
        example(c=(2, 3), low=np.array(1), high=None),
    ],
    "WhereConstProp": [
        example(condition=np.array([[True], [False]]), a=(2, 3), b=(3,)),
        example(condition=np.array(True), a=(2, 3), b=(3,)),
    ],
    "ErfofConst": [Example({"c": (2, 3)}, dtypes=FLOATS)],
    "ConcatofConst": [example({"axis": 1}, constants=(2, 3)), example({"axis": -2}, constants=(2, 3))],
    "ConstantOfShapeofConst": [
        example({"value": None}, shape=ints(2, 3)),
        example({"value": None}, shape=ints(0)),
    ],
    "ExpandofConst": [example(c=(2, 1), shape=ints(3, 1, 4)), example(c=(2, 3), shape=ints(1))],
    "GatherofConst": [
        example({"axis": 1}, c=(2, 3), indices=np.array([[0, -1], [2, 1]])),
        example({"axis": -2}, c=(2, 3), indices=np.array(-1)),
    ],
    "NonZeroOfConst": [example(c=(2, 3)), example(c=np.array([0.0, -0.0, np.nan, 2]))],
    "PadOfConst": [
        example({"mode": "constant"}, c=(2, 3), pads=ints(1, 0, 2, 1), fill=np.array([7]), axes=None),
        example({"mode": "constant"}, c=(2, 3), pads=ints(1, 2), fill=None, axes=ints(-1)),
        example({"mode": "reflect"}, c=(3, 4), pads=ints(2, 1, 0, 3), fill=None, axes=None),
        example({"mode": "edge"}, c=(3, 4), pads=ints(2, 1, 0, 3), fill=None, axes=None),
        example({"mode": "wrap"}, c=(3, 4), pads=ints(2, 1, 0, 3), fill=None, axes=None),
        # Text is padded with text.
        Example(
            {"c": np.array([b"a", b""], np.object_), "pads": ints(1, 2), "fill": None, "axes": None},
            {"mode": "constant"},
            dtypes=[np.object_],
            expected=lambda feeds: [np.array(["", "a", "", "", ""])],
        ),
    ],
    "RangeConstProp": [
        example(start=np.array(1), limit=np.array(9), delta=np.array(3)),
        example(start=np.array(5), limit=np.array(0), delta=np.array(-2)),
        Example({"start": np.array(0.1), "limit": np.array(1.0), "delta": np.array(0.25)}, dtypes=FLOATS),
        example(start=np.array(3), limit=np.array(1), delta=np.array(1)),
    ],
    "ReshapeofConst": [
        example({"allowzero": 0}, c=(2, 3, 4), shape=ints(0, -1)),
        example({"allowzero": 1}, c=(0, 3), shape=ints(3, 0)),
    ],
    "ScatterNDOfConst": [
        example({"reduction": "none"}, c=(3, 2), indices=np.array([[2], [-3]]), updates=(2, 2)),
        example({"reduction": "none"}, c=(3, 2), indices=np.array([[1, 1]]), updates=(1,)),
    ],
    "SliceofConst": [
        example(c=(4, 5), starts=ints(1, -1), ends=ints(1000, -(2**31)), axes=ints(0, 1), steps=ints(2, -2)),
        example(c=(4, 5), starts=ints(-3), ends=ints(-1), axes=None, steps=None),
        example(c=(4, 5), starts=ints(3), ends=ints(1), axes=ints(-1), steps=None),
    ],
    "SplitOfConst": [
        example({"axis": -1}, c=(2, 5), sizes=ints(2, 3)),
    ],
    "SqueezeofConst": [example(c=(1, 2, 1), axes=ints(-1)), example(c=(1, 2, 1), axes=None)],
    "SqueezeV11ofConst": [example({"axes": [0, 2]}, c=(1, 2, 1)), example({"axes": None}, c=(1, 2, 1))],
    "UnsqueezeofConst": [example(c=(2, 3), axes=ints(-1, 1))],
    "UnsqueezeV11ofConst": [example({"axes": [0, 3]}, c=(2, 3))],
    "TileofConst": [example(c=(2, 3), repeats=ints(2, 1)), example(c=(2,), repeats=ints(0))],
    "TransposeofConst": [example({"perm": [2, 0, 1]}, c=(2, 3, 4)), example({"perm": None}, c=(2, 3))],
    "GemmConstProp": [
        example({"alpha": 1.0, "beta": 1.0, "transa": 0, "transb": 0}, a=(2, 3), b=(3, 4), c=(4,)),
        example({"alpha": 0.5, "beta": 2.0, "transa": 1, "transb": 1}, a=(3, 2), b=(4, 3), c=(2, 1)),
        example({"alpha": 2.0, "beta": 1.0, "transa": 0, "transb": 1}, a=(2, 3), b=(4, 3), c=None),
    ],
    "MatMulOfConsts": [
        example(a=(2, 3), b=(3, 4)),
        example(a=(3,), b=(2, 3, 4)),
        example(a=(2, 1, 2, 3), b=(5, 3, 1)),
    ],
    "MatMulIntegerOfConsts": [
        example(a=(2, 3), b=(3, 4), az=None, bz=np.array(3)),
        example(a=(2, 3), b=(3, 4), az=np.array([[1], [2]]), bz=None),
    ],
    "MatMulZerosOnLhs": [example(c=np.zeros((2, 3)), x=(3, 4))],
    "MatMulZerosOnRhs": [example(c=np.zeros((3, 4)), x=(2, 3))],
    "MatMulIntegerConstZeroLhs": [example(c=np.full((2, 3), 5), x=(3, 4), az=np.array(5), bz=np.array(1))],
    "MatMulIntegerConstZeroRhs": [example(c=np.full((3, 4), 5), x=(2, 3), az=np.array(1), bz=np.array(5))],
    **{
        f"Reduce{name}ConstProp": [
            # The reference divides sums as doubles, which do not hold the limits of 64 bits.
            Example({"c": shape, "axes": axes}, {"keepdims": keep, "noop": noop}, specials=name != "Mean")
            for shape, axes, keep, noop in REDUCED
        ]
        for name in ("Max", "Mean", "Min", "Prod", "Sum")
    },
}
