"""The checks of `dialects/onnx/checks` that the verifier of each op applies."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xonnc.tools.onnx_dialect.schemas import OperatorSchema

_POST = '"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"'
_MODES = '"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "LEAF"'
_COORDINATES = (
    '"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric", '
    '"tf_half_pixel_for_nn", "tf_crop_and_resize"'
)
_PADDING = "padding_mode needs to be zeros, border or reflection, not {}"
_REDUCE = "L1 L2 LogSum LogSumExp Max Mean Min Prod Sum SumSquare"
_REDUCTIONS = " ".join(f"Reduce{name}" for name in _REDUCE.split())

CHECK_SIGNATURES: Mapping[str, tuple[str, str]] = {
    "affine_grid": ("shapes", ""),
    "approximation": ("values", ""),
    "at_least": ("values", "p"),
    "attention": ("heads", ""),
    "axes_in_range": ("values", "pv"),
    "axis_in_range": ("values", "pv"),
    "branches": ("regions", ""),
    "broadcast": ("shapes", "vvv"),
    "broadcast_all": ("shapes", "v"),
    "broadcast_into": ("shapes", "vv"),
    "cast_to": ("elements", ""),
    "category_mapper": ("operators", ""),
    "causal_convolution": ("shapes", ""),
    "columns": ("windows", ""),
    "compress_condition": ("indexing", ""),
    "constant_indices": ("indexing", "vvp"),
    "comes_out_as": ("quantization", ""),
    "computed_as": ("quantization", ""),
    "concatenation": ("shapes", ""),
    "constant_axis_in_range": ("values", "vv"),
    "constants_at_least": ("values", "v"),
    "convolution": ("windows", "vvv"),
    "deformation": ("windows", ""),
    "recurrent_direction": ("values", ""),
    "divisible": ("shapes", "v"),
    "each_at_least": ("values", "p"),
    "each_one_of": ("values", "p"),
    "einsum": ("shapes", ""),
    "early_sampling_mode": ("values", ""),
    "either": ("values", "pp"),
    "gather_nd": ("indexing", ""),
    "gemm": ("shapes", ""),
    "grouped_channels": ("shapes", ""),
    "holds_for_axes": ("shapes", "vv"),
    "holds_one": ("shapes", "v"),
    "single_element": ("shapes", "v"),
    "integer_in": ("values", "p"),
    "is_permutation": ("values", "pv"),
    "labels_for": ("shapes", "vvv"),
    "label_keys": ("operators", ""),
    "linear_attention": ("heads", ""),
    "listed_regions": ("shapes", ""),
    "loop_body": ("regions", ""),
    "mapped_body": ("regions", ""),
    "matrix_product": ("shapes", "vv"),
    "modulus": ("values", ""),
    "new_axes_differ": ("values", "p"),
    "new_axis_in_range": ("values", "pv"),
    "ngrams": ("values", ""),
    "one_for_each": ("quantization", "vv"),
    "one_for_each_axis": ("values", "pv"),
    "one_for_each_of": ("values", "pv"),
    "one_of": ("values", "p"),
    "optional": ("operators", ""),
    "parameter_of": ("quantization", "vv"),
    "parts": ("shapes", "pv"),
    "parts_of": ("values", "pvvp"),
    "pooled_regions": ("windows", ""),
    "pooling": ("windows", ""),
    "quantization": ("quantization", "vvv"),
    "rank_at_least": ("shapes", "v"),
    "rank_below": ("shapes", "v"),
    "rank_is": ("shapes", "v"),
    "rank_of": ("shapes", "vv"),
    "recurrence": ("recurrences", ""),
    "resampling": ("values", ""),
    "result_has_dtype": ("elements", "pv"),
    "reversed_sequences": ("indexing", ""),
    "rotary_embedding": ("heads", ""),
    "same_bits": ("shapes", "vv"),
    "same_element": ("elements", "vv"),
    "same_length": ("values", "pp"),
    "same_lengths": ("values", "p"),
    "same_rows": ("values", "v"),
    "same_rank": ("shapes", "vv"),
    "same_shape": ("shapes", "vv"),
    "same_size": ("shapes", "v"),
    "sampling_grid": ("shapes", ""),
    "sampling_mode": ("values", ""),
    "sequence_split": ("values", ""),
    "scan_body": ("regions", ""),
    "scatter_nd": ("indexing", ""),
    "size_is": ("shapes", "v"),
    "spectrum": ("shapes", ""),
    "square": ("shapes", "v"),
    "string_or": ("elements", "vpp"),
    "suppression": ("indexing", ""),
    "tensor_scatter": ("indexing", ""),
    "transposed_convolution": ("windows", ""),
    "unpooling": ("windows", ""),
    "within": ("indexing", "vvp"),
}
"""Every rule: its module, and what its first arguments name: values of the op, or properties."""

OPERATOR_CHECKS: tuple[tuple[str, str], ...] = (
    # Axes.
    ("Gather GatherElements ScatterElements", 'rank_at_least("data", 1)'),
    (
        "ReverseSequence",
        'rank_is("sequence_lens", 1, text="sequence_lens of ReverseSequnce should be 1D tensor")',
    ),
    (
        "ReverseSequence",
        'rank_at_least("input", 2, "input of Reversesequence should be 2D or higher rank tensor")',
    ),
    (
        "ArgMax ArgMin Gather GatherElements Scatter ScatterElements",
        'axis_in_range("axis", "data")',
    ),
    (
        "Compress Hardmax LogSoftmax LpNormalization Softmax Split SplitToSequence",
        'axis_in_range("axis", "input")',
    ),
    (
        "LayerNormalization RMSNormalization",
        'axis_in_range("axis", "X", text="axis must be in [-r, r) range]")',
    ),
    ("TopK Unique", 'axis_in_range("axis", "X")'),
    ("Flatten", 'axis_in_range("axis", "input", 1)'),
    ("OneHot", 'new_axis_in_range("axis", "indices", "OneHot axis value is out of range")'),
    ("ReverseSequence", 'axis_in_range("batch_axis", "input")'),
    ("ReverseSequence", 'axis_in_range("time_axis", "input")'),
    (_REDUCTIONS, 'axes_in_range("axes", "data", "reduction axis is out of bound")'),
    ("Squeeze", 'axes_in_range("axes", "data", "Invalid axis value")'),
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
    (
        "BatchNormalization",
        'same_size("X", 1, "scale", 0, "Wrong rank for the scale: not one number for each channel")',
    ),
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
        'broadcast_into("Scale", "X", '
        '"LayerNormalization op with incompatible scale shapes (unidirectional broadcast)")',
    ),
    (
        "RMSNormalization",
        'broadcast_into("scale", "X", "RMSNormalization op with incompatible scale shapes")',
    ),
    (
        "LayerNormalization",
        'broadcast_into("B", "X", '
        '"LayerNormalization op with incompatible B shapes (unidirectional broadcast)")',
    ),
    ("GroupNormalization", 'at_least("num_groups", 1)'),
    ("LRN", 'at_least("size", 1)'),
    ("LRN", 'rank_at_least("X", 2)'),
    ("LpNormalization", """integer_in("p", 1, 2, "attribute 'p' must be 1 or 2, got {}")"""),
    # Recurrences and attention.
    ("GRU LSTM RNN", 'rank_is("X", 3, text="The first input tensor must have rank 3")'),
    ("GRU LSTM RNN", 'rank_is("W", 3, text="The second input tensor must have rank 3")'),
    ("GRU LSTM RNN", 'rank_is("R", 3, text="The third input tensor must have rank 3")'),
    ("GRU LSTM RNN", "recurrent_direction"),
    ("GRU LSTM RNN", 'integer_in("layout", 0, 1)'),
    ("Attention", 'rank_is("Q", 3, 4)'),
    ("Attention", 'same_rank("Q", "K")'),
    ("Attention", 'same_rank("Q", "V")'),
    ("Attention", "attention"),
    ("Attention", 'at_least("softcap", 0, "softcap must be non-negative")'),
    ("Attention", 'integer_in("qk_matmul_output_mode", 0, 3)'),
    # Shapes given as tensors.
    ("Reshape", 'rank_is("shape", 1, text="Shape tensor must have rank one")'),
    ("Expand", 'rank_is("shape", 1, text="Shape has a rank of 1")'),
    ("Tile", 'rank_is("repeats", 1, text="Repeats tensor must have rank one")'),
    ("Pad", 'rank_is("pads", 1)'),
    ("Pad", 'one_of("mode", "constant", "reflect", "edge", "wrap")'),
    ("Slice", 'rank_is("starts", 1)'),
    ("Slice", 'same_rank("starts", "ends")'),
    ("TopK", 'rank_below("K", 2)'),
    ("Upsample", 'rank_is("scales", 1, text="Scales tensor must be rank 1")'),
    ("Upsample", 'one_of("mode", "nearest", "linear", "bilinear")'),
    ("Resize", 'one_of("mode", "nearest", "linear", "cubic")'),
    ("Resize", 'one_of("keep_aspect_ratio_policy", "stretch", "not_larger", "not_smaller")'),
    ("Split", 'parts("num_outputs", "outputs")'),
    # Rearrangements.
    ("DepthToSpace SpaceToDepth", 'rank_is("input", 4, text="Input should have a rank of four")'),
    ("DepthToSpace SpaceToDepth", 'at_least("blocksize", 1, "Blocksize should be non negative")'),
    ("DepthToSpace SpaceToDepth", 'one_of("mode", "DCR", "CRD", text="Mode must be DCR or CRD, not {}")'),
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
    ("GatherElements ScatterElements", 'rank_of("indices", "data")'),
    ("ScatterElements", 'rank_of("updates", "data")'),
    ("GatherND ScatterND", 'rank_at_least("data", 1)'),
    ("GatherND ScatterND", 'rank_at_least("indices", 1)'),
    ("ScatterElements ScatterND", 'one_of("reduction", "none", "add", "mul", "max", "min")'),
    (
        "GridSample",
        f'one_of("padding_mode", "zeros", "border", "reflection", text={_PADDING!r})',
    ),
    ("GridSample", 'integer_in("align_corners", 0, 1, "align_corners needs to be 0 or 1, not {}")'),
    (
        "GridSample",
        'same_size("X", 0, "grid", 0, "Input and grid must have the same batch value.")',
    ),
    ("AffineGrid", 'integer_in("align_corners", 0, 1)'),
    ("OneHot", 'rank_is("values", 1, text="OneHot values must be 1D tensor")'),
    ("OneHot", 'size_is("values", 0, 2, "OneHot values must be 1D tensor with 2 elements")'),
    ("OneHot", 'rank_is("depth", 0, 1, text="OneHot depth must be 0 or 1D tensor")'),
    ("OneHot", 'size_is("depth", 0, 1, "OneHot depth can be 1D tensor with 1 elements")'),
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
    ("Gelu", "approximation"),
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
    ("Multinomial", 'result_has_dtype("dtype", "output")'),
    (
        "SequenceEmpty",
        'result_has_dtype("dtype", "output", text="SequenceEmpty getDtype() does not match the output type")',
    ),
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
    ("TreeEnsembleClassifier ZipMap", 'either("classlabels_int64s", "classlabels_strings")'),
    ("DictVectorizer", 'either("int64_vocabulary", "string_vocabulary")'),
    ("Normalizer", 'one_of("norm", "MAX", "L1", "L2")'),
    ("Normalizer", 'rank_is("X", 1, 2)'),
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
    # Scales and zero points.
    ("DequantizeLinear", 'quantization("x", "x_scale", "x_zero_point")'),
    ("QuantizeLinear", 'quantization("x", "y_scale", "y_zero_point")'),
    ("DequantizeLinear QuantizeLinear", "comes_out_as"),
    ("QuantizeLinear", "computed_as"),
    ("QuantizeLinear Cast CastLike", 'integer_in("saturate", 0, 1)'),
    ("MatMulInteger", 'parameter_of("a_zero_point", "A", -2)'),
    ("MatMulInteger", 'parameter_of("b_zero_point", "B", -1)'),
    ("QLinearMatMul", 'parameter_of("a_scale", "a", -2)'),
    ("QLinearMatMul", 'parameter_of("a_zero_point", "a", -2)'),
    ("QLinearMatMul", 'parameter_of("b_scale", "b", -1)'),
    ("QLinearMatMul", 'parameter_of("b_zero_point", "b", -1)'),
    ("ConvInteger", 'holds_one("x_zero_point")'),
    ("ConvInteger", 'one_for_each("w_zero_point", "w", 0)'),
    ("QLinearConv", 'holds_one("x_scale")'),
    ("QLinearConv", 'holds_one("x_zero_point")'),
    ("QLinearConv", 'holds_one("y_scale")'),
    ("QLinearConv", 'holds_one("y_zero_point")'),
    ("QLinearConv", 'one_for_each("w_scale", "w", 0)'),
    ("QLinearConv", 'one_for_each("w_zero_point", "w", 0)'),
    # Operands that hold one number.
    ("Clip", 'holds_one("min")'),
    ("Clip", 'holds_one("max")'),
    ("CumProd CumSum DFT", 'holds_one("axis")'),
    ("DFT", 'holds_one("dft_length")'),
    ("Dropout", 'holds_one("ratio")'),
    ("Dropout", 'holds_one("training_mode")'),
    ("BlackmanWindow HammingWindow HannWindow", 'holds_one("size")'),
    ("MelWeightMatrix", 'holds_one("num_mel_bins")'),
    ("MelWeightMatrix", 'holds_one("dft_length")'),
    ("MelWeightMatrix", 'holds_one("sample_rate")'),
    ("MelWeightMatrix", 'holds_one("lower_edge_hertz")'),
    ("MelWeightMatrix", 'holds_one("upper_edge_hertz")'),
    (
        "NonMaxSuppression",
        'holds_one("max_output_boxes_per_class", '
        '"max_output_boxex_per_class should have a rank of zero or one")',
    ),
    (
        "NonMaxSuppression",
        'holds_one("score_threshold", "score_threshold should have a rank of zero or one")',
    ),
    ("NonMaxSuppression", 'holds_one("iou_threshold", "iou_threshold should have a rank of zero or one")'),
    ("Pad", 'single_element("constant_value")'),
    ("Range", 'holds_one("start")'),
    ("Range", 'holds_one("limit")'),
    ("Range", 'holds_one("delta")'),
    ("SequenceAt SequenceErase SequenceInsert", 'holds_one("position")'),
    ("STFT", 'holds_one("frame_step")'),
    ("STFT", 'holds_one("frame_length")'),
    ("TileV1", 'holds_one("tiles")'),
    ("TileV1", 'holds_one("axis")'),
    ("TopK", 'holds_one("K")'),
    ("Trilu", 'holds_one("k")'),
    ("If", 'single_element("cond")'),
    ("Loop", 'single_element("M")'),
    ("Loop", 'single_element("cond")'),
    # Operands that constants make.
    ("CumProd CumSum", 'constant_axis_in_range("axis", "x")'),
    ("Tile!", 'constants_at_least("repeats", 0)'),
    ("TopK", 'constants_at_least("K", 0)'),
    ("STFT", 'constants_at_least("frame_step", 1)'),
    ("STFT", 'constants_at_least("frame_length", 1)'),
    ("SplitToSequence", "sequence_split"),
    ("Split", 'constants_at_least("split", 0)'),
    ("GatherElements ScatterElements", 'constant_indices("data", "indices", "axis")'),
    ("OneHot", 'constants_at_least("depth", 1, "OneHot depth must be greater than 1")'),
    ("ConstantOfShape", 'constants_at_least("input", 0, "All values of the input tensor must be >=0")'),
    # Lists of numbers, one for each axis.
    ("Tile!", 'holds_for_axes("repeats", "input")'),
    ("Pad! PadV18 PadV19", 'holds_for_axes("pads", "data", "axes", 2)'),
    ("PadV11 PadV13", 'holds_for_axes("pads", "data", "", 2)'),
    ("PadV2", 'one_for_each_axis("pads", "data", 2)'),
    ("PadV1", 'one_for_each_axis("paddings", "data", 2)'),
    ("Pad", 'rank_is("axes", 1)'),
    ("Slice", 'same_shape("starts", "ends")'),
    ("Slice", 'rank_is("axes", 1)'),
    ("Slice", 'same_shape("starts", "axes")'),
    ("Slice", 'same_shape("starts", "steps")'),
    ("SliceV1", 'same_lengths("starts", "ends", "axes")'),
    ("SliceV1", 'axes_in_range("axes", "data")'),
    (
        "Upsample",
        'holds_for_axes("scales", "X", text="Input tensor rank doesn\'t match scales tensor shape")',
    ),
    ("UpsampleV7", 'one_for_each_axis("scales", "X")'),
    (
        "ResizeV10 ResizeV11 ResizeV13",
        'holds_for_axes("scales", "X", text="expected scales to have the same rank as input")',
    ),
    (
        "Resize! ResizeV18",
        'holds_for_axes("scales", "X", "axes", text="expected scales to have the same rank as input")',
    ),
    (
        "ResizeV11 ResizeV13",
        'holds_for_axes("sizes", "X", text="expected sizes to have the same rank as input")',
    ),
    (
        "Resize! ResizeV18",
        'holds_for_axes("sizes", "X", "axes", text="expected sizes to have the same rank as input")',
    ),
    ("CenterCropPad", 'rank_is("shape", 1)'),
    ("CenterCropPad", 'holds_for_axes("shape", "input_data", "axes")'),
    ("MaxUnpool", 'holds_for_axes("output_shape", "X")'),
    ("Split", 'rank_is("split", 1)'),
    ("SplitV11", 'parts_of("split", "input", "outputs", "axis")'),
    ("SplitV1", 'parts_of("split_attr", "input", "outputs", "axis")'),
    (f"{_REDUCTIONS} Squeeze", 'rank_is("axes", 0, 1)'),
    ("Unsqueeze", 'rank_is("axes", 0, 1)'),
    (_REDUCTIONS, 'integer_in("noop_with_empty_axes", 0, 1)'),
    ("Compress", "compress_condition"),
    ("AffineGrid", 'rank_is("theta", 3)'),
    ("AffineGrid", 'rank_is("size", 1)'),
    ("AffineGrid", "affine_grid"),
    ("HardmaxV11 LogSoftmaxV11 SoftmaxV11", 'axis_in_range("axis", "input")'),
    ("ConcatFromSequence", 'integer_in("new_axis", 0, 1)'),
    ("TopK", 'integer_in("largest", 0, 1)'),
    ("TopK", 'integer_in("sorted", 0, 1)'),
    ("TopKV1", 'at_least("k", 0)'),
    ("ArgMax ArgMin", 'integer_in("select_last_index", 0, 1)'),
    ("Reshape", 'integer_in("allowzero", 0, 1)'),
    (
        "RandomNormal RandomUniform",
        'each_at_least("shape", 0, "Random generator tensor has dynamic dimension.")',
    ),
    ("Multinomial", 'at_least("sample_size", 1)'),
    ("Multinomial EyeLike", 'rank_is("input", 2)'),
    ("Split", 'at_least("num_outputs", 1)'),
    # Indices and updates.
    ("GatherElements ScatterElements Scatter", 'within("indices", "data", "axis")'),
    ("Scatter", 'same_rank("data", "indices")'),
    ("ScatterElements Scatter", 'same_shape("indices", "updates")'),
    ("GatherND", "gather_nd"),
    ("ScatterND", "scatter_nd"),
    ("TensorScatter", 'rank_at_least("past_cache", 2)'),
    ("TensorScatter", 'same_rank("past_cache", "update")'),
    ("TensorScatter", 'rank_is("write_indices", 1)'),
    ("TensorScatter", 'one_of("mode", "linear", "circular")'),
    ("TensorScatter", "tensor_scatter"),
    ("ReverseSequence", "reversed_sequences"),
    ("NonMaxSuppression", "suppression"),
    ("RoiAlign MaxRoiPool", "listed_regions"),
    ("MaxRoiPool", "pooled_regions"),
    ("RoiAlign", 'at_least("output_height", 1)'),
    ("RoiAlign", 'at_least("output_width", 1)'),
    ("RoiAlign", 'at_least("sampling_ratio", 0)'),
    # Images, windows and sampling.
    ("GridSample!", "sampling_mode"),
    ("GridSampleV16", "early_sampling_mode"),
    ("GridSample", "sampling_grid"),
    ("Col2Im", "columns"),
    ("DeformConv", "deformation"),
    ("MaxUnpool", "unpooling"),
    ("AveragePool", 'integer_in("count_include_pad", 0, 1)'),
    ("LpPool GlobalLpPool", 'at_least("p", 1)'),
    ("Resize! ResizeV18 ResizeV13", "resampling"),
    ("Resize", f'one_of("coordinate_transformation_mode", {_COORDINATES})'),
    (
        "Resize",
        'one_of("nearest_mode", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil")',
    ),
    ("Resize", 'integer_in("antialias", 0, 1)'),
    ("Resize", 'integer_in("exclude_outside", 0, 1)'),
    ("Resize", 'axes_in_range("axes", "X")'),
    ("Det", 'square("X")'),
    ("Einsum", "einsum"),
    ("Mod", "modulus"),
    ("BitCast", 'same_bits("input", "output")'),
    ("IsInf", 'integer_in("detect_negative", 0, 1)'),
    ("IsInf", 'integer_in("detect_positive", 0, 1)'),
    # Signals.
    ("DFT STFT", "spectrum"),
    ("DFT STFT", 'integer_in("onesided", 0, 1)'),
    ("DFT", 'integer_in("inverse", 0, 1)'),
    ("STFT", 'rank_is("window", 1)'),
    ("BlackmanWindow HammingWindow HannWindow", 'integer_in("periodic", 0, 1)'),
    # Channels, classes, heads and states.
    ("BatchNormalization!", 'integer_in("training_mode", 0, 1)'),
    (
        "BatchNormalization!",
        'same_size("X", 1, "B", 0, "Wrong rank for the bias: not one number for each channel")',
    ),
    ("BatchNormalization!", 'rank_is("input_mean", 1, text="Wrong rank for the mean")'),
    (
        "BatchNormalization!",
        'same_size("X", 1, "input_mean", 0, "Wrong rank for the mean: not one number for each channel")',
    ),
    ("BatchNormalization!", 'rank_is("input_var", 1, text="Wrong rank for the variance")'),
    (
        "BatchNormalization!",
        'same_size("X", 1, "input_var", 0, "Wrong rank for the variance: not one number for each channel")',
    ),
    (
        "BatchNormalizationV9",
        'same_size("X", 1, "B", 0, "Wrong rank for the bias: not one number for each channel")',
    ),
    (
        "BatchNormalizationV9",
        'same_size("X", 1, "mean", 0, "Wrong rank for the mean: not one number for each channel")',
    ),
    (
        "BatchNormalizationV9",
        'same_size("X", 1, "var", 0, "Wrong rank for the variance: not one number for each channel")',
    ),
    ("GroupNormalization", "grouped_channels"),
    ("NegativeLogLikelihoodLoss", 'labels_for("input", "target", "weight")'),
    ("SoftmaxCrossEntropyLoss", 'labels_for("scores", "labels", "weights")'),
    ("LSTM! LSTMV1", "recurrence(4, 3)"),
    ("GRU! GRUV3", "recurrence(3, 2)"),
    ("RNN! RNNV1", "recurrence(1, 1)"),
    ("LSTM", 'integer_in("input_forget", 0, 1)'),
    ("GRU", 'integer_in("linear_before_reset", 0, 1)'),
    ("Attention", 'integer_in("is_causal", 0, 1)'),
    ("LinearAttention", 'one_of("update_rule", "linear", "gated", "delta", "gated_delta")'),
    ("LinearAttention", "linear_attention"),
    ("RotaryEmbedding", "rotary_embedding"),
    ("RotaryEmbedding", 'same_shape("cos_cache", "sin_cache")'),
    ("RotaryEmbedding", 'rank_is("position_ids", 2)'),
    ("RotaryEmbedding", 'integer_in("interleaved", 0, 1)'),
    ("SwiGLU", 'same_shape("A", "B")'),
    ("CausalConvWithState", 'one_of("activation", "none", "silu", "swish")'),
    ("CausalConvWithState", "causal_convolution"),
    # Strings and tables of classical machine learning.
    ("StringNormalizer", 'rank_is("X", 1, 2)'),
    ("StringNormalizer", 'integer_in("is_case_sensitive", 0, 1)'),
    ("TfIdfVectorizer", 'rank_is("X", 1, 2)'),
    ("TfIdfVectorizer", "ngrams"),
    ("FeatureVectorizer", 'one_for_each_of("inputdimensions", "X")'),
    ("FeatureVectorizer", 'same_rows("X")'),
    ("LinearClassifier", 'integer_in("multi_class", 0, 1)'),
    ("LinearRegressor", 'at_least("targets", 1)'),
    ("SVMRegressor", 'integer_in("one_class", 0, 1)'),
    ("SVMRegressor", 'at_least("n_supports", 0)'),
    (
        "LabelEncoder!",
        'same_lengths("keys_int64s", "keys_floats", "keys_strings", "values_int64s", "values_floats", '
        '"values_strings")',
    ),
    ("LabelEncoder!", "label_keys"),
    (
        "TreeEnsembleClassifier TreeEnsembleRegressor",
        'same_lengths("nodes_treeids", "nodes_nodeids", "nodes_featureids", "nodes_values", "nodes_modes", '
        '"nodes_truenodeids", "nodes_falsenodeids", "nodes_hitrates", "nodes_missing_value_tracks_true")',
    ),
    ("TreeEnsembleClassifier TreeEnsembleRegressor", f'each_one_of("nodes_modes", {_MODES})'),
    (
        "TreeEnsembleClassifier",
        'same_lengths("class_treeids", "class_nodeids", "class_ids", "class_weights")',
    ),
    (
        "TreeEnsembleRegressor",
        'same_lengths("target_treeids", "target_nodeids", "target_ids", "target_weights")',
    ),
    ("TreeEnsembleRegressor TreeEnsemble", 'at_least("n_targets", 1)'),
    ("TreeEnsemble", 'integer_in("aggregate_function", 0, 3)'),
    ("TreeEnsemble", 'integer_in("post_transform", 0, 4)'),
    (
        "TreeEnsemble",
        'same_lengths("nodes_featureids", "nodes_truenodeids", "nodes_falsenodeids", "nodes_trueleafs", '
        '"nodes_falseleafs", "nodes_missing_value_tracks_true")',
    ),
)
"""
Operators and the check that applies; to an older version only if it has the fields of the check.

