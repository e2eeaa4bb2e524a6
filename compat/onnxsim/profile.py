"""
Profiles of a simplification: a trace for Perfetto or chrome://tracing, and a summary.

onnxruntime's own profiles of the comparison are files of their own, or part of the trace.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from xonnc.formats.atomic_write import atomic_write
from xonnc.rewriting.timeline import Span, recording, timed

DEFAULT_PROFILE = "onnxsim_profile.json"
DEFAULT_ORT_PROFILE = "onnxsim_ort_profile"

Event = dict[str, Any]
"""An event of the Trace Event Format; times are in microseconds."""


@dataclass
class Profile:
    """What is recorded during one call of `simplify`."""

    ort_prefix: str = ""
    """The prefix of onnxruntime's profiles; empty if there are none."""
    merges: bool = False
    ort_events: list[Event] = field(default_factory=list[Event])

    def prefix(self, session: str) -> str:
        """Return the prefix of a session's profile; empty if there is none."""
        return f"{self.ort_prefix}_{session}" if self.ort_prefix else ""

    def add(self, file: str, start: float, thread: int) -> None:
        """Add the profile of a session that was opened at `start` to the trace, if it is to be merged."""
        if not self.merges:
            return
        for event in json.loads(Path(file).read_text()):
            if event.get("ph") == "X":
                self.ort_events.append(event | {"ts": event["ts"] + start * 1e6, "pid": 0, "tid": thread})


@contextmanager
def profiling(profile: str | None, ort_profile: str | None, merges: bool) -> Generator[Profile]:
    """
    Profile the block, and write the trace and print the summary after it if it succeeds.

    Parameters:
        profile: the file of the trace; the default name if empty, none if `None`.
        ort_profile: the prefix of onnxruntime's profiles; likewise.
        merges: whether these are part of the trace instead.
    """
    if profile is None and not merges:
        yield Profile("" if ort_profile is None else ort_profile or DEFAULT_ORT_PROFILE)
        return
    with TemporaryDirectory(prefix="onnxsim-") as folder:
        prefix = "" if ort_profile is None else ort_profile or DEFAULT_ORT_PROFILE
        found = Profile(str(Path(folder, "session")) if merges else prefix, merges)
        with recording() as spans, timed("simplify"):
            yield found
        trace = {"traceEvents": [*_events(spans), *found.ort_events], "displayTimeUnit": "ms"}
        with atomic_write(Path(profile or DEFAULT_PROFILE)) as file:
            file.write(json.dumps(trace).encode())
    print(summary(spans, _peak_bytes()))


def _events(spans: Sequence[Span]) -> list[Event]:
    events: list[Event] = []
    for span in sorted(spans, key=lambda one: (one.start, -one.seconds)):
        common: Event = {"name": span.name, "pid": 0, "tid": 0}
        start, length = span.start * 1e6, span.seconds * 1e6
        cpu = round(span.cpu_seconds * 1e3, 3)
        events.append(common | {"ph": "X", "ts": start, "dur": length, "args": {"cpu_ms": cpu}})
        if span.nodes is not None:
            counter: Event = {"name": "NodeCount", "ph": "C", "ts": start + length, "pid": 0}
            events.append(counter | {"args": {span.name: span.nodes}})
    return events


def summary(spans: Sequence[Span], peak_bytes: int | None) -> str:
    """Return a line for each part: runs, seconds and processor seconds in total; parts contain others."""
    names = list(dict.fromkeys(span.name for span in sorted(spans, key=lambda one: one.start)))
    width = max((len(name) for name in names), default=0)
    lines = [f"{'':<{width}}   runs  seconds      CPU"]
    for name in names:
        runs = [span for span in spans if span.name == name]
        seconds, cpu = sum(span.seconds for span in runs), sum(span.cpu_seconds for span in runs)
        lines.append(f"{name:<{width}} {len(runs):>6} {seconds:>8.3f} {cpu:>8.3f}")
    if peak_bytes is not None:
        lines.append(f"peak resident memory of the process: {peak_bytes / 1e6:.1f} MB")
    return "\n".join(lines)


def _peak_bytes() -> int | None:
    if sys.platform == "win32":
        return None
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
