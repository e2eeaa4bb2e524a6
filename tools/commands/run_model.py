"""`xonnc run` on a model, as native code for this processor, or on a compiled library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from xonnc.errors import XonncError
from xonnc.tools.console import columns, plural, row

if TYPE_CHECKING:
    from xonnc.runtime.native.roofline import LeastTime
    from xonnc.runtime.native.session import Session
    from xonnc.runtime.native.step_report import ProfileLine, ReportLine

MAX_PROFILE_LINES = 20
"""The most lines of a profile that are printed."""

PROFILED_RUNS = 3
"""Runs of which the fastest is profiled: the first one finds caches cold and memory unmapped."""


class CompiledModel:
    """A model as native code, with the interface of packages."""

    def __init__(
        self, path: Path, target: str, profile: bool, unsafe: bool, tuning: bool, samples: Path | None = None
    ) -> None:
        """Compile the model, in INT8 with samples; raises `XonncError` for a file that is not a model."""
        from xonnc.formats.onnx.importer import overridable_inputs
        from xonnc.formats.onnx.load_model import load
        from xonnc.native import compile_native

        self.session: Session = compile_native(
            path, target, profile=profile, unsafe=unsafe, tuning=tuning, calibrate=samples
        )
        self.inputs: Sequence[str] = [port.name for port in self.session.inputs]
        self.outputs: Sequence[str] = [port.name for port in self.session.outputs]
        self.defaults: Sequence[str] = overridable_inputs(load(path).proto)
        """Inputs that have an initializer, which may be given all the same."""
        self.steps: Sequence[ReportLine] = ()
        """The steps of the fastest run, if it is profiled."""
        self._runs = PROFILED_RUNS if profile else 1

    def run(self, feeds: Mapping[str, np.ndarray[Any, np.dtype[Any]]]) -> Mapping[str, Any]:
        """Run the model, several times for a profile; return the outputs of the last run by name."""
        for _ in range(self._runs - 1):
            self.session.run(None, feeds)
            self._keep_fastest()
        results = self.session.run(None, feeds)
        if self._runs > 1:
            self._keep_fastest()
        return dict(zip(self.outputs, results, strict=True))

    def _keep_fastest(self) -> None:
        steps = self.session.report()
        if not self.steps or sum(map(_seconds, steps)) < sum(map(_seconds, self.steps)):
            self.steps = steps


class LibraryModel:
    """A model in a shared library, with the interface of packages."""

    def __init__(self, path: Path) -> None:
        """Load the library; raises `XonncError` for a file that is not a compiled model."""
        from xonnc.runtime.native.library import Library

        self._library = Library(path)
        self.inputs: Sequence[str] = [port.name for port in self._library.inputs]
        self.outputs: Sequence[str] = [port.name for port in self._library.outputs]

    def run(self, feeds: Mapping[str, np.ndarray[Any, np.dtype[Any]]]) -> Mapping[str, Any]:
        """Run the model; return the outputs by name."""
        return dict(zip(self.outputs, self._library.run(None, feeds), strict=True))


class EngineModel:
    """A model in another engine, with the interface of packages."""

    def __init__(self, path: Path, engine: str) -> None:
        """Open the model; raises `XonncError` for an unknown engine, or one that does not take it."""
        from xonnc.formats.onnx.importer import overridable_inputs
        from xonnc.runtime.verification.parameters import required_inputs
        from xonnc.runtime.verification.reference_engines import UnreliableReferenceError
        from xonnc.verification_models import open_model

        try:
            self._model = open_model(path, engine)
        except UnreliableReferenceError as error:
            raise XonncError(f"{path}: {error}; --engine onnxruntime runs it") from error
        assert self._model.proto is not None
        self.inputs: Sequence[str] = [one.name for one in required_inputs(self._model.proto)]
        self.outputs: Sequence[str] = self._model.outputs
        self.defaults: Sequence[str] = overridable_inputs(self._model.proto)

    def run(self, feeds: Mapping[str, np.ndarray[Any, np.dtype[Any]]]) -> Mapping[str, Any]:
        """Run the model; return the outputs by name."""
        if missing := [name for name in self.inputs if name not in feeds]:
            raise XonncError(f"input '{missing[0]}' is missing: --input {missing[0]}=FILE")
        return dict(zip(self.outputs, self._model.run(feeds), strict=True))


def report_host_calls(session: Session) -> None:
    """Print the operators that ran in the reference evaluator."""
    calls = [line for line in session.report() if line.where == "host"]
    if calls:
        row("host", f"{plural(len(calls), 'operator')} by the ONNX reference")
    for line in calls:
        row("", f"{line.node or line.what} ({line.what}): {line.reason}")


class Profile:
    """The steps of the fastest run of a model on one thread, against the peaks of this machine."""

    def __init__(self, model: CompiledModel, target: str) -> None:
        """Measure the peaks, which takes up to a second."""
        from xonnc.native_compilation import resolve_processor
        from xonnc.runtime.native.roofline import least_times

        self.lines = model.session.profile(model.steps)
        self.least = least_times(self.lines, resolve_processor(target), 1)

    def print(self) -> None:
        """Print the slowest steps as a table."""
        total = sum(line.microseconds for line in self.lines)
        rows = [("        time", " share", "GFLOP/s", "  GB/s", "of peak", "kernel", "node")]
        slowest = sorted(zip(self.lines, self.least, strict=True), key=_time)[:MAX_PROFILE_LINES]
        for line, least in slowest:
            share = line.microseconds / total if total else 0.0
            rows.append(
                (
                    f"{line.microseconds:9.1f} us",
                    f"{share:6.1%}",
                    f"{line.gflops:7.1f}" if line.multiplications else "",
                    f"{line.gb_per_s:6.1f}" if line.gb_per_s else "",
                    f"{_peak_share(line, least):7.0%}" if least.seconds else "",
                    line.kernel,
                    line.node,
                )
            )
        for index, text in enumerate(columns(rows)):
            row("" if index else "profile", text)
        operations = sum(line.multiplications for line in self.lines)
        rate = f", {2e-3 * operations / total:.1f} GFLOP/s" if total and operations else ""
        row("", f"{total:9.1f} us in {plural(len(self.lines), 'step')}{rate}")

    def as_json(self) -> list[dict[str, object]]:
        """Return all steps in the order in which they ran."""
        found: list[dict[str, object]] = []
        for line, least in zip(self.lines, self.least, strict=True):
            share = _peak_share(line, least) if least.seconds else None
            rates = {"gflops": line.gflops, "gb_per_s": line.gb_per_s}
            found.append({**asdict(line), **rates, "bound": least.bound, "peak_share": share})
        return found

    def trace(self, title: str) -> str:
        """Return the steps in the trace format of Chrome and Perfetto."""
        from xonnc.tools.html_report.document import Timeline
        from xonnc.tools.html_report.kernel_timeline import kernel_tasks
        from xonnc.tools.html_report.page import timeline_trace

        return timeline_trace(Timeline("us", "", kernel_tasks(self.lines, self.least)), title)


def _seconds(step: ReportLine) -> float:
    return step.seconds


def _peak_share(line: ProfileLine, least: LeastTime) -> float:
    return 1e6 * least.seconds / line.microseconds if line.microseconds else 0.0


def _time(step: tuple[ProfileLine, LeastTime]) -> float:
    return -step[0].microseconds
