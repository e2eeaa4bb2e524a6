"""Where the values of a program lie, for code that runs without Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from xonnc.errors import RefusalError, XonncError
from xonnc.formats.native.program import HostStep, NativeStep, Place, Port, Program, SessionStep
from xonnc.formats.native.weights import Weights
from xonnc.lowering.native.shape_plan import Plan


@dataclass(frozen=True)
class Spot:
    """Where a value lies: bytes into the `weights`, the `arena`, or one of the caller's arrays."""

    base: str
    """`weights`, `arena`, `inputs`, `outputs`, or `sizes` for a number that the run computes."""
    offset: int
    number: int = 0
    """Which input or output, or which of the sizes."""
    start: int | None = None
    """Which of the sizes is where it begins, less the offset, if the run computes that."""


@dataclass(frozen=True)
class Copy:
    """An output that is also something else, copied at the end."""

    output: int
    source: Spot
    size: int
    """Bytes, or which of the sizes those are."""
    is_open: bool = False
    """Whether the run computes how many bytes."""


@dataclass(frozen=True)
class Bounds:
    """Two numbers of 64 bits that must lie between `least` and `most` at the end, else `message` holds."""

    spot: Spot
    least: int
    most: int
    message: str


def _done_by_session(step: SessionStep) -> str:
    match operator := step.operator:
        case "If" | "Loop" | "Scan":
            return f"a body has no native code, or shapes that only a run tells, so that {operator} is run"
        case "Keep":
            return "the number of elements is for the run to find, and its result is cut"
        case "Later":
            return "what follows from a number of elements that the run finds is run"
        case "Seed":
            return "draws other numbers in each run (a seed would say which), which are seeded"
        case _ if "Sequence" in operator or "Optional" in operator:
            return f"lists of tensors are Python's, so that {operator} is run"
        case _:
            return f"strings and maps are Python's, so that {operator} is run"


@dataclass(frozen=True)
class Layout:
    """Where everything lies."""

    weights: Weights
    spots: Sequence[Spot]
    """Of each value of the program."""
    copies: Sequence[Copy]
    bounds: Sequence[Bounds]
    plan: Plan | None = None
    """What a run computes first, of a program for any sizes."""


def require_whole(program: Program, what: str) -> None:
    """Raises `RefusalError` with every operator and input that code without Python cannot have."""
    reasons = _not_plain("input", [port for port in program.inputs if not _is_open(port)])
    if any(map(_is_open, program.inputs)) and not program.is_open:
        options = " ".join(
            f"--input-shape {port.name}:{_sizes(port)}" for port in program.inputs if _is_open(port)
        )
        reasons.append(
            f"{what}: not every operator has code for sizes that only a run tells; pass {options} with a "
            "number for each ?"
        )
    if reasons:
        raise RefusalError(reasons)
    reasons = [
        f"{step.node or step.operator}: {step.operator} has no native code here ({step.reason})"
        for step in program.every_step()
        if isinstance(step, HostStep)
    ]
    reasons += [
        f"{step.node or step.operator}: {_done_by_session(step)} by the session, which is Python"
        for step in program.every_step()
        if isinstance(step, SessionStep)
    ]
    if reasons:
        reasons.append(
            f"{what}: runs without Python, so every operator needs native code; `xonnc run --target cpu` "
            "computes these with the ONNX reference"
        )
    told = [port for port in program.outputs if not program.is_open or not _is_open(port)]
    reasons += _not_plain("output", told)
    if reasons:
        raise RefusalError(reasons)


def _not_plain(kind: str, ports: Sequence[Port]) -> list[str]:
    return [f"{kind} '{port.name}': {_described(port)}" for port in ports if not is_plain(port)]


def _is_open(port: Port) -> bool:
    """Whether it is a tensor of numbers of which the model leaves sizes open."""
    is_numbers = port.dtype is not None and not port.dtype.hasobject
    return is_numbers and port.shape is not None and None in port.shape


def _sizes(port: Port) -> str:
    return ",".join("?" if size is None else str(size) for size in port.shape or ())


def is_plain(port: Port) -> bool:
    """Whether an input or output is a tensor of known size whose elements are bytes."""
    is_known = port.shape is not None and None not in port.shape
    return is_known and port.dtype is not None and not port.dtype.hasobject


def _described(port: Port) -> str:
    if port.dtype is None or port.dtype.hasobject:
        return "not a tensor of numbers"
    if port.shape is None:
        return "how many axes it has is not known"
    return f"a size of [{_sizes(port)}] is not known"


def layout_of(program: Program) -> Layout:
    """The layout of a program that is whole."""
    values = program.values
    constants = [place for place, value in enumerate(values) if value.constant is not None]
    weights = Weights([constant for place in constants if (constant := values[place].constant) is not None])
    starts = dict(zip(constants, weights.offsets, strict=False))
    inputs = {port.value: number for number, port in enumerate(program.inputs)}
    outputs: dict[int, int] = {}
    for number, port in enumerate(program.outputs):
        outputs.setdefault(program.root_of(port.value), number)

    plan = Plan(program) if program.is_open else None

    def spot(place: int) -> Spot:
        root, shift = program.root_of(place), program.shift_of(place)
        if plan is not None and root in plan.slots:
            return Spot("sizes", 0, plan.slots[root])
        if plan is not None and root in plan.starts:
            return Spot("arena", shift, start=plan.starts[root])
        match values[root].place:
            case Place.CONSTANT:
                return Spot("weights", starts[root] + shift)
            case Place.INPUT:
                return Spot("inputs", shift, inputs[root])
            case Place.OUTPUT:
                return Spot("outputs", shift, outputs[root])
            case Place.ARENA:
                return Spot("arena", values[root].offset + shift)
            case Place.HELD | Place.SIZE:
                raise XonncError("a value of a program without host calls is held by none")

    spots = [spot(place) for place in range(len(values))]
    copies = [
        Copy(number, spots[port.value], size_of(port))
        if plan is None
        else Copy(number, spots[port.value], plan.output(number), is_open=True)
        for number, port in enumerate(program.outputs)
        if spots[port.value] != Spot("outputs", 0, number)
    ]
    bounds = [
        Bounds(spots[check.value], check.least, check.most, " ".join(check.message.format("").split()))
        for step in program.steps
        if isinstance(step, NativeStep)
        for check in step.checks
    ]
    return Layout(weights, spots, copies, bounds, plan)


def size_of(port: Port) -> int:
    """Bytes of an input or output; 0 if a run tells."""
    assert port.shape is not None
    assert port.dtype is not None
    return int(np.prod([size or 0 for size in port.shape], dtype=np.int64)) * port.dtype.itemsize
