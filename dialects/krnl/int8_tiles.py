"""Int8 convolutions and matrix products in register tiles."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    MemRefType,
    StringAttr,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import IsTerminator
from xdsl.utils.exceptions import VerifyException

from xonnc.dialects.krnl.conv_sizes import conv_sizes, iterations_of, require_sizes, require_windows
from xonnc.dialects.krnl.memory import element_of, shape_of
from xonnc.dialects.krnl.verification import require_pairs, require_range


@irdl_op_definition
class Int8ConvOp(IRDLOperation):
    """
    An int8 convolution in register tiles: `y = epilogue(x * w + starts, …)`.

    Images are NHWC uint8 with halos: `start` is the position in `x` of the first window, `out_start` that in
    `y` of the first of the `out` rows and columns. Channels of `x` are a multiple of the terms multiplied at
    a time: four with a dot-product intrinsic of LLVM that `products` names; without it two, and weights of 16
    bits. `w` is `[panels][kernel][C/terms][channels of a panel][terms]`; a panel is `tile[1]` vectors of
    `lanes` channels, the last perhaps narrower. With `groups`, equal numbers of consecutive channels of `x`
    and `y` form a group, with panels of its own, which multiply only channels of `x` of that group. `tile` is
    pixels of a row and vectors of channels. i32
    accumulators start at `starts`, one per channel.

    The region computes the stored element from the accumulator, the channel's value in each of `channels`,
    and the same pixel and channel of each of `images`, whose first pixels are at `image_starts`. Iterations
    are as those of `krnl.conv`. The number of images, `out` and `start` are dynamic if
    `-9223372036854775808`; `dynamic_sizes` gives them in this order.

    ```mlir
    "krnl.int8_conv"(%y, %x, %w, %starts) ({
    ^bb0(%sum: i32):
      krnl.stored %sum : i32
    }) {kernel = array<i64: 1, 1>, …} : …
    ```
    """

    name = "krnl.int8_conv"

    y = operand_def(MemRefType)
    x = operand_def(MemRefType)
    w = operand_def(MemRefType)
    starts = operand_def(MemRefType)
    channels = var_operand_def(MemRefType)
    images = var_operand_def(MemRefType)
    range = var_operand_def(IndexType)
    dynamic_sizes = var_operand_def(IndexType)
    rest = region_def("single_block")
    kernel = prop_def(DenseArrayBase.constr(i64))
    strides = prop_def(DenseArrayBase.constr(i64))
    dilations = prop_def(DenseArrayBase.constr(i64))
    start = prop_def(DenseArrayBase.constr(i64))
    out = prop_def(DenseArrayBase.constr(i64))
    out_start = prop_def(DenseArrayBase.constr(i64))
    image_starts = prop_def(DenseArrayBase.constr(i64))
    """Row and column of each."""
    tile = prop_def(DenseArrayBase.constr(i64))
    lanes = prop_def(IntegerAttr)
    products = opt_prop_def(StringAttr)
    groups = opt_prop_def(IntegerAttr)

    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())

    @property
    def terms(self) -> int:
        """Products that one instruction adds."""
        return 2 if self.products is None else 4

    @property
    def vectors(self) -> int:
        """Vectors of channels of a result pixel."""
        return -(-shape_of(self.y)[3] // self.lanes.value.data)

    @property
    def panels(self) -> int:
        """Runs of vectors of channels that a tile computes together, the last of a group perhaps narrower."""
        groups = self.group_count
        return groups * -(-(self.vectors // groups) // int(self.tile.get_values()[1]))

    @property
    def group_count(self) -> int:
        """Groups of channels."""
        return 1 if self.groups is None else self.groups.value.data

    @property
    def depth(self) -> int:
        """Input channels of a group."""
        return shape_of(self.x)[3] // self.group_count

    @property
    def steps(self) -> int:
        """Multiplications of a tile for each of its sums, each of `terms` terms."""
        return prod(self.kernel.get_values()) * self.depth // self.terms

    @property
    def sizes(self) -> list[int]:
        """Images, and rows and columns that are computed; `-9223372036854775808` if dynamic."""
        return conv_sizes(self.y, self.out)

    @property
    def iterations(self) -> int:
        """Iterations; those of one image if images are dynamic, of one row if rows are."""
        return iterations_of(self.panels, self.sizes)

    def verify_(self) -> None:
        """Ranks, positive sizes, whole vectors of channels, and element types of weights."""
        for name, buffer in (("y", self.y), ("x", self.x)):
            if len(shape_of(buffer)) != 4:
                raise VerifyException(f"krnl.int8_conv: {name} has 4 axes, found {len(shape_of(buffer))}")
        require_pairs(self, ("kernel", "strides", "dilations", "tile"))
        require_sizes(self, self.sizes, self.start, self.dynamic_sizes)
        window = self.start, self.kernel, self.strides, self.dilations
        require_windows(self, shape_of(self.x)[1:3], self.sizes[1:], window)
        groups, lanes = self.group_count, self.lanes.value.data
        if groups < 1:
            raise VerifyException(f"krnl.int8_conv: groups are 1 or more, found {groups}")
        for name, buffer, size in (("y", self.y, groups * lanes), ("x", self.x, groups * self.terms)):
            if shape_of(buffer)[3] % size:
                raise VerifyException(
                    f"krnl.int8_conv: {name} has a multiple of {size} channels, found {shape_of(buffer)[3]}"
                )
        width = i16 if self.products is None else i8
        if element_of(self.w) != width or element_of(self.x) != i8:
            raise VerifyException(f"krnl.int8_conv: x holds i8 and w {width}")
        require_range(self, self.range)
        if len(self.image_starts.get_values()) != 2 * len(self.images):
            raise VerifyException("krnl.int8_conv: image_starts holds two indices for each image")
        element_types: list[Attribute] = [i32, *(element_of(each) for each in (*self.channels, *self.images))]
        found = [argument.type for argument in self.rest.block.args]
        if found != element_types:
            names = ", ".join(map(str, element_types))
            raise VerifyException(f"krnl.int8_conv: its region takes {names}")
        end = self.rest.block.last_op
        if not isinstance(end, StoredOp) or end.value.type != element_of(self.y):
            raise VerifyException(
                f"krnl.int8_conv: its region ends with what is stored, {element_of(self.y)}"
            )


@irdl_op_definition
class StoredOp(IRDLOperation):
    """
    The terminator of an int8 epilogue: the element that is stored.

    ```mlir
    krnl.stored %byte : i8
    ```
    """

    name = "krnl.stored"

    value = operand_def()

    traits = traits_def(IsTerminator())

    assembly_format = "$value attr-dict `:` type($value)"

    def __init__(self, value: SSAValue):
        super().__init__(operands=[value])
