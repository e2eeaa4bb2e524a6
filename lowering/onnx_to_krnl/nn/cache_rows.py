"""Rows of narrow key-value caches as float32, for Attention."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import DYNAMIC_INDEX, f32
from xdsl.ir import SSAValue

from xonnc.dialects.krnl.dynamic_shapes import ShapedOp
from xonnc.dialects.krnl.types import buffer_of
from xonnc.dialects.onnx.ops.constant import constant_elements
from xonnc.dialects.onnx.types import element_type
from xonnc.lowering.onnx_to_krnl.builders.kernel_builder import KernelBuilder
from xonnc.lowering.onnx_to_krnl.builders.narrow_caches import NarrowCache
from xonnc.lowering.onnx_to_krnl.builders.scalars import Scalar
from xonnc.lowering.onnx_to_krnl.math.elementwise_fusion import ElementwiseBody
from xonnc.lowering.onnx_to_krnl.planning.element_types import compute_type


@dataclass(frozen=True)
class CacheRows:
    """Rows of keys or values of all key-value heads, as float32 in scratch memory."""

    buffer: SSAValue
    """The cache."""
    cache: NarrowCache
    memory: SSAValue
    """Scratch memory of one head."""

    def __call__(self, kernel: KernelBuilder, start: SSAValue, count: SSAValue) -> SSAValue:
        """Return `count` rows, computed in the scratch memory."""
        rows, width = kernel.rows(self.buffer, start, count), self.cache.width
        type_ = buffer_of(f32, (DYNAMIC_INDEX, width * len(self.cache.parts)))
        target = kernel.add(ShapedOp(operands=[self.memory, [count]], result_types=[type_]))
        with kernel.loops([count]) as (row,), kernel.loops([width]) as (index,):
            body = ElementwiseBody(kernel, {self.cache.cache: (rows, [row, index])})
            for scalar in self.cache.scalars:
                body.define(scalar, _constant(kernel, scalar))
            for number, part in enumerate(self.cache.parts):
                kernel.store(body(part).value, target, [row, kernel.affine(index, 1, number * width)])
        return target


def _constant(kernel: KernelBuilder, value: SSAValue) -> Scalar:
    """Return the one element of a constant."""
    array, element = constant_elements(value), element_type(value.type)
    assert array is not None
    assert element is not None
    number = array.reshape(-1)[0]
    # Integers are stored without a sign.
    stored = int(number.view(f"i{number.dtype.itemsize}")) if number.dtype.kind in "iu" else float(number)
    return Scalar(kernel, kernel.constant(stored, compute_type(element)))
