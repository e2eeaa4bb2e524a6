"""Common subexpression elimination and dead-code elimination."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Hashable
from contextlib import contextmanager

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region
from xdsl.traits import IsolatedFromAbove, is_side_effect_free
from xdsl.transforms.dead_code_elimination import is_trivially_dead

from xonnc.dialects.onnx.locations import NODE_NAME
from xonnc.dialects.onnx.ops.builtin import CustomOp
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.rewriting.decision_limit import may_decide


def erase_dead(module: ModuleOp) -> None:
    """Erase ops without uses and side effects, and ops that become dead by that."""
    for op in reversed(list(module.walk())):
        if is_trivially_dead(op):
            op.detach()
            op.erase()


def merge_equal(module: ModuleOp) -> int:
    """
    Replace each op by an equal one that dominates it; return the number of ops merged.

    Ops are equal if they have no side effects and the same class, operands, properties, attributes (node
    names excepted), result types and regions. Constants are equal if they hold the same attribute object.
    Custom operators are never merged, since they may be nondeterministic.
    """
    return _merge_region(module.body, None)


class _AvailableOps:
    """Available ops at a point of the walk, by region nesting."""

    def __init__(self, outer: _AvailableOps | None):
        self.outer = outer
        self._first: dict[Hashable, Operation] = {}
        # Hashing attributes is expensive and few ops share class and operands: compare attributes only on a
        # match.
        self._spelled: dict[Hashable, defaultdict[Hashable, list[Operation]]] = {}

    def twin(self, op: Operation, reads: Hashable) -> Operation | None:
        """Return an equal op of this or an outer scope, or `None`."""
        scope: _AvailableOps | None = self
        while scope is not None:
            if reads in scope._first:
                for one in scope._alike(reads)[_spelling(op)]:
                    if _same_regions(one, op):
                        return one
            scope = scope.outer
        return None

    def add(self, op: Operation, reads: Hashable) -> None:
        """Make `op` available to later ops."""
        if self._first.setdefault(reads, op) is not op:
            self._alike(reads)[_spelling(op)].append(op)

    def _alike(self, reads: Hashable) -> defaultdict[Hashable, list[Operation]]:
        found = self._spelled.get(reads)
        if found is None:
            found = self._spelled[reads] = defaultdict(list)
            first = self._first[reads]
            found[_spelling(first)].append(first)
        return found


def _merge_region(region: Region, scope: _AvailableOps | None) -> int:
    return sum(_merge_block(block, _AvailableOps(scope)) for block in region.blocks)


def _merge_block(block: Block, scope: _AvailableOps) -> int:
    merged = 0
    for op in block.ops:
        for region in op.regions:
            merged += _merge_region(region, None if op.has_trait(IsolatedFromAbove) else scope)
        if not op.results or isinstance(op, CustomOp):
            continue
        reads = _reads(op)
        twin = scope.twin(op, reads)
        if twin is None:
            scope.add(op, reads)
        elif is_side_effect_free(op) and may_decide("onnx-cse-with-node-name", "merge", op):
            for result, same in zip(op.results, twin.results, strict=True):
                result.replace_all_uses_with(same)
            op.detach()
            op.erase()
            merged += 1
    return merged


def _reads(op: Operation) -> Hashable:
    if isinstance(op, ConstantOp) and op.value is not None:
        return id(op.value)
    return (type(op), *op.operands)


def _spelling(op: Operation) -> Hashable:
    return (
        op.name,
        tuple(op.result_types),
        # Attributes of floats are equal if their bits are: 0.0 and -0.0 differ.
        frozenset(op.properties.items()),
        frozenset((name, value) for name, value in op.attributes.items() if name != NODE_NAME),
    )


def _same_regions(one: Operation, other: Operation) -> bool:
    if not one.regions:
        return True
    with _nameless(one), _nameless(other):
        pairs = zip(one.regions, other.regions, strict=True)
        return all(a.is_structurally_equivalent(b) for a, b in pairs)


@contextmanager
def _nameless(op: Operation) -> Generator[None]:
    """
    Remove the node names of the ops nested in `op` inside the block, so that regions compare without them.
    """
    names = {inner: inner.attributes.pop(NODE_NAME) for inner in op.walk() if NODE_NAME in inner.attributes}
    try:
        yield
    finally:
        for inner, name in names.items():
            inner.attributes[NODE_NAME] = name
