"""Instances of the patterns of decompositions, for the shared test of all rules."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX as UNKNOWN
from xdsl.dialects.builtin import f32, f64, i32, i64
from xdsl.ir import Attribute

from xonnc.dialects.onnx.attribute_builders import float_attr, int_attr, string_attr
from xonnc.dialects.onnx.types import NONE, StringType, tensor_type, unranked
from xonnc.fuzzing.rules.instances import FLOATS, Example, example, ints
from xonnc.rewriting.onnx import Einsum
from xonnc.rewriting.patterns import AnyValue, Array, Literal

INFINITE = np.array([[np.inf, 1, -2], [-np.inf, -np.inf, -np.inf], [0, -0.0, -3]])
LARGE = np.array([[np.inf, 1, -2], [-np.inf, -1, -np.inf], [0, -0.0, 300]])
FAR = np.array([[0.0, -200.0, 3.0], [60.0, -60.0, 0.0]])
SUMMED = (np.float32, np.float64, np.float16, np.int32, np.int64)


def reduced(dtypes: tuple[type[np.generic], ...], *arrays: Array) -> list[Example]:
    """A reduction over some axes, all of them, none of them."""
    given = [
        ({"keepdims": 1, "noop": 0}, ints(0, -1)),
        ({"keepdims": 0, "noop": 0}, ints(1)),
        ({"keepdims": 0, "noop": 0}, None),
        ({"keepdims": 1, "noop": 1}, None),
        ({"keepdims": 0, "noop": 1}, None),
    ]
    some = [Example({"x": (2, 3, 4), "axes": axes}, properties, dtypes=dtypes) for properties, axes in given]
    more = [
        Example({"x": x, "axes": ints(-1)}, properties, dtypes=dtypes)
        for properties in ({"keepdims": 1, "noop": 0}, {"keepdims": 0, "noop": 0})
        for x in arrays
    ]
    return [
        *some,
        *more,
        *(Example({"x": x, "axes": None}, given[0][0], dtypes=dtypes) for x in ((1,), (0, 2))),
    ]


def reduced_by_property(dtypes: tuple[type[np.generic], ...], *axes: list[int] | None) -> list[Example]:
    """The same with axes as a property."""
    return [
        Example({"x": (2, 3, 4)}, {"axes": each, "keepdims": keepdims}, dtypes=dtypes)
        for each in axes
        for keepdims in (0, 1)
    ]


PADS = ints(1, 0, 2, 1)
PADDED = [
    example({"mode": mode}, x=(3, 4), pads=PADS, fill=fill, axes=axes)
    for mode, fill, axes in (
        ("constant", np.array(7), None),
        ("constant", None, None),
        ("reflect", None, None),
        ("edge", None, None),
        ("constant", None, ints(-1, 0)),
    )
]
IMAGE = (1, 2, 3, 5)
SCALES = np.array([1, 1, 2, 3], np.float32)
MAGNIFIED = [
    Example({"x": IMAGE, "scales": scales}, {"mode": mode}, dtypes=[np.float32], opset=opset)
    for opset in (9, 10)
    for mode in ("nearest", "linear")
    for scales in (
        SCALES,
        np.array([1, 1, 2.5, 1.5], np.float32),
        *([np.array([1, 1, 0.6, 0.75], np.float32)] if opset == 10 else []),
    )
]
RESIZED = [
    Example(
        {
            "x": IMAGE,
            "roi": np.zeros(8, np.float32),
            "scales": np.array([1, 1, 2, 0.6], np.float32),
            "sizes": None,
        },
        {"coordinates": coordinates},
        {name: {"mode": mode} for name in ("ResizeV11", "ResizeV13", "ResizeV18")},
        dtypes=[np.float32],
    )
    for coordinates in ("half_pixel", "asymmetric", "align_corners")
    for mode in ("nearest", "linear", "cubic")
]
SCALINGS = {
    "Null": (None, None),
    "NoScale": ([1.5, 0.0, -2.0], None),
    "NoOffset": (None, [2.0, 0.5, -1.0]),
    "": ([0.5], [3.0, -1.0, 0.0]),
}
SINGLE = {f"Scaler{name}Cast" for name in SCALINGS}
"""Rules that compute in single precision."""
FINITE = {"ConvTranspose", "ReduceLogSumExp_1", "ReduceLogSumExp_2"}
"""Rules whose examples hold infinities where the reference is right: not where no term is finite."""

TRANSPOSED: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Literal | Attribute]]] = [
    ((1, 2, 4, 3), (2, 3, 3, 2), {}),
    ((2, 2, 4, 3), (2, 1, 3, 3), {"strides": [2, 3], "pads": [1, 0, 2, 1], "output_padding": [1, 2]}),
    ((1, 4, 3, 3), (4, 3, 2, 3), {"group": 2, "strides": [2, 1], "dilations": [1, 2]}),
    ((1, 2, 5), (2, 3, 4), {"strides": [2], "auto_pad": "SAME_UPPER"}),
    ((1, 2, 5), (2, 3, 5), {"strides": [2], "auto_pad": "SAME_LOWER"}),
    ((1, 2, 5), (2, 3, 4), {"strides": [2], "auto_pad": "VALID"}),
    ((1, 2, 5), (2, 3, 4), {"strides": [2], "output_shape": [9]}),
    ((1, 2, 5), (2, 3, 4), {"strides": [2], "auto_pad": "SAME_UPPER", "output_shape": [9]}),
    ((1, 2, 5), (2, 3, 4), {"strides": [2], "auto_pad": "SAME_LOWER", "output_shape": [9]}),
    ((1, 1, 2, 3, 2), (1, 2, 2, 1, 3), {"strides": [1, 2, 2]}),
]

CONVOLVED: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Literal | Attribute]]] = [
    ((1, 2, 7, 5), (4, 2, 3, 3), {}),
    ((2, 2, 7, 5), (4, 2, 3, 2), {"strides": [2, 1], "pads": [1, 0, 2, 1]}),
    ((1, 2, 7, 6), (3, 2, 2, 3), {"dilations": [2, 1], "auto_pad": "VALID", "strides": [2, 2]}),
    ((2, 2, 7, 6), (3, 2, 2, 3), {"auto_pad": "SAME_UPPER", "strides": [2, 3]}),
    ((1, 2, 7, 6), (3, 2, 4, 4), {"auto_pad": "SAME_LOWER", "strides": [2, 1]}),
]


EINSUMS: list[tuple[str, *tuple[tuple[int, ...], ...]]] = [
    ("ij->ji", (2, 3)),
    ("ij", (2, 3)),
    ("ba", (2, 3)),
    ("ij->", (2, 3)),
    ("ii->i", (3, 3)),
    ("ii", (3, 3)),
    ("iji->j", (3, 2, 3)),
    ("iijj->ij", (2, 2, 3, 3)),
    ("iii->i", (2, 2, 2)),
    ("ii->i", (1, 1)),
    ("...i->...", (2, 3, 4)),
    ("i...->...i", (2, 3, 4)),
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("ij , jk -> ki", (2, 3), (3, 4)),
    ("ij,jk", (2, 3), (3, 4)),
    ("bij,bjk->bik", (5, 2, 3), (5, 3, 4)),
    ("...ij,...jk->...ik", (5, 2, 3), (1, 3, 4)),
    ("i,j->ij", (2,), (3,)),
    ("i,i->", (3,), (3,)),
    ("i,i->i", (3,), (3,)),
    ("ij,ij->ij", (2, 3), (1, 3)),
    ("ij,j->i", (2, 3), (1,)),
    (",ij->ij", (), (2, 3)),
    (",->", (), ()),
    ("bhid,bhjd->bhij", (2, 2, 3, 4), (2, 2, 5, 4)),
    ("ijk,ilm->jlkm", (2, 3, 2), (2, 2, 3)),
    ("ijkl,kjm->iml", (2, 3, 2, 2), (2, 3, 4)),
    ("ij,jk,kl->il", (2, 3), (3, 2), (2, 4)),
    ("ij,jk,ki->", (2, 3), (3, 2), (2, 2)),
    ("ij,ik,il->jkl", (2, 3), (2, 2), (2, 4)),
    ("a,b,c->cab", (2,), (3,), (4,)),
    ("ij,jk->ik", (2, 0), (0, 4)),
    ("ij,jk->ik", (0, 3), (3, 4)),
    ("iij,jk->ik", (3, 3, 2), (2, 4)),
]


def convolutions(
    name: str, cases: Sequence[tuple[tuple[int, ...], tuple[int, ...], dict[str, Literal | Attribute]]]
) -> list[Example]:
    """Convolutions with and without a bias, with and without shape inference before."""
    return [
        Example(
            {"x": x, "w": w, "b": None if bias == 0 else (bias,)},
            properties={name: properties},
            dtypes=[np.float32],
            inferred=inferred,
            types=[tensor_type((UNKNOWN,) * len(x), f32)],
            opset=13,
        )
        for x, w, properties in cases
        for bias in (0, w[0] if name == "Conv" else w[1] * (2 if "group" in properties else 1))
        for inferred in (True, False)
    ]


EXAMPLES: dict[str, list[Example]] = {
    "ClipV6": [
        Example({"x": (2, 3)}, {"low": -0.5, "high": 1.25}, dtypes=FLOATS),
        Example({"x": INFINITE}, {"low": -3.4028234663852886e38, "high": 0.0}, dtypes=FLOATS),
    ],
    **{
        name: [
            example(x=(2, 3), low=np.array(-0.5), high=np.array(1)),
            example(x=(2, 3), low=None, high=np.array(0.5)),
            example(x=(0, 3), low=np.array(1), high=None),
        ]
        for name in ("ClipV11", "ClipV12")
    },
    "DFTV17": [
        Example(
            {"x": (2, 5, 1), "length": None}, {"axis": 1, "inverse": 0, "onesided": 1}, dtypes=FLOATS[:2]
        ),
        Example(
            {"x": (2, 5, 4, 2), "length": None}, {"axis": 2, "inverse": 1, "onesided": 0}, dtypes=FLOATS[:2]
        ),
    ],
    "GridSampleV16": [
        Example(
            {"x": (1, 2, 4, 5), "grid": np.linspace(-1.2, 1.2, 24).reshape(1, 3, 4, 2)},
            {"align": align, "mode": mode, "padding": padding},
            dtypes=[np.float32],
            opset=16,
        )
        for align in (0, 1)
        for mode in ("bilinear", "nearest", "bicubic")
        for padding in ("zeros", "border", "reflection")
    ],
    "PadV2": [
        Example({"x": (2, 3)}, {"mode": "constant", "pads": [1, 0, 2, 1], "fill": 1.5}, dtypes=FLOATS),
        Example({"x": (2, 3)}, {"mode": "edge", "pads": [1, 0, 2, 1], "fill": 0.0}, dtypes=FLOATS),
    ],
    "PadV11": PADDED[:4],
    "PadV13": PADDED[:4],
    "PadV18": PADDED,
    **{
        f"Reduce{name}V13_1": reduced_by_property(dtypes, None)
        for name, dtypes in (("L1", SUMMED), ("L2", FLOATS), ("LogSum", FLOATS), ("LogSumExp", FLOATS))
    },
    **{
        f"Reduce{name}V13_2": reduced_by_property(dtypes, [0], [1, 2], [-1])
        for name, dtypes in (("L1", SUMMED), ("L2", FLOATS), ("LogSum", FLOATS), ("LogSumExp", FLOATS))
    },
    "ReduceSumSquareV13_1": reduced_by_property((*FLOATS, np.int64), None),
    "ReduceSumSquareV13_2": reduced_by_property((*FLOATS, np.int64), [0], [1, 2]),
    **{
        name: [
            Example({"x": (2, 3, 4), "axes": axes}, properties={name: {"keepdims": keepdims}})
            for axes in (ints(1), ints(0, -1), None)
            for keepdims in (0, 1)
        ]
        for name in ("ReduceMaxV18", "ReduceMinV18")
    },
    "Upsample": [example for example in MAGNIFIED if example.opset == 9],
    "UpsampleV7": [
        Example({"x": IMAGE}, {"mode": mode, "scales": scales}, dtypes=[np.float32], opset=7)
        for mode in ("nearest", "linear")
        for scales in ([1.0, 1.0, 2.0, 3.0], [1.0, 1.0, 1.5, 2.0])
    ],
    "ResizeV10": [example for example in MAGNIFIED if example.opset == 10],
    "ResizeV11": RESIZED,
    "ResizeV13": RESIZED,
    "ResizeV18": RESIZED,
    "Scatter": [
        Example(
            {"x": (3, 4), "indices": np.array([[0, 2], [2, 1]], np.int64), "updates": (2, 2)},
            properties={"Scatter": {"axis": axis}},
            dtypes=[np.float32, np.int64],
            opset=9,
        )
        for axis in (0, 1)
    ],
    "SplitV11_noattr": [example({"axis": 1, "sizes": None}, x=(2, 6))],
    "SplitV11": [
        example({"axis": 1, "sizes": [1, 4]}, x=(2, 5)),
        example({"axis": -2, "sizes": [2, 2]}, x=(4, 1)),
    ],
    "SplitV13": [
        example({"axis": 1}, x=(2, 6), sizes=None),
        example({"axis": -1}, x=(2, 5), sizes=ints(2, 3)),
    ],
    "SqueezeV11_noattr": [example({"axes": None}, x=(1, 3, 1)), example({"axes": None}, x=(1,))],
    "SqueezeV11": [example({"axes": [0, 2]}, x=(1, 3, 1))],
    "UnsqueezeV11": [example({"axes": [0, 2]}, x=(2, 3)), example({"axes": [0]}, x=())],
    "LogSoftmax": [
        Example({"x": x}, {"axis": axis}, dtypes=FLOATS)
        for x in ((2, 3, 4), np.array([[-3.0, 2.0], [0.0, 1.0]]))
        for axis in (0, -1, 1)
    ],
    "Softmax": [Example({"x": (2, 3, 4)}, {"axis": axis}, dtypes=FLOATS) for axis in (0, 1, -1)],
    "ReduceL1": reduced(SUMMED),
    "ReduceL2": reduced(FLOATS),
    "ReduceLogSum": reduced(FLOATS, np.abs(INFINITE)),
    "ReduceLogSumExp_1": reduced(FLOATS, FAR, LARGE),
    "ReduceLogSumExp_2": reduced(FLOATS, FAR, LARGE),
    "ReduceSumSquare": reduced((*FLOATS, np.int64)),
    "CastLike": [
        Example(
            {"x": np.array([1.5, 0.5, 2.5, 0.0, 100.25]), "target": np.zeros(2, dtype)},
            types=[unranked(element)],
        )
        for dtype, element in ((np.float64, f64), (np.int32, i32), (np.float32, f32))
    ],
    **{
        f"ConstantNormalize{index}": [
            Example(attributes={"given": given}, types=[type_], dtypes=[np.float32])
        ]
        for index, (given, type_) in enumerate(
            (
                (-2.5, tensor_type((), f32)),
                (-3, tensor_type((), i64)),
                ("text", tensor_type((), StringType())),
                ([1.0, -0.5], tensor_type((2,), f32)),
                ([1, -2, 3], tensor_type((3,), i64)),
                (["a", "", "ü"], tensor_type((3,), StringType())),
            ),
            1,
        )
    },
    "ConstantOfShape": [
        Example({"shape": shape}, {"elements": None}, types=[unranked(f32)], dtypes=[np.float32])
        for shape in (ints(2, 3), ints(0, 2), np.zeros(0, np.int64))
    ],
    **{
        f"Scaler{name}{cast}": [
            Example({"x": shape}, {"offset": offset, "scale": scale}, dtypes=dtypes, types=[unranked(f32)])
            for shape in ((2, 3), (4, 1, 3), (0, 3))
        ]
        for name, (offset, scale) in SCALINGS.items()
        for cast, dtypes in (("", [np.float32]), ("Cast", [np.float64, np.int32, np.int64]))
    },
    "SumToAdd": [
        Example({"terms": (2, 3)}, dtypes=FLOATS),
        Example({"terms": (2, 1)}, dtypes=FLOATS, types=[tensor_type((2, 1), f32)]),
    ],
    "ReplaceSequenceAt": [
        Example(
            {"x": shape, "split": np.array(split, np.int64), "position": np.array(position, np.int64)},
            {"axis": axis, "keepdims": 1},
            dtypes=[np.float32],
            types=[tensor_type(result, f32)],
        )
        for shape, split, axis, position, result in (
            ((2, 6), 2, 1, 1, (2, 2)),
            ((2, 6), 3, -1, -1, (2, 3)),
            ((4, 1), 1, 0, 0, (1, 1)),
            ((4, 1), [4], 0, 0, (4, 1)),
        )
    ],
    "SequenceConstruct": [
        Example({"parts": (2, 3)}, dtypes=FLOATS),
        Example({"parts": (0, 3)}, dtypes=[np.int64]),
    ],
    "SoftmaxCrossEntropyLoss": [
        Example(
            {"scores": scores, "labels": labels, "weights": weights},
            {"ignored": ignored, "reduction": reduction},
            dtypes=FLOATS,
            types=[unranked(f32), unranked(f32)] if ignored is None else [unranked(f32), NONE],
        )
        for scores, labels in (
            ((4, 3), np.array([0, 2, 1, 2], np.int64)),
            ((2, 3, 2), np.array([[1, 0], [2, 2]], np.int64)),
            ((1, 3, 1, 2), np.array([[[2, 1]]], np.int32)),
        )
        for weights in (None, np.array([0.5, 1.0, 2.0]))
        for ignored in (None, 2)
        for reduction in ("none", "sum", "mean")
    ],
    "ConvTranspose": convolutions("ConvTranspose", TRANSPOSED),
    "ConvIm2Col": convolutions("Conv", CONVOLVED),
    "Conv1x1": convolutions(
        "Conv",
        [
            ((1, 2, 3, 4), (5, 2, 1, 1), {}),
            ((3, 2, 3, 4), (5, 2, 1, 1), {"auto_pad": "VALID"}),
            ((2, 3, 4), (5, 3, 1), {"pads": [0, 0]}),
            ((1, 3, 2, 2, 2), (5, 3, 1, 1, 1), {"strides": [1, 1, 1]}),
        ],
    ),
    "Einsum": [
        Example(
            {name: shape for name, shape in zip("abc", shapes, strict=False)},
            pattern=Einsum(*(AnyValue(name) for name in "abc"[: len(shapes)]), equation=equation),
            dtypes=(*FLOATS, np.int32, np.int64),
        )
        for equation, *shapes in EINSUMS
    ]
    + [
        Example(
            {"a": (5, 2, 3), "b": (3, 4)},
            pattern=Einsum(AnyValue("a"), AnyValue("b"), equation="...ij,...jk->...ik"),
            dtypes=[np.float32],
            types=[tensor_type((5, 2, 4), f32)],
            inferred=False,
        )
    ],
    "CustomFusedMatMul": [
        Example(
            {"a": a, "b": b},
            {"function": "FusedMatMul"},
            dtypes=[np.float32],
            kept={
                "domain_name": string_attr("com.microsoft"),
                "alpha": float_attr(alpha),
                "transA": int_attr(swap_a),
                "transB": int_attr(swap_b),
            },
            opset=17,
        )
        for a, b, swap_a, swap_b, alpha in (
            ((2, 3), (3, 4), 0, 0, -0.5),
            ((3, 2), (3, 4), 1, 0, 2.0),
            ((5, 2, 3), (5, 4, 3), 0, 1, 1.0),
            ((2, 1, 3, 2), (2, 4, 3), 1, 1, 0.125),
        )
    ],
    "HardSwish": [Example({"x": (2, 3)}, dtypes=FLOATS), Example({"x": 10 * FAR}, dtypes=FLOATS)],
}
