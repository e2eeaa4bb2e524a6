"""Symbolic dimensions of the arguments of bodies."""

from __future__ import annotations

from xonnc.dialects.onnx.types import is_ranked
from xonnc.transforms.dims.dim_context import ShapeFacts
from xonnc.transforms.shapes.control_flow import scan_bodies
from xonnc.transforms.shapes.inference_context import InferenceContext


def enter_body(ctx: InferenceContext, facts: ShapeFacts) -> None:
    """Give the scan slices of a Scan's body the dimensions of the scanned operands."""
    bodies = scan_bodies(ctx) if ctx.name == "Scan" else None
    if bodies is None:
        return
    scanned = ctx.op.operands[bodies.states :], ctx.op.regions[0].block.args[bodies.states :]
    for sequence, slice_, axis in zip(*scanned, bodies.input_axes, strict=False):
        sizes = facts.sizes(sequence)
        if sizes is not None and -len(sizes) <= axis < len(sizes) and is_ranked(slice_.type):
            position = axis % len(sizes)
            facts.note(slice_, (*sizes[:position], *sizes[position + 1 :]))
