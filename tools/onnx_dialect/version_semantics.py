"""
Differences between versions of an operator, read from their documentation by hand.

A new version that is neither here nor a plain widening of types gets a class of its own.
"""

from __future__ import annotations

from collections.abc import Mapping

WORDING = "only the wording changes"
NEGATIVE_AXES = "negative axes become valid; the others mean what they did"
BROADCASTS = "inputs of different shapes become valid and are broadcast; equal shapes mean what they did"
SHAPE_TEXT = "the formula of the output shape is added to the text; no value changes"
MORE_TYPES = "more element types; those of before mean what they did"
FEWER_TYPES = "types are dropped; the class keeps them"
CONTROL_FLOW = "shapes of the branches or of carried values may vary; what was valid means what it did"
LAYOUT = "layout = 0 is the order of dimensions there was"
TENSOR_TWINS = "attributes that hold the same lists as tensors; absent in older models"
DEPRECATION = "only the deprecation is new"

COMPATIBLE_VERSIONS: Mapping[str, Mapping[int, str]] = {
    "Abs": {13: WORDING},
    "Add": {14: WORDING},
    "ArgMax": {11: NEGATIVE_AXES, 12: "select_last_index = 0 takes the first, as numpy did", 13: WORDING},
    "ArgMin": {11: NEGATIVE_AXES, 12: "select_last_index = 0 takes the first, as numpy did", 13: WORDING},
    "Attention": {
        24: "an absent nonpad_kv_seqlen is what there was",
        25: "window sizes of -1 leave both sides open, as before",
    },
    "AveragePool": {
        7: "count_include_pad = 0 leaves padding out, as before",
        10: "ceil_mode = 0 rounds down, as before",
        11: SHAPE_TEXT,
        19: "an absent dilations is 1 along each axis",
        22: "windows that start in the padding on the right are said to be ignored; runtimes always did",
    },
    "BatchNormalization": {15: WORDING},
    "BitShift": {28: MORE_TYPES},
    "Cast": {
        9: "strings become valid; numbers mean what they did",
        13: "conversions out of range are specified",
        19: "saturate concerns the 8-bit floats, new in this version",
        24: "round_mode concerns f8E8M0FNU, new in this version",
    },
    "CastLike": {
        19: "saturate concerns the 8-bit floats, new in this version",
        24: "round_mode concerns f8E8M0FNU, new in this version",
    },
    "Ceil": {13: WORDING},
    "Compress": {11: NEGATIVE_AXES},
    "Concat": {11: NEGATIVE_AXES},
    "Constant": {
        11: "sparse_value may replace value",
        12: "value_float, … may replace value",
    },
    "Conv": {11: SHAPE_TEXT},
    "DepthToSpace": {11: "mode = DCR is the order there was", 13: WORDING},
    "DequantizeLinear": {
        13: "a scalar scale, the only one before, makes axis irrelevant",
        19: MORE_TYPES,
        21: "block_size = 0 is one scale for each slice, as before",
        23: "output_dtype = 0 takes the scale's type, as before",
    },
    "Div": {14: WORDING},
    "Dropout": {22: WORDING},
    "Erf": {13: FEWER_TYPES},
    "EyeLike": {22: WORDING},
    "Flatten": {11: NEGATIVE_AXES},
    "Floor": {13: WORDING},
    "GRU": {14: LAYOUT, 22: WORDING},
    "Gather": {11: "negative indices become valid; the others mean what they did", 13: WORDING},
    "GatherElements": {13: WORDING},
    "GatherND": {12: "batch_dims = 0 is what there was", 13: WORDING},
    "Gemm": {6: WORDING, 11: "C may be absent", 13: WORDING},
    "Hardmax": {11: NEGATIVE_AXES},
    "Identity": {14: "sequences become valid"},
    "If": {11: CONTROL_FLOW},
    "LRN": {13: WORDING},
    "LSTM": {14: LAYOUT, 22: WORDING},
    "LabelEncoder": {4: TENSOR_TWINS},
    "LogSoftmax": {11: NEGATIVE_AXES},
    "Loop": {11: CONTROL_FLOW, 13: WORDING, 16: WORDING},
    "LpPool": {
        11: SHAPE_TEXT,
        18: "ceil_mode = 0 rounds down, as before; an absent dilations is 1 along each axis",
    },
    "Max": {8: BROADCASTS},
    "MaxPool": {
        8: "Indices may be asked for; storage_order concerns only them",
        10: "ceil_mode = 0 rounds down, as before; an absent dilations is 1 along each axis",
        11: WORDING,
        12: SHAPE_TEXT,
        22: "windows that start in the padding on the right are said to be ignored; runtimes always did",
    },
    "MaxUnpool": {11: WORDING},
    "Mean": {8: BROADCASTS},
    "MeanVarianceNormalization": {13: WORDING},
    "Min": {8: BROADCASTS},
    "Mod": {13: WORDING, 28: "fmod = 0 on floats becomes valid; what was valid means what it did"},
    "Mul": {14: WORDING},
    "NegativeLogLikelihoodLoss": {13: WORDING},
    "NonMaxSuppression": {11: WORDING},
    "OptionalGetElement": {18: "tensors and sequences become valid"},
    "OptionalHasElement": {18: "tensors, sequences and no input at all become valid"},
    "Pow": {12: "the exponent may have a type of its own", 13: WORDING},
    "QLinearMatMul": {21: MORE_TYPES},
    "QuantizeLinear": {
        13: "a scalar scale, the only one before, makes axis irrelevant",
        19: "saturate concerns the 8-bit floats, new in this version",
        21: "block_size = 0 is one scale for each slice, as before; an absent zero point is still ui8",
        23: "precision = 0 divides in the scale's type, x's own before",
        24: WORDING,
        25: MORE_TYPES,
        28: MORE_TYPES,
    },
    "RNN": {14: LAYOUT, 22: WORDING},
    "Range": {27: "stash_type concerns f16 and bf16, new in this version"},
    "ReduceL1": {11: NEGATIVE_AXES, 13: WORDING},
    "ReduceL2": {11: NEGATIVE_AXES, 13: WORDING},
    "ReduceLogSum": {11: NEGATIVE_AXES, 13: WORDING, 28: FEWER_TYPES},
    "ReduceLogSumExp": {11: NEGATIVE_AXES, 13: WORDING, 28: FEWER_TYPES},
    "ReduceMax": {11: NEGATIVE_AXES, 12: WORDING, 13: WORDING},
    "ReduceMean": {11: NEGATIVE_AXES, 13: WORDING},
    "ReduceMin": {11: NEGATIVE_AXES, 12: WORDING, 13: WORDING},
    "ReduceProd": {11: NEGATIVE_AXES, 13: WORDING},
    "ReduceSum": {11: NEGATIVE_AXES},
    "ReduceSumSquare": {11: NEGATIVE_AXES, 13: WORDING},
    "Reshape": {14: "allowzero = 0 copies the dimension of the input, as before"},
    "Scan": {11: NEGATIVE_AXES},
    "Scatter": {11: DEPRECATION},
    "ScatterElements": {16: "reduction = none is what there was", 18: "more reductions"},
    "ScatterND": {16: "reduction = none is what there was", 18: "more reductions"},
    "Shape": {15: "start = 0 and no end is the whole shape"},
    "Slice": {11: NEGATIVE_AXES, 13: WORDING},
    "Softmax": {11: NEGATIVE_AXES},
    "SoftmaxCrossEntropyLoss": {13: WORDING},
    "SpaceToDepth": {28: "mode = DCR is the order there was"},
    "Split": {11: NEGATIVE_AXES},
    "Squeeze": {11: NEGATIVE_AXES, 23: WORDING},
    "Sub": {14: WORDING},
    "Sum": {8: BROADCASTS},
    "TopK": {11: "largest = 1 and sorted = 1 are what there was"},
    "Transpose": {21: WORDING, 25: WORDING},
    "TreeEnsembleClassifier": {3: TENSOR_TWINS, 5: DEPRECATION},
    "TreeEnsembleRegressor": {3: TENSOR_TWINS, 5: DEPRECATION},
    "Unsqueeze": {11: NEGATIVE_AXES, 23: WORDING},
    "Upsample": {10: DEPRECATION},
}
"""
Versions under which every older model that is still valid means what it did, and why.

What is missing for a reason, although a signature would admit the older models:
ConvTranspose 11 (which side gets the odd element of a padding computed from `output_shape`),
GroupNormalization 21 (`scale` and `bias` by channel instead of by group), OneHot 11 (a negative index
counted as out of range), PRelu 7 (a slope of one dimension lay along the channels),
Resize 11, 13, 18, 19 (coordinates of old were asymmetric; `roi` and `scales` may be absent),
RoiAlign 16 (coordinates of old were not shifted by half a pixel), and wherever a default changed:
Hardmax, LogSoftmax and Softmax 13 (which also stop flattening to a matrix), Selu 6, Split 2.
"""

ONNX_MLIR_BOUNDARIES: Mapping[str, frozenset[int]] = {
    "Clip": frozenset({12, 13}),
    "Pad": frozenset({13, 19, 21}),
    "ReduceMax": frozenset({20}),
    "ReduceMin": frozenset({20}),
}
"""Versions that only widen types but start a class in onnx-mlir too, so that its IR reads here."""