`Tile!` is the newest version alone, `TileV1` that version alone.
"""

NEWEST_ONLY = frozenset(
    (
        "Add And Cast Div Equal GRU Greater Hardmax Less LogSoftmax LpPool Mul Or PRelu Pow Softmax Sub Xor"
    ).split()
)
"""Operators whose older versions need other checks: flattened shapes, broadcast by attribute, typos."""

RANDOM_OPERATORS = frozenset(
    "Bernoulli Dropout Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike".split()
)
"""Random operators: equal ones must not be merged (CSE)."""

COMMUTATIVE = frozenset("Add And BitwiseAnd BitwiseOr BitwiseXor Equal Max Mean Min Mul Or Sum Xor".split())
"""Commutative operators."""


@dataclass(frozen=True)
class OpCheck:
    """A check of an op class."""

    module: str
    name: str
    source: str
    """The expression that makes it, `axis_in_range("axis", "input")`."""


def checks_of(name: str, operator: OperatorSchema, is_newest: bool) -> Iterator[OpCheck]:
    """Yield the checks of one version of an operator with class `name`, in order of application."""
    values = {value.field for value in operator.values}
    properties = {attribute.field for attribute in operator.properties}
    for names, expression in OPERATOR_CHECKS:
        rule = expression.partition("(")[0]
        module, kinds = CHECK_SIGNATURES[rule]
        if _is_for(names.split(), name, operator.name, is_newest) and all(
            field in (values if kind == "v" else properties)
            for field, kind in zip(_arguments(expression), kinds, strict=False)
        ):
            yield OpCheck(module, rule, expression)


def _is_for(names: Sequence[str], name: str, operator: str, is_newest: bool) -> bool:
    """Whether an entry is for a class: by its own name, as the newest, or for all versions."""
    if name != operator and name in names:
        return True
    if is_newest and f"{operator}!" in names:
        return True
    return operator in names and (is_newest or operator not in NEWEST_ONLY)


def _arguments(expression: str) -> list[object]:
    call = ast.parse(expression, mode="eval").body
    if not isinstance(call, ast.Call):
        return []
    return [argument.value for argument in call.args if isinstance(argument, ast.Constant)]
