"""
Value names as MLIR chooses them: `%0`, `%1#1`, `%arg0`; breadth first, region by region.

Results of an op with several results have their names in the op's definition: `%Y, %Y_h = "onnx.RNN"`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence

from xdsl.dialects.builtin import IndexType, IntegerAttr, i1
from xdsl.ir import Operation, Region, SSAValue

from xonnc.dialects.onnx.op import OnnxOp

Names = dict[SSAValue, str]
"""The name of each value, without `%`."""


def _constant_name(op: Operation) -> str:
    value = op.properties.get("value")
    if not isinstance(value, IntegerAttr):
        return "cst"
    number, type_ = value.value.data, value.get_type()
    if type_ == i1:
        return "true" if number else "false"
    return f"c{number}" if isinstance(type_, IndexType) else f"c{number}_{type_}"


_SUGGESTED: dict[str, Callable[[Operation], str]] = {
    "arith.constant": _constant_name,
    "memref.alloc": lambda op: "alloc",
    "memref.alloca": lambda op: "alloca",
    "memref.cast": lambda op: "cast",
    "memref.dim": lambda op: "dim",
    "memref.reinterpret_cast": lambda op: "reinterpret_cast",
    "memref.reshape": lambda op: "reshape",
    "memref.subview": lambda op: "subview",
    "memref.view": lambda op: "view",
    "tensor.cast": lambda op: "cast",
    "tensor.dim": lambda op: "dim",
    "tensor.extract": lambda op: "extracted",
    "tensor.from_elements": lambda op: "from_elements",
    "tensor.reshape": lambda op: "reshape",
}
"""The result names of upstream ops; an onnx op with one result suggests no name."""


def value_names(root: Operation) -> Names:
    """Return the names of all values that `root` and its nested ops define."""
    names: Names = {}
    scope = _RegionCounters(names)
    scope.name_results(root)
    waiting = deque((region, scope) for region in root.regions)
    while waiting:
        region, outer = waiting.popleft()
        scope = outer.inner()
        scope.name_region(region)
        waiting.extend((inner, scope) for block in region.blocks for op in block.ops for inner in op.regions)
    return names


def _named_results(op: OnnxOp) -> Iterator[tuple[str, Sequence[SSAValue]]]:
    """Yield the results in the definition of an op, by name; one that is variadic is a group."""
    for name, _ in op.get_irdl_definition().results:
        results: SSAValue | Sequence[SSAValue] | None = getattr(op, name)
        values = () if results is None else (results,) if isinstance(results, SSAValue) else results
        if values:
            yield name, values


class _RegionCounters:
    """The counters of one region; those of a nested region start at the values of the enclosing one."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.used: set[str] = set()
        self.next_value = 0
        self.next_argument = 0
        self.next_conflict = 0

    def inner(self) -> _RegionCounters:
        scope = _RegionCounters(self.names)
        scope.used = self.used.copy() if self.used else set()
        scope.next_value = self.next_value
        scope.next_argument = self.next_argument
        scope.next_conflict = self.next_conflict
        return scope

    def name_region(self, region: Region) -> None:
        for index, block in enumerate(region.blocks):
            for argument in block.args:
                if index == 0:
                    self.names[argument] = self._unique(f"arg{self.next_argument}")
                    self.next_argument += 1
                else:
                    self.names[argument] = self._number()
            for op in block.ops:
                self.name_results(op)

    def name_results(self, op: Operation) -> None:
        results = op.results
        if not results:
            return
        if len(results) > 1 and isinstance(op, OnnxOp):
            groups = list(_named_results(op))
            if len(groups) > 1:
                for name, values in groups:
                    self._name_group(self._unique(name), values)
                return
        suggest = _SUGGESTED.get(op.name)
        self._name_group(self._unique(suggest(op)) if suggest else self._number(), results)

    def _name_group(self, name: str, results: Sequence[SSAValue]) -> None:
        if len(results) == 1:
            self.names[results[0]] = name
            return
        for index, result in enumerate(results):
            self.names[result] = f"{name}#{index}"

    def _number(self) -> str:
        self.next_value += 1
        return str(self.next_value - 1)

    def _unique(self, name: str) -> str:
        found = name
        while found in self.used:
            found = f"{name}_{self.next_conflict}"
            self.next_conflict += 1
        self.used.add(found)
        return found
