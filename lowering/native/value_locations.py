"""The location of each value of a program in standalone code, which runs without Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from xonnc.errors import RefusalError, XonncError
from xonnc.formats.native.program import HostStep, NativeStep, Program, SessionStep, Storage, TensorSpec
from xonnc.formats.native.weights import WeightFile
from xonnc.lowering.native.shape_plan import ShapePlan


@dataclass(frozen=True)
class ValueLocation:
    """A location in memory: a byte offset into the `weights`, the `arena` or one of the caller's arrays."""

    base: str
    """`weights`, `arena`, `inputs`, `outputs`, or `sizes` for a dynamic dimension."""
    offset: int
    index: int = 0
    """Index of the input or output, or of the slot in the array of sizes."""
    dynamic_offset: int | None = None
    """Slot of the arena offset that each run computes, to which `offset` is added; `None` if static."""


@dataclass(frozen=True)
class OutputCopy:
    """An output that shares memory with another value, and so is copied at the end of a run."""

    output: int
    source: ValueLocation
    size: int
    """Size in bytes, or the slot of the size if `is_dynamic`."""
    is_dynamic: bool = False


@dataclass(frozen=True)
class BoundsCheck:
    """A check at the end of a run: two 64-bit integers (minimum, maximum) must be in `[low, high]`."""

    location: ValueLocation
    low: int
    high: int
    message: str


def _session_reason(step: SessionStep) -> str:
    match operator := step.operator:
        case "If" | "Loop" | "Scan":
            return f"a body has no native code, or dynamic shapes, so that {operator} is run"
        case "StripMinedLoop":
            return "the number of iterations depends on the run, so that strips of it are run"
        case "Keep":
            return "the size of its result is data-dependent, and the result is sliced"
        case "Later":
            return "what depends on a data-dependent shape is run"
        case "Seed":
            return "without the attribute seed, the random generator is seeded anew in each run"
        case _ if "Sequence" in operator or "Optional" in operator:
            return f"sequences of tensors are Python objects, so that {operator} is run"
        case _:
            return f"strings and maps are Python objects, so that {operator} is run"


@dataclass(frozen=True)
class MemoryLayout:
    """The locations of all values of a program."""

    weights: WeightFile
    locations: Sequence[ValueLocation]
    """By index of the value."""
    copies: Sequence[OutputCopy]
    bounds_checks: Sequence[BoundsCheck]
    plan: ShapePlan | None = None
    """The computation of shapes and offsets at the start of a run, for dynamic shapes."""


def require_standalone(program: Program, what: str) -> None:
    """Raise `RefusalError` with every operator and input that standalone code does not support."""
    reasons = _unsupported_tensors(
        "input", [tensor for tensor in program.inputs if not _is_dynamic_tensor(tensor)]
    )
    if any(map(_is_dynamic_tensor, program.inputs)) and not program.is_dynamic:
        options = " ".join(
            f"--input-shape {tensor.name}:{_shape_text(tensor)}"
            for tensor in program.inputs
            if _is_dynamic_tensor(tensor)
        )
        reasons.append(
            f"{what}: not every operator has code for dynamic shapes; pass {options} with a number for each ?"
        )
    if reasons:
        raise RefusalError(reasons)
    reasons = [
        f"{step.node or step.operator}: {step.operator} has no native code here ({step.reason})"
        for step in program.walk_steps()
        if isinstance(step, HostStep)
    ]
    reasons += [
        f"{step.node or step.operator}: {_session_reason(step)} by the session, which is Python"
        for step in program.walk_steps()
        if isinstance(step, SessionStep)
    ]
    if reasons:
        reasons.append(
            f"{what}: runs without Python, so every operator needs native code; `xonnc run --target cpu` "
            "computes these with the ONNX reference"
        )
    static = [
        tensor for tensor in program.outputs if not program.is_dynamic or not _is_dynamic_tensor(tensor)
    ]
    reasons += _unsupported_tensors("output", static)
    if reasons:
        raise RefusalError(reasons)


