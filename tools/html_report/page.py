"""The report page: the document as JSON inside one HTML file with its styles and scripts."""

from __future__ import annotations

import json
from dataclasses import asdict
from importlib.resources import files

from xonnc.tools.html_report.document import Document

SCRIPTS = ("d3.min.js", "dagre.min.js", "views.js", "page.js")
"""The libraries (their licences are in LICENSES.txt), and the page's own code."""


def render(document: Document) -> str:
    """Return the page, which needs no network."""
    scripts = "\n".join(f"<script>{_asset(name)}</script>" for name in SCRIPTS)
    return (
        _asset("page.html")
        .replace("{{title}}", _escaped(f"{document.title} on {document.target}"))
        .replace("{{style}}", _asset("page.css"))
        .replace("{{licences}}", _escaped(_asset("LICENSES.txt")))
        # Last, since names of the model may look like the places above.
        .replace(
            "{{scripts}}", f'<script id="data" type="application/json">{data(document)}</script>\n{scripts}'
        )
    )


def data(document: Document) -> str:
    """Return the document as JSON that cannot end its script element."""
    text = json.dumps(asdict(document), separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")


def trace(document: Document) -> str:
    """Return the timeline in the trace format of Chrome and Perfetto, with a thread for each engine."""
    timeline = document.timeline
    engines = list(dict.fromkeys(task.engine for task in timeline.tasks)) if timeline else []
    events: list[dict[str, object]] = [
        {"name": "thread_name", "ph": "M", "pid": 1, "tid": place, "args": {"name": engine}}
        for place, engine in enumerate(engines)
    ]
    for task in timeline.tasks if timeline else ():
        events.append(
            {
                "name": task.name,
                "cat": task.bound or "kernel",
                "ph": "X",
                "pid": 1,
                "tid": engines.index(task.engine),
                "ts": task.start,
                "dur": task.end - task.start,
                "args": {"node": task.node, "macs": task.macs, "moved_bytes": task.moved_bytes},
            }
        )
    unit = timeline.unit if timeline else "us"
    return json.dumps({"traceEvents": events, "otherData": {"unit": unit, "model": document.title}})


def _asset(name: str) -> str:
    return files("xonnc.tools.html_report").joinpath("assets", name).read_text(encoding="utf-8")


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
