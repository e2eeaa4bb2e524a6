"""The report of a model as native code for this processor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from xonnc.artifacts import planned_module
from xonnc.contexts import new_context
from xonnc.dialects.onnx.locations import node_names
from xonnc.errors import XonncError
from xonnc.formats.onnx.importer import import_model
from xonnc.lowering.native.module_memory_map import memory_map
from xonnc.native import compile_native
from xonnc.native_compilation import resolve_processor
from xonnc.runtime.native.roofline import MAX_WORKING_SET, MachinePeaks, least_times
from xonnc.runtime.native.session import Session
from xonnc.runtime.native.step_report import ReportLine
from xonnc.simplifier import simplify
from xonnc.tools.console import plural, size
from xonnc.tools.generated_inputs import accepted_feeds
from xonnc.tools.html_report.document import Document, GraphNode, Memory, Roofline, Timeline
from xonnc.tools.html_report.front_end import FrontEnd, ImportedNode, compute_nodes
from xonnc.tools.html_report.kernel_timeline import kernel_tasks
from xonnc.tools.html_report.nvdla import memory_of

ROOFS = "multiply-adds of this processor and reads of its main memory, measured on one thread"

RUNS = 5
"""Runs of which the fastest is reported."""


def report_native(path: Path, target: str, input_shapes: Mapping[str, Sequence[int]] | None) -> Document:
    """Compile and run a model on this processor, and report on it."""
    front = FrontEnd()
    # The rules and the difference come from the simplifier, which native code shares.
    with front.recording():
        front.on_stage("onnx", import_model(path, new_context(), inline_functions=True))
        simplified = simplify(path, input_shapes=input_shapes).module
    front.on_stage("simplified", simplified)
    session = compile_native(path, target, profile=True)
    lines, feeds_note = _fastest(session, path, input_shapes)
    profile = session.profile(lines)
    processor = resolve_processor(target)
    tasks = kernel_tasks(profile, least_times(profile, processor, 1))
    nodes = _nodes(front.nodes, lines, simplified)
    memories, missing = _memories(path, target, input_shapes)
    total = sum(line.seconds for line in lines)
    hosts = sum(node.engine == "host" for node in nodes)
    macs = sum(task.macs for task in tasks)
    facts = (
        ("target", f"{target}: this processor, one thread"),
        ("nodes", f"{len(nodes)}, {sum(front.after.values())} after simplification"),
        ("kernels", f"{plural(len(tasks), 'step')}, {hosts} nodes by the ONNX reference on the host"),
        ("latency", f"{total * 1e3:.3f} ms (fastest of {RUNS} runs, with timers around each kernel)"),
        (
            "work",
            f"{macs / 1e6:.1f} M multiplications"
            + (f", {2 * macs / total / 1e9:.1f} GFLOP/s" if total else ""),
        ),
        *(
            (("activations", f"{size(memories[0].size)} (bound {size(memories[0].lower_bound)})"),)
            if memories
            else ()
        ),
        ("inputs", feeds_note),
    )
    peaks = MachinePeaks(processor)
    is_int8 = any(line.is_int8 and line.multiplications for line in profile)
    operations = peaks.int8_operations(1) if is_int8 else peaks.flops(1)
    bandwidth = peaks.bytes_per_second(MAX_WORKING_SET, 1, writes=False)
    return Document(
        path.name,
        target,
        "native",
        facts,
        nodes,
        memories,
        Timeline("us", f"measured on this processor, fastest of {RUNS} runs", tasks),
        # A multiply-add is two operations; the unit of time is the microsecond.
        Roofline(operations / 2e6, bandwidth / 1e6, f"{ROOFS}, in {'int8' if is_int8 else 'float32'}"),
        (),
        front.rewrites({}),
        front.diff,
        front.operators(nodes),
        {"accuracy": "Native code computes in the model's own types.", "memory": missing},
    )


def _fastest(
    session: Session, path: Path, input_shapes: Mapping[str, Sequence[int]] | None
) -> tuple[list[ReportLine], str]:
    """Run on made-up inputs; return the steps of the fastest run, and what the inputs were."""
    feeds = accepted_feeds(session, path, input_shapes)
    runs: list[list[ReportLine]] = []
    for _ in range(RUNS):
        session.run(None, feeds)
        runs.append(session.report())
    shapes = ", ".join(
        f"{name} {'x'.join(map(str, array.shape)) or 'scalar'}" for name, array in feeds.items()
    )
    return min(runs, key=lambda lines: sum(line.seconds for line in lines)), f"made-up numbers: {shapes}"


def _nodes(
    imported: Sequence[ImportedNode], lines: Sequence[ReportLine], simplified: ModuleOp
) -> tuple[GraphNode, ...]:
    """Return the nodes of the model with where they run and the steps that compute them."""
    merged = {
        name: names[0] for op in compute_nodes(simplified) if (names := node_names(op)) for name in names
    }
    steps: dict[str, list[int]] = {}
    host = {line.node: line.reason for line in lines if line.where == "host"}
    for index, line in enumerate(lines):
        for name in line.nodes or (line.node,):
            steps.setdefault(name, []).append(index)
    found: list[GraphNode] = []
    for node in imported:
        executor = node.name if node.name in steps else merged.get(node.name, "")
        engine = "host" if executor in host else "CPU" if executor else "removed"
        layers = tuple(steps.get(executor, ()))
        found.append(GraphNode(node.name, node.op, node.inputs, engine, host.get(executor, ""), layers))
    return tuple(found)


def _memories(
    path: Path, target: str, input_shapes: Mapping[str, Sequence[int]] | None
) -> tuple[tuple[Memory, ...], str]:
    """Return the arena, or why it cannot be drawn."""
    try:
        found = memory_map(planned_module(path, target, input_shapes))
    except XonncError as error:
        return (), str(error)
    if found.peak is None:
        return (), "Sizes are dynamic: --input-shape makes them static."
    return (memory_of("arena", found),), ""
