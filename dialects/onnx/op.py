"""The class every `onnx` op inherits."""

from __future__ import annotations

from abc import ABC
from collections.abc import Set as AbstractSet
from typing import ClassVar

from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind


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


class DrawsRandomNumbers(MemoryEffect):
    """
    An op that gives something else each time: it goes if nobody reads it, but two of them never become one.

    To xDSL that is an op that makes its results anew.
    """

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        return {EffectInstance(MemoryEffectKind.ALLOC, result) for result in op.results}
