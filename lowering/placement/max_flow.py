"""Minimum cut by maximum flow, with Dinic's algorithm."""

from __future__ import annotations

from collections import deque

UNLIMITED = 1 << 60
"""A capacity that no minimum cut contains."""


class FlowNetwork:
    """Directed edges with integer capacities between nodes numbered from 0."""

    def __init__(self) -> None:
        self._edges: list[list[int]] = []
        """Pipes that leave each node; pipe `i ^ 1` is pipe `i` backwards."""
        self._ends: list[int] = []
        self._residual: list[int] = []

    def add_node(self) -> int:
        """Add a node and return its number."""
        self._edges.append([])
        return len(self._edges) - 1

    def add_edge(self, start: int, end: int, capacity: int) -> None:
        """Add an edge."""
        for node, other, residual in ((start, end, capacity), (end, start, 0)):
            self._edges[node].append(len(self._ends))
            self._ends.append(other)
            self._residual.append(residual)

    def source_side(self, source: int, sink: int) -> set[int]:
        """Return the source side of a minimum cut; among several the largest source side."""
        while (levels := self._levels(source))[sink] >= 0:
            self._saturate(source, sink, levels)
        return set(range(len(self._edges))) - self._reaching(sink)

    def _levels(self, source: int) -> list[int]:
        """
        Return the distance of each node from the source over edges with residual capacity, -1 if unreachable.
        """
        levels = [-1] * len(self._edges)
        levels[source] = 0
        worklist = deque([source])
        while worklist:
            node = worklist.popleft()
            for edge in self._edges[node]:
                end = self._ends[edge]
                if self._residual[edge] and levels[end] < 0:
                    levels[end] = levels[node] + 1
                    worklist.append(end)
        return levels

    def _saturate(self, source: int, sink: int, levels: list[int]) -> None:
        """Find a blocking flow: augment shortest paths until none is left."""
        untried = [len(edges) for edges in self._edges]
        path: list[int] = []
        node = source
        while True:
            if node == sink:
                residual = min(self._residual[edge] for edge in path)
                for edge in path:
                    self._residual[edge] -= residual
                    self._residual[edge ^ 1] += residual
                path, node = [], source
            elif (edge := self._next(node, levels, untried)) is not None:
                path.append(edge)
                node = self._ends[edge]
            elif path:
                node = self._ends[path.pop() ^ 1]
                untried[node] -= 1
            else:
                return

    def _next(self, node: int, levels: list[int], untried: list[int]) -> int | None:
        while untried[node]:
            edge = self._edges[node][untried[node] - 1]
            if self._residual[edge] and levels[self._ends[edge]] == levels[node] + 1:
                return edge
            untried[node] -= 1
        return None

    def _reaching(self, sink: int) -> set[int]:
        """Return the nodes from which the sink is reachable over residual capacity."""
        result = {sink}
        worklist = [sink]
        while worklist:
            for edge in self._edges[worklist.pop()]:
                start = self._ends[edge]
                if self._residual[edge ^ 1] and start not in result:
                    result.add(start)
                    worklist.append(start)
        return result
