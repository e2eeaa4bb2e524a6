"""Drawings of a model's graph: Graphviz text, and SVG in layers without Graphviz."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

import onnx

from xonnc.formats.onnx.captures import captured_names
from xonnc.tools.model_statistics import spelled

WIDTH, HEIGHT, GAP_X, GAP_Y = 160, 34, 20, 46
"""Sizes of boxes of the SVG, and the space between them, in pixels."""


@dataclass(frozen=True)
class View:
    """Boxes with their labels, and edges between them with the name of the value."""

    boxes: list[tuple[str, str]]
    """Label and kind: `input`, `node` or `output`."""
    edges: list[tuple[int, int, str]]


def view(model: onnx.ModelProto) -> View:
    """Return the main graph as boxes and edges; initializers are not drawn, captured values are."""
    graph = model.graph
    initializers = {tensor.name for tensor in graph.initializer}
    boxes: list[tuple[str, str]] = []
    makers: dict[str, int] = {}
    edges: list[tuple[int, int, str]] = []
    for info in graph.input:
        if info.name not in initializers:
            makers[info.name] = len(boxes)
            boxes.append((f"{info.name}\n{spelled(info.type)}", "input"))
    for node in graph.node:
        index = len(boxes)
        boxes.append((f"{node.op_type}\n{node.name}".rstrip(), "node"))
        read = dict.fromkeys((*node.input, *captured_names(node)))
        edges += [(makers[name], index, name) for name in read if name in makers]
        makers.update((name, index) for name in node.output if name)
    for info in graph.output:
        if info.name in makers:
            edges.append((makers[info.name], len(boxes), info.name))
        boxes.append((f"{info.name}\n{spelled(info.type)}", "output"))
    return View(boxes, edges)


def dot(drawn: View) -> str:
    """Return the drawing as Graphviz text."""
    shapes = {"input": "ellipse", "node": "box", "output": "ellipse"}
    lines = ["digraph model {", "  node [fontname=sans fontsize=10];", "  edge [fontname=sans fontsize=8];"]
    lines += [
        f"  n{index} [label={_quoted(label)} shape={shapes[kind]}];"
        for index, (label, kind) in enumerate(drawn.boxes)
    ]
    lines += [f"  n{start} -> n{end} [label={_quoted(name)}];" for start, end, name in drawn.edges]
    return "\n".join([*lines, "}", ""])


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def svg(drawn: View) -> str:
    """Return the drawing as SVG: each box below all that it reads."""
    layer = [0] * len(drawn.boxes)
    # Edges are in the order of their ends, which are in topological order.
    for start, end, _ in drawn.edges:
        layer[end] = max(layer[end], layer[start] + 1)
    counts: dict[int, int] = {}
    positions: list[tuple[int, int]] = []
    for each in layer:
        column = counts[each] = counts.get(each, -1) + 1
        positions.append((GAP_X + column * (WIDTH + GAP_X), GAP_Y + each * (HEIGHT + GAP_Y)))
    width = GAP_X + (max(counts.values(), default=0) + 1) * (WIDTH + GAP_X)
    height = GAP_Y + (max(layer, default=0) + 1) * (HEIGHT + GAP_Y)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="11" text-anchor="middle">'
    ]
    lines += [_edge(positions[start], positions[end], name) for start, end, name in drawn.edges]
    lines += [_box(position, *box) for position, box in zip(positions, drawn.boxes, strict=True)]
    return "\n".join([*lines, "</svg>", ""])


def _edge(start: tuple[int, int], end: tuple[int, int], name: str) -> str:
    x1, y1, x2, y2 = start[0] + WIDTH // 2, start[1] + HEIGHT, end[0] + WIDTH // 2, end[1]
    line = f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="#888"/>'
    return f"<g><title>{escape(name)}</title>{line}</g>"


def _box(position: tuple[int, int], label: str, kind: str) -> str:
    x, y = position
    fill = "#eef" if kind == "node" else "#efe"
    radius = 3 if kind == "node" else HEIGHT // 2
    texts = [
        f'<text x="{x + WIDTH // 2}" y="{y + 14 + 14 * row}">{escape(text[:26])}</text>'
        for row, text in enumerate(label.split("\n"))
    ]
    box = (
        f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="{radius}" fill="{fill}" stroke="#888"/>'
    )
    return f'<g class="{kind}"><title>{escape(label)}</title>{box}{"".join(texts)}</g>'
