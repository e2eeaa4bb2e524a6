"""Shapes of control flow, once the bodies are inferred."""

from __future__ import annotations

from xdsl.ir import Attribute, Operation

from xonnc.dialects.onnx.types import element_type, is_ranked, tensor_type, unranked
from xonnc.transforms.shapes.site import UNKNOWN, Site, Types, infers


def yielded(op: Operation, region: int) -> list[Attribute]:
    """The types that the end of a body gives."""
    end = op.regions[region].block.last_op
    return [] if end is None else [operand.type for operand in end.operands]


def union(left: Attribute, right: Attribute) -> Attribute | None:
    """The most exact type of a value that has one of two types, `None` if no tensor type is both."""
    if left == right:
        return left
    element = element_type(left)
    if element is None or element != element_type(right):
        return None
    if is_ranked(left) and is_ranked(right) and len(left.get_shape()) == len(right.get_shape()):
        pairs = zip(left.get_shape(), right.get_shape(), strict=True)
        return tensor_type(tuple(a if a == b else UNKNOWN for a, b in pairs), element)
    return unranked(element)


@infers("If")
def if_(site: Site) -> Types:
    """What both branches give."""
    branches = yielded(site.op, 0), yielded(site.op, 1)
    if len(branches[0]) != len(branches[1]) or len(branches[0]) != len(site.op.results):
        raise site.fail(f"the branches give {len(branches[0])} and {len(branches[1])} values")
    return [union(left, right) for left, right in zip(*branches, strict=True)]


@infers("Loop")
def loop(site: Site) -> Types:
    """What the body carries, or what it was given if it never runs; scanned values get a leading axis."""
    given = [operand.type for operand in site.op.operands[2:]]
    carried = yielded(site.op, 0)[1:]
    if len(carried) != len(site.op.results):
        raise site.fail(f"the body gives {len(carried)} values for {len(site.op.results)} results")
    finals = [union(start, end) for start, end in zip(given, carried, strict=False)]
    scanned: list[Attribute | None] = []
    for type_ in carried[len(given) :]:
        scanned.append(
            tensor_type((UNKNOWN, *type_.get_shape()), type_.element_type) if is_ranked(type_) else None
        )
    return [*finals, *scanned]
