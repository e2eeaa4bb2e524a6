"""Classical machine learning (ai.onnx.ml); written by `python -m xonnc.tools.onnx_dialect`."""

from xonnc.dialects.onnx.ops.ml.encoder import (
    ArrayFeatureExtractorOp,
    BinarizerOp,
    CastMapOp,
    CategoryMapperOp,
    DictVectorizerOp,
    FeatureVectorizerOp,
    ImputerOp,
    LabelEncoderOp,
    LabelEncoderV1Op,
    NormalizerOp,
    OneHotEncoderOp,
    ScalerOp,
    ZipMapOp,
)
from xonnc.dialects.onnx.ops.ml.model import (
    LinearClassifierOp,
    LinearRegressorOp,
    SVMClassifierOp,
    SVMRegressorOp,
)
from xonnc.dialects.onnx.ops.ml.tree import TreeEnsembleClassifierOp, TreeEnsembleOp, TreeEnsembleRegressorOp

OPS = (
    ArrayFeatureExtractorOp,
    BinarizerOp,
    CastMapOp,
    CategoryMapperOp,
    DictVectorizerOp,
    FeatureVectorizerOp,
    ImputerOp,
    LabelEncoderOp,
    LabelEncoderV1Op,
    LinearClassifierOp,
    LinearRegressorOp,
    NormalizerOp,
    OneHotEncoderOp,
    SVMClassifierOp,
    SVMRegressorOp,
    ScalerOp,
    TreeEnsembleClassifierOp,
    TreeEnsembleOp,
    TreeEnsembleRegressorOp,
    ZipMapOp,
)
