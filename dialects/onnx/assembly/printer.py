"""IR text as MLIR prints it (docs/internals/onnx-rules.md §4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from io import StringIO
from math import isfinite
from typing import Any

import numpy as np
from xdsl.dialects.builtin import (
    AffineMapAttr,
    AffineSetAttr,
    AnyFloat,
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    LocationAttr,
    UnregisteredOp,
    f64,
    i64,
)
from xdsl.ir import (
    Attribute,
    Block,
    BlockArgument,
    Operation,
    Region,
    SSAValue,
    TypeAttribute,
)
from xdsl.printer import Printer

from xonnc.dialects.onnx.assembly.affine import map_text, set_text
from xonnc.dialects.onnx.assembly.aliases import LOCATIONS, Aliases
from xonnc.dialects.onnx.assembly.location_text import location_parts
from xonnc.dialects.onnx.assembly.newer import written_properties
from xonnc.dialects.onnx.assembly.numbers import float_format, float_text
from xonnc.dialects.onnx.assembly.strings import quoted
from xonnc.dialects.onnx.assembly.tensor_writer import elements_text, is_splat, is_writable
from xonnc.dialects.onnx.assembly.value_names import Names, value_names
from xonnc.dialects.onnx.builtin_attributes import ResourceElementsAttr, SparseElementsAttr
from xonnc.dialects.onnx.elements.attribute import DisposableElementsAttr

_DEFAULT_DIALECTS = {"builtin.module": "builtin", "func.func": "func"}
"""Ops whose regions spell the ops of one dialect without its name."""


@dataclass(eq=False, repr=False)
class OnnxPrinter(Printer):
    """
    Prints IR as MLIR.

    The first op printed is the root: its values are numbered, its aliases and the data of its resources
    printed around it. `hex_larger` and `elide_larger` count elements; -1 and `None` switch them off.
    `number_disposables` shows disposable constants of the generic form as such, with their numbers.
    """

    hex_larger: int = field(default=100, kw_only=True)
    elide_larger: int | None = field(default=None, kw_only=True)
    number_disposables: bool = field(default=False, kw_only=True)
    local_scope: bool = field(default=False, kw_only=True)
    """Whether attributes and locations are printed inline, without aliases."""
    portable: bool = field(default=False, kw_only=True)
    """Whether xDSL's own parser, which takes some literals of MLIR for others, reads the same constants."""
    _names: Names | None = field(default=None, init=False)
    _aliases: Aliases = field(default_factory=Aliases, init=False)
    _default_dialects: list[str] = field(default_factory=lambda: ["builtin"], init=False)
    _type_texts: dict[int, tuple[Attribute, str]] = field(
        default_factory=dict[int, tuple[Attribute, str]], init=False
    )
    _resources: dict[str, ResourceElementsAttr] = field(
        default_factory=dict[str, ResourceElementsAttr], init=False
    )

    def print_string(self, text: str, *, indent: int | None = None) -> None:
        """Print a string with the current indentation after its line breaks."""
        if self.stream is None or "\n" in text:
            super().print_string(text, indent=indent)
        else:
            self.stream.write(text)

    def print_op(self, op: Operation) -> None:
        """Print an op; the first call also numbers the values and prints aliases and resources."""
        if self._names is not None:
            self._print_op(op)
            return
        top = op
        while (parent := top.parent_op()) is not None:
            top = parent
        self._names = value_names(top)
        if op.parent is None and not self.local_scope:
            self._aliases = Aliases(op, self.print_debuginfo)
        for attribute in self._aliases.names:
            self._print_definition(attribute)
            self._print_new_line()
        self._print_op(op)
        self._print_resources()

    def _print_op(self, op: Operation) -> None:
        self._print_results(op)
        if isinstance(op, UnregisteredOp):
            self.print_string(quoted(op.op_name.data))
            self.print_op_with_default_format(op)
        elif self.print_generic_format or type(op).print is Operation.print:
            self.print_string(f'"{op.name}"')
            self.print_op_with_default_format(op)
        else:
            dialect, _, rest = op.name.partition(".")
            short = dialect == self._default_dialects[-1] and "." not in rest
            self.print_string(rest if short else op.name)
            op.print(self)
            if self.print_debuginfo:
                self.print_string(" ")
                self.print_location(op.location)

    def print_op_with_default_format(self, op: Operation) -> None:
        """Print what follows the name in the generic form."""
        attributes = op.attributes
        if isinstance(op, UnregisteredOp):
            attributes = {name: value for name, value in attributes.items() if name != "op_name__"}
        self.print_operands(op.operands)
        self.print_successors(op.successors)
        properties = written_properties(op)
        if not self.print_properties_as_attributes:
            self._print_op_properties(properties)
        self.print_regions(op.regions)
        if self.print_properties_as_attributes:
            attributes = attributes | properties
        self.print_op_attributes(attributes)
        self.print_string(" : ")
        self.print_operation_type(op)

    def print_operation_type(self, op: Operation) -> None:
        """Print `(operand types) -> result types`, and the location if requested."""
        self.print_function_type(op.operand_types, op.result_types)
        if self.print_debuginfo:
            self.print_string(" ")
            self.print_location(op.location)

    def print_region(
        self,
        region: Region,
        print_entry_block_args: bool = True,
        print_empty_block: bool = True,
        print_block_terminators: bool = True,
    ) -> None:
        """Print `{ blocks }`."""
        parent = region.parent_op()
        self._default_dialects.append(_DEFAULT_DIALECTS.get(parent.name, "") if parent else "")
        super().print_region(region, print_entry_block_args, print_empty_block, print_block_terminators)
        self._default_dialects.pop()

    def _populate_block_name(self, block: Block, block_index: int | None = None) -> None:
        if block_index is None:
            region = block.parent
            block_index = region.get_block_index(block) if region else self._get_new_valid_block_id()
        self._blocks[block] = f"bb{block_index}"

    def print_block_argument(self, arg: BlockArgument, print_type: bool = True) -> None:
        """Print `%arg0: type`, and its location if requested."""
        self.print_ssa_value(arg)
        if print_type:
            self.print_string(": ")
            self.print_attribute(arg.type)
            if self.print_debuginfo:
                self.print_string(" ")
                self.print_location(arg.location)

    def print_ssa_value(self, value: SSAValue) -> str:
        """Print `%name`; a value from outside of the root gets the next number."""
        if self._names is None:
            self._names = {}
        name = self._names.get(value)
        if name is None:
            name = self._names[value] = f"outer{self._get_new_valid_name_id()}"
        self.print_string(f"%{name}")
        return name

    def _print_results(self, op: Operation) -> None:
        if len(op.results) == 1:
            self.print_ssa_value(op.results[0])
            self.print_string(" = ")
        elif op.results:
            names = self._names or {}
            counts = Counter(names.get(result, "outer").partition("#")[0] for result in op.results)
            groups = (f"%{name}:{count}" if count > 1 else f"%{name}" for name, count in counts.items())
            self.print_string(f"{', '.join(groups)} = ")

    def print_attr_dict(self, attr_dict: Mapping[str, Attribute]) -> None:
        """Print `{a = 1 : i64, b}`, sorted by name."""
        with self.in_braces():
            self.print_list(sorted(attr_dict.items()), self._print_attr_string)

    def print_string_literal(self, string: str) -> None:
        """Print a string with quotes."""
        self.print_string(quoted(string))

    def print_bytes_literal(self, bytestring: bytes) -> None:
        """Print bytes as a string with quotes."""
        self.print_string(quoted(bytestring))

    def print_float(self, value: float, type: AnyFloat) -> None:
        """Print a float without its type."""
        format_ = float_format(type)
        if format_ is None:
            super().print_float(value, type)
        else:
            self.print_string(float_text(value, format_))

    def print_attribute(self, attribute: Attribute) -> None:
        """Print an attribute or type, by its alias if it has one."""
        if isinstance(attribute, TypeAttribute):
            known = self._type_texts.get(id(attribute))
            if known is None:
                text = self._captured(lambda: super(OnnxPrinter, self).print_attribute(attribute))
                # Kept with its type, whose id would else be given to another one.
                known = self._type_texts[id(attribute)] = (attribute, text)
            self.print_string(known[1])
            return
        printer = _PRINTERS.get(type(attribute))
        if printer is None:
            super().print_attribute(attribute)
        else:
            printer(self, attribute)

    def print_location(self, location: LocationAttr) -> None:
        """Print `loc(…)`."""
        self.print_string("loc(")
        self.print_string(self._aliases.names.get(location) or self._location_body(location))
        self.print_string(")")

    def print_elements(self, attribute: DisposableElementsAttr | DenseIntOrFPElementsAttr) -> None:
        """Print `dense<…>` without the type, in pieces."""
        if self._is_elided(attribute):
            self.print_string("dense_resource<__elided__>")
        elif not is_writable(attribute.get_element_type()):
            attribute.print_without_type(self)
        else:
            self.print_string("dense<")
            for piece in elements_text(attribute, self.hex_larger, self.portable):
                self.print_string(piece)
            self.print_string(">")

    def _is_elided(self, attribute: DisposableElementsAttr | DenseIntOrFPElementsAttr) -> bool:
        if self.elide_larger is None or not is_writable(attribute.get_element_type()):
            return False
        size = 1
        for length in attribute.get_shape():
            size *= length
        return size > self.elide_larger and not is_splat(attribute)

    def _print_definition(self, attribute: Attribute) -> None:
        self.print_string(f"{self._aliases.names[attribute]} = {self._in_full(attribute)}")

    def _in_full(self, attribute: Attribute) -> str:
        if isinstance(attribute, AffineMapAttr):
            return f"affine_map<{map_text(attribute.data)}>"
        if isinstance(attribute, AffineSetAttr):
            return f"affine_set<{set_text(attribute.data)}>"
        return f"loc({self._location_body(attribute)})"

    def _location_body(self, location: Attribute) -> str:
        return location_parts(
            location,
            lambda child: self._aliases.names.get(child),
            lambda attribute: self._captured(lambda: self.print_attribute(attribute)),
        )

    def _print_resources(self) -> None:
        if not self._resources:
            return
        self._print_new_line()
        self._print_new_line()
        self.print_string("{-#\n  dialect_resources: {\n    builtin: {\n", indent=0)
        for index, (key, resource) in enumerate(sorted(self._resources.items())):
            self.print_string("      " if index == 0 else ",\n      ", indent=0)
            self.print_identifier_or_string_literal(key)
            self.print_string(': "0x')
            self.print_string(resource.alignment.data.to_bytes(4, "little").hex().upper())
            data = memoryview(resource.data.data)
            for begin in range(0, len(data), 1 << 20):
                self.print_string(data[begin : begin + (1 << 20)].hex().upper())
            self.print_string('"')
        self.print_string("\n    }\n  }\n#-}", indent=0)

    def _captured(self, work: Callable[[], None]) -> str:
        """Return what `work` prints as a string."""
        text = StringIO()
        stream, self.stream = self.stream, text
        work()
        self.stream = stream
        return text.getvalue()

    def print_resource(self, attribute: ResourceElementsAttr) -> None:
        """Print `dense_resource<key> : type`; the data follows after the root."""
        key = attribute.key.data
        number = 0
        while (other := self._resources.setdefault(key, attribute)) != attribute and other is not attribute:
            key = f"{attribute.key.data}_{number}"
            number += 1
        self.print_string("dense_resource<")
        self.print_identifier_or_string_literal(key)
        self.print_string("> : ")
        self.print_attribute(attribute.type)

    def print_array(self, attribute: ArrayAttr[Attribute]) -> None:
        """Print `[0, 1]`; `i64` and `f64` are implied inside a list."""
        with self.in_square_brackets():
            self.print_list(attribute.data, self._print_array_element)

    def _print_array_element(self, element: Attribute) -> None:
        if type(element) is IntegerAttr and element.get_type() == i64:
            self.print_string(str(element.value.data))
        elif type(element) is FloatAttr and element.get_type() == f64 and isfinite(element.value.data):
            # A bit pattern without a type is an integer.
            self.print_float(element.value.data, f64)
        else:
            self.print_attribute(element)

    def print_aliased(self, attribute: Attribute) -> None:
        """Print an attribute by its alias, in full if it has none."""
        self.print_string(self._aliases.names.get(attribute) or self._in_full(attribute))

    def print_typed_elements(self, attribute: DisposableElementsAttr | DenseIntOrFPElementsAttr) -> None:
        """Print `dense<…> : type`."""
        if self.number_disposables and isinstance(attribute, DisposableElementsAttr):
            self._print_disposable(attribute)
        else:
            self.print_elements(attribute)
        self.print_string(" : ")
        self.print_attribute(attribute.get_type())

    def _print_disposable(self, attribute: DisposableElementsAttr) -> None:
        """Print `#onnx.dense_disposable<number:"0x…">`, as onnx-mlir outside of `onnx.Constant dense<…>`."""
        if attribute.dtype == np.object_ or self._is_elided(attribute):
            self.print_elements(attribute)
            return
        self.print_string(f"#{attribute.name}<{attribute.number}:")
        self.print_string('"0x')
        for block in attribute.blocks():
            self.print_string(block.tobytes().hex().upper())
        self.print_string('">')

    def print_sparse(self, attribute: SparseElementsAttr) -> None:
        """Print `sparse<indices, values> : type`."""
        self.print_string("sparse<")
        if any(attribute.values.type.get_shape()):
            for piece in elements_text(attribute.indices, -1):
                self.print_string(piece)
            self.print_string(", ")
            values = self._captured(lambda: self.print_attribute(attribute.values))
            self.print_string(values[len("dense<") : values.rindex("> : ")])
        self.print_string("> : ")
        self.print_attribute(attribute.type)


_PRINTERS: dict[type[Attribute], Callable[[OnnxPrinter, Any], None]] = {
    AffineMapAttr: OnnxPrinter.print_aliased,
    AffineSetAttr: OnnxPrinter.print_aliased,
    ArrayAttr: OnnxPrinter.print_array,
    DenseIntOrFPElementsAttr: OnnxPrinter.print_typed_elements,
    DisposableElementsAttr: OnnxPrinter.print_typed_elements,
    ResourceElementsAttr: OnnxPrinter.print_resource,
    SparseElementsAttr: OnnxPrinter.print_sparse,
    **dict.fromkeys(LOCATIONS, OnnxPrinter.print_location),
}
