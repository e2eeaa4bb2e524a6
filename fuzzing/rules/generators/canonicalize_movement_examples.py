"""Examples of patterns that move data or take something into a convolution, for the shared test of rules."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import f32, f64

from xonnc.fuzzing.rules.instances import FLOATS, Example, example, ints
from xonnc.rewriting.onnx import Concat, Reshape, Transpose
from xonnc.rewriting.patterns import const, value

CONV = {"x": (1, 2, 7, 5), "w": (4, 2, 3, 3), "b": (4,)}
CHANNELS = {"scale": (4,), "bias": (4,), "mean": (4,), "var": np.array([0.5, 1, 2, 0.25], np.float32)}
IMAGE = (1, 4, 6, 6)
SQUEEZED = {"x": (2, 3), "inner": ints(0, -2), "outer": ints(2, 0)}
UNSQUEEZED = {"x": (1, 2, 1, 3), "inner": ints(0, -2), "outer": ints(2, 0)}

EXAMPLES: dict[str, list[Example]] = {
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
            Example({"x": (2, 3)}, {"inner": [0, -2], "outer": [0, 2]}, {"Cast": {"to": f64}}, dtypes=FLOATS)
        ]
        for cast in ("", "Cast")
    },
    **{
        f"RemoveUnsqueezeV11{cast}SqueezeV11Pattern": [
            Example(
                {"x": (1, 2, 1, 3)}, {"inner": [0, -2], "outer": [0, 2]}, {"Cast": {"to": f64}}, dtypes=FLOATS
            )
        ]
        for cast in ("", "Cast")
    },
}
