"""`xonnc explain` on a package: the hardware layers of its loadables and the nodes of its CPU parts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import onnx

from xonnc.formats.nvdla.reader import parse_loadable
from xonnc.formats.nvdla.tasks import DlaTask, decode_tasks
from xonnc.formats.onnx.embedded_models import require_self_contained
from xonnc.formats.package.archive import read_package
from xonnc.formats.package.manifest import StepKind
from xonnc.tools.console import columns, plural


@dataclass(frozen=True)
class StepNode:
    """A hardware layer of a loadable by its engine, or a node of a CPU part."""

    name: str
    operator: str


@dataclass(frozen=True)
class ExplainedStep:
    """A step of a package: what it reads and writes, and what it computes, in order."""

    kind: str
    file: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: tuple[StepNode, ...]


def explain(path: Path, is_json: bool) -> None:
    """Print the steps of a package."""
    package = read_package(path)
    steps = [
        ExplainedStep(
            step.kind,
            step.file,
            step.inputs,
            step.outputs,
            NODES_OF[step.kind](part, f"{path}: {step.file}"),
        )
        for step, part in zip(package.manifest.steps, package.parts, strict=True)
    ]
    target, host = package.manifest.target, package.manifest.host
    if is_json:
        print(json.dumps({"target": target, "host": host, "steps": list(map(asdict, steps))}, indent=2))
        return
    on_host = "" if host is None else f", with object files for {host}"
    print(f"{path.name}   {plural(len(steps), 'step')} for {target}{on_host}")
    for step in steps:
        counts = Counter(node.operator for node in step.nodes)
        noun = "hardware layer" if step.kind == "dla" else "node"
        shown = ", ".join(f"{operator} {count}" for operator, count in counts.items())
        what = f"{step.kind.upper()}: {plural(len(step.nodes), noun)} ({shown})"
        print(f"\n{step.file}   {what if step.kind != 'backend' else 'the backend of a plug-in'}")
        print(f"  {', '.join(step.inputs) or 'nothing'} to {', '.join(step.outputs)}")
        if not step.nodes:
            continue
        for line in columns([("name", "operator"), *((node.name, node.operator) for node in step.nodes)]):
            print(f"  {line}")


def _layers(part: bytes, name: str) -> tuple[StepNode, ...]:
    found: list[StepNode] = []
    for task in decode_tasks(parse_loadable(part, name)):
        engines = (
            [operation.engine.name for operation in task.operations]
            if isinstance(task, DlaTask)
            else ["EMU"] * len(task.operations)
        )
        found += [StepNode(f"{task.name} {index}", engine) for index, engine in enumerate(engines)]
    return tuple(found)


def _nodes(part: bytes, name: str) -> tuple[StepNode, ...]:
    require_self_contained(part, name)
    graph = onnx.ModelProto.FromString(part).graph
    return tuple(StepNode(node.name or node.output[0], node.op_type) for node in graph.node)


def _unread(part: bytes, name: str) -> tuple[StepNode, ...]:
    """Return nothing: the files of a plug-in's backend are its own."""
    return ()


NODES_OF: Mapping[StepKind, Callable[[bytes, str], tuple[StepNode, ...]]] = {
    "dla": _layers,
    "cpu": _nodes,
    "backend": _unread,
}
"""The readers of a step's nodes, by its kind."""
