"""
Elementwise expressions of one tensor as a single lookup table: of stored integers one with 256 entries in the
CDP, of a convolution's sums an approximation in the SDP.

Activations are written in many ways: `x * Sigmoid(x)`, `x * Clip(x + 3, 0, 6) / 6`, GELU by Erf. Any
elementwise operators whose operands are scalar constants and functions of the same integers compose to a
function of those integers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
from xdsl.ir import SSAValue

from xonnc.dialects.dla.attributes import LutAttr
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.math import (
    AddOp,
    ClipOp,
    DivOp,
    MaxOp,
    MinOp,
    MulOp,
    PowOp,
    ReluOp,
    SubOp,
    SumOp,
)
from xonnc.formats.nvdla.quantization import INT8_MAX, INT8_MIN, QuantizationParameters
from xonnc.lowering.dla_planning.lookup_tables import Function, integer_function_lut
from xonnc.lowering.onnx_to_dla.builders.dla_builder import Array, DlaBuilder
from xonnc.lowering.onnx_to_dla.builders.unary_functions import INT8_FUNCTIONS
from xonnc.lowering.onnx_to_dla.int8.dequantized import Affine, Concatenated, QuantizedCube

ElementwiseFunction: TypeAlias = Callable[[Sequence[Array | None]], Array]
"""Computes the values of the result from those of the operands; `None` stands for an omitted operand."""


LookupSource: TypeAlias = QuantizedCube | Affine | Concatenated
"""Stored integers, or sums of convolutions."""


@dataclass(frozen=True)
class TableLookup:
    """A function of one tensor, tabulated with the parameters of the following QuantizeLinear."""

    source: LookupSource
    shape: tuple[int, ...]
    function: Function

    def reads(self, source: LookupSource) -> bool:
        """Whether the function is one of this tensor."""
        both_stored = isinstance(source, QuantizedCube) and isinstance(self.source, QuantizedCube)
        return self.source == source if both_stored else self.source is source

    def then(self, function: Callable[[Array], Array]) -> TableLookup:
        """Compose with another function."""
        return TableLookup(self.source, self.shape, lambda x: function(self.function(x)))

    def quantized(self, qparams: QuantizationParameters, builder: DlaBuilder) -> SSAValue:
        """Emit one CDP pass on stored integers; the SDP pass of sums looks them up itself."""
        if not isinstance(self.source, QuantizedCube):
            return self.source.looked_up(self.function, qparams, builder)
        numbers = self.source.qparams.dequantize(np.arange(INT8_MIN, INT8_MAX + 1)).astype(np.float64)
        with np.errstate(all="ignore"):
            results = np.clip(np.nan_to_num(self.function(numbers)), -1e30, 1e30)
        return builder.lookup(self.source.value, LutAttr(integer_function_lut(qparams.quantize(results))))


def raised(numbers: Array, exponent: Array | float) -> Array:
    """`x^exponent`, 0 where it is NaN."""
    with np.errstate(all="ignore"):
        return np.nan_to_num(numbers**exponent, posinf=1e30, neginf=-1e30)


def _folded(function: Callable[[Array, Array], Array]) -> ElementwiseFunction:
    return lambda operands: reduce(function, [each for each in operands if each is not None])


def _clipped(operands: Sequence[Array | None]) -> Array:
    numbers, low, high = operands
    assert numbers is not None, "what is clipped is computed"
    numbers = numbers if low is None else np.maximum(numbers, low)
    return numbers if high is None else np.minimum(numbers, high)


def _power(operands: Sequence[Array | None]) -> Array:
    numbers, exponent = operands
    assert numbers is not None
    assert exponent is not None
    return raised(numbers, exponent)


def _relu(operands: Sequence[Array | None]) -> Array:
    (numbers,) = operands
    assert numbers is not None
    return np.maximum(numbers, 0.0)


ELEMENTWISE_FUNCTIONS: Mapping[type[OnnxOp], ElementwiseFunction] = {
    AddOp: _folded(np.add),
    ClipOp: _clipped,
    DivOp: _folded(np.divide),
    MaxOp: _folded(np.maximum),
    MinOp: _folded(np.minimum),
    MulOp: _folded(np.multiply),
    PowOp: _power,
    ReluOp: _relu,
    SubOp: _folded(np.subtract),
    SumOp: _folded(np.add),
}
"""Elementwise operators with one or more operands, besides the unary functions."""

BINARY_TABLE_OPS = (DivOp, MulOp, PowOp)
"""Operators on two functions of the same integers that no engine computes before quantization."""


def is_elementwise(op: OnnxOp) -> bool:
    """Whether an operator is supported in lookup tables."""
    return type(op) in ELEMENTWISE_FUNCTIONS or type(op) in INT8_FUNCTIONS


def elementwise_function(op: OnnxOp) -> ElementwiseFunction | None:
    """Return what an elementwise operator computes, `None` for others."""
    if type(op) in INT8_FUNCTIONS:
        function: Callable[[Any], Array] = INT8_FUNCTIONS[type(op)](op)
        return lambda operands: function(operands[0])
    return ELEMENTWISE_FUNCTIONS.get(type(op))
