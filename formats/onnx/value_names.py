"""Names of values and nodes in exported models."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from xdsl.ir import Block, Operation, SSAValue

from xonnc.dialects.onnx.locations import node_name, output_names
from xonnc.dialects.onnx.types import NONE


class ValueNames:
    """
    Names of the values of a graph and its enclosing graphs.

    A value keeps its imported name. Other values are named after their node or op with a number; no two
    values that are visible together share a name.
    """

    def __init__(self, outer: ValueNames | None = None):
        self._outer = outer
        self._by_value: dict[SSAValue, str] = {}
        self._taken: set[str] = set()
        self._last: dict[str, int] = {}

    def __getitem__(self, value: SSAValue) -> str:
        names: ValueNames | None = self
        while names is not None:
            if (name := names._by_value.get(value)) is not None:
                return name
            names = names._outer
        raise KeyError(value)

    def __contains__(self, value: SSAValue) -> bool:
        return value in self._by_value or (self._outer is not None and value in self._outer)

    def is_own(self, value: SSAValue) -> bool:
        """Return whether this graph, not an enclosing one, named `value`."""
        return value in self._by_value

    def own(self) -> dict[str, SSAValue]:
        """Return the values of this graph by name."""
        return {name: value for value, name in self._by_value.items()}

    def is_free(self, name: str) -> bool:
        """Return whether no visible value is named `name`."""
        return name not in self._taken and (self._outer is None or self._outer.is_free(name))

    def give(self, value: SSAValue, name: str) -> str:
        """Name a value; append a number if the name is taken."""
        name = name if name and self.is_free(name) else self.fresh(name or "value")
        self._by_value[value] = name
        self._taken.add(name)
        return name

    def reserve(self, name: str) -> None:
        """Mark a name as taken."""
        self._taken.add(name)

    def fresh(self, stem: str) -> str:
        """Return a free name that begins with `stem`."""
        number = self._last.get(stem, 0) + 1
        while not self.is_free(f"{stem}_{number}"):
            number += 1
        self._last[stem] = number
        return f"{stem}_{number}"

    def name_results(self, block: Block) -> None:
        """Name all unnamed results of a block: first those with an imported name, then the others."""
        nameless: list[tuple[SSAValue, str]] = []
        for op in block.ops:
            requested = _wanted(output_names(op), len(op.results))
            for result, name in zip(op.results, requested, strict=True):
                if result in self._by_value or (result.type == NONE and not name):
                    continue
                if name and self.is_free(name):
                    self.give(result, name)
                else:
                    nameless.append((result, node_name(op) or name or op.name.rpartition(".")[2]))
        for result, stem in nameless:
            self.give(result, self.fresh(stem))


def node_names(ops: Sequence[Operation]) -> dict[Operation, str]:
    """
    Return new names for ops that share a node name after one node was replaced by several.

    The op that defines the node's outputs keeps the name. Duplicate names of the imported model are kept.
    """
    alike: dict[str, list[Operation]] = {}
    for op in ops:
        if name := node_name(op):
            alike.setdefault(name, []).append(op)
    renamed: dict[Operation, str] = {}
    taken = set(alike)
    for name, sharing in alike.items():
        if len(sharing) == 1:
            continue
        unique = {outputs: op for op in reversed(sharing) if (outputs := output_names(op))}
        keepers = set(unique.values()) or {sharing[0]}
        fresh = (free for number in count(1) if (free := f"{name}_{number}") not in taken)
        for op in sharing:
            if op not in keepers:
                renamed[op] = next(fresh)
                taken.add(renamed[op])
    return renamed


def _wanted(names: Sequence[str], count: int) -> Sequence[str]:
    """Return the result names of an op's location, padded to `count`; empty ones if they do not match."""
    return (*names, *("",) * (count - len(names))) if len(names) <= count else ("",) * count
