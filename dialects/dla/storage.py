"""Constants, memory objects, and views of cubes: slices, concatenations and reshapes that move no data."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Protocol, runtime_checkable

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntegerAttr,
    StringAttr,
    SymbolNameConstraint,
    TensorType,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    BaseAttr,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from xonnc.dialects.dla.attributes import ConstantLayout, MemoryRole
from xonnc.dialects.dla.engines import ConvOp, check_shape, integer, integers, values_of
from xonnc.dialects.dla.types import (
    CONSTANT,
    CUBE_OR_IMAGE,
    IN_MEMORY,
    cube_of,
    image_of,
    shape_of,
    tensor_of,
)


@runtime_checkable
class HasType(Protocol):
    """An attribute with a type that is not one of xDSL's typed attributes."""

    def get_type(self) -> Attribute:
        """The type of the attribute."""
        ...


AXES = ("channels", "height", "width")


@cache
def _layout_name(layout: ConstantLayout) -> StringAttr:
    return StringAttr(layout.value)


@irdl_op_definition
class ConstantOp(IRDLOperation):
    """
    Weights or an SDP operand. The payload keeps the model's numbers; emission packs them as `layout` says.

    1. `layout` is `kernels`, `compressed_kernels` or `winograd_kernels` (`KxCxRxS`), `per_kernel` (`C` or
       `Cx2`) or `cube` (`1xCxHxW`).
    2. The payload's shape is the result's.
    3. Compressed kernels have the number of their elements that are not zero, `nonzero`; others do not. A
       mask tells which these are (docs/internals/nvdla-hardware.md §3.4).
    4. Kernels have the layout `winograd_kernels` if the convolutions that read them are Winograd's, and only
       then; they are stored transformed to 4 x 4.

    ```mlir
    %w = "dla.constant"() <{layout = "per_kernel", value = dense<0.0> : tensor<16xf32>}>
       : () -> tensor<16xf16>
    ```
    """

    name = "dla.constant"

    value = prop_def()
    layout_name = prop_def(StringAttr, prop_name="layout")
    nonzero = opt_prop_def(BaseAttr(IntegerAttr))
    result = result_def(CONSTANT)

    traits = traits_def(Pure())

    def __init__(self, value: Attribute, layout: ConstantLayout, result_type: Attribute):
        super().__init__(
            properties={"value": value, "layout": _layout_name(layout)}, result_types=[result_type]
        )

    @property
    def layout(self) -> ConstantLayout:
        """Memory layout of the constant."""
        return ConstantLayout(self.layout_name.data)

    def set_layout(self, layout: ConstantLayout, nonzero: int | None = None) -> None:
        """Change the memory layout; `nonzero` is for compressed kernels."""
        self.layout_name = _layout_name(layout)
        self.nonzero = None if nonzero is None else integer(nonzero)

    def verify_(self) -> None:
        if self.layout_name.data not in list(ConstantLayout):
            raise VerifyException(f"layout is {', '.join(ConstantLayout)}, found {self.layout_name.data}")
        ranks = {ConstantLayout.PER_KERNEL: (1, 2)}
        value = self.value.get_type() if isinstance(self.value, HasType) else None
        if not isinstance(value, TensorType):
            raise VerifyException(f"the value holds no elements: {self.value}")
        check_shape("the value", value.get_shape(), shape_of(self.result.type))
        rank = len(shape_of(self.result.type))
        if rank not in ranks.get(self.layout, (4,)):
            raise VerifyException(f"rank {rank} does not go with layout {self.layout}")
        if (self.nonzero is None) == (self.layout is ConstantLayout.COMPRESSED_KERNELS):
            raise VerifyException(f"nonzero is for compressed kernels; the layout is {self.layout}")
        is_winograd = self.layout is ConstantLayout.WINOGRAD_KERNELS
        for use in self.result.uses:
            reader = use.operation
            reads_winograd = isinstance(reader, ConvOp) and reader.is_winograd is not None
            if is_winograd != reads_winograd:
                raise VerifyException(
                    f"layout winograd_kernels is for convolutions with is_winograd; the layout is "
                    f"{self.layout}, the reader {reader.name}"
                )


