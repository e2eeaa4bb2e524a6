"""The report of a model that is compiled for NVDLA, or of a loadable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import onnx
from xdsl.dialects.builtin import ModuleOp

from xonnc.explanation import CPU, Explanation, explain_package
from xonnc.formats.nvdla.calibration import Ranges
from xonnc.formats.nvdla.loadable import Loadable
from xonnc.formats.nvdla.performance import HardwareLayer, Performance, performance
from xonnc.formats.onnx.exporter import export_module
from xonnc.lowering.dla.memory_map import memory_map
from xonnc.lowering.memory_planning.memory_map import MemoryMap
from xonnc.lowering.quantization_statistics.quantization_error import QuantizationError
from xonnc.packages import compile_placement
from xonnc.targets import NvdlaTarget, load_target
from xonnc.tools.console import plural, quantity, size
from xonnc.tools.html_report.cpu_parts import cpu_seconds
from xonnc.tools.html_report.document import (
    Buffer,
    Document,
    GraphNode,
    Memory,
    QuantizedValue,
    Roofline,
    Task,
    Timeline,
)
from xonnc.tools.html_report.front_end import FrontEnd, ImportedNode
from xonnc.tools.package_parts import PackagePart
from xonnc.transforms.models.signatures import Shapes


def report_model(
    path: Path,
    target_name: str,
    calibrate: Callable[[ModuleOp], Ranges] | None,
    on_stage: Callable[[str, ModuleOp], None],
    measure: Callable[[], Sequence[QuantizationError]] | None,
    register_cycles: float,
    input_shapes: Shapes | None = None,
) -> Document:
    """
    Compile a model, to a package if the DLA does not take all of it, and report on it.

    `measure` returns the quantization errors after compilation, if there are samples.
    """
    target = load_target(target_name)
    front = FrontEnd()

    def seen(stage: str, module: ModuleOp) -> None:
        front.on_stage(stage, module)
        on_stage(stage, module)

    with front.recording():
        compiled, placement = compile_placement(path, target_name, seen, calibrate, input_shapes=input_shapes)
    explanation = explain_package(path, target_name, calibrate, input_shapes=input_shapes)
    costs = [
        performance(one.loadable, target, register_cycles).with_nodes(
            [layer.node for layer in one.report.layers]
        )
        for one in compiled.compiled
    ]
    remaining = iter(costs)
    steps = [
        cpu_seconds(export_module(one.outlined.module).to_proto())
        if one.compiled is None
        else next(remaining)
        for one in placement.partitions
    ]
    timeline = _timeline(steps, target)
    parts = [one for one in placement.partitions if one.compiled is not None]
    memories = [
        memory_of(f"part {index}", memory_map(one.outlined.module, target)) for index, one in enumerate(parts)
    ]
    nodes = graph_nodes(front.nodes, explanation, timeline.tasks)
    errors = () if measure is None else tuple(_quantized(one) for one in measure())
    cycles = sum(cost.cycles for cost in costs)
    engines = Counter("CPU" if node.engine == CPU else "DLA" for node in nodes if node.engine != "removed")
    facts = (
        ("target", f"{target.name}, {target.clock_mhz:g} MHz, {target.dram_gb_per_s:g} GB/s"),
        ("nodes", f"{len(nodes)}, {sum(front.after.values())} after simplification"),
        (
            "placed",
            f"DLA {engines['DLA']}, CPU {engines['CPU']}, in {plural(len(placement.partitions), 'part')}",
        ),
        (
            "latency",
            f"{cycles / target.clock_mhz / 1000:.3f} ms on the DLA, {quantity(cycles)} cycles (estimated)"
            + _cpu_latency(steps),
        ),
        ("work", f"{quantity(sum(cost.macs for cost in costs))} multiplications"),
        ("memory moved", size(sum(cost.traffic_bytes for cost in costs))),
        ("activations", ", ".join(f"{size(one.size)} (bound {size(one.lower_bound)})" for one in memories)),
    )
    return Document(
        path.name,
        target.name,
        "nvdla",
        facts,
        nodes,
        tuple(memories),
        timeline,
        roofline_of(costs, target),
        errors,
        front.rewrites({}),
        front.diff,
        front.operators(nodes),
        {} if errors else {"accuracy": "Give samples (--calibrate DATA) to measure the error of each value."},
    )


def report_loadable(
    path: Path, parts: Mapping[str, PackagePart], target: NvdlaTarget, register_cycles: float
) -> Document:
    """
    Report on compiled files, which have no graph of the model any more.

    `parts` are loadables, and serialised ONNX models for the CPU.
    """
    steps = [
        performance(one.content, target, register_cycles).with_nodes(one.nodes)
        if isinstance(one.content, Loadable)
        else cpu_seconds(onnx.ModelProto.FromString(one.content))
        for one in parts.values()
    ]
    costs = [step for step in steps if isinstance(step, Performance)]
    cycles = sum(cost.cycles for cost in costs)
    facts = (
        ("target", f"{target.name}, {target.clock_mhz:g} MHz, {target.dram_gb_per_s:g} GB/s"),
        (
            "latency",
            f"{cycles / target.clock_mhz / 1000:.3f} ms, {quantity(cycles)} cycles (estimated)"
            + _cpu_latency(steps),
        ),
        ("work", f"{quantity(sum(cost.macs for cost in costs))} multiplications"),
        ("memory moved", size(sum(cost.traffic_bytes for cost in costs))),
    )
    missing = "A compiled file does not have it: give the model."
    notes = {view: missing for view in ("graph", "memory", "accuracy", "passes", "operators")}
    return Document(
        path.name,
        target.name,
        "loadable",
        facts,
        timeline=_timeline(steps, target),
        roofline=roofline_of(costs, target),
        notes=notes,
    )


def graph_nodes(
    nodes: Sequence[ImportedNode], explained: Explanation, tasks: Sequence[Task]
) -> tuple[GraphNode, ...]:
    """Return the nodes of the model with their engines and their tasks."""
    by_name = {one.node: one for one in explained.nodes}
    on_dla = [index for index, task in enumerate(tasks) if task.engine != CPU]
    on_cpu = (index for index, task in enumerate(tasks) if task.engine == CPU)
    part_of = {
        node: task
        for part, task in zip((one for one in explained.parts if one.kind == "cpu"), on_cpu, strict=True)
        for node in part.nodes
    }
    found: list[GraphNode] = []
    for node in nodes:
        known = by_name.get(node.name)
        engine = "removed" if known is None else known.engine
        layers = () if known is None else tuple(on_dla[layer] for layer in known.layers)
        if engine == CPU and node.name in part_of:
            layers = (part_of[node.name],)
        reason = "" if known is None or known.reason is None else known.reason
        found.append(GraphNode(node.name, node.op, node.inputs, engine, reason, layers))
    return tuple(found)


def memory_of(name: str, found: MemoryMap) -> Memory:
    """Return a memory map as the page shows it; sizes must be static."""
    buffers = tuple(
        Buffer(each.name, each.first, each.last, each.offset, each.size) for each in found.buffers
    )
    peak = found.peak or 0
    return Memory(
        name, found.size, peak, found.lower_bound or 0, found.peak_step(), tuple(found.steps), buffers
    )


def roofline_of(costs: Sequence[Performance], target: NvdlaTarget) -> Roofline:
    """Return the roofs of a target: multiplications and bytes per cycle."""
    peak = max((layer.peak_macs for cost in costs for layer in cost.layers), default=0)
    return Roofline(
        peak,
        target.bytes_per_cycle,
        f"{target.name}: {peak} multiplications, {target.bytes_per_cycle:.3g} bytes a cycle",
    )


Step: TypeAlias = Performance | float | None
"""A part of a package: the cost of a loadable, or the seconds of a part for the CPU if they are known."""


def _cpu_latency(steps: Sequence[Step]) -> str:
    """Return the time of the parts for the CPU as text."""
    on_cpu = [step for step in steps if not isinstance(step, Performance)]
    known = [seconds for seconds in on_cpu if seconds is not None]
    if not on_cpu:
        return ""
    text = f"; {1000 * sum(known):.3f} ms in {plural(len(known), 'part')} on the CPU ({MEASURED})"
    return text + (f", {len(on_cpu) - len(known)} more of unknown time" if len(known) < len(on_cpu) else "")


MEASURED = "measured on this processor, one thread, without transfers"


def _timeline(steps: Sequence[Step], target: NvdlaTarget) -> Timeline:
    """Return the parts one after another."""
    costs = [step for step in steps if isinstance(step, Performance)]
    measured = all(cost.is_measured for cost in costs)
    source = "estimated by rules " + (
        "measured on this hardware" if measured else "extrapolated from nv_small"
    )
    if len(costs) < len(steps):
        source += f"; the CPU {MEASURED}, as cycles of the DLA's clock"
    tasks: list[Task] = []
    begin = 0.0
    for index, step in enumerate(steps):
        if isinstance(step, Performance):
            tasks += [_task(layer, begin) for layer in step.layers]
            begin += step.cycles
        else:
            cycles = round((step or 0.0) * target.clock_mhz * 1e6)
            end = begin + cycles
            bound = "unknown time" if step is None else ""
            tasks.append(Task(f"part {index} on the CPU", CPU, begin, begin, end, cycles, bound))
            begin = end
    return Timeline("cycles", source, tuple(tasks))


def _task(layer: HardwareLayer, begin: float) -> Task:
    return Task(
        layer.node or f"layer of task {layer.task}",
        layer.engine_text,
        begin + layer.start,
        begin + layer.computes,
        begin + layer.end,
        layer.cycles,
        layer.bound,
        layer.macs,
        layer.traffic_bytes,
        layer.node,
    )


def _quantized(one: QuantizationError) -> QuantizedValue:
    snr = one.signal_to_noise
    is_finite = snr < float("inf")
    return QuantizedValue(
        one.name,
        one.operator,
        one.element,
        one.scale,
        one.zero_point,
        one.saturated,
        snr if is_finite else None,
        one.cosine,
        one.histogram_range,
        one.histogram_float,
        one.histogram_quantized,
    )
