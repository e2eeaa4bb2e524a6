"""Modules of the operators' classes: ONNX's own themes, the large ones split by topic."""

from __future__ import annotations

from collections.abc import Mapping

THEMES: Mapping[str, str] = {"traditionalml": "ml"}
"""Themes that have another name here."""

TITLES: Mapping[str, str] = {
    "controlflow": "Branches and loops",
    "generator": "Tensors out of nothing: constants and random numbers",
    "image": "Images",
    "logical": "Comparisons, logic and bits",
    "math": "Arithmetic on tensors",
    "ml": "Classical machine learning (ai.onnx.ml)",
    "nn": "Layers of neural networks",
    "object_detection": "Boxes and regions of interest",
    "optional": "Values that may be absent at run time",
    "preview": "Operators under trial (ai.onnx.preview)",
    "quantization": "Integers for real numbers and back",
    "reduction": "Reductions along axes",
    "rnn": "Recurrent layers",
    "sequence": "Sequences of tensors",
    "tensor": "Shapes, layouts and selections of tensors",
    "text": "Strings",
    "training": "Steps of training (ai.onnx.preview.training)",
}

TOPICS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "math": {
        "activation": (
            "Smooth activation functions",
            "Celu Elu Gelu Mish Selu Sigmoid Softplus Softsign SwiGLU Swish",
        ),
        "arithmetic": (
            "Sums, products, powers and remainders",
            "Add Div Mod Mul Pow Sub",
        ),
        "elementwise": (
            "Functions of one element; running sums",
            "Abs CumProd CumSum Erf Exp Expand Log Neg Reciprocal Sqrt",
        ),
        "linear": (
            "Products of matrices",
            "Det Einsum Gemm MatMul MatMulInteger QLinearMatMul",
        ),
        "probability": (
            "Distributions over an axis, and losses",
            "Hardmax LogSoftmax NegativeLogLikelihoodLoss Softmax SoftmaxCrossEntropyLoss TopK",
        ),
        "rectifier": (
            "Activation functions made of straight lines",
            "HardSigmoid HardSwish LeakyRelu PRelu Relu ThresholdedRelu",
        ),
        "rounding": (
            "Rounding, limits and signs",
            "Ceil Clip Floor Round Sign",
        ),
        "signal": (
            "Transforms and windows of signals",
            "BlackmanWindow DFT HammingWindow HannWindow MelWeightMatrix STFT",
        ),
        "trigonometry": (
            "Circular and hyperbolic functions",
            "Acos Acosh Asin Asinh Atan Atanh Cos Cosh Sin Sinh Tan Tanh",
        ),
        "variadic": (
            "Functions of any number of tensors",
            "Max Mean Min Sum",
        ),
    },
    "nn": {
        "attention": (
            "Attention",
            "Attention CausalConvWithState LinearAttention RotaryEmbedding",
        ),
        "convolution": (
            "Convolutions",
            "Col2Im Conv ConvInteger ConvTranspose DeformConv QLinearConv",
        ),
        "layer": (
            "Other layers",
            "Dropout Flatten Shrink TfIdfVectorizer",
        ),
        "normalization": (
            "Normalisations",
            "BatchNormalization GroupNormalization InstanceNormalization LRN LayerNormalization "
            "LpNormalization MeanVarianceNormalization RMSNormalization",
        ),
        "pooling": (
            "Pooling",
            "AveragePool GlobalAveragePool GlobalLpPool GlobalMaxPool LpPool MaxPool MaxRoiPool MaxUnpool",
        ),
    },
    "tensor": {
        "element_type": (
            "Conversions and tests of elements",
            "BitCast Cast CastLike Identity IsInf IsNaN Where",
        ),
        "padding": (
            "Padding and cropping",
            "CenterCropPad Pad",
        ),
        "resampling": (
            "Resampling",
            "AffineGrid GridSample Resize Upsample",
        ),
        "selection": (
            "Elements gathered and scattered by index or condition",
            "Compress Gather GatherElements GatherND NonZero OneHot ReverseSequence Scatter ScatterElements "
            "ScatterND Slice TensorScatter Trilu Unique",
        ),
        "shape": (
            "Shapes and the order of elements",
            "Concat DepthToSpace Reshape Shape Size SpaceToDepth Split Squeeze Tile Transpose Unsqueeze",
        ),
    },
    "ml": {
        "encoder": (
            "Encodings of features",
            "ArrayFeatureExtractor Binarizer CastMap CategoryMapper DictVectorizer FeatureVectorizer "
            "Imputer LabelEncoder Normalizer OneHotEncoder Scaler ZipMap",
        ),
        "model": (
            "Linear models and support vector machines",
            "LinearClassifier LinearRegressor SVMClassifier SVMRegressor",
        ),
        "tree": (
            "Ensembles of decision trees",
            "TreeEnsemble TreeEnsembleClassifier TreeEnsembleRegressor",
        ),
    },
    "reduction": {
        "extremum": (
            "Extrema and where they are",
            "ArgMax ArgMin ReduceMax ReduceMin",
        ),
        "norm": (
            "Norms and logarithms of sums",
            "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceSumSquare",
        ),
        "sum": (
            "Sums, means and products",
            "ReduceMean ReduceProd ReduceSum",
        ),
    },
}
"""The topics of a theme that would fill more than some 600 lines: title and operators."""

HANDWRITTEN = frozenset({"Constant", "ConstantOfShape"})
"""Operators whose class is written by hand, in `ops/constant.py`."""


def theme_of(theme: str) -> str:
    """The name of a theme here, given ONNX's."""
    return THEMES.get(theme, theme)


def topic_of(theme: str, operator: str) -> str | None:
    """The topic of an operator; `None` if its theme is one file."""
    topics = TOPICS.get(theme)
    if topics is None:
        return None
    for topic, (_, names) in topics.items():
        if operator in names.split():
            return topic
    raise LookupError(f"{operator}: no topic of {theme}; add it to one in {__name__}.TOPICS")


def title_of(theme: str, topic: str | None) -> str:
    """The module docstring of a topic."""
    return TITLES[theme] if topic is None else TOPICS[theme][topic][0]
