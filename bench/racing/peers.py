"""The ways to run a model: xonnc's native code and its peers, each from a path to a function of feeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.generic]
Feeds = Mapping[str, Array]
Run = Callable[[Feeds], Sequence[Array]]

OURS = "xonnc"
ANCHOR = "onnxruntime"
"""What all others are measured against, at its own defaults."""


@dataclass(frozen=True)
class Peer:
    """One way to run a model; `open` compiles it for a number of threads."""

    name: str
    package: str
    open: Callable[[Path, int], Run]

    def is_there(self) -> bool:
        """Whether its package is installed."""
        return find_spec(self.package) is not None


def _open_xonnc(path: Path, threads: int) -> Run:
    from xonnc.native import compile_native

    session = compile_native(path, threads=threads, cache=False)

    def run(feeds: Feeds) -> Sequence[Array]:
        return [np.asarray(output) for output in session.run(None, feeds)]

    return run


def _open_onnxruntime(path: Path, threads: int) -> Run:
    # By name, because onnxruntime and openvino ship no types.
    ort: Any = import_module("onnxruntime")
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return lambda feeds: session.run(None, dict(feeds))


def _open_openvino(path: Path, threads: int) -> Run:
    openvino: Any = import_module("openvino")
    settings = {
        "INFERENCE_NUM_THREADS": threads,
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32",
    }
    compiled = openvino.Core().compile_model(str(path), "CPU", settings)
    request = compiled.create_infer_request()

    def run(feeds: Feeds) -> Sequence[Array]:
        request.infer(dict(feeds), share_inputs=True)
        return [request.get_output_tensor(place).data for place in range(len(compiled.outputs))]

    return run


PEERS = {
    peer.name: peer
    for peer in (
        Peer(OURS, "xonnc", _open_xonnc),
        Peer(ANCHOR, "onnxruntime", _open_onnxruntime),
        Peer("openvino", "openvino", _open_openvino),
    )
}
