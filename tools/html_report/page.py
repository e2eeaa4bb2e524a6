"""The report page: the document as JSON inside one HTML file with its styles and scripts."""

from __future__ import annotations

import json
from dataclasses import asdict
from importlib.resources import files

from xonnc.tools.html_report.document import Document, Timeline

SCRIPTS = ("d3.min.js", "dagre.min.js", "views.js", "page.js")
"""The libraries (their licences are in LICENSES.txt), and the page's own code."""


def render(document: Document) -> str:
    """Return the page, which needs no network."""
    scripts = "\n".join(f"<script>{asset(name)}</script>" for name in SCRIPTS)
    return (
        asset("page.html")
        .replace("{{title}}", escaped(f"{document.title} on {document.target}"))
        .replace("{{style}}", asset("page.css"))
        .replace("{{licences}}", escaped(asset("LICENSES.txt")))
        # Last, since names of the model may look like the placeholders above.
        .replace(
            "{{scripts}}", f'<script id="data" type="application/json">{data(document)}</script>\n{scripts}'
        )
    )


def data(document: Document) -> str:
    """Return the document as JSON that cannot end its script element."""
    return script_json(asdict(document))


def script_json(value: object) -> str:
    """Return a value as JSON that cannot end its script element."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")


def trace(document: Document) -> str:
    """Return the timeline in the trace format of Chrome and Perfetto, with a thread for each engine."""
    return timeline_trace(document.timeline or Timeline("us", "", ()), document.title)


def timeline_trace(timeline: Timeline, title: str) -> str:
    """Return a timeline in the trace format of Chrome and Perfetto."""
    engines = list(dict.fromkeys(task.engine for task in timeline.tasks))
    events: list[dict[str, object]] = [
        {"name": "thread_name", "ph": "M", "pid": 1, "tid": index, "args": {"name": engine}}
        for index, engine in enumerate(engines)
    ]
    for task in timeline.tasks:
        events.append(
            {
                "name": task.name,
                "cat": task.bound or "kernel",
                "ph": "X",
                "pid": 1,
                "tid": engines.index(task.engine),
                "ts": round(task.start, 3),
                "dur": round(task.end - task.start, 3),
                "args": {"node": task.node, "macs": task.macs, "moved_bytes": task.moved_bytes},
            }
        )
    return json.dumps({"traceEvents": events, "otherData": {"unit": timeline.unit, "model": title}})


def asset(name: str) -> str:
    """Return a file of the report's page."""
    return files("xonnc.tools.html_report").joinpath("assets", name).read_text(encoding="utf-8")


def escaped(text: str) -> str:
    """Return text as HTML."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
