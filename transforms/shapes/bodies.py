"""Fixed-point shape inference of the bodies of Loop, Scan and SequenceMap."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.ir import Attribute, Block, Operation, SSAValue

from xonnc.dialects.onnx.types import element_type, is_ranked, tensor_type, unranked
from xonnc.rewriting.editing import retype
from xonnc.transforms.shapes.control_flow import argument_types, carried_count, union, yielded
from xonnc.transforms.shapes.inference_context import UNKNOWN, InferenceContext

MAX_ITERATIONS = 4
"""Limit of inferences of a body: a type that still changes becomes unranked, which is final."""


@dataclass(frozen=True)
class Saved:
    """The types and properties in a body, to be restored before the next inference."""

    types: list[tuple[SSAValue, Attribute]]
    properties: list[tuple[Operation, dict[str, Attribute]]]

    @classmethod
    def of(cls, block: Block) -> Saved:
        """Save the current types and properties."""
        inner = [op for outer in block.ops for op in outer.walk()]
        values: list[SSAValue] = [result for op in inner for result in op.results]
        values += [
            argument
            for op in inner
            for region in op.regions
            for nested in region.blocks
            for argument in nested.args
        ]
        return cls([(value, value.type) for value in values], [(op, dict(op.properties)) for op in inner])

    def restore(self) -> None:
        """Restore the saved types and properties."""
        for value, type_ in self.types:
            retype(value, type_)
        for op, properties in self.properties:
            op.properties.clear()
            op.properties.update(properties)

    def differs(self) -> bool:
        """Return whether a type has changed."""
        return any(value.type != type_ for value, type_ in self.types)


def infer_body(ctx: InferenceContext, infer_block: Callable[[Block], bool]) -> bool:
    """
    Infer the body of a Loop, Scan or SequenceMap; return whether a type in it changed.

    Carried values start with the types of the initial values. Dimensions that an iteration changes become
    dynamic, and the body is inferred again from its saved state.
    """
    block = ctx.op.regions[0].block
    body_types = argument_types(ctx)
    if len(body_types) != len(block.args):
        return infer_block(block)
    before = [argument.type for argument in block.args]
    first = 2 if ctx.name == "Loop" else 0
    count = carried_count(ctx)
    current = [_narrowed(known, outside) for known, outside in zip(before, body_types, strict=True)]
    saved = Saved.of(block) if count else None
    changed = False
    for iteration in range(MAX_ITERATIONS + 1):
        for argument, type_ in zip(block.args, current, strict=True):
            retype(argument, type_)
        changed |= infer_block(block)
        ends = yielded(ctx.op, 0)[1 if ctx.name == "Loop" else 0 :][:count]
        widened = [
            _widened(known, end, iteration == MAX_ITERATIONS - 1)
            for known, end in zip(current[first : first + count], ends, strict=True)
        ]
        if saved is None or widened == current[first : first + count]:
            break
        saved.restore()
        current[first : first + count] = widened
    after = [argument.type for argument in block.args]
    return after != before or (changed if saved is None else saved.differs())


def _narrowed(known: Attribute, outside: Attribute | None) -> Attribute:
    """Refine the outer type by dimensions that only the body declares."""
    if outside is None or (element_type(outside) is None and element_type(known) is not None):
        return known
    if not is_ranked(outside):
        return known if element_type(known) == element_type(outside) and is_ranked(known) else outside
    if not is_ranked(known) or len(known.get_shape()) != len(outside.get_shape()):
        return outside
    pairs = zip(known.get_shape(), outside.get_shape(), strict=True)
    shape = tuple(declared if size == UNKNOWN else size for declared, size in pairs)
    return tensor_type(shape, outside.element_type)


def _widened(known: Attribute, end: Attribute, is_last: bool) -> Attribute:
    """Return the common type of a carried value before and after an iteration."""
    both = union(known, end)
    if both is None:
        return known
    element = element_type(known)
    return unranked(element) if both != known and is_last and element is not None else both
