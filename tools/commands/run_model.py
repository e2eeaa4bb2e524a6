"""`xonnc run` on a model, as native code for this processor, or on a compiled library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from xonnc.tools.console import plural, row

if TYPE_CHECKING:
    from xonnc.runtime.native.session import ProfileLine, Session

MAX_PROFILE_LINES = 20
"""The most lines of a profile that are printed."""


class CompiledModel:
    """A model as native code, with the interface of packages."""

    def __init__(
        self, path: Path, target: str, profile: bool, unsafe: bool, tuning: bool, samples: Path | None = None
    ) -> None:
        """Compile the model, in INT8 with samples; raises `XonncError` for a file that is not a model."""
        from xonnc.native import compile_native

        self.session: Session = compile_native(
            path, target, profile=profile, unsafe=unsafe, tuning=tuning, calibrate=samples
        )
        self.inputs: Sequence[str] = [port.name for port in self.session.inputs]
        self.outputs: Sequence[str] = [port.name for port in self.session.outputs]

    def run(self, feeds: Mapping[str, np.ndarray[Any, np.dtype[Any]]]) -> Mapping[str, Any]:
        """Run the model; return the outputs by name."""
        return dict(zip(self.outputs, self.session.run(None, feeds), strict=True))


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


def report_run(session: Session, profile: bool) -> None:
    """Print the operators that ran in the reference evaluator, and the slowest kernels."""
    calls = [line for line in session.report() if line.where == "host"]
    if calls:
        row("host", f"{plural(len(calls), 'operator')} by the ONNX reference")
    for line in calls:
        row("", f"{line.node or line.what} ({line.what}): {line.reason}")
    if profile:
        lines = session.profile()
        total = sum(line.microseconds for line in lines)
        for line in sorted(lines, key=_time)[:MAX_PROFILE_LINES]:
            share = line.microseconds / total if total else 0.0
            row("profile", f"{line.microseconds:10.1f} us {share:6.1%}  {line.kernel}  {line.node}")
        row("profile", f"{total:10.1f} us in {plural(len(lines), 'step')}")


def _time(line: ProfileLine) -> float:
    return -line.microseconds
