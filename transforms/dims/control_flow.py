"""Symbolic dimensions of control flow results, once the bodies are analysed."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, SSAValue

from xonnc.dialects.onnx.types import is_ranked
from xonnc.transforms.dims.dim_context import DimContext, Partly, ShapeFacts, sizes_of
from xonnc.transforms.dims.expressions import ONE, DimExpr
from xonnc.transforms.shapes.control_flow import Bodies, scan_bodies
from xonnc.transforms.shapes.inference_context import InferenceContext


def yielded(block: Block) -> Sequence[SSAValue]:
    """Return the values that a body yields."""
    end = block.last_op
    return () if end is None else end.operands


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


@sizes_of("If")
def if_(ctx: DimContext) -> Sequence[Partly | None]:
    """Dimensions that are equal in both branches."""
    branches = [yielded(region.block) for region in ctx.op.regions]
    found: list[Partly | None] = []
    for values in zip(*branches, strict=False):
        left, right = (ctx.facts.sizes(value) for value in values)
        if left is None or right is None or len(left) != len(right):
            found.append(None)
        else:
            found.append([a if a == b else None for a, b in zip(left, right, strict=True)])
    return found


@sizes_of("Loop")
def loop(ctx: DimContext) -> Sequence[Partly | None]:
    """Dimensions that no iteration changes; scan outputs have the trip count as leading dimension."""
    block = ctx.op.regions[0].block
    ends = yielded(block)[1:]
    initial = ctx.op.operands[2:]
    found: list[Partly | None] = []
    for start, inside, end in zip(initial, block.args[2:], ends, strict=False):
        found.append(_carried(ctx, start, inside, end))
    trip_count = _trip_count(ctx, block)
    for end in ends[len(initial) :]:
        sizes = ctx.facts.sizes(end)
        found.append(None if sizes is None else (trip_count, *sizes))
    return found


def _carried(ctx: DimContext, start: SSAValue, inside: SSAValue, end: SSAValue) -> Partly | None:
    """
    Return the dimensions of a carried value that no iteration changes; in the body they equal the initial
    ones.
    """
    before, within, after = (ctx.facts.sizes(value) for value in (start, inside, end))
    if before is None or within is None or after is None or not len(before) == len(within) == len(after):
        return None
    found: list[DimExpr | None] = []
    for first, current, last in zip(before, within, after, strict=True):
        if current == last and current.symbol is not None:
            ctx.symbols.equate(first, current)
        found.append(first if last in (current, first) else None)
    return found


def _trip_count(ctx: DimContext, block: Block) -> DimExpr | None:
    """Return the trip count of a Loop whose condition never ends it, or `None`."""
    count = ctx.elements(0)
    if not count or len(count) != 1 or not count[0].is_size or not block.args or not yielded(block):
        return None
    start = ctx.facts.integers(ctx.op.operands[1]) if ctx.has(1) else (1,)
    given, condition = (ctx.facts.elements(value) for value in (block.args[1], yielded(block)[0]))
    goes_on = condition is not None and (condition == given or [expr for expr, _ in condition] == [ONE])
    return count[0].expr if start == (1,) and goes_on else None


@sizes_of("Scan")
def scan(ctx: DimContext) -> Sequence[Partly | None]:
    """Dimensions that no iteration changes; scan outputs are as long as the scan inputs."""
    block = ctx.op.regions[0].block
    bodies = scan_bodies(ctx)
    ends = yielded(block)
    if bodies is None or len(ends) != len(ctx.op.results):
        return []
    count = bodies.states
    found: list[Partly | None] = []
    for start, inside, end in zip(ctx.op.operands[:count], block.args[:count], ends, strict=False):
        found.append(_carried(ctx, start, inside, end))
    trip_count = _length(ctx, bodies)
    for end, axis in zip(ends[count:], bodies.output_axes, strict=False):
        sizes = ctx.facts.sizes(end)
        position = None if sizes is None else axis % (len(sizes) + 1)
        found.append(
            None if sizes is None or position is None else (*sizes[:position], trip_count, *sizes[position:])
        )
    return found


def _length(ctx: DimContext, bodies: Bodies) -> DimExpr | None:
    """Return the length of the first scan input, and require the others to be equal."""
    found: list[DimExpr] = []
    for operand, axis in zip(ctx.op.operands[bodies.states :], bodies.input_axes, strict=False):
        sizes = ctx.facts.sizes(operand)
        if sizes is not None and -len(sizes) <= axis < len(sizes):
            found.append(sizes[axis])
    ctx.equal.extend((found[0], other) for other in found[1:])
    return found[0] if found else None
