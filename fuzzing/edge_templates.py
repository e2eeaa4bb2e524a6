"""
Node templates for every operator, to be filled with edge values; and the operators without a template.

Operands are `DataOperand`s, filled by `fuzzing/edge_cases.py`, or constant arrays such as indices, axes and
counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper

from xonnc.fuzzing.random_models import Array

F32, I8, U8, I32, I64, BOOL = (
    np.dtype(each) for each in (np.float32, np.int8, np.uint8, np.int32, np.int64, np.bool_)
)


@dataclass(frozen=True)
class DataOperand:
    """An operand that is filled with edge values."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any] = F32


@dataclass(frozen=True)
class NodeTemplate:
    """A node and its operands; `None` is an omitted one."""

    operator: str
    inputs: Sequence[DataOperand | Array | None]
    attributes: Mapping[str, object]
    outputs: int = 1
    domain: str = ""
    opset: int = 23

    @property
    def data(self) -> Mapping[int, DataOperand]:
        """Operands to fill, by index."""
        return {index: each for index, each in enumerate(self.inputs) if isinstance(each, DataOperand)}

    def changed(self, data: Mapping[int, DataOperand]) -> NodeTemplate:
        """The template with some operands replaced, by index."""
        return replace(self, inputs=[data.get(index, each) for index, each in enumerate(self.inputs)])


def _d(*shape: int, dtype: npt.DTypeLike = F32) -> DataOperand:
    return DataOperand(shape, np.dtype(dtype))


def _i(*numbers: int) -> Array:
    return np.array(numbers, np.int64)


def _n(number: float, dtype: npt.DTypeLike = np.int64) -> Array:
    return np.array(number, dtype)


def _f(*numbers: float) -> Array:
    return np.array(numbers, np.float32)


def _t(
    operator: str,
    *inputs: DataOperand | Array | None,
    outputs: int = 1,
    opset: int = 0,
    domain: str = "",
    given: Mapping[str, object] | None = None,
    **attributes: object,
) -> NodeTemplate:
    attributes = {**(given or {}), **attributes}
    since = onnx.defs.get_schema(operator, domain).since_version if not opset else 0
    if domain:
        return NodeTemplate(operator, inputs, attributes, outputs, domain, opset or since)
    return NodeTemplate(operator, inputs, attributes, outputs, domain, opset or max(since, 23))


X = _d(4, 5)
"""Large enough for every edge value."""

A, B = _d(16, 1), _d(1, 16)
"""Operands that broadcast each value with every other."""

UNARY = (
    "Abs Acos Acosh Asin Asinh Atan Atanh Ceil Celu Clip Cos Cosh Elu Erf Exp Floor Gelu HardSigmoid "
    "HardSwish Hardmax Identity IsInf IsNaN LeakyRelu Log LogSoftmax Mish Neg Reciprocal Relu Round Selu "
    "Shrink Sigmoid Sign Sin Sinh Softmax Softplus Softsign Sqrt Swish Tan Tanh ThresholdedRelu"
)

BINARY = "Add Div Equal Greater GreaterOrEqual Less LessOrEqual Max Mean Min Mul Pow Sub Sum"

REDUCTIONS = (
    "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum "
    "ReduceSumSquare"
)

IMAGE = _d(1, 2, 4, 4)


def _recurrent(operator: str, gates: int, outputs: int) -> NodeTemplate:
    operands = (_d(3, 1, 2), _d(1, 2 * gates, 2), _d(1, 2 * gates, 2))
    return _t(operator, *operands, outputs=outputs, hidden_size=2)


