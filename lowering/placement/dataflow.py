"""A network as a dataflow graph: nodes in a topological order, and the values between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class DataflowValue:
    """
    A tensor.

    `producer` is `None` for a network input; `is_returned` marks network outputs.
    """

    producer: int | None
    readers: tuple[int, ...]
    is_returned: bool = False


@dataclass(frozen=True)
class Dataflow:
    """`count` nodes in topological order, and their values."""

    count: int
    values: Sequence[DataflowValue]

    def values_by_node(self) -> Sequence[Sequence[DataflowValue]]:
        """Return for each node the values that it produces or reads."""
        result: list[list[DataflowValue]] = [[] for _ in range(self.count)]
        for value in self.values:
            for node in {*value.readers, *([] if value.producer is None else [value.producer])}:
                result[node].append(value)
        return result