def _unsupported_tensors(kind: str, tensors: Sequence[TensorSpec]) -> list[str]:
    return [
        f"{kind} '{tensor.name}': {_unsupported_reason(tensor)}"
        for tensor in tensors
        if not is_static_tensor(tensor)
    ]


def _is_dynamic_tensor(tensor: TensorSpec) -> bool:
    """Whether it is a numeric tensor with dynamic dimensions."""
    is_numbers = tensor.dtype is not None and not tensor.dtype.hasobject
    return is_numbers and tensor.shape is not None and None in tensor.shape


def _shape_text(tensor: TensorSpec) -> str:
    return ",".join("?" if size is None else str(size) for size in tensor.shape or ())


def is_static_tensor(tensor: TensorSpec) -> bool:
    """Whether an input or output is a numeric tensor of static shape."""
    is_known = tensor.shape is not None and None not in tensor.shape
    return is_known and tensor.dtype is not None and not tensor.dtype.hasobject


def _unsupported_reason(tensor: TensorSpec) -> str:
    if tensor.dtype is None or tensor.dtype.hasobject:
        return "not a numeric tensor"
    if tensor.shape is None:
        return "its rank is not known"
    return f"a size of [{_shape_text(tensor)}] is not known"


def memory_layout(program: Program) -> MemoryLayout:
    """Return the locations of all values of a program that passed `require_standalone`."""
    values = program.values
    constants = [position for position, value in enumerate(values) if value.constant is not None]
    weights = WeightFile(
        [constant for position in constants if (constant := values[position].constant) is not None]
    )
    starts = dict(zip(constants, weights.offsets, strict=False))
    inputs = {tensor.value: number for number, tensor in enumerate(program.inputs)}
    outputs: dict[int, int] = {}
    for number, tensor in enumerate(program.outputs):
        outputs.setdefault(program.root_of(tensor.value), number)

    plan = ShapePlan(program) if program.is_dynamic else None

    def location(index: int) -> ValueLocation:
        root, offset = program.root_of(index), program.alias_offset_of(index)
        if plan is not None and root in plan.slots:
            return ValueLocation("sizes", 0, plan.slots[root])
        if plan is not None and root in plan.starts:
            return ValueLocation("arena", offset, dynamic_offset=plan.starts[root])
        match values[root].storage:
            case Storage.CONSTANT:
                return ValueLocation("weights", starts[root] + offset)
            case Storage.INPUT:
                return ValueLocation("inputs", offset, inputs[root])
            case Storage.OUTPUT:
                return ValueLocation("outputs", offset, outputs[root])
            case Storage.ARENA:
                return ValueLocation("arena", values[root].offset + offset)
            case Storage.OBJECT | Storage.SIZE:
                raise XonncError("a program without host steps has a value that is a Python object")

    locations = [location(index) for index in range(len(values))]
    copies = [
        OutputCopy(number, locations[tensor.value], tensor_bytes(tensor))
        if plan is None
        else OutputCopy(number, locations[tensor.value], plan.output(number), is_dynamic=True)
        for number, tensor in enumerate(program.outputs)
        if locations[tensor.value] != ValueLocation("outputs", 0, number)
    ]
    bounds = [
        BoundsCheck(locations[check.value], check.low, check.high, " ".join(check.message.format("").split()))
        for step in program.steps
        if isinstance(step, NativeStep)
        for check in step.checks
    ]
    return MemoryLayout(weights, locations, copies, bounds, plan)


def tensor_bytes(tensor: TensorSpec) -> int:
    """Return the size of an input or output in bytes; 0 if its shape is dynamic."""
    assert tensor.shape is not None
    assert tensor.dtype is not None
    return int(np.prod([size or 0 for size in tensor.shape], dtype=np.int64)) * tensor.dtype.itemsize
