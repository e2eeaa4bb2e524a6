"""Values of constant operands as Python numbers."""

from __future__ import annotations

from xdsl.ir import SSAValue

from xonnc.rewriting.matcher import constant_of
from xonnc.rewriting.onnx import ONNX


def integers_of(operand: SSAValue) -> list[int] | None:
    """Return the elements of a constant as integers, `None` for an operand that is not constant."""
    known = constant_of(ONNX, operand)
    return None if known is None else [int(each) for each in known.array.ravel()]


def floats_of(operand: SSAValue) -> list[float] | None:
    """Return the elements of a constant as floats, `None` for an operand that is not constant."""
    known = constant_of(ONNX, operand)
    return None if known is None else [float(each) for each in known.array.ravel()]
