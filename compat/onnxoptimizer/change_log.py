"""A log of what each pass changes: the nodes that it removes and adds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import onnx
import onnx.printer

from xonnc.formats.onnx.captures import graphs_of

MAX_LENGTH = 100
"""The longest text of a node."""


@dataclass(frozen=True)
class Change:
    """What one run of a pass changes; a node that is only edited counts as removed and added."""

    sweep: int
    pass_name: str
    before: int
    """Number of nodes before it, those of subgraphs included."""
    after: int
    removed: tuple[str, ...]
    added: tuple[str, ...]


@dataclass
class ChangeLog:
    """Changes in the order in which they are made; `start` is called before the first."""

    changes: list[Change] = field(default_factory=list[Change])
    _nodes: Counter[bytes] = field(default_factory=Counter[bytes])

    def start(self, graph: onnx.GraphProto) -> None:
        """Take the nodes as they are."""
        self._nodes = _nodes_of(graph)

    def add(self, sweep: int, pass_name: str, graph: onnx.GraphProto) -> None:
        """Note what a pass has changed since the last call."""
        before, after = self._nodes, _nodes_of(graph)
        removed, added = (tuple(map(_text, nodes.elements())) for nodes in (before - after, after - before))
        if removed or added:
            counts = before.total(), after.total()
            self.changes.append(Change(sweep, pass_name, *counts, removed, added))
        self._nodes = after


def _nodes_of(graph: onnx.GraphProto) -> Counter[bytes]:
    return Counter(node.SerializeToString(deterministic=True) for node in _walk(graph))


def _walk(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    for node in graph.node:
        yield node
        for inner in graphs_of(node):
            yield from _walk(inner)


def _text(content: bytes) -> str:
    text = " ".join(onnx.printer.to_text(onnx.NodeProto.FromString(content)).split())
    return text if len(text) <= MAX_LENGTH else f"{text[: MAX_LENGTH - 1]}…"
