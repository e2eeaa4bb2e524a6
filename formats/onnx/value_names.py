"""The names that values get when a module becomes a model again."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from xdsl.ir import Block, Operation, SSAValue

from xonnc.dialects.onnx.locations import node_name, output_names
from xonnc.dialects.onnx.types import NONE


class ValueNames:
    """
    The names of the values of one graph and of those around it.

    A value keeps the name it was imported with. The rest (what rewrites made) is called after its node, or
    its op, and numbered; no two values that see each other share a name.
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
        """Whether this graph, not one around it, named `value`."""
        return value in self._by_value

    def own(self) -> dict[str, SSAValue]:
        """The values of this graph by name."""
        return {name: value for value, name in self._by_value.items()}

    def is_free(self, name: str) -> bool:
        """Whether no value that is visible here is called `name`."""
        return name not in self._taken and (self._outer is None or self._outer.is_free(name))

    def give(self, value: SSAValue, name: str) -> str:
        """Calls `value` by `name`, or by that and a number if another value is called so."""
        name = name if name and self.is_free(name) else self.fresh(name or "value")
        self._by_value[value] = name
        self._taken.add(name)
        return name

    def reserve(self, name: str) -> None:
        """Takes a name that no value of the block has."""
        self._taken.add(name)

    def fresh(self, stem: str) -> str:
        """A free name that begins with `stem`."""
        number = self._last.get(stem, 0) + 1
        while not self.is_free(f"{stem}_{number}"):
            number += 1
        self._last[stem] = number
        return f"{stem}_{number}"

    def name_results(self, block: Block) -> None:
        """Names every result in `block` that has none: first those that bring a name, then the others."""
        nameless: list[tuple[SSAValue, str]] = []
        for op in block.ops:
            wanted = _wanted(output_names(op), len(op.results))
            for result, name in zip(op.results, wanted, strict=True):
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
    Names for the ops whose node name belongs to another: what replaces one node by several leaves them so.

    The op that makes the node's own values keeps the name. Names that were given twice to begin with stay,
    so that a model comes back as it was.
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
        kept = {outputs: op for op in reversed(sharing) if (outputs := output_names(op))}
        keepers = set(kept.values()) or {sharing[0]}
        fresh = (free for number in count(1) if (free := f"{name}_{number}") not in taken)
        for op in sharing:
            if op not in keepers:
                renamed[op] = next(fresh)
                taken.add(renamed[op])
    return renamed


def _wanted(names: Sequence[str], count: int) -> Sequence[str]:
    """The names an op's location gives its results, padded; none if they are not about these results."""
    return (*names, *("",) * (count - len(names))) if len(names) <= count else ("",) * count
