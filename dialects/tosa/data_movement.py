"""Ops of TOSA on shapes, and those that move or repeat elements."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import (
    I32,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    TensorType,
    i32,
)
from xdsl.ir import SSAValue
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

from xonnc.dialects.tosa.types import (
    ResizeModeAttr,
    ShapeType,
    element_of,
    require_rank,
    require_shape,
    shape_of,
)


@irdl_op_definition
class ConstShapeOp(IRDLOperation):
    """
    Sizes known at compile time, as operands of ops on shapes.

    ```mlir
    %s = "tosa.const_shape"() <{values = dense<[1, 8]> : tensor<2xindex>}> : () -> !tosa.shape<2>
    ```
    """

    name = "tosa.const_shape"

    values = prop_def(DenseIntOrFPElementsAttr)
    output = result_def(ShapeType)

    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)

    def verify_(self) -> None:
        """As many values as the type says."""
        if len(self.values) != self.output.type.rank.data:
            raise VerifyException(f"tosa.const_shape: {len(self.values)} values for {self.output.type}")


def constant_shape(value: SSAValue) -> tuple[int, ...] | None:
    """Return the sizes that a `tosa.const_shape` defines, `None` for another value."""
    op = value.owner
    if not isinstance(op, ConstShapeOp):
        return None
    return tuple(value for value in op.values.get_values() if isinstance(value, int))


def _sizes(name: str, what: str, value: SSAValue, count: int) -> tuple[int, ...] | None:
    """Return the sizes of an operand; raise `VerifyException` unless there are `count`."""
    assert isinstance(value.type, ShapeType)
    if value.type.rank.data != count:
        raise VerifyException(f"{name}: {what} holds {count} values, found {value.type}")
    return constant_shape(value)


@irdl_op_definition
class GatherOp(IRDLOperation):
    """
    The rows of each batch that the indices name.

    ```mlir
    %y = "tosa.gather"(%x, %i) : (tensor<1x9x3xf32>, tensor<1x2xi32>) -> tensor<1x2x3xf32>
    ```
    """

    name = "tosa.gather"

    values = operand_def(TensorType)
    indices = operand_def(TensorType)
    output = result_def(TensorType)

    traits = traits_def(Pure())

    def verify_(self) -> None:
        """Values `NxKxC`, indices `NxW` of `i32`, a result `NxWxC`."""
        values = require_rank(self.name, "the operand", self.values, 3)
        indices = require_rank(self.name, "the tensor of indices", self.indices, 2)
        if element_of(self.indices) != i32:
            raise VerifyException(f"tosa.gather: indices are i32, found {element_of(self.indices)}")
        require_shape(self.name, self.output, (values[0], indices[1], values[2]))


@irdl_op_definition
class PadOp(IRDLOperation):
    """
    A tensor with elements before and after each dimension, in pairs.

    ```mlir
    %y = "tosa.pad"(%x, %p, %c) : (tensor<1x8xf32>, !tosa.shape<4>, tensor<1xf32>) -> tensor<1x10xf32>
    ```
    """

    name = "tosa.pad"

    input1 = operand_def(TensorType)
    padding = operand_def(ShapeType)
    pad_const = operand_def(TensorType)
    output = result_def(TensorType)

    traits = traits_def(Pure())

    def verify_(self) -> None:
        """Two sizes for each dimension."""
        shape = shape_of(self.input1)
        pads = _sizes(self.name, "padding", self.padding, 2 * len(shape))
        if pads is not None:
            pairs = zip(shape, pads[::2], pads[1::2], strict=True)
            require_shape(self.name, self.output, [size + low + high for size, low, high in pairs])


@irdl_op_definition
class ReshapeOp(IRDLOperation):
    """
    The elements in row-major order in another shape.

    ```mlir
    %y = "tosa.reshape"(%x, %s) : (tensor<2x4xf32>, !tosa.shape<1>) -> tensor<8xf32>
    ```
    """

    name = "tosa.reshape"

    input1 = operand_def(TensorType)
    shape = operand_def(ShapeType)
    output = result_def(TensorType)

    traits = traits_def(Pure())

    def verify_(self) -> None:
        """As many elements as before, in the shape given."""
        sizes = _sizes(self.name, "shape", self.shape, len(shape_of(self.output)))
        if sizes is not None:
            require_shape(self.name, self.output, sizes)
        if prod(shape_of(self.input1)) != prod(shape_of(self.output)):
            raise VerifyException(
                f"tosa.reshape: {self.input1.type} and {self.output.type} differ in their number of elements"
            )


@irdl_op_definition
class ResizeOp(IRDLOperation):
    """
    Rows and columns of an NHWC image at other positions: row `y` is taken from `(y d + offset) / n`.

    `scale` holds numerator and denominator for rows and columns. The result has
    `((rows - 1) n - offset + border) / d + 1` rows.
    """

    name = "tosa.resize"

    input = operand_def(TensorType)
    scale = operand_def(ShapeType)
    offset = operand_def(ShapeType)
    border = operand_def(ShapeType)
    mode = prop_def(ResizeModeAttr)
    output = result_def(TensorType)

    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)

    def verify_(self) -> None:
        """The sizes of the formula, which must be whole."""
        image = require_rank(self.name, "the operand", self.input, 4)
        scale = _sizes(self.name, "scale", self.scale, 4)
        offset = _sizes(self.name, "offset", self.offset, 2)
        border = _sizes(self.name, "border", self.border, 2)
        if scale is None or offset is None or border is None:
            return
        if min(scale) < 1:
            raise VerifyException(f"tosa.resize: scale is positive, found {list(scale)}")
        made = [image[0], 0, 0, image[3]]
        for axis in (0, 1):
            above, below = scale[2 * axis], scale[2 * axis + 1]
            made[1 + axis], rest = divmod((image[1 + axis] - 1) * above - offset[axis] + border[axis], below)
            made[1 + axis] += 1
            if rest:
                raise VerifyException(
                    f"tosa.resize: scale {list(scale)}, offset {list(offset)} and border {list(border)} give "
                    f"no whole size of {self.input.type}"
                )
        require_shape(self.name, self.output, made)


@irdl_op_definition
class ReverseOp(IRDLOperation):
    """The elements along one dimension in reverse order."""

    name = "tosa.reverse"

    input1 = operand_def(TensorType)
    axis = prop_def(IntegerAttr[I32])
    output = result_def(TensorType)

    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)

    def verify_(self) -> None:
        """A dimension of the operand, and its shape."""
        shape = shape_of(self.input1)
        if not 0 <= self.axis.value.data < len(shape):
            raise VerifyException(
                f"tosa.reverse: axis is 0 to {len(shape) - 1}, found {self.axis.value.data}"
            )
        require_shape(self.name, self.output, shape)


@irdl_op_definition
class SliceOp(IRDLOperation):
    """
    The part of a tensor from `start` on, of `size`.

    ```mlir
    %y = "tosa.slice"(%x, %a, %s) : (tensor<2x8xf32>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<2x3xf32>
    ```
    """

    name = "tosa.slice"

    input1 = operand_def(TensorType)
    start = operand_def(ShapeType)
    size = operand_def(ShapeType)
    output = result_def(TensorType)

    traits = traits_def(Pure())

    def verify_(self) -> None:
        """A part within the tensor."""
        shape = shape_of(self.input1)
        start = _sizes(self.name, "start", self.start, len(shape))
        size = _sizes(self.name, "size", self.size, len(shape))
        if start is None or size is None:
            return
        if any(low < 0 or low + count > full for low, count, full in zip(start, size, shape, strict=True)):
            raise VerifyException(
                f"tosa.slice: {list(size)} elements from {list(start)} on are not within {self.input1.type}"
            )
        require_shape(self.name, self.output, size)


@irdl_op_definition
class TileOp(IRDLOperation):
    """A tensor repeated along each dimension."""

    name = "tosa.tile"

    input1 = operand_def(TensorType)
    multiples = operand_def(ShapeType)
    output = result_def(TensorType)

    traits = traits_def(Pure())

    def verify_(self) -> None:
        """One factor for each dimension."""
        shape = shape_of(self.input1)
        factors = _sizes(self.name, "multiples", self.multiples, len(shape))
        if factors is not None:
            require_shape(self.name, self.output, [a * b for a, b in zip(shape, factors, strict=True)])


@irdl_op_definition
class TransposeOp(IRDLOperation):
    """
    A tensor with its dimensions in another order: dimension `i` of the result is `perms[i]` of the operand.

    ```mlir
    %y = "tosa.transpose"(%x) <{perms = array<i32: 1, 0>}> : (tensor<2x8xf32>) -> tensor<8x2xf32>
    ```
    """

    name = "tosa.transpose"

    input1 = operand_def(TensorType)
    perms = prop_def(DenseArrayBase[I32])
    output = result_def(TensorType)

    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)

    @property
    def order(self) -> tuple[int, ...]:
        """The operand's dimension of each dimension of the result."""
        return tuple(self.perms.get_values())

    def verify_(self) -> None:
        """Each dimension once."""
        shape = shape_of(self.input1)
        if sorted(self.order) != list(range(len(shape))):
            raise VerifyException(
                f"tosa.transpose: perms holds each dimension of {self.input1.type} once, "
                f"found {list(self.order)}"
            )
        require_shape(self.name, self.output, [shape[axis] for axis in self.order])


OPS = (
    ConstShapeOp,
    GatherOp,
    PadOp,
    ReshapeOp,
    ResizeOp,
    ReverseOp,
    SliceOp,
    TileOp,
    TransposeOp,
)
"""Ops on shapes, and those that move or repeat elements."""
