"""The smallest cut between two ends of a network of pipes, by Dinic's algorithm."""

from __future__ import annotations

from collections import deque

UNLIMITED = 1 << 60
"""A capacity that no cut can afford."""


class FlowNetwork:
    """Directed pipes with whole-numbered capacities; nodes are numbers from 0."""

    def __init__(self) -> None:
        self._pipes: list[list[int]] = []
        """Pipes that leave each node; pipe `i ^ 1` is pipe `i` backwards."""
        self._ends: list[int] = []
        self._left: list[int] = []

    def node(self) -> int:
        """A new node."""
        self._pipes.append([])
        return len(self._pipes) - 1

    def pipe(self, start: int, end: int, capacity: int) -> None:
        """A new pipe."""
        for node, other, room in ((start, end, capacity), (end, start, 0)):
            self._pipes[node].append(len(self._ends))
            self._ends.append(other)
            self._left.append(room)

    def near_source(self, source: int, sink: int) -> set[int]:
        """
        The nodes on the source's side of a smallest cut, of several the one that leaves it the most.
        """
        while (levels := self._levels(source))[sink] >= 0:
            self._saturate(source, sink, levels)
        return set(range(len(self._pipes))) - self._leading_to(sink)

    def _levels(self, source: int) -> list[int]:
        """How many pipes with room away each node is; -1 out of reach."""
        levels = [-1] * len(self._pipes)
        levels[source] = 0
        waiting = deque([source])
        while waiting:
            node = waiting.popleft()
            for pipe in self._pipes[node]:
                end = self._ends[pipe]
                if self._left[pipe] and levels[end] < 0:
                    levels[end] = levels[node] + 1
                    waiting.append(end)
        return levels

    def _saturate(self, source: int, sink: int, levels: list[int]) -> None:
        """Fills shortest ways until none is left."""
        untried = [len(pipes) for pipes in self._pipes]
        way: list[int] = []
        node = source
        while True:
            if node == sink:
                room = min(self._left[pipe] for pipe in way)
                for pipe in way:
                    self._left[pipe] -= room
                    self._left[pipe ^ 1] += room
                way, node = [], source
            elif (pipe := self._next(node, levels, untried)) is not None:
                way.append(pipe)
                node = self._ends[pipe]
            elif way:
                node = self._ends[way.pop() ^ 1]
                untried[node] -= 1
            else:
                return

    def _next(self, node: int, levels: list[int], untried: list[int]) -> int | None:
        while untried[node]:
            pipe = self._pipes[node][untried[node] - 1]
            if self._left[pipe] and levels[self._ends[pipe]] == levels[node] + 1:
                return pipe
            untried[node] -= 1
        return None

    def _leading_to(self, sink: int) -> set[int]:
        """Nodes from which there is still room to the sink."""
        found = {sink}
        waiting = [sink]
        while waiting:
            for pipe in self._pipes[waiting.pop()]:
                start = self._ends[pipe]
                if self._left[pipe ^ 1] and start not in found:
                    found.add(start)
                    waiting.append(start)
        return found