@irdl_op_definition
class MemoryOp(IRDLOperation):
    """
    A memory object of the loadable: `size` bytes named `sym_name`, for what `role` says
    (docs/internals/nvdla-hardware.md §1.3).

    ```mlir
    "dla.memory"() <{lower_bound = 3072 : i64, peak = 4096 : i64, role = "activations", size = 4096 : i64,
                     sym_name = "activations"}> : () -> ()
    ```

    `peak` is the most that is alive at once in the order of the layers: no plan for it takes less. No order
    of the layers has a peak below `lower_bound`.
    """

    name = "dla.memory"

    sym_name = prop_def(SymbolNameConstraint())
    size = prop_def(BaseAttr(IntegerAttr))
    role_name = prop_def(StringAttr, prop_name="role")
    peak = opt_prop_def(BaseAttr(IntegerAttr))
    lower_bound = opt_prop_def(BaseAttr(IntegerAttr))

    traits = traits_def(SymbolOpInterface())

    def __init__(self, name: str, size: int, role: MemoryRole, bounds: tuple[int, int] | None = None):
        """`bounds` are the peak of the layers' order, and the lower bound over all orders."""
        peak, lower_bound = (None, None) if bounds is None else bounds
        super().__init__(
            properties={
                "sym_name": StringAttr(name),
                "size": IntegerAttr(size, i64),
                "role": StringAttr(role.value),
                "peak": None if peak is None else IntegerAttr(peak, i64),
                "lower_bound": None if lower_bound is None else IntegerAttr(lower_bound, i64),
            }
        )

    @property
    def role(self) -> MemoryRole:
        """The purpose of the memory."""
        return MemoryRole(self.role_name.data)

    def verify_(self) -> None:
        if self.role_name.data not in list(MemoryRole):
            raise VerifyException(f"role is one of {', '.join(MemoryRole)}, found {self.role_name.data}")
        if self.size.value.data < 1:
            raise VerifyException(f"size is at least 1 byte, found {self.size.value.data}")


@irdl_op_definition
class SliceOp(IRDLOperation):
    """
    A view of part of a cube or image: from `offsets` (channel, row, column), as large as the result.

    1. The part lies inside the source.
    2. Part of an image is an image in the same format with all of its channels.

    ```mlir
    %r = "dla.slice"(%x) <{offsets = array<i64: 0, 4, 0>}> : (tensor<1x16x8x8xf16>) -> tensor<1x16x4x8xf16>
    ```
    """

    name = "dla.slice"

    source = operand_def(CUBE_OR_IMAGE)
    result = result_def(CUBE_OR_IMAGE)
    offsets = prop_def(DenseArrayBase.constr(i64))

    traits = traits_def(Pure())

    def __init__(self, source: SSAValue, offsets: Sequence[int], result_type: Attribute):
        super().__init__(
            operands=[source], result_types=[result_type], properties={"offsets": integers(offsets)}
        )

    def verify_(self) -> None:
        offsets = values_of(self.offsets, AXES, "offsets", 0)
        source, result = cube_of(self.source.type), cube_of(self.result.type)
        for axis, offset, part, source_size in zip(AXES, offsets, result, source, strict=True):
            if offset + part > source_size:
                raise VerifyException(
                    f"{axis} {offset} to {offset + part} lie outside the source's {source_size}"
                )
        source_size, part = image_of(self.source.type), image_of(self.result.type)
        formats = [None if image is None else image.format.data for image in (source_size, part)]
        if formats[0] != formats[1] or (source_size is not None and source.channels != result.channels):
            raise VerifyException(
                f"part of an image keeps its format and channels; found {formats[0]} of {source.channels} "
                f"and {formats[1]} of {result.channels}"
            )