ELEMENTWISE = (
    *(_t(name, X) for name in UNARY.split()),
    *(_t(name, A, B) for name in BINARY.split()),
    *(_t(name, _d(16, 1, dtype=BOOL), _d(1, 16, dtype=BOOL)) for name in ("And", "Or", "Xor")),
    *(_t(f"Bitwise{name}", _d(16, 1, dtype=I32), _d(1, 16, dtype=I32)) for name in ("And", "Or", "Xor")),
    _t("BitwiseNot", _d(4, 5, dtype=I32)),
    *(
        _t("BitShift", _d(16, 1, dtype=np.uint32), np.arange(32, dtype=np.uint32)[None], direction=to)
        for to in ("LEFT", "RIGHT")
    ),
    _t("Not", _d(4, 5, dtype=BOOL)),
    _t("BitCast", X, to=onnx.TensorProto.INT32),
    *(
        _t("Cast", X, to=helper.np_dtype_to_tensor_dtype(np.dtype(to)))
        for to in (
            np.float16,
            ml_dtypes.bfloat16,
            np.float64,
            np.bool_,
            np.int8,
            np.uint8,
            np.int32,
            np.int64,
        )
    ),
    _t("CastLike", X, _n(0, np.int16)),
    _t("Clip", X, _n(-1, np.float32), _n(2, np.float32)),
    _t("Clip", X, _n(np.nan, np.float32), _n(np.inf, np.float32)),
    _t("Dropout", X, outputs=2),
    _t("IsInf", X, detect_negative=0),
    _t("Mod", A, B, fmod=1),
    _t("Mod", _d(16, 1, dtype=I32), _d(1, 16, dtype=I32)),
    _t("PRelu", _d(16, 16), B),
    _t("SwiGLU", _d(16, 16), _d(16, 16)),
    _t("Where", _d(4, 5, dtype=BOOL), X, X),
)

DATA_MOVEMENT = (
    _t("CenterCropPad", X, _i(2, 7)),
    _t("Compress", X, np.array([True, False, True, True]), axis=0),
    _t("Concat", X, X, axis=0),
    _t("DepthToSpace", _d(1, 8, 2, 2), blocksize=2),
    _t("Expand", _d(4, 1), _i(2, 4, 3)),
    _t("EyeLike", X),
    _t("Flatten", X, axis=0),
    _t("Gather", X, _i(3, 0, -1)),
    _t("GatherElements", X, _i(3, 0, 1, 2, -1).reshape(1, 5)),
    _t("GatherND", X, _i(3, 0, 1, -1).reshape(2, 2)),
    _t("Pad", X, _i(0, 1, 2, 0), _d(), mode="constant"),
    _t("Pad", X, _i(0, 1, 2, 0), mode="reflect"),
    _t("Pad", X, _i(0, 1, -2, 0), mode="edge"),
    _t("Reshape", X, _i(2, -1)),
    _t("ReverseSequence", X, _i(1, 2, 4, 3, 1)),
    _t("Shape", X),
    _t("Size", X),
    _t("Slice", X, _i(3), _i(-9), _i(0), _i(-2)),
    _t("SpaceToDepth", _d(1, 2, 4, 4), blocksize=2),
    _t("Split", X, _i(1, 3), outputs=2),
    _t("Squeeze", _d(4, 1, 5), _i(1)),
    _t("Tile", X, _i(2, 1)),
    _t("Transpose", X, perm=[1, 0]),
    _t("Trilu", X, _n(1), upper=0),
    _t("Unsqueeze", X, _i(0, -1)),
    _t("TensorScatter", _d(2, 4, 3), _d(2, 2, 3), _i(0, 3), axis=1, mode="circular"),
    *(
        _t("ScatterElements", X, _i(0, 0, 1, 2, -1, 0, 0, 3, 3, 3).reshape(2, 5), _d(2, 5), reduction=how)
        for how in ("none", "add", "mul", "max", "min")
    ),
    *(
        _t("ScatterND", X, _i(0, 3, 0, 0).reshape(4, 1), _d(4, 5), reduction=how)
        for how in ("none", "add", "mul", "max", "min")
    ),
    _t("Scatter", X, _i(0, 3, 1, 2, 0).reshape(1, 5), _d(1, 5), opset=10),
)

ORDERING = (
    *(_t(name, X, axis=1, select_last_index=last) for name in ("ArgMax", "ArgMin") for last in (0, 1)),
    _t("NonZero", X),
    _t("OneHot", X, _n(4), _d(2), axis=0),
    *(_t("TopK", X, _i(5), outputs=2, largest=largest) for largest in (0, 1)),
    _t("Unique", _d(20), outputs=4, sorted=1),
    _t("Unique", _d(20), outputs=4, sorted=0),
)

