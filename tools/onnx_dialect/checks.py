"""Which rules of `dialects/onnx/checks` an op's verifier holds it to."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from xonnc.tools.onnx_dialect.schemas import Operator

_POST = '"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"'
_REDUCE = "L1 L2 LogSum LogSumExp Max Mean Min Prod Sum SumSquare"
_REDUCTIONS = " ".join(f"Reduce{name}" for name in _REDUCE.split())

RULES: Mapping[str, tuple[str, str]] = {
    "at_least": ("values", "p"),
    "attention": ("operators", ""),
    "axes_in_range": ("values", "pv"),
    "axis_in_range": ("values", "pv"),
    "branches": ("regions", ""),
    "broadcast": ("shapes", "vvv"),
    "broadcast_all": ("shapes", "v"),
    "broadcast_into": ("shapes", "vv"),
    "cast_to": ("elements", ""),
    "category_mapper": ("operators", ""),
    "concatenation": ("shapes", ""),
    "convolution": ("windows", "vvv"),
    "divisible": ("shapes", "v"),
    "either": ("values", "pp"),
    "gemm": ("shapes", ""),
    "integer_in": ("values", "p"),
    "is_permutation": ("values", "pv"),
    "loop_body": ("regions", ""),
    "mapped_body": ("regions", ""),
    "matrix_product": ("shapes", "vv"),
    "new_axis_in_range": ("values", "pv"),
    "new_axes_differ": ("values", "p"),
    "one_of": ("values", "p"),
    "optional": ("operators", ""),
    "parts": ("shapes", "pv"),
    "pooling": ("windows", ""),
    "rank_at_least": ("shapes", "v"),
    "rank_is": ("shapes", "v"),
    "result_has_dtype": ("elements", "pv"),
    "same_element": ("elements", "vv"),
    "same_length": ("values", "pp"),
    "same_rank": ("shapes", "vv"),
    "same_size": ("shapes", "v"),
    "scan_body": ("regions", ""),
    "size_is": ("shapes", "v"),
    "string_or": ("elements", "vpp"),
    "transposed_convolution": ("windows", ""),
    "window": ("windows", "v"),
}
"""Every rule: its module, and what its first arguments name: values of the op, or properties."""

OBEYED: tuple[tuple[str, str], ...] = (
    # Axes.
    (
        "ArgMax ArgMin Gather GatherElements Scatter ScatterElements",
        'axis_in_range("axis", "data")',
    ),
    (
        "Compress Hardmax LogSoftmax LpNormalization Softmax Split SplitToSequence",
        'axis_in_range("axis", "input")',
    ),
    ("LayerNormalization RMSNormalization TopK Unique", 'axis_in_range("axis", "X")'),
    ("Flatten", 'axis_in_range("axis", "input", 1)'),
    ("OneHot", 'new_axis_in_range("axis", "indices")'),
    ("ReverseSequence", 'axis_in_range("batch_axis", "input")'),
    ("ReverseSequence", 'axis_in_range("time_axis", "input")'),
    (_REDUCTIONS, 'axes_in_range("axes", "data")'),
    ("Squeeze", 'axes_in_range("axes", "data")'),
    ("MeanVarianceNormalization", 'axes_in_range("axes", "X")'),
    ("CenterCropPad", 'axes_in_range("axes", "input_data")'),
    ("Unsqueeze", 'new_axes_differ("axes")'),
    ("Transpose", 'is_permutation("perm", "data")'),
    ("Concat", "concatenation"),
    ("GatherND", 'at_least("batch_dims", 0)'),
    # Broadcasting.
    (
        "Add And BitwiseAnd BitwiseOr BitwiseXor Div Equal Greater GreaterOrEqual Less LessOrEqual "
        "Mod Mul Or Sub Xor",
        'broadcast("A", "B")',
    ),
    ("BitShift", 'broadcast("X", "Y")'),
    ("Pow StringConcat", 'broadcast("X", "Y")'),
    ("Max Mean Min Sum", 'broadcast_all("data_0")'),
    ("Where", 'broadcast("condition", "X", "Y")'),
    ("PRelu", 'broadcast_into("slope", "X", "Slope tensor has a wrong shape")'),
    # Products of matrices.
    ("MatMul", 'matrix_product("A", "B")'),
    ("MatMulInteger", 'matrix_product("A", "B")'),
    ("QLinearMatMul", 'matrix_product("a", "b")'),
    ("Gemm", "gemm"),
    ("Det", 'rank_at_least("X", 2)'),
    # Windows.
    ("Conv", 'convolution("X", "W", "B")'),
    ("ConvInteger", 'convolution("x", "w")'),
    ("DeformConv", 'convolution("X", "W", "B")'),
    ("QLinearConv", 'convolution("x", "w", "B")'),
    ("ConvTranspose", "transposed_convolution"),
    ("AveragePool LpPool MaxPool", "pooling"),
    ("MaxUnpool", 'window("X")'),
    ("MaxPool", 'integer_in("storage_order", 0, 1)'),
    ("AveragePool LpPool MaxPool", 'integer_in("ceil_mode", 0, 1)'),
    (
        "GlobalAveragePool GlobalLpPool GlobalMaxPool",
        'rank_at_least("X", 3, "Data input shape must be at least (NxCxD1)")',
    ),
    ("MaxRoiPool", 'rank_is("rois", 2, text="rois rank is expected to be 2d")'),
    ("RoiAlign", 'rank_is("X", 4, text="RoiAlign with X should be a 4D tensor")'),
    ("RoiAlign", 'rank_is("batch_indices", 1, text="RoiAlign with batch_indices should be a 1D tensor")'),
    ("RoiAlign", 'one_of("mode", "avg", "max")'),
    ("RoiAlign", 'one_of("coordinate_transformation_mode", "half_pixel", "output_half_pixel")'),
    # Normalisations.
    ("BatchNormalization", 'rank_is("scale", 1, text="Wrong rank for the scale")'),
    ("BatchNormalization", 'rank_is("B", 1, text="Wrong rank for the bias")'),
    ("BatchNormalization", 'same_size("X", 1, "scale", 0, "Wrong rank for the scale")'),
    ("InstanceNormalization", 'rank_at_least("input", 3, "Spatial rank must be strictly positive")'),
    ("InstanceNormalization", 'rank_is("scale", 1, text="Scale should have a rank of one")'),
    ("InstanceNormalization", 'rank_is("B", 1, text="Bias should have a rank of one")'),
    (
        "InstanceNormalization",
        'same_size("input", 1, "scale", 0, '
        '"Scale should have same dimension as the second dimension of input")',
    ),
    (
        "InstanceNormalization",
        'same_size("input", 1, "B", 0, "Bias should have same dimension as the second dimension of input")',
    ),
    (
        "LayerNormalization",
        'broadcast_into("Scale", "X", "op with incompatible scale shapes (unidirectional broadcast)")',
    ),
    (
        "RMSNormalization",
        'broadcast_into("scale", "X", "op with incompatible scale shapes (unidirectional broadcast)")',
    ),
    (
        "LayerNormalization",
        'broadcast_into("B", "X", "op with incompatible B shapes (unidirectional broadcast)")',
    ),
    ("GroupNormalization", 'at_least("num_groups", 1)'),
    ("LRN", 'at_least("size", 1)'),
    ("LpNormalization", 'integer_in("p", 1, 2)'),
    # Recurrences and attention.
    ("GRU LSTM RNN", 'rank_is("X", 3, text="The first input tensor must have rank 3")'),
    ("GRU LSTM RNN", 'rank_is("W", 3, text="The second input tensor must have rank 3")'),
    ("GRU LSTM RNN", 'rank_is("R", 3, text="The third input tensor must have rank 3")'),
    ("GRU LSTM RNN", 'one_of("direction", "forward", "reverse", "bidirectional")'),
    ("GRU LSTM RNN", 'integer_in("layout", 0, 1)'),
    ("Attention", 'rank_is("Q", 3, 4)'),
    ("Attention", 'same_rank("Q", "K")'),
    ("Attention", 'same_rank("Q", "V")'),
    ("Attention", "attention"),
    ("Attention", 'at_least("softcap", 0, "softcap must be non-negative")'),
    ("Attention", 'integer_in("qk_matmul_output_mode", 0, 3)'),
    # Shapes given as tensors.
    ("Reshape", 'rank_is("shape", 1, text="Shape tensor must have rank one")'),
    ("Expand", 'rank_is("shape", 1)'),
    ("Tile", 'rank_is("repeats", 1, text="Repeats tensor must have rank one")'),
    ("Pad", 'rank_is("pads", 1)'),
    ("Pad", 'one_of("mode", "constant", "reflect", "edge", "wrap")'),
    ("Slice", 'rank_is("starts", 1)'),
    ("Slice", 'same_rank("starts", "ends")'),
    ("TopK", 'rank_is("K", 1, 0)'),
    ("Upsample", 'rank_is("scales", 1, text="Scales tensor must be rank 1")'),
    ("Upsample", 'one_of("mode", "nearest", "linear", "bilinear")'),
    ("Resize", 'one_of("mode", "nearest", "linear", "cubic")'),
    ("Resize", 'one_of("keep_aspect_ratio_policy", "stretch", "not_larger", "not_smaller")'),
    ("Split", 'parts("num_outputs", "outputs")'),
    # Rearrangements.
    ("DepthToSpace SpaceToDepth", 'rank_is("input", 4, text="Input should have a rank of four")'),
    ("DepthToSpace SpaceToDepth", 'at_least("blocksize", 1, "Blocksize should be non negative")'),
    ("DepthToSpace SpaceToDepth", 'one_of("mode", "DCR", "CRD")'),
    (
        "DepthToSpace",
        'divisible("input", 1, "blocksize", '
        '"The input tensor depth must be divisible by the (blocksize * blocksize)", 2)',
    ),
    (
        "SpaceToDepth",
        'divisible("input", 2, "blocksize", "The input tensor height must be divisible by the block size")',
    ),
    (
        "SpaceToDepth",
        'divisible("input", 3, "blocksize", "The input tensor width must be divisible by the block size")',
    ),
    ("GatherElements", 'same_rank("data", "indices")'),
    ("ScatterElements", 'same_rank("data", "indices")'),
    ("ScatterElements", 'same_rank("data", "updates")'),
    ("Gather GatherElements GatherND ScatterElements ScatterND", 'rank_at_least("data", 1)'),
    ("GatherND ScatterND", 'rank_at_least("indices", 1)'),
    ("ScatterElements ScatterND", 'one_of("reduction", "none", "add", "mul", "max", "min")'),
    (
        "GridSample",
        'one_of("padding_mode", "zeros", "border", "reflection")',
    ),
    ("GridSample", 'integer_in("align_corners", 0, 1)'),
    ("GridSample", 'same_rank("X", "grid")'),
    (
        "GridSample",
        'same_size("X", 0, "grid", 0, "Input and grid must have the same batch value.")',
    ),
    ("AffineGrid", 'integer_in("align_corners", 0, 1)'),
    ("OneHot", 'rank_is("values", 1, text="OneHot values must be 1D tensor")'),
    ("OneHot", 'size_is("values", 0, 2, "OneHot values must be 1D tensor with 2 elements")'),
    ("OneHot", 'rank_is("depth", 0, 1, text="OneHot depth must be 0 or 1D tensor")'),
    ("OneHot", 'size_is("depth", 0, 1, "OneHot depth can be 1D tensor with 1 elements")'),
    (
        "ReverseSequence",
        'rank_is("sequence_lens", 1, text="sequence_lens of ReverseSequnce should be 1D tensor")',
    ),
    (
        "ReverseSequence",
        'rank_at_least("input", 2, "input of Reversesequence should be 2D or higher rank tensor")',
    ),
    ("Trilu", 'rank_at_least("input", 2)'),
    ("Trilu", 'integer_in("upper", 0, 1)'),
    ("Unique", 'integer_in("sorted", 0, 1)'),
    ("NonMaxSuppression", 'rank_is("boxes", 3, text="boxes should have a rank of three")'),
    ("NonMaxSuppression", 'size_is("boxes", 2, 4, "The last dim of Boxes should be four")'),
    ("NonMaxSuppression", 'rank_is("scores", 3, text="scores should have a rank of three")'),
    ("NonMaxSuppression", 'integer_in("center_point_box", 0, 1)'),
    (
        "Range",
        'rank_is("start", 0, 1, text="start tensor must have rank zero or one")',
    ),
    (
        "Range",
        'rank_is("limit", 0, 1, text="limit tensor must have rank zero or one")',
    ),
    (
        "Range",
        'rank_is("delta", 0, 1, text="delta tensor must have rank zero or one")',
    ),
    # Numbers and names.
    ("BitShift", 'one_of("direction", "LEFT", "RIGHT")'),
    ("CumProd CumSum", 'integer_in("exclusive", 0, 1)'),
    ("CumProd CumSum", 'integer_in("reverse", 0, 1)'),
    ("Gelu", 'one_of("approximate", "none", "tanh")'),
    ("Mod", 'integer_in("fmod", 0, 1)'),
    (f"ArgMax ArgMin {_REDUCTIONS} SplitToSequence", 'integer_in("keepdims", 0, 1)'),
    ("NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss", 'one_of("reduction", "none", "sum", "mean")'),
    ("TfIdfVectorizer", 'one_of("mode", "TF", "IDF", "TFIDF")'),
    ("StringNormalizer", 'one_of("case_change_action", "LOWER", "UPPER", "NONE")'),
    ("ImageDecoder", 'one_of("pixel_format", "RGB", "BGR", "Grayscale")'),
    ("Momentum", 'one_of("mode", "nesterov", "standard")'),
    # Element types.
    ("Cast", "cast_to"),
    ("Cast CastLike", 'one_of("round_mode", "up", "down", "nearest")'),
    ("BitCast", 'result_has_dtype("to", "output")'),
    ("RandomNormal RandomUniform", 'result_has_dtype("dtype", "output")'),
    ("Multinomial SequenceEmpty", 'result_has_dtype("dtype", "output")'),
    ("Bernoulli EyeLike RandomNormalLike RandomUniformLike", 'result_has_dtype("dtype", "output", "input")'),
    (
        "BlackmanWindow HammingWindow HannWindow MelWeightMatrix",
        'result_has_dtype("output_datatype", "output")',
    ),
    (
        "SequenceInsert",
        'same_element("input_sequence", "tensor", '
        '"Element types of the tensor in seqence and input have to be the same")',
    ),
    (
        "SequenceAt",
        'same_element("input_sequence", "tensor", '
        '"Element types of the tensor in seqence and output have to be the same")',
    ),
    (
        "ConcatFromSequence",
        'same_element("input_sequence", "concat_result", '
        '"Element types of the tensor in seqence and output have to be the same")',
    ),
    # Regions.
    ("If", "branches"),
    ("Loop", "loop_body"),
    ("Scan", "scan_body"),
    ("SequenceMap", "mapped_body"),
    # Optionals and classical machine learning.
    ("Optional", "optional"),
    ("CategoryMapper", "category_mapper"),
    ("OneHotEncoder", 'string_or("X", "cats_strings", "cats_int64s")'),
    ("OneHotEncoder", 'integer_in("zeros", 0, 1)'),
    ("ZipMap", 'either("classlabels_int64s", "classlabels_strings")'),
    ("DictVectorizer", 'either("int64_vocabulary", "string_vocabulary")'),
    ("Normalizer", 'one_of("norm", "MAX", "L1", "L2")'),
    ("CastMap", 'one_of("cast_to", "TO_FLOAT", "TO_STRING", "TO_INT64")'),
    ("CastMap", 'one_of("map_form", "DENSE", "SPARSE")'),
    ("SVMClassifier SVMRegressor", 'one_of("kernel_type", "LINEAR", "POLY", "RBF", "SIGMOID")'),
    (
        "LinearClassifier LinearRegressor SVMClassifier SVMRegressor TreeEnsembleClassifier "
        "TreeEnsembleRegressor",
        f'one_of("post_transform", {_POST})',
    ),
    ("TreeEnsembleRegressor", 'one_of("aggregate_function", "AVERAGE", "SUM", "MIN", "MAX")'),
    (
        "TreeEnsembleClassifier TreeEnsembleRegressor",
        'same_length("nodes_treeids", "nodes_nodeids")',
    ),
    ("TreeEnsemble", 'same_length("nodes_featureids", "nodes_truenodeids")'),
)
"""Operators and the rule they obey; an older version only if it has the fields the rule asks for."""

NEWEST_ONLY = frozenset(
    (
        "Add And Cast Div Equal GRU Greater Hardmax Less LogSoftmax LpPool Mul Or PRelu Pow Softmax Sub Xor"
    ).split()
)
"""Operators whose older versions obey other rules: flattened shapes, broadcasts by attribute, typos."""

NOT_REPEATABLE = frozenset(
    "Bernoulli Dropout Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike".split()
)
"""Operators that draw random numbers: two equal ones must not become one."""

COMMUTATIVE = frozenset("Add And BitwiseAnd BitwiseOr BitwiseXor Equal Max Mean Min Mul Or Sum Xor".split())
"""Operators whose operands may change places."""


@dataclass(frozen=True)
class Check:
    """A rule an op class obeys."""

    module: str
    name: str
    source: str
    """The expression that makes it, `axis_in_range("axis", "input")`."""


def checks_of(operator: Operator, is_newest: bool) -> Iterator[Check]:
    """The rules of one version of an operator, in the order they are tried."""
    if not is_newest and operator.name in NEWEST_ONLY:
        return
    values = {value.field for value in operator.values}
    properties = {attribute.field for attribute in operator.properties}
    for names, expression in OBEYED:
        name = expression.partition("(")[0]
        module, kinds = RULES[name]
        if operator.name in names.split() and all(
            field in (values if kind == "v" else properties)
            for field, kind in zip(_arguments(expression), kinds, strict=False)
        ):
            yield Check(module, name, expression)


def _arguments(expression: str) -> list[object]:
    call = ast.parse(expression, mode="eval").body
    if not isinstance(call, ast.Call):
        return []
    return [argument.value for argument in call.args if isinstance(argument, ast.Constant)]