@irdl_op_definition
class ConcatOp(IRDLOperation):
    """
    Concatenation of cubes along `axis` (1 channels, 2 height, 3 width): each source is written in its part of
    the result's memory, nothing is copied.

    With `is_interleaved` the rows of sources of one shape are interleaved: row `r` of source `i` of `n` is
    row `n r + i` of the result.

    With `alignment` sources along the channels start at its multiples; channels in between are undefined.

    1. The sources have the result's shape but along the axis, where they add up to it.
    2. Only rows (axis 2) of sources of one shape are interleaved.
    3. Only channels (axis 1) are aligned, to 1 or more.

    ```mlir
    %c = "dla.concat"(%a, %b) <{axis = 1 : i64}>
       : (tensor<1x16x8x8xf16>, tensor<1x32x8x8xf16>) -> tensor<1x48x8x8xf16>
    ```
    """

    name = "dla.concat"

    sources = var_operand_def(IN_MEMORY)
    result = result_def(IN_MEMORY)
    axis = prop_def(BaseAttr(IntegerAttr))
    is_interleaved = opt_prop_def(UnitAttr)
    alignment = opt_prop_def(BaseAttr(IntegerAttr))

    traits = traits_def(Pure())

    def __init__(
        self,
        sources: Sequence[SSAValue],
        axis: int,
        result_type: Attribute,
        *,
        is_interleaved: bool = False,
        alignment: int | None = None,
    ):
        super().__init__(
            operands=[sources],
            result_types=[result_type],
            properties={
                "axis": integer(axis),
                "is_interleaved": UnitAttr() if is_interleaved else None,
                "alignment": None if alignment is None else integer(alignment),
            },
        )

    @property
    def begins(self) -> list[int]:
        """The start of each source along the axis, followed by the end of the last one."""
        axis = self.axis.value.data - 1
        step = 1 if self.alignment is None else self.alignment.value.data
        result = [0]
        for source in self.sources:
            result[-1] = -(-result[-1] // step) * step
            result.append(result[-1] + cube_of(source.type)[axis])
        return result

    def verify_(self) -> None:
        axis = self.axis.value.data
        if axis not in (1, 2, 3) or not self.sources:
            raise VerifyException(
                f"concat takes sources along axis 1, 2 or 3, found {len(self.sources)} along {axis}"
            )
        shapes = [(1, *cube_of(source.type)) for source in self.sources]
        if self.is_interleaved is not None and (axis != 2 or len(set(shapes)) > 1):
            raise VerifyException(
                f"interleaving takes rows of sources of one shape, found {len(set(shapes))} along axis {axis}"
            )
        if self.alignment is not None and (axis != 1 or self.alignment.value.data < 1):
            raise VerifyException(
                f"channels are aligned to 1 or more, found {self.alignment.value.data} along axis {axis}"
            )
        total = self.begins[-1]
        for shape in shapes:
            expected = (*shape[:axis], total, *shape[axis + 1 :])
            check_shape("the result", (1, *cube_of(self.result.type)), expected)


@irdl_op_definition
class KernelsOp(IRDLOperation):
    """
    A view of a computed cube as weights of 1x1 kernels: a position is a kernel.

    1. `source` is `1xCxHxW`, `result` is `(H W)xCx1x1` of the same elements, positions in order.
    2. Nothing else reads the source. It is stored as the convolution core reads weights
       (docs/internals/nvdla-hardware.md §3.4): a row is a group of kernels, and the surfaces of a row follow
       each other. So W is the target's kernel group, and C is a multiple of its channels per atom.

    ```mlir
    %k = "dla.kernels"(%x) : (tensor<1x16x4x8xi8>) -> tensor<32x16x1x1xi8>
    ```
    """

    name = "dla.kernels"

    source = operand_def(IN_MEMORY)
    result = result_def(CONSTANT)

    traits = traits_def(Pure())

    def __init__(self, source: SSAValue, result_type: Attribute):
        super().__init__(operands=[source], result_types=[result_type])

    def verify_(self) -> None:
        source = cube_of(self.source.type)
        expected = (source.positions, source.channels, 1, 1)
        check_shape("the result", shape_of(self.result.type), expected)
        if tensor_of(self.source.type).element_type != tensor_of(self.result.type).element_type:
            raise VerifyException("kernels keep the element type")
        if not self.source.has_one_use():
            raise VerifyException("nothing else reads the source of kernels, which is stored as weights are")


@irdl_op_definition
class ReshapeOp(IRDLOperation):
    """
    A view with another height and width; rows must be dense.

    1. Channels and the number of positions stay, or a one-position cube keeps its channels.

    ```mlir
    %r = "dla.reshape"(%x) : (tensor<1x16x4x8xf16>) -> tensor<1x16x1x32xf16>
    ```
    """

    name = "dla.reshape"

    source = operand_def(IN_MEMORY)
    result = result_def(IN_MEMORY)

    traits = traits_def(Pure())

    def __init__(self, source: SSAValue, result_type: Attribute):
        super().__init__(operands=[source], result_types=[result_type])

    def verify_(self) -> None:
        source, result = cube_of(self.source.type), cube_of(self.result.type)
        if (source.channels, source.positions) != (result.channels, result.positions):
            raise VerifyException(
                f"reshape keeps channels and positions, found {tuple(source)} to {tuple(result)}"
            )
        if tensor_of(self.source.type).element_type != tensor_of(self.result.type).element_type:
            raise VerifyException("reshape keeps the element type")
