"""The memory layout of a tensor, as the encoding attribute of its type."""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer

LAYOUTS = ("NCHW4C", "KCMN4C4K")
"""Channel-blocked image layouts (NCHWc, four channels), and the layout of their weights."""

STANDARD = StringAttr("STANDARD")
"""Row-major order as the target of a change of layout; a type without encoding has it."""


@irdl_attr_definition
class LayoutAttr(ParametrizedAttribute):
    """
    A layout by its name: `tensor<5x3x32x32xf32, #onnx.layout<{dataLayout = "NCHW4C"}>>`.

    The name is read without regard to case.
    """

    name = "onnx.layout"

    layout: StringAttr = param_def()

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[StringAttr]:
        """`<{dataLayout = "…"}>`."""
        with parser.in_angle_brackets(), parser.in_braces():
            key = parser.parse_identifier()
            if key != "dataLayout":
                parser.raise_error(f"unexpected key: {key}")
            parser.parse_punctuation("=")
            name = parser.parse_optional_str_literal()
            if name is None:
                parser.raise_error("expected a string value for data layout")
            if name.upper() not in LAYOUTS:
                parser.raise_error(f"unexpected data layout attribute value: {name}")
        return [StringAttr(name.upper())]

    def print_parameters(self, printer: Printer) -> None:
        """`<{dataLayout = "…"}>`."""
        with printer.in_angle_brackets(), printer.in_braces():
            printer.print_string("dataLayout = ")
            printer.print_attribute(self.layout)
