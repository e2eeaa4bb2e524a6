"""Convolutions and matrix products of TOSA that xDSL lacks, or takes too few forms of."""

from __future__ import annotations

from abc import ABC

from xdsl.dialects.builtin import I64, DenseArrayBase, TensorType
from xdsl.ir import SSAValue, TypeAttribute
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xonnc.dialects.tosa.types import element_of, require_rank, require_shape, shape_of, sizes_of


class _WeightedOp(IRDLOperation, ABC):
    """A convolution of an NHWC image, with a bias per channel and zero points of integers."""

    input = operand_def(TensorType)
    weight = operand_def(TensorType)
    bias = operand_def(TensorType)
    input_zp = operand_def(TensorType)
    weight_zp = operand_def(TensorType)
    stride = prop_def(DenseArrayBase[I64])
    acc_type = prop_def(TypeAttribute)
    output = result_def(TensorType)

    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)

    def require_channels(self, channels: int, made: int) -> None:
        """Raise `VerifyException` unless the kernels read the image's channels and each has its bias."""
        if shape_of(self.input)[3] != channels:
            raise VerifyException(
                f"{self.name}: kernels of {channels} channels for an image {self.input.type}"
            )
        if shape_of(self.bias) not in ((1,), (made,)):
            raise VerifyException(f"{self.name}: {made} biases expected, found {self.bias.type}")
        _require_zero_point(self.name, self.input, self.input_zp)
        _require_zero_point(self.name, self.weight, self.weight_zp)


def _require_zero_point(name: str, of: SSAValue, zero_point: SSAValue) -> None:
    if shape_of(zero_point) != (1,) or element_of(zero_point) != element_of(of):
        raise VerifyException(
            f"{name}: a zero point is a tensor<1x{element_of(of)}>, found {zero_point.type}"
        )


class _ForwardConvOp(_WeightedOp, ABC):
    """A convolution with padding at the borders; strides must use all rows and columns."""

    pad = prop_def(DenseArrayBase[I64])
    dilation = prop_def(DenseArrayBase[I64])

    def windows(self, kernel: tuple[int, int]) -> tuple[int, int]:
        """Return the rows and columns of the result; raise `VerifyException` if they are not whole."""
        pads = sizes_of(self.name, "pad", self.pad, 4, 0)
        strides = sizes_of(self.name, "stride", self.stride, 2, 1)
        dilations = sizes_of(self.name, "dilation", self.dilation, 2, 1)
        image = shape_of(self.input)
        made: list[int] = []
        for axis in (0, 1):
            reach = image[1 + axis] + pads[2 * axis] + pads[2 * axis + 1] - 1
            reach -= (kernel[axis] - 1) * dilations[axis]
            if reach % strides[axis]:
                raise VerifyException(
                    f"{self.name}: stride {list(strides)} leaves {reach % strides[axis]} rows or columns of "
                    f"{self.input.type} over; pad or slice it"
                )
            made.append(reach // strides[axis] + 1)
        return made[0], made[1]


@irdl_op_definition
class Conv2DOp(_ForwardConvOp):
    """
    A convolution: image `NxHxWxC`, kernels `OxKHxKWxC`.

    ```mlir
    %y = "tosa.conv2d"(%x, %w, %b, %zx, %zw) <{acc_type = f32, dilation = array<i64: 1, 1>,
        pad = array<i64: 1, 1, 1, 1>, stride = array<i64: 1, 1>}> : (tensor<1x8x8x3xf32>,
        tensor<4x3x3x3xf32>, tensor<4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x8x8x4xf32>
    ```
    """

    name = "tosa.conv2d"

    def verify_(self) -> None:
        """Channels of the image, one bias or one per kernel, and the formula of sizes."""
        image = require_rank(self.name, "the image", self.input, 4)
        made, rows, columns, channels = require_rank(self.name, "the kernel", self.weight, 4)
        self.require_channels(channels, made)
        require_shape(self.name, self.output, (image[0], *self.windows((rows, columns)), made))


@irdl_op_definition
class DepthwiseConv2DOp(_ForwardConvOp):
    """A convolution of each channel with kernels of its own: image `NxHxWxC`, kernels `KHxKWxCxM`."""

    name = "tosa.depthwise_conv2d"

    def verify_(self) -> None:
        """Channels of the image, one bias or one per kernel, and the formula of sizes."""
        image = require_rank(self.name, "the image", self.input, 4)
        rows, columns, channels, per_channel = require_rank(self.name, "the kernel", self.weight, 4)
        self.require_channels(channels, channels * per_channel)
        require_shape(
            self.name, self.output, (image[0], *self.windows((rows, columns)), channels * per_channel)
        )


@irdl_op_definition
class TransposeConv2DOp(_WeightedOp):
    """A transposed convolution: image `NxHxWxC`, kernels `OxKHxKWxC`; `out_pad` below 0 cuts rows off."""

    name = "tosa.transpose_conv2d"

    out_pad = prop_def(DenseArrayBase[I64])

    def verify_(self) -> None:
        """Channels of the image, one bias or one per kernel, and `(H - 1) stride + out_pad + KH` rows."""
        image = require_rank(self.name, "the image", self.input, 4)
        made, rows, columns, channels = require_rank(self.name, "the kernel", self.weight, 4)
        self.require_channels(channels, made)
        strides = sizes_of(self.name, "stride", self.stride, 2, 1)
        pads = sizes_of(self.name, "out_pad", self.out_pad, 4, 1 - max(rows, columns))
        sizes = [
            (image[1 + axis] - 1) * strides[axis] + pads[2 * axis] + pads[2 * axis + 1] + kernel
            for axis, kernel in enumerate((rows, columns))
        ]
        require_shape(self.name, self.output, (image[0], *sizes, made))


@irdl_op_definition
class MatMulOp(IRDLOperation):
    """
    Products of matrices, one for each batch, with zero points of integers.

    xDSL's op takes one batch and results of the operands' type only.
    """

    name = "tosa.matmul"

    a = operand_def(TensorType)
    b = operand_def(TensorType)
    a_zp = operand_def(TensorType)
    b_zp = operand_def(TensorType)
    output = result_def(TensorType)

    traits = traits_def(Pure())

    def verify_(self) -> None:
        """`NxHxC` times `NxCxW` is `NxHxW`."""
        a = require_rank(self.name, "the left operand", self.a, 3)
        b = require_rank(self.name, "the right operand", self.b, 3)
        if a[0] != b[0] or a[2] != b[1]:
            raise VerifyException(f"tosa.matmul: {self.a.type} cannot be multiplied by {self.b.type}")
        _require_zero_point(self.name, self.a, self.a_zp)
        _require_zero_point(self.name, self.b, self.b_zp)
        require_shape(self.name, self.output, (a[0], a[1], b[2]))


OPS = (Conv2DOp, DepthwiseConv2DOp, MatMulOp, TransposeConv2DOp)
"""Convolutions and matrix products."""
