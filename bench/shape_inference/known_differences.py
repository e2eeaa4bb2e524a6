"""Known differences from the shapes of the onnx package, with reasons."""

from __future__ import annotations

from bench.shape_inference.comparison import ShapeDifference

REASONS = {
    "test_loop13_seq": "the onnx package takes the elements of a sequence to be scalars, as the empty one"
    " that goes in says; the loop puts longer and longer vectors into it",
    "test_sequence_map_identity_1_sequence_1_tensor": "a name in the type of a sequence's elements: every"
    " element may have a size of its own",
    "test_sequence_map_add_1_sequence_1_tensor": "a name in the type of a sequence's elements: every element"
    " may have a size of its own",
}
"""Reasons by case name."""


def reason(case: str, finding: ShapeDifference) -> str | None:
    """Why a difference is correct, or `None` if it is unexplained."""
    if finding.kind in ("wrong", "error"):
        return None
    if finding.theirs_is_wrong:
        return "the expected outputs contradict the onnx package"
    return REASONS.get(case)
