"""Remove all-zero initial states of RNN operators."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx.elements import elements_array
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.types import static_shape
from xonnc.rewriting.matcher import constant_of
from xonnc.rewriting.onnx import ONNX
from xonnc.rewriting.patterns import Array, MatchFailure, Pattern, RewriteResult, Template, value
from xonnc.rewriting.rules import Rule, rule, rules
from xonnc.transforms.rules.canonicalize_rnn import DATA_OPERANDS, NETWORKS, STATES
from xonnc.transforms.rules.conditions import is_absent

MOVING = frozenset(
    (
        *("Expand", "Flatten", "Gather", "Identity", "Reshape", "Slice", "Split", "Squeeze", "Tile"),
        *("Transpose", "Unsqueeze"),
    )
)
"""Operators whose results hold only elements of the first operand."""

MAX_STEPS = 8
"""Maximum number of ops to follow backwards to a zero constant."""

MAX_ELEMENTS = 1 << 16
"""Maximum size of a constant that is inspected: larger ones are assumed not to be zero."""


def is_zero(value: SSAValue, steps: int = MAX_STEPS) -> bool:
    """Return whether all elements of a value are known to be +0 (-0 is not zero here)."""
    op = value.owner
    if not isinstance(op, OnnxOp) or not steps:
        return False
    if (constant := constant_of(ONNX, value)) is not None:
        count = prod(static_shape(value.type) or (0,))
        return count <= MAX_ELEMENTS and _holds_zeros(constant.array)
    match op.OP_TYPE:
        case "ConstantOfShape":
            filled = op.properties.get("value")
            array = None if filled is None else elements_array(filled)
            return filled is None or (array is not None and _holds_zeros(array))
        case "Concat":
            return all(is_zero(operand, steps - 1) for operand in op.operands)
        case moving if moving in MOVING:
            return is_zero(op.operands[0], steps - 1)
        case _:
            return False


def _holds_zeros(array: Array) -> bool:
    return not (np.any(array) or (array.dtype.kind == "f" and np.any(np.signbit(array))))


def without_zero_states(template: Template, last: Sequence[Pattern]) -> Rule:
    """Return the rule that drops all-zero initial states of an RNN operator."""

    @rule(template(*DATA_OPERANDS, value.lengths, *last), bonus=-1)
    def without_states(root: Operation) -> RewriteResult:
        """Drop all-zero initial states of an RNN: zero is the default"""
        operands = list(root.operands)
        state_operands = range(*STATES.indices(len(operands) - (template.name == "LSTM")))
        zeros = [
            index for index in state_operands if not is_absent(operands[index]) and is_zero(operands[index])
        ]
        if not zeros:
            return MatchFailure("no initial state is known to be 0")
        operands_left = [None if index in zeros else operand for index, operand in enumerate(operands)]
        return template(*operands_left, like=root).typed(*root.result_types)

    return without_states


RULES = rules(
    **{f"RemoveZeroStatePattern{name}": without_zero_states(*network) for name, network in NETWORKS.items()}
)
