"""The time of a package's parts for the CPU, measured on this processor."""

from __future__ import annotations

import onnx

from xonnc.errors import XonncError
from xonnc.native import compile_native
from xonnc.runtime.reference import ModelParameter
from xonnc.runtime.verification.trial_inputs import trial_feeds

RUNS = 5
"""Runs of which the fastest counts."""


def cpu_seconds(model: onnx.ModelProto) -> float | None:
    """
    Return the duration of a model as native code on one thread of this processor, on made-up inputs.

    `None` if it does not run: its time is then unknown, which does not concern the rest of a report.
    """
    try:
        session = compile_native(model, cache=False, tuning=False)
    except XonncError:
        return None
    ports = [
        ModelParameter(spec.name, spec.shape, spec.dtype)
        for spec in session.inputs
        if spec.shape is not None and spec.dtype is not None
    ]
    for feeds in trial_feeds(ports, 0):
        try:
            session.run(None, feeds)
        except XonncError:
            continue
        times: list[float] = []
        for _ in range(RUNS):
            session.run(None, feeds)
            times.append(sum(line.seconds for line in session.report()))
        return min(times)
    return None
