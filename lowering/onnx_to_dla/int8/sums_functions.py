"""
Activations that the SDP computes from the sums of a convolution, in the pass that adds the bias.

```mlir
%x = "onnx.Conv"(%a, %w, %b)
%s = "onnx.Sigmoid"(%x)
%y = "onnx.Mul"(%x, %s)
```
Where the SDP has a lookup table (`sdp_y` of the target), `%x` is looked up as it is and gets no QDQ pair:
rounding it to 8 bits costs such networks more accuracy than all else, and a pass of the CDP.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, OpResult, SSAValue

from xonnc.dialects.onnx.ops.nn import ConvOp
from xonnc.formats.nvdla.calibration import ROUNDED_RESULTS, ROUNDED_SUMS
from xonnc.formats.nvdla.quantization import QuantizationParameters
from xonnc.lowering.dla_planning.lookup_tables import sums_lut
from xonnc.lowering.onnx_to_dla.builders.dla_builder import Array
from xonnc.lowering.onnx_to_dla.builders.unary_functions import INT8_FUNCTIONS
from xonnc.lowering.onnx_to_dla.int8.dequantized import MAX_LOOKUP_ERROR
from xonnc.lowering.onnx_to_dla.int8.lookup_regions import LookupRegion, lookup_regions
from xonnc.lowering.onnx_to_dla.int8.saturation import functions_of
from xonnc.targets import NvdlaTarget


@dataclass(frozen=True)
class SumsFunction:
    """The function `result` of `sums`, which nothing else reads; `inner` is computed on the way."""

    sums: SSAValue
    result: SSAValue
    inner: frozenset[SSAValue]

    def is_tabulated(self, qparams: QuantizationParameters) -> bool:
        """Whether a lookup table approximates the function, with these parameters of the result."""
        return sums_lut(partial(_evaluated, self), qparams).error <= MAX_LOOKUP_ERROR


def _evaluated(function: SumsFunction, points: Array) -> Array:
    return functions_of(function.sums, points)[function.result]


def looks_up_sums(target: NvdlaTarget | None) -> bool:
    """Return whether the SDP of a target has a lookup table."""
    return target is not None and target.sdp_y


def rounded_of(target: NvdlaTarget | None) -> str:
    """Return what a target rounds of a convolution and its activation, as calibration tables have it."""
    return ROUNDED_RESULTS if looks_up_sums(target) else ROUNDED_SUMS


def has_sums_functions(module: ModuleOp) -> bool:
    """Return whether targets differ in what they round of a module."""
    blocks = [op.body.block for op in module.walk() if isinstance(op, FuncOp)]
    return any(True for block in blocks for _ in sums_functions(block, lookup_regions(block)))


def sums_functions(block: Block, regions: Iterable[LookupRegion]) -> Iterator[SumsFunction]:
    """Yield the functions of the results of convolutions in `block`."""
    by_root = {region.root: region for region in regions}
    for op in block.ops:
        if isinstance(op, ConvOp):
            region = by_root.get(op.Y)
            inner = frozenset[SSAValue]() if region is None else region.inner
            result = _only_result(op.Y, inner)
            if result is not None and result in functions_of(op.Y, np.zeros(1)):
                yield SumsFunction(op.Y, result, inner)


def _only_result(sums: SSAValue, inner: Collection[SSAValue]) -> SSAValue | None:
    """Return the result of the region of `sums`, or of its only reader; `None` if others read the sums."""
    found = {use.operation for value in (sums, *inner) for use in value.uses}
    found -= {value.op for value in inner if isinstance(value, OpResult)}
    if len(found) != 1:
        return None
    reader = found.pop()
    is_function = inner or type(reader) in INT8_FUNCTIONS
    return reader.results[0] if is_function and len(reader.results) == 1 else None