SUMS = (
    *(_t(name, X, _i(axis)) for name in REDUCTIONS.split() for axis in (0, 1)),
    *(_t(name, X, _n(1), exclusive=1, reverse=1) for name in ("CumSum", "CumProd")),
    *(_t(name, X, _n(0)) for name in ("CumSum", "CumProd")),
    _t("Det", _d(2, 3, 3)),
    _t("Einsum", X, _d(5, 3), equation="ij,jk->ik"),
    _t("Gemm", X, _d(5, 3), _d(3), alpha=0.5, beta=2.0),
    _t("MatMul", X, _d(5, 3)),
    _t("LpNormalization", X, p=1),
    _t("LpNormalization", X, p=2),
    _t("MeanVarianceNormalization", IMAGE),
    _t("BatchNormalization", IMAGE, _d(2), _d(2), _d(2), _d(2)),
    _t("GroupNormalization", IMAGE, _d(2), _d(2), num_groups=2),
    _t("InstanceNormalization", IMAGE, _d(2), _d(2)),
    _t("LayerNormalization", X, _d(5), _d(5)),
    _t("RMSNormalization", X, _d(5)),
    _t("LRN", IMAGE, size=3),
    _t("NegativeLogLikelihoodLoss", X, _i(4, 0, 1, 2), _d(5)),
    _t("SoftmaxCrossEntropyLoss", X, _i(4, 0, 1, 2), _d(5)),
)

WINDOWS = (
    _t("AveragePool", IMAGE, kernel_shape=[2, 3], pads=[1, 1, 0, 1]),
    _t("MaxPool", IMAGE, kernel_shape=[2, 3], pads=[1, 1, 0, 1]),
    _t("LpPool", IMAGE, kernel_shape=[2, 3], pads=[1, 1, 0, 1]),
    *(_t(f"Global{name}Pool", IMAGE) for name in ("Average", "Lp", "Max")),
    _t("Conv", IMAGE, _d(3, 2, 2, 3), _d(3), pads=[1, 0, 0, 1]),
    _t("ConvTranspose", IMAGE, _d(2, 3, 2, 3), _d(3), strides=[2, 1]),
    _t("ConvInteger", _d(1, 2, 4, 4, dtype=U8), _d(3, 2, 2, 3, dtype=I8), _d(dtype=U8), _d(dtype=I8)),
    _t("CausalConvWithState", _d(1, 2, 4), _d(2, 1, 3), _d(2), outputs=2),
    _t("Col2Im", _d(1, 4, 4), _i(3, 3), _i(2, 2)),
    _t("DeformConv", _d(1, 1, 3, 3), _d(1, 1, 2, 2), np.zeros((1, 8, 2, 2), np.float32)),
    _t(
        "MaxUnpool", _d(1, 1, 2, 2), _i(5, 7, 13, 15).reshape(1, 1, 2, 2), kernel_shape=[2, 2], strides=[2, 2]
    ),
    _t("AffineGrid", _d(1, 2, 3), _i(1, 1, 2, 3)),
    _t("GridSample", IMAGE, np.linspace(-1.5, 1.5, 18, dtype=np.float32).reshape(1, 3, 3, 2)),
    _t("GridSample", IMAGE, _d(1, 3, 3, 2), mode="nearest"),
    *(_t("Resize", IMAGE, None, _f(1, 1, 1.5, 2), mode=mode) for mode in ("nearest", "linear", "cubic")),
    _t("Upsample", IMAGE, _f(1, 1, 2, 2), opset=9, mode="linear"),
    _t("RoiAlign", IMAGE, _f(0, 0, 3, 3).reshape(1, 4), _i(0), output_height=2, output_width=2),
    _t("MaxRoiPool", IMAGE, _f(0, 0, 0, 3, 3).reshape(1, 5), pooled_shape=[2, 2]),
    _t("NonMaxSuppression", _d(1, 4, 4), _d(1, 2, 4), _n(3), _n(0.5, np.float32), _n(0.1, np.float32)),
    _t("DFT", _d(1, 5, 1), None, _n(1), opset=20),
    _t("STFT", _d(1, 8, 1), _n(2), _d(4)),
)

QUANTIZED = (
    _t("DequantizeLinear", _d(4, 5, dtype=I8), _d(4), _d(4, dtype=I8), axis=0),
    _t("DequantizeLinear", _d(4, 5, dtype=I32), _d()),
    _t("DynamicQuantizeLinear", X, outputs=3),
    _t("MatMulInteger", _d(4, 5, dtype=U8), _d(5, 3, dtype=I8), _d(dtype=U8), _d(dtype=I8)),
    *(_t("QuantizeLinear", X, _f(0.5), _d(1, dtype=dtype)) for dtype in (I8, U8)),
    _t("QuantizeLinear", X, _d(), _n(3, np.uint8)),
    _t("QuantizeLinear", X, _n(0.5, np.float32), _n(1, ml_dtypes.int4)),
    _t(
        "QLinearConv",
        *(_d(1, 2, 4, 4, dtype=U8), _n(0.5, np.float32), _d(dtype=U8)),
        *(_d(3, 2, 2, 2, dtype=I8), _n(0.25, np.float32), _d(dtype=I8)),
        *(_n(8, np.float32), _d(dtype=U8)),
    ),
    _t(
        "QLinearMatMul",
        *(_d(4, 5, dtype=U8), _n(0.5, np.float32), _d(dtype=U8)),
        *(_d(5, 3, dtype=I8), _n(0.25, np.float32), _d(dtype=I8)),
        *(_n(8, np.float32), _d(dtype=U8)),
    ),
)

