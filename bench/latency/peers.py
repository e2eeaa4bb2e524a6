"""The runtimes under comparison: xonnc's native code and its peers."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from bench.latency.compilers import open_iree, open_torch, open_tvm, stub_torchvision
from bench.latency.task import Array, Feeds, Run, Task
from xonnc.transforms.optimization_levels import WINOGRAD_PASS

XONNC = "xonnc"
BASELINE = "onnxruntime"
"""The runtime that all others are compared with, at its defaults."""


@dataclass(frozen=True)
class Peer:
    """A runtime; `open` compiles a model and returns a function of its inputs."""

    name: str
    packages: Sequence[str]
    """Packages imported before the clock starts."""
    open: Callable[[Task], Run]
    caches_compilation: bool = False
    """Whether it caches compiled models on disk."""
    before: Callable[[], None] | None = None
    """Called before its packages are imported."""
    is_default: bool = True
    """Whether it is measured unless peers are named: not if a user has to allow what it does."""

    def is_installed(self) -> bool:
        """Whether its packages are installed."""
        try:
            return all(find_spec(package) is not None for package in self.packages)
        except ModuleNotFoundError:  # the package that one is in
            return False

    def import_packages(self) -> None:
        """Import its packages."""
        if self.before is not None:
            self.before()
        for package in self.packages:
            import_module(package)


def _open_xonnc(task: Task, passes: Sequence[str] = ()) -> Run:
    from xonnc.native import compile_native

    os.environ["XONNC_CACHE"] = str(task.folder)
    session = compile_native(task.path, threads=task.threads, enable_pass=passes)

    def run(feeds: Feeds) -> Sequence[Array]:
        return [np.asarray(output) for output in session.run(None, feeds)]

    return run


def _open_onnxruntime(task: Task) -> Run:
    # Imported by name, because peers ship no type stubs.
    ort: Any = import_module("onnxruntime")
    options = ort.SessionOptions()
    options.intra_op_num_threads = task.threads
    options.log_severity_level = 4
    session = ort.InferenceSession(str(task.path), options, providers=["CPUExecutionProvider"])
    return lambda feeds: session.run(None, dict(feeds))


def _open_openvino(task: Task) -> Run:
    openvino: Any = import_module("openvino")
    settings = {
        "INFERENCE_NUM_THREADS": task.threads,
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32",
    }
    compiled = openvino.Core().compile_model(str(task.path), "CPU", settings)
    request = compiled.create_infer_request()

    def run(feeds: Feeds) -> Sequence[Array]:
        request.infer(dict(feeds), share_inputs=True)
        return [request.get_output_tensor(index).data for index in range(len(compiled.outputs))]

    return run


PEERS = {
    peer.name: peer
    for peer in (
        Peer(XONNC, ["xonnc.native"], _open_xonnc, caches_compilation=True),
        Peer(
            f"{XONNC}-winograd",
            ["xonnc.native"],
            partial(_open_xonnc, passes=[WINOGRAD_PASS]),
            caches_compilation=True,
            is_default=False,
        ),
        Peer(BASELINE, ["onnxruntime"], _open_onnxruntime),
        Peer("openvino", ["openvino"], _open_openvino),
        Peer("iree", ["iree.compiler.api", "iree.runtime"], open_iree, caches_compilation=True),
        Peer("tvm", ["tvm", "tvm.relax", "tvm.relax.frontend.onnx"], open_tvm, caches_compilation=True),
        Peer("torch", ["torch", "onnx2torch"], open_torch, before=stub_torchvision),
    )
}
