"""Weights of linear ops by input and output channel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from xdsl.ir import Operation

from xonnc.dialects.onnx.elements import DisposableElementsAttr
from xonnc.rewriting.attribute_conversion import decode
from xonnc.rewriting.patterns import Constant, MatchFailure
from xonnc.transforms.numerics import is_float
from xonnc.transforms.rules.narrow_floats import OUT_OF_RANGE, is_narrow, leave_range, wide

ChannelValues = npt.NDArray[np.float64]


@dataclass(frozen=True)
class LinearWeights:
    """Weights of a linear op, with access to their input and output channels."""

    op: Operation
    w: Constant

    @property
    def is_conv(self) -> bool:
        """Return whether the channel axis of the data is 1."""
        return self.op.name == "onnx.Conv" or self.is_transposed

    @property
    def is_transposed(self) -> bool:
        """Return whether the op is a transposed convolution."""
        return self.op.name.startswith("onnx.ConvTranspose")

    @property
    def groups(self) -> int:
        """Return the number of groups of a convolution."""
        found = decode(self.op.properties.get("group"))
        return found if isinstance(found, int) else 1

    @property
    def rows_are_outputs(self) -> bool:
        """Return whether the rows of a Gemm's weights are outputs (transB)."""
        return self.op.name == "onnx.Gemm" and decode(self.op.properties.get("transB")) == 1

    @property
    def grouped(self) -> tuple[int, ...]:
        """Return the shape of the weights with the groups as an axis; of a matrix unchanged."""
        shape = self.w.tensor.shape
        if not self.is_conv:
            return shape
        return (self.groups, shape[0] // self.groups, *shape[1:])

    def axes(self, of_inputs: bool) -> tuple[int, ...]:
        """Return the channel axes of the grouped weights."""
        if self.is_conv:
            # Conv: group, outputs, inputs; ConvTranspose: group, inputs, outputs.
            return (0, 2 if of_inputs != self.is_transposed else 1)
        last = len(self.grouped) - 1
        return (last if of_inputs == self.rows_are_outputs else last - 1,)

    def channels(self, of_inputs: bool) -> int:
        """Return the number of input or output channels."""
        return int(np.prod([self.grouped[axis] for axis in self.axes(of_inputs)]))

    def per_channel(self, factor: ChannelValues, of_inputs: bool) -> ChannelValues:
        """Return a factor per channel in a shape that broadcasts to the grouped weights."""
        axes = self.axes(of_inputs)
        return factor.reshape([size if axis in axes else 1 for axis, size in enumerate(self.grouped)])

    def scaled(
        self,
        factor: ChannelValues,
        of_inputs: bool,
        bias: ChannelValues | None = None,
        divides: bool = False,
    ) -> DisposableElementsAttr | MatchFailure:
        """Return the weights times a factor per channel, if their type can hold them and the bias."""
        tensor, shaped = self.w.tensor, self.per_channel(factor, of_inputs)
        combine = np.divide if divides else np.multiply
        if is_narrow(self.w):
            with np.errstate(over="ignore"):
                product = combine(wide(self.w.array).reshape(self.grouped), shaped)
            if leave_range(self.w, product, *([] if bias is None else [bias])):
                return OUT_OF_RANGE
        dtype = np.dtype(np.float32) if is_narrow(self.w) else tensor.dtype
        numbers = self.w.pool.create(shaped.astype(dtype))
        element = self.w.type.element_type
        made = self.w.pool.adopt(
            self.w.pool.combine(combine, tensor.reshape(self.grouped), numbers, to=element)
        )
        assert made is not None
        return made.reshape(tensor.shape)

    def applied(self, offset: ChannelValues) -> ChannelValues:
        """Return the output per channel for a constant per input channel."""
        grouped = self.w.array.reshape(self.grouped).astype(np.float64)
        product = grouped * self.per_channel(offset, True)
        result_axes = self.axes(False)
        summed = tuple(axis for axis in range(product.ndim) if axis not in result_axes)
        return product.sum(summed).reshape(-1)


def numbers(c: Constant, rank: int | None, axis: int, count: int) -> ChannelValues | None:
    """Return the values per channel of c, which broadcasts along `axis` of the data, or `None`."""
    array = c.array
    if not is_float(array.dtype) or array.ndim > (1 if rank is None else rank):
        return None
    if rank is None and (axis != -1 and array.ndim):
        return None
    aligned = (1,) * ((rank or max(array.ndim, 1)) - array.ndim) + array.shape
    position = axis % len(aligned) if aligned else 0
    if not aligned or any(size != 1 for at, size in enumerate(aligned) if at != position):
        return None
    if aligned[position] not in (1, count):
        return None
    found = np.broadcast_to(array.astype(np.float64).reshape(-1), (count,))
    return found if np.all(np.isfinite(found)) else None
