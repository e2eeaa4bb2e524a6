"""Reductions along axes; written by `python -m xonnc.tools.onnx_dialect`."""

from xonnc.dialects.onnx.ops.reduction.extremum import (
    ArgMaxOp,
    ArgMinOp,
    ReduceMaxOp,
    ReduceMaxV13Op,
    ReduceMaxV18Op,
    ReduceMinOp,
    ReduceMinV13Op,
    ReduceMinV18Op,
)
from xonnc.dialects.onnx.ops.reduction.norm import (
    ReduceL1Op,
    ReduceL1V13Op,
    ReduceL2Op,
    ReduceL2V13Op,
    ReduceLogSumExpOp,
    ReduceLogSumExpV13Op,
    ReduceLogSumOp,
    ReduceLogSumV13Op,
    ReduceSumSquareOp,
    ReduceSumSquareV13Op,
)
from xonnc.dialects.onnx.ops.reduction.sum import (
    ReduceMeanOp,
    ReduceMeanV13Op,
    ReduceProdOp,
    ReduceProdV13Op,
    ReduceSumOp,
    ReduceSumV11Op,
)

OPS = (
    ArgMaxOp,
    ArgMinOp,
    ReduceL1Op,
    ReduceL1V13Op,
    ReduceL2Op,
    ReduceL2V13Op,
    ReduceLogSumExpOp,
    ReduceLogSumExpV13Op,
    ReduceLogSumOp,
    ReduceLogSumV13Op,
    ReduceMaxOp,
    ReduceMaxV13Op,
    ReduceMaxV18Op,
    ReduceMeanOp,
    ReduceMeanV13Op,
    ReduceMinOp,
    ReduceMinV13Op,
    ReduceMinV18Op,
    ReduceProdOp,
    ReduceProdV13Op,
    ReduceSumOp,
    ReduceSumSquareOp,
    ReduceSumSquareV13Op,
    ReduceSumV11Op,
)
