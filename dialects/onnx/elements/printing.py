"""Print constants with xDSL's own printer, in exactly the text of its dense attributes."""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute
from xdsl.printer import Printer

from xonnc.dialects.onnx.elements.dense import plain_attribute, stored_blocks
from xonnc.dialects.onnx.elements.payload import Payload
from xonnc.dialects.onnx.types import tensor_type

LISTED_ELEMENTS = 100
"""Tensors with more elements are printed as one hexadecimal string."""


def print_elements(payload: Payload, type_: TensorType[Attribute], printer: Printer) -> None:
    """Print `dense<…>` without the type; large tensors are streamed, never held as text in memory."""
    if payload.dtype != np.object_ and payload.is_splat():
        one = payload.seen(lambda array: array.reshape(-1)[:1], (1,))
        plain_attribute(one, tensor_type((1,), type_.element_type)).print_without_type(printer)
    elif payload.dtype == np.object_ or prod(payload.shape) <= LISTED_ELEMENTS:
        plain_attribute(payload, type_).print_without_type(printer)
    else:
        printer.print_string('dense<"0x')
        for block in stored_blocks(payload):
            printer.print_string(block.tobytes().hex().upper())
        printer.print_string('">')
