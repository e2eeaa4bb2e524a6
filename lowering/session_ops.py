"""
Operators that the session runs itself: branches and loops, whose bodies are programs, and lists of tensors.

`runtime/native/session_steps.py` does them.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr
from xdsl.ir import Operation
from xdsl.utils.hints import isa

from xonnc.dialects.onnx.ops import controlflow, optional, sequence
from xonnc.formats.native.program import Setting

CONTROL = (controlflow.IfOp, controlflow.LoopOp, controlflow.ScanOp)
"""What runs bodies."""

SESSION_OPS: tuple[type[Operation], ...] = (
    *CONTROL,
    optional.OptionalGetElementOp,
    optional.OptionalHasElementOp,
    optional.OptionalOp,
    sequence.ConcatFromSequenceOp,
    sequence.SequenceAtOp,
    sequence.SequenceConstructOp,
    sequence.SequenceEmptyOp,
    sequence.SequenceEraseOp,
    sequence.SequenceInsertOp,
    sequence.SequenceLengthOp,
    sequence.SplitToSequenceOp,
)


def settings_of(op: Operation) -> dict[str, Setting]:
    """The attributes of an op that are integers."""
    found: dict[str, Setting] = {}
    for name, value in op.properties.items():
        if isa(value, IntegerAttr):
            found[name] = value.value.data
        elif isa(value, ArrayAttr[IntegerAttr]):
            found[name] = [each.value.data for each in value]
    return found
