"""The class every `onnx` op inherits."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.irdl import IRDLOperation


class OnnxOp(IRDLOperation, ABC):
    """
    An operation of the `onnx` dialect.

    An op that stands for an ONNX operator says which and for which opsets; operands and results have
    the schema's names, attributes are properties, a missing optional value has the type `none`.
    """

    DOMAIN: ClassVar[str] = ""
    """The operator's domain; empty for ai.onnx."""

    OP_TYPE: ClassVar[str] = ""
    """The operator's name in an ONNX file; empty for an op that ONNX does not have."""

    SINCE: ClassVar[int] = 0
    """The first opset this class stands for."""

    UNTIL: ClassVar[int | None] = None
    """The first opset for which another class, of a different meaning, takes over."""
