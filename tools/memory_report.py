"""`xonnc report --memory`: memory location and lifetime of tensors, and a lower bound of the memory."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, TypeAlias

from xdsl.context import Context

from xonnc.errors import UnknownNameError, XonncError
from xonnc.lowering.memory_planning.memory_map import MemoryMap
from xonnc.lowering.memory_planning.offset_assignment import ALLOCATORS, Allocator
from xonnc.targets import DEFAULT_TARGET, load_target, target_names
from xonnc.targets.cpu import cpu_names
from xonnc.tools.console import columns, plural, row, size

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.passes import ModulePass

    from xonnc.compiler import Calibrate


def report_memory(args: argparse.Namespace, calibrate: Calibrate | None) -> int:
    """Compile a model up to its memory plan and print the plan; `calibrate` gives value ranges for NVDLA."""
    name: str = args.target or DEFAULT_TARGET
    if args.model.suffix == ".nvdla":
        return _report_loadable(args, name)
    if args.model.suffix == ".xpkg":
        raise XonncError(f"{args.model}: --memory takes a model or a loadable; 'xonnc explain' has the parts")
    is_processor = name in ("cpu", *cpu_names())
    plans = _of_processor(args, name) if is_processor else _of_nvdla(args, name, calibrate)
    found = plans[args.mem_alloc]
    sizes = {allocator: plan.size for allocator, plan in plans.items()}
    if args.json:
        chosen = {"allocator": args.mem_alloc, "bytes_by_allocator": sizes}
        print(json.dumps({"model": str(args.model), "target": name, **chosen, **as_json(found)}, indent=2))
        return 0
    print(f"{args.model.name} on {name}: {plural(len(found.buffers), 'buffer')} in {_steps(found)}")
    for label, text in summary(found):
        row(label, text)
    if found.peak is not None:
        row("allocators", ", ".join(f"{allocator} {size} B" for allocator, size in sizes.items()))
    for line in () if args.total or not found.buffers else (*_table(found), *_map(found)):
        print(line)
    return 0


def _report_loadable(args: argparse.Namespace, name: str) -> int:
    """Print what the layers of a loadable write, from its descriptors."""
    from xonnc.formats.nvdla.reader import read_loadable
    from xonnc.lowering.dla.loadable_memory_map import memory_map

    found = memory_map(read_loadable(args.model), load_target(name))
    if args.json:
        print(json.dumps({"model": str(args.model), "target": name, **as_json(found)}, indent=2))
        return 0
    print(f"{args.model.name} on {name}: {plural(len(found.buffers), 'result')} in {_steps(found)}")
    row("memory", f"{found.size} B ({size(found.size)})")
    row("peak", f"{found.peak} B alive at once")
    for line in () if args.total or not found.buffers else (*_table(found), *_map(found)):
        print(line)
    return 0


def _steps(found: MemoryMap) -> str:
    return plural(len(found.steps), "step")


Plans: TypeAlias = "dict[Allocator, MemoryMap]"


def _of_processor(args: argparse.Namespace, name: str) -> Plans:
    from xonnc.artifacts import planned_module
    from xonnc.lowering.native.module_memory_map import memory_map
    from xonnc.lowering.native.plan_memory import PlanMemory

    for option in ("calib", "calibrate"):
        if getattr(args, option):
            raise XonncError(f"--{option} is for NVDLA targets, not for native code")
    plans: Plans = {}

    def on_stage(stage: str, module: ModuleOp) -> None:
        if stage == "parallel":
            for allocator in ALLOCATORS:
                plans[allocator] = memory_map(_planned(module, PlanMemory(allocator)))

    planned_module(args.model, name, dict(args.input_shape) or None, on_stage)
    return plans


def _planned(module: ModuleOp, *passes: ModulePass) -> ModuleOp:
    """Return a copy of a module after passes."""
    copy = module.clone()
    for one in passes:
        one.apply(Context(), copy)
    return copy


def _of_nvdla(args: argparse.Namespace, name: str, calibrate: Calibrate | None) -> Plans:
    from xonnc.compiler import compile_model
    from xonnc.lowering.dla.dla_allocate import DlaAllocate
    from xonnc.lowering.dla.dla_place_in_cvsram import DlaPlaceInCvsram
    from xonnc.lowering.dla.memory_map import memory_map

    try:
        target = load_target(name)
    except UnknownNameError as error:
        names = ", ".join(("cpu", *cpu_names(), *target_names()))
        raise XonncError(f"no target '{name}'. There are {names}") from error
    plans: Plans = {}

    def on_stage(stage: str, module: ModuleOp) -> None:
        if stage == "scheduled":
            for allocator in ALLOCATORS:
                planned = _planned(module, DlaPlaceInCvsram(name), DlaAllocate(name, allocator))
                plans[allocator] = memory_map(planned, target)

    compile_model(args.model, name, on_stage, calibrate, input_shapes=dict(args.input_shape) or None)
    return plans


def summary(found: MemoryMap) -> list[tuple[str, str]]:
    """Return rows with the size of the memory and its lower bound."""
    if found.peak is None or found.lower_bound is None:
        blocks = plural(found.size, "block")
        return [("memory", f"{blocks}; their sizes are dynamic; --input-shape makes them static")]
    step = found.peak_step()
    at = f", first in step {step} ({found.steps[step]})" if found.steps else ""
    is_least = found.peak == found.lower_bound
    rest = "no order has a lower peak" if is_least else "the best bound known; an order may come closer"
    return [
        ("memory", f"{found.size} B ({size(found.size)})"),
        ("peak", f"{found.peak} B alive at once in this order{at}: no plan for it takes less"),
        ("lower bound", f"{found.lower_bound} B over all orders of the steps: {rest}"),
    ]


def _table(found: MemoryMap) -> list[str]:
    unit = "block" if found.peak is None else "offset"
    rows = [("", "first", "last", unit, "bytes", "", "buffer")]
    for letter, buffer in zip(found.letters(), found.buffers, strict=True):
        rows.append(
            (
                letter,
                f"{buffer.first}",
                f"{buffer.last}",
                f"{buffer.offset}",
                "?" if found.peak is None else f"{buffer.size}",
                "in place" if found.is_in_place(buffer) else "",
                buffer.name,
            )
        )
    return ["", *columns(rows)]


def _map(found: MemoryMap) -> list[str]:
    return ["", f"addresses up, {_steps(found)} from left to right:", *found.drawing()]


def as_json(found: MemoryMap) -> dict[str, object]:
    """Return the plan as JSON; the lower bound is over all orders of the steps."""
    return {
        "bytes" if found.peak is not None else "blocks": found.size,
        "peak": found.peak,
        "lower_bound": found.lower_bound,
        "bound_is_over": "all orders of the steps",
        "steps": list(found.steps),
        "buffers": [
            {
                "name": buffer.name,
                "first": buffer.first,
                "last": buffer.last,
                "offset": buffer.offset,
                "bytes": None if found.peak is None else buffer.size,
                "in_place": found.is_in_place(buffer),
            }
            for buffer in found.buffers
        ],
    }
