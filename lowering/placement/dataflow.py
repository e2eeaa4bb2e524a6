"""A network as numbers: nodes in an order in which they may run, and the values that go between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class DataflowValue:
    """
    A tensor that nodes hand on.

    `producer` is `None` for an input of the network; `is_returned` says whether the network gives it out.
    """

    producer: int | None
    readers: tuple[int, ...]
    is_returned: bool = False


@dataclass(frozen=True)
class Dataflow:
    """`count` nodes, whose values go to later nodes only."""

    count: int
    values: Sequence[DataflowValue]

    def values_by_node(self) -> Sequence[Sequence[DataflowValue]]:
        """For each node the values that it makes or reads."""
        result: list[list[DataflowValue]] = [[] for _ in range(self.count)]
        for value in self.values:
            for node in {*value.readers, *([] if value.producer is None else [value.producer])}:
                result[node].append(value)
        return result


PartitionIndex = Mapping[int, int]
"""The turn at which each node runs; those of one turn are one part."""