SEQUENCES = (
    _recurrent("GRU", 3, 2),
    _recurrent("LSTM", 4, 3),
    _recurrent("RNN", 1, 2),
    _t("Attention", _d(1, 2, 3, 4), _d(1, 2, 3, 4), _d(1, 2, 3, 4)),
    _t("Attention", _d(1, 2, 3, 4), _d(1, 2, 3, 4), _d(1, 2, 3, 4), is_causal=1),
    _t("FlexAttention", _d(1, 2, 3, 4), _d(1, 2, 3, 4), _d(1, 2, 3, 4), domain="ai.onnx.preview"),
    _t(
        "LinearAttention",
        _d(1, 3, 4),
        _d(1, 3, 4),
        _d(1, 3, 4),
        outputs=2,
        q_num_heads=2,
        kv_num_heads=2,
        update_rule="linear",
    ),
    _t("RotaryEmbedding", _d(1, 2, 3, 4), _d(1, 3, 2), _d(1, 3, 2)),
)

GENERATED = (
    _t(
        "TfIdfVectorizer",
        _d(2, 6, dtype=I64),
        mode="TFIDF",
        pool_int64s=[-1, 0, 2, 0, 1],
        ngram_counts=[0, 3],
        ngram_indexes=[0, 1, 2, 3],
        weights=[0.5, -0.0, 2.0, 1.0],
        min_gram_length=1,
        max_gram_length=2,
        max_skip_count=1,
    ),
    *(_t(f"{name}Window", _n(size)) for name in ("Blackman", "Hamming", "Hann") for size in (1, 5)),
    _t("ConstantOfShape", _i(2, 0, 3)),
    _t("ConstantOfShape", np.zeros(0, np.int64), value=onnx.numpy_helper.from_array(_f(-0.0))),
    _t("MelWeightMatrix", _n(4), _n(16), _n(8000), _n(0, np.float32), _n(4000, np.float32)),
    _t("Range", _n(-0.0, np.float32), _n(2, np.float32), _n(0.5, np.float32)),
    _t("Range", _n(2), _n(2), _n(-1)),
)

ML = "ai.onnx.ml"

TREE: Mapping[str, object] = {
    "nodes_treeids": [0, 0, 0],
    "nodes_nodeids": [0, 1, 2],
    "nodes_featureids": [1, 0, 0],
    "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
    "nodes_values": [0.5, 0.0, 0.0],
    "nodes_truenodeids": [1, 0, 0],
    "nodes_falsenodeids": [2, 0, 0],
    "nodes_missing_value_tracks_true": [1, 0, 0],
}

VECTORS: Mapping[str, object] = {"kernel_type": "RBF", "kernel_params": [0.5, 0.0, 3.0], "rho": [0.25]}


def _ml(
    operator: str,
    *inputs: DataOperand | Array,
    outputs: int = 1,
    given: Mapping[str, object] | None = None,
    **attributes: object,
) -> NodeTemplate:
    opset = 3 if operator in ("TreeEnsembleClassifier", "TreeEnsembleRegressor") else 0
    return _t(operator, *inputs, outputs=outputs, opset=opset, domain=ML, given=given, **attributes)


