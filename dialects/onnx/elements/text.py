"""How constants print under xDSL's own printer: byte for byte as its dense attributes do."""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute
from xdsl.printer import Printer

from xonnc.dialects.onnx.elements.buffers import Array
from xonnc.dialects.onnx.elements.dense import dense_attribute, stored_blocks
from xonnc.dialects.onnx.elements.payload import Payload
from xonnc.dialects.onnx.types import tensor_type

LISTED_ELEMENTS = 100
"""More elements than these print as one hexadecimal string."""


def print_elements(payload: Payload, type_: TensorType[Attribute], printer: Printer) -> None:
    """Prints `dense<…>` without the type; large tensors are streamed, never held as text."""
    if payload.dtype == np.object_:
        printer.print_string("dense<")
        _print_strings(payload, printer)
        printer.print_string(">")
    elif payload.is_splat():
        one = payload.seen(lambda array: array.reshape(-1)[:1], (1,))
        dense_attribute(one, tensor_type((1,), type_.element_type)).print_without_type(printer)
    elif prod(payload.shape) <= LISTED_ELEMENTS:
        dense_attribute(payload, type_).print_without_type(printer)
    else:
        printer.print_string('dense<"0x')
        for block in stored_blocks(payload):
            printer.print_string(block.tobytes().hex().upper())
        printer.print_string('">')


def _print_strings(payload: Payload, printer: Printer) -> None:
    array = payload.array()
    if payload.is_splat():
        _print_string(array.reshape(-1)[0], printer)
    elif array.size:
        _print_list(array, printer)


def _print_list(array: Array, printer: Printer) -> None:
    with printer.in_square_brackets():
        if array.ndim == 1:
            printer.print_list(array.tolist(), lambda text: _print_string(text, printer))
        else:
            printer.print_list(array, lambda part: _print_list(part, printer))


def _print_string(text: str | bytes, printer: Printer) -> None:
    printer.print_bytes_literal(text.encode() if isinstance(text, str) else text)
