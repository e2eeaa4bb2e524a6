"""Memory layouts of tensors that are not row-major."""

from __future__ import annotations

import re
from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, IntAttr, ModuleOp, StringAttr, TensorType
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    param_def,
    result_def,
    traits_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xonnc.dialects.onnx.types import is_ranked

BLOCKS, PIXELS = "nchw", "nhwc"
"""Channel-blocked (NCHWc) and NHWC."""

IN_PLACE = "krnl.in_place"
"""Attribute of a Concat: for each operand, 1 if it is written directly into the result."""


@irdl_attr_definition
class LayoutAttr(ParametrizedAttribute):
    """
    The encoding of a tensor's memory layout, with a halo.

    `tensor<1x64x56x56xf32, #krnl.layout<nchw16c, halo = [1, 1, 1, 1]>>` is channel-blocked:
    `[N][C/16][H][W][16]`, the last block padded; a tensor of rank 3 is images of one row. `nhwc16` has the
    channels of a pixel contiguous, padded to a multiple of 16; of a matrix, the elements of a row. The halo
    is rows and columns of padding (top, left, bottom, right). The type's shape is the tensor's, without
    padding.
    """

    name = "krnl.layout"
    order: StringAttr = param_def()
    lanes: IntAttr = param_def()
    halo: ArrayAttr[IntAttr] = param_def()

    @staticmethod
    def blocks(lanes: int, halo: Sequence[int] = (0, 0, 0, 0)) -> LayoutAttr:
        """Return the NCHWc layout with blocks of `lanes` channels."""
        return LayoutAttr(StringAttr(BLOCKS), IntAttr(lanes), ArrayAttr(map(IntAttr, halo)))

    @staticmethod
    def pixels(multiple: int, halo: Sequence[int] = (0, 0, 0, 0)) -> LayoutAttr:
        """Return the NHWC layout with channels padded to a multiple."""
        return LayoutAttr(StringAttr(PIXELS), IntAttr(multiple), ArrayAttr(map(IntAttr, halo)))

    @property
    def is_channel_blocked(self) -> bool:
        """Whether the layout is NCHWc."""
        return self.order.data == BLOCKS

    @property
    def halo_sizes(self) -> tuple[int, ...]:
        """Rows and columns of the halo: top, left, bottom, right."""
        return tuple(side.data for side in self.halo)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            written = re.fullmatch(r"(nchw)(\d+)c|(nhwc)(\d+)", parser.parse_identifier(" such as nchw16c"))
            if written is None:
                parser.raise_error("a layout is written as nchw16c or nhwc16")
            order, lanes = (part for part in written.groups() if part is not None)
            halo: Sequence[int] = (0, 0, 0, 0)
            if parser.parse_optional_punctuation(",") is not None:
                parser.parse_keyword("halo")
                parser.parse_punctuation("=")
                halo = parser.parse_comma_separated_list(
                    parser.Delimiter.SQUARE, lambda: parser.parse_integer(allow_boolean=False)
                )
            return (StringAttr(order), IntAttr(int(lanes)), ArrayAttr(map(IntAttr, halo)))

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"{self.order.data}{self.lanes.data}{'c' * self.is_channel_blocked}")
            if any(self.halo_sizes):
                printer.print_string(f", halo = [{', '.join(map(str, self.halo_sizes))}]")

    def verify(self) -> None:
        if self.order.data not in (BLOCKS, PIXELS):
            raise VerifyException(f"an order is {BLOCKS} or {PIXELS}, found {self.order.data}")
        if self.lanes.data < 1:
            raise VerifyException(f"a block has one channel at least, found {self.lanes.data}")
        if len(self.halo_sizes) != 4 or min(self.halo_sizes) < 0:
            raise VerifyException(f"a halo is four numbers from 0 on, found {list(self.halo_sizes)}")


def layout_of(value: SSAValue) -> LayoutAttr | None:
    """Return the layout of a tensor; None if it is row-major."""
    encoding = value.type.encoding if is_ranked(value.type) else None
    return encoding if isinstance(encoding, LayoutAttr) else None


def has_layouts(module: ModuleOp) -> bool:
    """Whether a tensor of a module has a layout."""
    return any(layout_of(result) is not None for op in module.walk() for result in op.results)


def with_layout(type_: TensorType[Attribute], layout: LayoutAttr | None) -> TensorType[Attribute]:
    """Return a tensor type with another layout; row-major for None."""
    return (
        TensorType(type_.element_type, type_.shape)
        if layout is None
        else TensorType(type_.element_type, type_.shape, layout)
    )


@irdl_op_definition
class RelayoutOp(IRDLOperation):
    """
    A layout conversion, from or to row-major.

    ```mlir
    %b = "krnl.relayout"(%x) : (tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xf32, #krnl.layout<nchw16c>>
    ```
    """

    name = "krnl.relayout"

    source = operand_def(TensorType)
    result = result_def(TensorType)

    traits = traits_def(Pure())

    def verify_(self) -> None:
        """The same shape and element type; exactly one side row-major."""
        source, result = self.source.type, self.result.type
        assert is_ranked(source)
        assert is_ranked(result)
        if source.shape != result.shape or source.element_type != result.element_type:
            raise VerifyException(f"krnl.relayout: {result} has other sizes or elements than {source}")
        if (layout_of(self.source) is None) == (layout_of(self.result) is None):
            raise VerifyException("krnl.relayout: either the source or the result lies in rows")
