"""Simplification tools: xonnc and its peers, each from a path to a model in memory."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import onnx

BASELINE = "onnx.load"
"""Only loads the model; times are relative to this."""

XONNC = "xonnc"


class Simplified(Protocol):
    """A simplified model in memory."""

    def operators(self) -> Counter[str]:
        """Number of nodes by operator, subgraphs included."""
        ...

    def write(self, path: Path) -> None:
        """Write the model."""
        ...


Simplifier = Callable[[Path], Simplified]


@dataclass(frozen=True)
class Tool:
    """A tool; `prepare` imports its packages and returns the function to time."""

    name: str
    package: str
    prepare: Callable[[], Simplifier]
    is_standard: bool = True
    """Whether it emits only standard ONNX operators, so that node counts are comparable."""

    def is_installed(self) -> bool:
        """Whether its package is installed."""
        return find_spec(self.package) is not None

    def package_version(self) -> str:
        """The package and its version."""
        return f"{self.package} {version(self.package)}"


@dataclass(frozen=True)
class Message:
    """A model as a protobuf message."""

    proto: onnx.ModelProto

    def operators(self) -> Counter[str]:
        """Count nodes."""
        return count_operators(self.proto)

    def write(self, path: Path) -> None:
        """Write the message."""
        path.write_bytes(self.proto.SerializeToString())


def count_operators(model: onnx.ModelProto) -> Counter[str]:
    """Count nodes by operator, subgraphs included."""
    return Counter(node.op_type for node in _nodes(model.graph))


def _nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                yield from _nodes(inner)


@dataclass(frozen=True)
class _Session:
    """A session of onnxruntime; its optimized graph is obtained by saving it from a second session."""

    source: Path
    level: str
    session: object

    def operators(self) -> Counter[str]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model.onnx")
            self.write(path)
            load: Callable[..., onnx.ModelProto] = vars(onnx)["load"]
            return count_operators(load(str(path), load_external_data=False))

    def write(self, path: Path) -> None:
        _open_session(self.source, self.level, path)


def _named(module: str, name: str) -> Callable[..., Any]:
    """A function of a package without type stubs."""
    return getattr(import_module(module), name)


def _ours() -> Simplifier:
    from xonnc.simplifier import SimplifiedModel, simplify

    @dataclass(frozen=True)
    class Module:
        model: SimplifiedModel

        def operators(self) -> Counter[str]:
            return count_operators(self.model.proto())

        def write(self, path: Path) -> None:
            self.model.write(path)

    return lambda path: Module(simplify(path))


def _ours_as_message() -> Simplifier:
    from xonnc.simplifier import simplify

    return lambda path: Message(simplify(path).proto())


def _load() -> Simplifier:
    load = _named("onnx", "load")
    return lambda path: Message(load(str(path)))


def _onnxsim() -> Simplifier:
    simplify = _named("onnxsim", "simplify")
    return lambda path: Message(simplify(str(path), check_n=0)[0])


def _onnxslim() -> Simplifier:
    slim = _named("onnxslim", "slim")
    return lambda path: Message(slim(str(path)))


def _onnxoptimizer() -> Simplifier:
    load, optimize = _named("onnx", "load"), _named("onnxoptimizer", "optimize")
    passes: Sequence[str] = _named("onnxoptimizer", "get_fuse_and_elimination_passes")()
    return lambda path: Message(optimize(load(str(path)), passes))


def _onnxscript() -> Simplifier:
    load, optimize = _named("onnx", "load"), _named("onnxscript.optimizer", "optimize")
    return lambda path: Message(optimize(load(str(path))))


def _session(level: str) -> Callable[[], Simplifier]:
    def prepare() -> Simplifier:
        import_module("onnxruntime")
        return lambda path: _Session(path, level, _open_session(path, level))

    return prepare


def _open_session(source: Path, level: str, optimized: Path | None = None) -> object:
    """A default session at an optimization level; saves the optimized graph to `optimized`."""
    ort = import_module("onnxruntime")
    options = ort.SessionOptions()
    options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level)
    options.log_severity_level = 4
    if optimized is not None:
        options.optimized_model_filepath = str(optimized)
        # Protobuf messages are limited to 2 GB.
        options.add_session_config_entry(
            "session.optimized_model_external_initializers_file_name", optimized.with_suffix(".data").name
        )
    return ort.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])


TOOLS = {
    tool.name: tool
    for tool in (
        Tool(XONNC, "xonnc", _ours),
        Tool("xonnc+message", "xonnc", _ours_as_message),
        Tool(BASELINE, "onnx", _load),
        Tool("onnxsim", "onnxsim", _onnxsim),
        Tool("onnxslim", "onnxslim", _onnxslim),
        Tool("onnxoptimizer", "onnxoptimizer", _onnxoptimizer),
        Tool("onnxscript", "onnxscript", _onnxscript),
        Tool("ort-basic", "onnxruntime", _session("ORT_ENABLE_BASIC")),
        Tool("ort-extended", "onnxruntime", _session("ORT_ENABLE_EXTENDED"), is_standard=False),
    )
}