CLASSICAL_ML = (
    _ml("ArrayFeatureExtractor", X, _i(3, 0)),
    _ml("Binarizer", X, threshold=0.0),
    _ml("FeatureVectorizer", X, _d(4, 2), inputdimensions=[5, 2]),
    _ml("Imputer", X, imputed_value_floats=[7.0], replaced_value_float=float("nan")),
    _ml("Imputer", X, imputed_value_floats=[7.0], replaced_value_float=0.0),
    _ml(
        "LabelEncoder",
        X,
        keys_floats=[0.0, float("nan"), float("inf")],
        values_floats=[1.0, 2.0, -0.0],
        default_float=9.0,
    ),
    _ml(
        "LinearClassifier",
        X,
        outputs=2,
        coefficients=[0.5, -1.0, 2.0, 0.0, 1.0] * 3,
        intercepts=[0.0, 1.0, -1.0],
        classlabels_ints=[0, 1, 2],
    ),
    _ml("LinearRegressor", X, coefficients=[0.5, -1.0, 2.0, 0.0, 1.0], intercepts=[0.25]),
    *(_ml("Normalizer", X, norm=norm) for norm in ("MAX", "L1", "L2")),
    _ml("OneHotEncoder", X, cats_int64s=[0, 1, -1]),
    _ml("Scaler", X, offset=[0.5], scale=[2.0]),
    _ml(
        "SVMClassifier",
        X,
        outputs=2,
        given=VECTORS,
        classlabels_ints=[0, 1],
        coefficients=[1.0, -1.0],
        support_vectors=[0.5, 1.0, 0.0, -1.0, 2.0, 1.0, 0.0, 0.5, 1.0, -2.0],
        vectors_per_class=[1, 1],
    ),
    _ml(
        "SVMRegressor",
        X,
        given=VECTORS,
        coefficients=[1.0, -1.0],
        support_vectors=[0.5, 1.0, 0.0, -1.0, 2.0, 1.0, 0.0, 0.5, 1.0, -2.0],
        n_supports=2,
    ),
    _ml(
        "TreeEnsemble",
        X,
        n_targets=1,
        tree_roots=[0],
        nodes_modes=onnx.numpy_helper.from_array(np.array([0], np.uint8)),
        nodes_featureids=[1],
        nodes_splits=onnx.numpy_helper.from_array(_f(0.5)),
        nodes_truenodeids=[0],
        nodes_trueleafs=[1],
        nodes_falsenodeids=[1],
        nodes_falseleafs=[1],
        nodes_missing_value_tracks_true=[1],
        leaf_targetids=[0, 0],
        leaf_weights=onnx.numpy_helper.from_array(_f(-0.0, 3)),
    ),
    _ml(
        "TreeEnsembleClassifier",
        X,
        outputs=2,
        given=TREE,
        class_treeids=[0, 0],
        class_nodeids=[1, 2],
        class_ids=[0, 1],
        class_weights=[1.0, 2.0],
        classlabels_int64s=[0, 1],
    ),
    _ml(
        "TreeEnsembleRegressor",
        X,
        given=TREE,
        n_targets=1,
        target_treeids=[0, 0],
        target_nodeids=[1, 2],
        target_ids=[0, 0],
        target_weights=[1.0, 2.0],
    ),
)

TRAINING = (
    *(
        _t(
            name,
            _f(0.1),
            _i(1),
            X,
            X,
            *(X for _ in range(states)),
            outputs=1 + states,
            domain="ai.onnx.preview.training",
            given=attributes,
        )
        for name, states, attributes in (
            ("Adagrad", 1, {}),
            ("Adam", 2, {}),
            ("Momentum", 1, {"norm_coefficient": 0.0, "alpha": 0.5, "beta": 0.5, "mode": "standard"}),
        )
    ),
)

TEMPLATES: Sequence[NodeTemplate] = (
    *ELEMENTWISE,
    *DATA_MOVEMENT,
    *ORDERING,
    *SUMS,
    *WINDOWS,
    *QUANTIZED,
    *SEQUENCES,
    *GENERATED,
    *CLASSICAL_ML,
    *TRAINING,
)

RANDOM = "it samples random values"
STRINGS = "it takes or returns strings"
NO_TENSOR = "it takes or returns sequences or optionals, and computes nothing"
BODY = "it runs a subgraph"

WITHOUT_TEMPLATE: Mapping[str, str] = {
    **dict.fromkeys(
        "Bernoulli Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike".split(), RANDOM
    ),
    **dict.fromkeys("If Loop Scan SequenceMap".split(), BODY),
    **dict.fromkeys(
        "ConcatFromSequence Optional OptionalGetElement OptionalHasElement SequenceAt SequenceConstruct "
        "SequenceEmpty SequenceErase SequenceInsert SequenceLength SplitToSequence".split(),
        NO_TENSOR,
    ),
    **dict.fromkeys(
        "CastMap CategoryMapper DictVectorizer RegexFullMatch StringConcat StringNormalizer StringSplit "
        "ZipMap".split(),
        STRINGS,
    ),
    "Constant": "it has no operands",
    "Gradient": "it computes nothing without a training runtime",
    "ImageDecoder": "it decodes image files",
}
"""Operators without a template, and why."""
