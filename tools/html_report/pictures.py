"""The memory map and the timeline as pictures (SVG), and their tables as CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from xml.sax.saxutils import escape, quoteattr

from xonnc.tools.console import size
from xonnc.tools.html_report.document import Document, Memory, Timeline

WIDTH, LEFT, TOP = 1200, 90, 30
MEMORY_HEIGHT, LANE_HEIGHT = 360, 36
SHADES = ("#a9cce3", "#7fb3d5")
PEAK = "#d55e00"
COLOURS = {
    "CONV": "#0072b2",
    "SDP": "#e69f00",
    "PDP": "#009e73",
    "CDP": "#cc79a7",
    "CPU": "#56b4e9",
    "host": "#d55e00",
}
"""Colours that colour-blind people tell apart (Okabe and Ito), as those of the report page."""


def memory_svg(memories: Sequence[Memory]) -> str:
    """Return maps of memories: buffers over steps and addresses, those of the peak lit."""
    height = TOP + MEMORY_HEIGHT + 30
    marks: list[str] = []
    for index, memory in enumerate(memories):
        marks += [
            f'<g transform="translate(0,{index * height})">',
            _text(LEFT, 18, f"{memory.name}: {size(memory.size)}, lower bound {size(memory.lower_bound)}"),
            *_memory_marks(memory),
            "</g>",
        ]
    return _svg(height * max(len(memories), 1), "Memory", marks)


def _memory_marks(memory: Memory) -> Iterator[str]:
    across = (WIDTH - LEFT - 10) / max(len(memory.steps), 1)
    up = MEMORY_HEIGHT / max(memory.size, 1)
    bottom = TOP + MEMORY_HEIGHT
    for index, buffer in enumerate(memory.buffers):
        is_lit = buffer.first <= memory.peak_step <= buffer.last
        yield _rectangle(
            LEFT + across * buffer.first,
            bottom - up * (buffer.offset + buffer.size),
            across * (buffer.last - buffer.first + 1),
            up * buffer.size,
            PEAK if is_lit else SHADES[index % len(SHADES)],
            f"{buffer.name}: {buffer.size} bytes at {buffer.offset}, steps {buffer.first} to {buffer.last}",
        )
    y = bottom - up * memory.lower_bound
    yield f'<path d="M{LEFT} {y:.1f}H{WIDTH - 10}" stroke="#c0392b" stroke-dasharray="6 4" fill="none"/>'
    for step in range(0, len(memory.steps), max(1, len(memory.steps) // 10)):
        yield _text(LEFT + across * step, bottom + 16, str(step))
    for quarter in range(5):
        yield _text(4, bottom - MEMORY_HEIGHT * quarter / 4 + 4, size(memory.size * quarter / 4))


def timeline_svg(timeline: Timeline) -> str:
    """Return a lane for each engine: pale while data are loaded, full while the task computes."""
    engines = list(dict.fromkeys(task.engine for task in timeline.tasks))
    end = max((task.end for task in timeline.tasks), default=0.0) or 1.0
    across = (WIDTH - LEFT - 10) / end
    marks = [_text(LEFT, 18, f"{timeline.unit}, {timeline.source}")]
    for lane, engine in enumerate(engines):
        marks.append(_text(4, TOP + lane * LANE_HEIGHT + 20, engine))
    for task in timeline.tasks:
        y, colour = TOP + engines.index(task.engine) * LANE_HEIGHT + 4, _colour(task.engine)
        what = f"{task.name} {task.node}: {task.start:.6g} to {task.end:.6g} {timeline.unit}"
        for begin, opacity in ((task.start, 0.35), (task.computes, 1.0)):
            width = across * (task.end - begin)
            marks.append(_rectangle(LEFT + across * begin, y, width, LANE_HEIGHT - 8, colour, what, opacity))
    bottom = TOP + len(engines) * LANE_HEIGHT
    step = (WIDTH - LEFT - 10) / 5
    marks += [
        _text(LEFT + step * part, bottom + 16, f"{end * part / 5:,.4g}", "end" if part == 5 else "start")
        for part in range(6)
    ]
    return _svg(bottom + 24, "Timeline", marks)


def timeline_csv(document: Document) -> str:
    """Return the layers or kernels as CSV."""
    heads = ("task", "engine", "node", "start", "computes", "end", "adds", "bound", "macs", "moved_bytes")
    rows = (
        (
            task.name,
            task.engine,
            task.node,
            task.start,
            task.computes,
            task.end,
            task.added,
            task.bound,
            task.macs,
            task.moved_bytes,
        )
        for task in (document.timeline.tasks if document.timeline else ())
    )
    return _csv(heads, rows)


def memory_csv(document: Document) -> str:
    """Return the buffers of all memories as CSV."""
    rows = (
        (memory.name, one.name, one.first, one.last, one.offset, one.size)
        for memory in document.memories
        for one in memory.buffers
    )
    return _csv(("memory", "buffer", "first", "last", "offset", "bytes"), rows)


def _csv(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(heads)
    writer.writerows(rows)
    return text.getvalue()


def _colour(engine: str) -> str:
    return COLOURS.get(engine.partition("+")[0], "#8c6bb1")


def _rectangle(
    x: float, y: float, width: float, height: float, colour: str, title: str, opacity: float = 1.0
) -> str:
    return (
        f'<rect x="{x:.2f}" y="{y:.2f}" width="{max(width, 0.2):.2f}" height="{max(height, 0.2):.2f}" '
        f'fill="{colour}" fill-opacity="{opacity:g}" stroke="white" stroke-width="0.3">'
        f"<title>{escape(title)}</title></rect>"
    )


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _svg(height: float, title: str, marks: Sequence[str]) -> str:
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" role="img" '
            f'aria-label={quoteattr(title)} font-family="sans-serif" font-size="12">',
            '<rect width="100%" height="100%" fill="white"/>',
            *marks,
            "</svg>\n",
        )
    )
