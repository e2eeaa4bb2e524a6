"""
Every rule of every table, against the ONNX reference.

For each rule an instance of its pattern is built from the pattern itself, with shapes, element types and
values from the examples below where the defaults do not fit. The model is run by the reference evaluator as
it is and after the one rule was applied: results must agree. A rule is tested by being in a table.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence

import canonicalize_examples
import decompose_examples
import numpy as np
import pytest
from rule_instances import (
    FLOATS,
    INTEGERS,
    Example,
    Given,
    Instance,
    example,
    ints,
)
from xdsl.dialects.builtin import f16, f32, f64, i1, i8, i32, i64
from xdsl.utils.exceptions import VerifyException

from xonnc.dialects.onnx.types import element_type_of
from xonnc.formats.onnx.infer import infer_results
from xonnc.rewriting.driver import apply_rules
from xonnc.rewriting.onnx import Concat, Reshape, Transpose
from xonnc.rewriting.patterns import Array, AttrName, Bound, Node, const, value
from xonnc.rewriting.rules import RuleSet
from xonnc.transforms import canonicalize_onnx, constprop_onnx, decompose_onnx
from xonnc.transforms.rules import constprop_elementwise, constprop_movement, constprop_reduction
from xonnc.transforms.shape_inference_onnx import infer_shapes, use_fallback

use_fallback(infer_results)

RULES = constprop_onnx.ConstProp().rules() | canonicalize_onnx.all_rules() | decompose_onnx.every_rule()
EVALUATIONS = (
    constprop_elementwise.RULES.keys() | constprop_movement.RULES.keys() | constprop_reduction.RULES.keys()
)
"""The rules that only compute."""

SPECIALS = (EVALUATIONS | decompose_onnx.every_rule().keys()) - decompose_examples.FINITE
"""The rules that must agree on infinities and NaN too."""

ELSEWHERE = {
    **canonicalize_examples.ELSEWHERE,
    "ConcatFuse": "test/lit/transforms/decompose-onnx.mlir",
    "IfOfConst": "test/lit/transforms/constprop-onnx.mlir",
}
"""Rules that a pattern alone gives no instance of, and where they are tested."""

SINGLE = {"ErfofConst", "HardSwish", *canonicalize_examples.SINGLE, *decompose_examples.SINGLE}
"""Rules for what the reference computes to seven digits in double precision too."""

SHAPES: Sequence[Sequence[tuple[int, ...]]] = (
    ((2, 3), (2, 3), (2, 3)),
    ((2, 1, 3), (4, 1), (1,)),
    ((), (3,), (2, 3)),
    ((0, 3), (1,), (3,)),
)
"""Shapes that broadcast together, given to the names of a pattern in turn."""

CONV = {"x": (1, 2, 7, 5), "w": (4, 2, 3, 3), "b": (4,)}
CHANNELS = {"scale": (4,), "bias": (4,), "mean": (4,), "var": np.array([0.5, 1, 2, 0.25], np.float32)}
IMAGE = (1, 4, 6, 6)
SQUEEZED = {"x": (2, 3), "inner": ints(0, 2), "outer": ints(2, 0)}
UNSQUEEZED = {"x": (1, 2, 1, 3), "inner": ints(0, -2), "outer": ints(2, 0)}
ZERO, ONE = np.zeros((1, 3)), np.ones((3,))
TRANSPOSES = Example({"x": (2, 3)}, {"first": [1, 0], "second": [1, 0]}, {"Cast": {"to": f64}})

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
            example({"keepdims": 1, "noop": 0}, c=(2, 3, 4), axes=ints(0, -1)),
            example({"keepdims": 0, "noop": 0}, c=(2, 3, 4), axes=ints(1)),
            example({"keepdims": 0, "noop": 0}, c=(2, 3), axes=None),
            example({"keepdims": 1, "noop": 1}, c=(2, 3), axes=None),
        ]
        for name in ("Max", "Mean", "Min", "Prod", "Sum")
    },
    "FuseAddConvPattern": [Example({**CONV, "c": (4, 1, 1)}), Example({**CONV, "c": (1, 1, 1, 1)})],
    "FuseAddConvNullBiasPattern": [Example({**CONV, "c": (4, 1, 1)}), Example({**CONV, "c": (1,)})],
    "FuseMulConvNullBiasPattern": [Example({**CONV, "c": (4, 1, 1)}), Example({**CONV, "c": ()})],
    "FuseMulConvPattern": [
        Example({**CONV, "c": (4, 1, 1)}, properties={"Conv": {"pads": [1, 1, 1, 1], "strides": [2, 1]}}),
        Example({**CONV, "x": (1, 4, 7, 5), "c": (1, 4, 1, 1)}, properties={"Conv": {"group": 2}}),
    ],
    "FuseBatchNormInferenceModeConvPattern": [
        Example({**CONV, **CHANNELS}, {"epsilon": 1e-3}),
        Example({**CONV, **CHANNELS, "b": None}, {"epsilon": 1e-3}),
    ],
    "RewriteBatchNormInferenceModeConvPattern1": [Example({**CHANNELS, "x": IMAGE}, {"epsilon": 1e-3})],
    "RewriteBatchNormInferenceModeConvPattern2": [
        Example(
            {"x": (4,), "scale": (1,), "bias": (1,), "mean": (1,), "var": np.array([2.0])}, {"epsilon": 1e-3}
        )
    ],
    "MulAddToGemmOptPattern": [example(a=(2, 3), b=(3, 4), z=(4,)), example(a=(2, 3), b=(3, 4), z=(2, 1))],
    "FuseGemmFollowedByAddition": [
        Example({"a": (3, 2), "b": (3, 4), "z": (1, 4)}, {"alpha": 0.5, "ta": 1, "tb": 0}, dtypes=FLOATS),
    ],
    "FuseScalarMulMatMulPattern": [example(a=(2, 3), weights=(3, 4), c=(1,))],
    "FuseScalarDivMatMulPattern": [example(a=(2, 3), weights=(3, 4), c=np.array(2))],
    **{
        f"FusePad{version}IntoConvPattern": [
            Example(
                {**CONV, "pads": ints(0, 0, 1, 2, 0, 0, 0, 1), "fill": fill},
                {"pads": [0, 0, 1, 2, 0, 0, 0, 1]},
                dtypes=FLOATS,
            )
            for fill in (None, np.array(0.0))
        ]
        for version in ("", "V19", "V18", "V13", "V11", "V2")
    },
    "FuseConsecutiveClipsPattern": [
        example(x=(2, 3), low1=np.array(-1), high1=np.array(2), low2=np.array(0), high2=np.array(3)),
        example(x=(2, 3), low1=None, high1=np.array(1), low2=np.array(-1), high2=None),
    ],
    "GlobalAveragePoolPattern": [example(x=IMAGE), example(x=(2, 3, 4))],
    "GlobalMaxPoolPattern": [example(x=IMAGE)],
    "PowToMulRewritePattern": [example(x=(2, 3), c=np.array(n)) for n in (0, 1, 2, 3, 7)],
    "PowConversionRewritePattern": [example(x=(2, 3), exponent=np.array([0, 1, 2], np.int64))],
    "SoftmaxV11ToLatestPattern": [
        Example({"x": shape}, {"axis": axis}, dtypes=[np.float32], opset=11)
        for shape, axis in (((2, 3), 1), ((2, 3, 4), -1), ((2, 3, 1, 1), 1))
    ],
    "ReorderReluMaxPoolPattern": [
        Example(
            {"x": IMAGE},
            properties={"MaxPoolSingleOut": {"kernel_shape": [2, 2], "pads": [1, 0, 0, 1]}},
            dtypes=FLOATS,
        )
    ],
    "CastEliminationPattern": [Example({"x": (2, 3)}, {"to": f32})],
    "DimOpToConstantPattern": [example({"axis": 1}, x=(2, 3))],
    "ShapeToConstantPattern": [
        example({"start": -2, "end": None}, x=(2, 3, 4)),
        example({"start": 0, "end": -1}, x=(2, 3)),
    ],
    "DropoutEliminationPattern": [example(x=(2, 3), ratio=None, training=None)],
    "DropoutV10EliminationPattern": [Example({"x": (2, 3)}, dtypes=FLOATS)],
    "DropoutV7EliminationPattern": [Example({"x": (2, 3)}, dtypes=FLOATS)],
    "RemoveIdentityExpandPattern": [example(x=(2, 3), shape=ints(1, 3))],
    "RemoveIdentityPadPattern": [example(x=(2, 3), c=ints(0, 0, 0, 0), fill=None, axes=None)],
    "RemoveIdentitySlicePattern": [example(x=(2, 3), starts=ints(0), ends=ints(9), axes=ints(1), steps=None)],
    "RemoveIdentityTilePattern": [example(x=(2, 3), c=ints(1, 1))],
    "FuseTransposePattern": [example({"first": [1, 2, 0], "second": [2, 1, 0]}, x=(2, 3, 4))],
    "SwapTransposeConcatPattern": [
        Example(
            pattern=Transpose(
                Concat(Transpose(value.p, perm=[1, 0]), Transpose(value.q, perm=[1, 0]), axis=0), perm=[1, 0]
            )
        )
    ],
    "RemoveIdentityTransposePattern": [example({"perm": [0, 1]}, x=(2, 3))],
    "HandleNegativePermutePatternInTranspose": [Example({"x": (2, 3)}, inferred=False)],
    "SwapCastConcatPattern": [
        Example({"parts": (2, 3)}, {"axis": 1}, {"Cast": {"to": f64}}, dtypes=FLOATS),
    ],
    "SwapCastSlicePattern": [
        Example(
            {"x": (4, 5), "starts": ints(1), "ends": ints(4), "axes": ints(1), "steps": ints(2)},
            properties={"Cast": {"to": f64}},
            dtypes=FLOATS,
        )
    ],
    "RemoveDimZeroInputInConcatPattern": [
        Example({"p": (2, 3), "q": (0, 3)}, pattern=Concat(value.p, value.q, axis=0)),
        Example({"p": (2,), "q": (0,)}, pattern=Concat(value.p, value.q, value.p, axis=0)),
    ],
    "RecomposeConcatPattern": [
        Example(pattern=Concat(value.p, Concat(value.q, value.q, axis=0), axis=0)),
        Example(pattern=Concat(value.p, axis=0)),
    ],
    "FuseTwoReshapesAllowZeroPattern": [example(x=(2, 6), first=ints(3, 4), second=ints(4, 3))],
    "RemoveIdentityReshapePattern2": [
        Example({"x": (2, 6), "shape": ints(2, -1)}, pattern=Reshape(value.x, const.shape))
    ],
    "RewriteReshapeAllowZeroPattern": [
        Example({"x": (2, 6), "shape": ints(3, 4)}, pattern=Reshape(value.x, const.shape, allowzero=1))
    ],
    "RemoveDepthToSpaceSpaceToDepthPattern": [example({"block": 2}, x=(1, 2, 4, 4))],
    "RemoveSpaceToDepthDepthToSpacePattern": [example({"block": 2}, x=(1, 8, 2, 2))],
    **{
        f"RemoveSqueeze{cast}UnsqueezePattern": [
            Example(SQUEEZED, properties={"Cast": {"to": f64}}, dtypes=FLOATS)
        ]
        for cast in ("", "Cast")
    },
    **{
        f"RemoveUnsqueeze{cast}SqueezePattern": [
            Example(UNSQUEEZED, properties={"Cast": {"to": f64}}, dtypes=FLOATS)
        ]
        for cast in ("", "Cast")
    },
    **{
        f"RemoveSqueezeV11{cast}UnsqueezeV11Pattern": [
            Example({"x": (2, 3)}, {"inner": [0, 2], "outer": [0, 2]}, {"Cast": {"to": f64}}, dtypes=FLOATS)
        ]
        for cast in ("", "Cast")
    },
    **{
        f"RemoveUnsqueezeV11{cast}SqueezeV11Pattern": [
            Example(
                {"x": (1, 2, 1, 3)}, {"inner": [0, 2], "outer": [0, 2]}, {"Cast": {"to": f64}}, dtypes=FLOATS
            )
        ]
        for cast in ("", "Cast")
    },
    **canonicalize_examples.EXAMPLES,
    **decompose_examples.EXAMPLES,
}


def parts(node: Node) -> Iterator[Bound]:
    """The names in a pattern, from left to right."""
    for part in node.operands:
        if isinstance(part, Node):
            yield from parts(part)
        elif isinstance(part, Bound):
            yield part


def examples(name: str) -> list[Example]:
    """The examples of a rule: its own, or broadcasting shapes of every element type."""
    if name.startswith("FuseTransposeAnd"):
        return [TRANSPOSES]
    if name in EXAMPLES:
        return EXAMPLES[name]
    return [Example({"": shapes[0], **_by_turns(name, shapes)}) for shapes in SHAPES]


def _by_turns(name: str, shapes: Sequence[tuple[int, ...]]) -> dict[str, Given]:
    names = [part.name for part in parts(RULES[name].root) if not isinstance(part, AttrName)]
    return {part: shapes[place % len(shapes)] for place, part in enumerate(dict.fromkeys(names))}


def instances(name: str) -> Iterator[tuple[Instance, list[Array]]]:
    """The instances of a rule's pattern that are valid models, and what the reference makes of them."""
    for number, each in enumerate(examples(name)):
        for dtype in each.dtypes:
            seed = zlib.crc32(f"{name} {number} {np.dtype(dtype)}".encode())
            try:
                instance = Instance(RULES[name].root, each, dtype, name in SPECIALS, seed)
            except VerifyException:
                continue
            with np.errstate(all="ignore"):
                yield instance, instance.run()


def tolerance(name: str, dtype: np.dtype[np.generic]) -> float:
    """How far results may be apart, relative to their size."""
    return {2: 2e-2, 4: 2e-5, 8: 1e-6 if name in SINGLE else 1e-9}.get(dtype.itemsize, 0)


def test_every_exception_is_a_rule() -> None:
    assert ELSEWHERE.keys() <= RULES.keys()
    assert EXAMPLES.keys() <= RULES.keys()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", [name for name in RULES if name not in ELSEWHERE])
def test_rule(name: str) -> None:
    alone = RuleSet({name: RULES[name]})
    fired = 0
    for instance, before in instances(name):
        fired += apply_rules(instance.module, instance.context, alone, pass_name="test").fired.total()
        infer_shapes(instance.module)
        instance.module.verify()
        after = instance.run()
        for old, new in zip(before, after, strict=True):
            assert new.shape == old.shape
            assert new.dtype == old.dtype
            if old.dtype.kind == "f":
                near = tolerance(name, old.dtype)
                np.testing.assert_allclose(new, old, rtol=near, atol=near)
            else:
                np.testing.assert_array_equal(new, old)
    assert fired, f"no example of {name} matches its pattern"
