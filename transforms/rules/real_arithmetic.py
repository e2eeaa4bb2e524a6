"""
Rules whose identity holds for real numbers: floats are rounded at other places than in the model.

Their certificates (docs/rewrite-certificates.md) assume reals, or are comparisons within a tolerance. They
fire by default, as in onnx-mlir, ONNX-optimizer and onnxruntime, and not with `--no-fast-math`.
"""

from __future__ import annotations

from xdsl.ir import Operation

from xonnc.dialects.onnx.types import element_type, numpy_dtype
from xonnc.transforms.numerics import is_float

PROVEN_OVER_REALS = tuple(
    (
        "AddConstAssociative1 AddConstAssociative2 AddConstAssociative3 AddConstAssociative4 "
        "DistributeMulConst FoldAddIntoConvTranspose FoldAddIntoConvTransposeV1 FoldAddIntoGemm "
        "FoldBatchNormBeforeConv FoldBatchNormBeforeGemm FoldBatchNormIntoConvTranspose "
        "FoldBatchNormIntoConvTransposeV1 FoldBatchNormIntoGemm FoldBatchNormIntoMatMul "
        "FoldBatchNormOfFlattenIntoMatMul FoldBatchNormOfFlattenIntoMatMulAdd "
        "FoldBatchNormOfReshapeIntoMatMul FoldBatchNormOfReshapeIntoMatMulAdd "
        "FoldDivBeforeConv FoldDivBeforeGemm FoldDivBeforeMatMul FoldDivIntoConv "
        "FoldDivIntoConvTranspose FoldDivIntoConvTransposeV1 FoldDivIntoGemm FoldDivIntoMatMul "
        "FoldMulBeforeConv FoldMulBeforeGemm FoldMulBeforeMatMul FoldMulIntoConvTranspose "
        "FoldMulIntoConvTransposeV1 FoldMulIntoGemm FoldMulIntoMatMul FuseAddConvPattern "
        "FuseBatchNormInferenceModeConvPattern FuseConstantBatchNormConv FuseConstantProductBatchNorm "
        "FuseConstantProductConv FuseConstantSumBatchNorm FuseConstantSumConv "
        "FuseMulConvNullBiasPattern FuseMulConvPattern FusePadIntoAveragePool FusePadIntoConvPattern "
        "FusePadV11IntoAveragePool FusePadV11IntoConvPattern FusePadV13IntoAveragePool "
        "FusePadV13IntoConvPattern FusePadV18IntoAveragePool FusePadV18IntoConvPattern "
        "FusePadV19IntoAveragePool FusePadV19IntoConvPattern FusePadV19IntoMaxPool "
        "FusePadV2IntoAveragePool FusePadV2IntoConvPattern FusePadV2IntoMaxPool "
        "FuseScalarDivMatMulPattern FuseScalarMulMatMulPattern MergeReduceMax MergeReduceMaxV13 "
        "MergeReduceMaxV18 MergeReduceMean MergeReduceMeanV13 MergeReduceMin MergeReduceMinV13 "
        "MergeReduceMinV18 MergeReduceProd MergeReduceProdV13 MergeReduceSum MergeReduceSumV11 "
        "MulConstAssociative1 "
        "MulConstAssociative2 MulConstAssociative3 MulConstAssociative4 PowConversionRewritePattern "
        "PropagateBiasIntoLayerNormRewritePatternLayerNormalizationRhs "
        "PropagateBiasIntoLayerNormRewritePatternRMSLayerNormalizationRhs "
        "PropagateConstantScalingInAttentionLayerPatternDiv "
        "PropagateConstantScalingInAttentionLayerPatternMul RecomposeGelu RecomposeLayerNormalization "
    ).split()
)
"""Rules of simplification whose proof is over the reals."""

COMPARED_WITHIN_TOLERANCE = tuple(
    (
        "FuseProductDequantizeLinear LogOfSoftmax LogOfSoftmaxV11 PowToMulRewritePattern RecomposeAttention "
        "RecomposeRMSNormalization "
    ).split()
)
"""Rules of simplification that round elsewhere and have no proof: functions other than sums and products."""

OVER_REALS = frozenset((*PROVEN_OVER_REALS, *COMPARED_WITHIN_TOLERANCE))


def rounds_nowhere(root: Operation) -> str | None:
    """The op computes in integers, for which the identities are exact."""
    for value in (*root.operands, *root.results):
        element = element_type(value.type)
        if element is not None and is_float(numpy_dtype(element)):
            return "floats would be rounded elsewhere (--no-fast-math)"
    return None
