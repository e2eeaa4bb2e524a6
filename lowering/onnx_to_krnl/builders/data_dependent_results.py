"""
Results whose number of elements is data-dependent.

If the model declares a static size, a run that finds another number fails. Otherwise kernels write into
buffers of the largest possible size, and `krnl.keep` cuts them afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType, UnrealizedConversionCastOp, i64
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.krnl.memory import KeepOp
from xonnc.dialects.onnx.types import NONE, static_shape
from xonnc.lowering.onnx_to_krnl.builders.checks import size_check
from xonnc.lowering.onnx_to_krnl.builders.kernels import Buffer
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import LoweringBuilder
from xonnc.lowering.onnx_to_krnl.builders.scalars import Scalar
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import Size, static_or_dynamic


class DataDependentResults:
    """
    The results of an op that share one data-dependent size, and a buffer for that size.

    Buffers have `size` elements along the axis that is cut: the static size, if one of `axes` (result and
    axis) has one, else the upper bound `most`.
    """

    def __init__(
        self, op: Operation, axes: Sequence[tuple[SSAValue, int]], most: Size, builder: LoweringBuilder
    ) -> None:
        shapes = [(static_shape(value.type), axis) for value, axis in axes if value.type != NONE]
        known = [shape[axis] for shape, axis in shapes if shape is not None]
        self._builder = builder
        self._buffers: list[tuple[SSAValue, SSAValue, Sequence[Size], int]] = []
        self.size: Size = known[0] if known else most
        if known:
            self.count_buffer = size_check(op, known[0], "keeps {} elements", builder)
        else:
            self.count_buffer = builder.allocate([2], i64)

    def result(self, value: SSAValue, shape: Sequence[Size], axis: int) -> SSAValue:
        """Return the buffer of a result; `shape` is its shape at full capacity."""
        element = self._builder.element(value) if value.type != NONE else i64
        if value.type != NONE and static_shape(value.type) is not None:
            return self._builder.result(value)
        buffer = self._builder.allocate(shape, element)
        if value.first_use is not None:
            self._buffers.append((value, buffer, shape, axis))
        return buffer

    def cut(self) -> None:
        """After the kernels: cut the results that are larger than needed."""
        for value, buffer, shape, axis in self._buffers:
            sizes = [static_or_dynamic(size) for size in shape]
            full_type = TensorType(self._builder.element(value), sizes)
            tensor = self._builder.insert(UnrealizedConversionCastOp.get([buffer], [full_type]))
            self._builder.resized[value] = self._builder.insert(
                KeepOp(tensor, self.count_buffer, axis, value.type)
            )


def store_count(number: Scalar, count_buffer: Buffer) -> None:
    """Write a count (i64) where `DataDependentResults` reads it."""
    for index in range(2):
        count_buffer[index] = number
