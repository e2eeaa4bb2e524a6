"""Reads a module of kernels and calls as a program: values, steps, and one plan of the memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np
from xdsl.dialects import memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DictionaryAttr,
    ModuleOp,
    StringAttr,
    UnrealizedConversionCastOp,
)
from xdsl.dialects.func import FuncOp
from xdsl.dialects.func import ReturnOp as FuncReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.hints import isa

from xonnc.dialects.krnl.memory import CallOp, GlobalOp, KeepOp, SeedOp
from xonnc.dialects.krnl.types import is_buffer
from xonnc.dialects.onnx.elements import elements_array
from xonnc.dialects.onnx.locations import node_name
from xonnc.dialects.onnx.ops.builtin import NoValueOp, ReturnOp, YieldOp
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.types import (
    ELEMENT_DTYPES,
    NONE,
    element_type,
    is_ranked,
    static_shape,
)
from xonnc.errors import XonncError
from xonnc.formats.native.program import (
    Body,
    Check,
    HostStep,
    NativeStep,
    Place,
    Port,
    Program,
    SessionStep,
    Setting,
    Value,
)
from xonnc.lowering.convert_onnx_to_krnl import Reasons
from xonnc.lowering.onnx_to_krnl.checks import check_of
from xonnc.lowering.session_ops import SESSION_OPS, settings_of
from xonnc.transforms.evaluation import captured, later_program_of_op

ALIGNMENT = 64
"""Bytes; a line of the cache, and the widest vector."""


@dataclass(frozen=True)
class KernelCall:
    """A kernel, the places of its buffers in the table, and how many turns it has (0: it takes no range)."""

    kernel: str
    places: Sequence[int]
    turns: int
    size: int
    """Bytes of all its buffers."""
    node: str = ""
    """The ONNX node whose work it does."""


Steps = Sequence[tuple[str, Sequence[KernelCall]]]
"""Functions by name with the kernels that each runs."""


@dataclass
class _Reading:
    reasons: Reasons
    program: Program = field(default_factory=Program)
    places: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    functions: list[tuple[str, Sequence[KernelCall]]] = field(
        default_factory=list[tuple[str, Sequence[KernelCall]]]
    )
    row: list[KernelCall] = field(default_factory=list[KernelCall])
    """Kernels since the last step of another kind."""
    checks: list[Check] = field(default_factory=list[Check])
    """What must hold behind them."""
    touched: list[Sequence[int]] = field(default_factory=list[Sequence[int]])
    """The values that each kernel or host step reads or writes, in order."""

    def value(self, made: SSAValue, value: Value) -> int:
        self.program.values.append(value)
        self.places[made] = len(self.program.values) - 1
        return self.places[made]

    def root(self, place: int) -> int:
        """The value whose memory a value is."""
        while (same := self.program.values[place].same_as) is not None:
            place = same
        return place

    def end_row(self) -> None:
        """Makes a function of the kernels since the last."""
        if self.row:
            name = f"run_{len(self.functions)}"
            self.functions.append((name, self.row))
            self.program.steps.append(NativeStep(name, [call.kernel for call in self.row], self.checks))
            if self.checks:
                # What is checked stays until the row has run.
                self.touched.append([check.value for check in self.checks])
            self.row, self.checks = [], []


def read_program(module: ModuleOp, reasons: Reasons) -> tuple[Program, Steps]:
    """
    The program that a module lowered to krnl is, and the functions that its native steps call.

    `reasons` tells why ops that stayed have no kernel.
    """
    function = next((op for op in module.ops if isinstance(op, FuncOp)), None)
    if function is None:
        raise XonncError("the module has no function")
    reading = _Reading(reasons)
    for argument in function.body.block.args:
        reading.value(argument, _value(Place.INPUT, argument.type))
    reading.program.inputs = _ports(function.arg_attrs, function.body.block.args, reading)
    for op in function.body.block.ops:
        _read(op, reading)
    reading.end_row()
    end = function.body.block.last_op
    assert end is not None
    reading.program.outputs = _ports(function.res_attrs, end.operands, reading)
    _place_outputs(reading)
    _plan_arena(reading)
    return reading.program, reading.functions


def _value(place: Place, type_: Attribute) -> Value:
    element = type_.element_type if is_buffer(type_) else element_type(type_)
    shape = type_.get_shape() if is_buffer(type_) else static_shape(type_)
    dtype = None if element is None else ELEMENT_DTYPES.get(element)
    return Value(place, shape, dtype)


def _ports(attributes: Attribute | None, values: Sequence[SSAValue], reading: _Reading) -> list[Port]:
    held = list(attributes) if isa(attributes, ArrayAttr[DictionaryAttr]) else []
    ports: list[Port] = []
    for number, value in enumerate(values):
        name = held[number].data.get("onnx.name") if number < len(held) else None
        shape = None
        if is_ranked(value.type):
            shape = tuple(None if size == DYNAMIC_INDEX else size for size in value.type.get_shape())
        element = element_type(value.type)
        dtype = None if element is None else ELEMENT_DTYPES.get(element)
        text = name.data if isinstance(name, StringAttr) else f"{number}"
        ports.append(Port(text, reading.places[value], shape, dtype))
    return ports


def _read(op: Operation, reading: _Reading) -> None:
    match op:
        case GlobalOp() | ConstantOp() if op.value is not None:
            array = elements_array(op.value)
            if array is None:
                raise XonncError("a constant has no elements")
            value = _value(Place.CONSTANT, op.results[0].type)
            value.constant = np.ascontiguousarray(array)
            reading.value(op.results[0], value)
        case memref.AllocOp():
            place = reading.value(op.results[0], _value(Place.ARENA, op.results[0].type))
            if (check := check_of(op, place)) is not None:
                reading.checks.append(check)
        case memref.SubviewOp():
            value = _value(Place.ARENA, op.result.type)
            value.same_as = reading.places[op.source]
            value.shift = _shift(op)
            reading.value(op.result, value)
        case UnrealizedConversionCastOp():
            value = _value(Place.ARENA, op.results[0].type)
            value.same_as = reading.places[op.operands[0]]
            reading.value(op.results[0], value)
        case CallOp():
            places = [reading.places[value] for value in op.parameters]
            turns = 0 if op.turns is None else op.turns.value.data
            size = sum(reading.program.values[place].size for place in places)
            reading.row.append(KernelCall(op.func_name.data, places, turns, size, node_name(op)))
            reading.touched.append(places)
        case NoValueOp() | ReturnOp() | YieldOp() | FuncReturnOp():
            pass
        case KeepOp():
            reading.end_row()
            _read_keep(op, reading)
        case SeedOp():
            reading.end_row()
            made = reading.value(op.result, _value(Place.ARENA, op.result.type))
            reading.program.steps.append(SessionStep("Seed", node_name(op) or "", {}, [], [made]))
            reading.touched.append([made])
        case _ if type(op) in SESSION_OPS:
            reading.end_row()
            _read_session(op, reading)
        case _:
            reading.end_row()
            _read_host(op, reading)


def _shift(op: memref.SubviewOp) -> int:
    """Bytes from the start of a buffer to that of its part."""
    assert is_buffer(op.source.type)
    shape = op.source.type.get_shape()
    offsets = [int(offset) for offset in op.static_offsets.get_values()]
    elements = sum(offset * prod(shape[axis + 1 :]) for axis, offset in enumerate(offsets))
    return elements * ELEMENT_DTYPES[op.source.type.element_type].itemsize


def _read_host(op: Operation, reading: _Reading) -> None:
    # Constants that a body reads are copied into it: not every operator looks around itself.
    around = [value for value in captured(op) if not isinstance(value.owner, ConstantOp)]
    read = dict.fromkeys((*(value for value in op.operands if value.type != NONE), *around))
    inputs = [value for value in read if value in reading.places]
    run = later_program_of_op(op, inputs)
    writes: list[int] = []
    for result in op.results:
        if result.type != NONE:
            value = _value(Place.ARENA, result.type)
            if value.shape is None or value.dtype is None or value.dtype.hasobject:
                value.place = Place.HELD
            writes.append(reading.value(result, value))
    reads = [reading.places[value] for value in inputs]
    reason = reading.reasons.get(op, "")
    reading.program.steps.append(
        HostStep(op.name.removeprefix("onnx."), node_name(op) or "", reason, run, reads, writes)
    )
    reading.touched.append([*reads, *writes])


def _read_session(op: Operation, reading: _Reading) -> None:
    bodies = [_read_body(region.block, op, reading) for region in op.regions]
    reads = [reading.places.get(value) for value in op.operands]
    writes: list[int | None] = []
    for result in op.results:
        made = None
        if result.type != NONE:
            value = _value(Place.ARENA, result.type)
            if value.shape is None or value.dtype is None or value.dtype.hasobject:
                value.place = Place.HELD
            made = reading.value(result, value)
        writes.append(made)
    kind = op.name.removeprefix("onnx.")
    step = SessionStep(kind, node_name(op) or "", settings_of(op), reads, writes, bodies)
    reading.program.steps.append(step)
    captured_places = [place for body in bodies for place in body.captured]
    reading.touched.append([place for place in (*reads, *captured_places, *writes) if place is not None])


def _read_keep(op: KeepOp, reading: _Reading) -> None:
    """A tensor cut to the size that a run has found."""
    made = reading.value(op.result, _value(Place.HELD, op.result.type))
    reads = [reading.places[op.source], reading.places[op.count]]
    settings: dict[str, Setting] = {"axis": op.axis.value.data}
    reading.program.steps.append(SessionStep("Keep", node_name(op) or "", settings, reads, [made]))
    reading.touched.append(reads)


def _read_body(block: Block, op: Operation, outside: _Reading) -> Body:
    """A body as a program, whose inputs are its arguments and then what it reads from around."""
    reading = _Reading(outside.reasons, functions=outside.functions)
    around = list(
        dict.fromkeys(
            value
            for inner in block.walk()
            for value in inner.operands
            if not op.is_ancestor(value.owner) and value in outside.places
        )
    )
    inputs = [*block.args, *around]
    for value in inputs:
        reading.value(value, _value(Place.INPUT, value.type))
    reading.program.inputs = _ports(None, inputs, reading)
    for inner in block.ops:
        _read(inner, reading)
    reading.end_row()
    end = block.last_op
    assert end is not None
    reading.program.outputs = _ports(None, end.operands, reading)
    _place_outputs(reading)
    _plan_arena(reading)
    return Body(reading.program, [outside.places[value] for value in around])


def _place_outputs(reading: _Reading) -> None:
    """What is given to the caller lies in arrays of its own."""
    for port in reading.program.outputs:
        value = reading.program.values[reading.root(port.value)]
        if value.place is Place.ARENA:
            value.place = Place.OUTPUT


def _plan_arena(reading: _Reading) -> None:
    """
    Places what lives in the arena, the largest first, each as low as it fits.

    A value lives from the step that writes it first to the last that reads it.
    """
    lives: dict[int, tuple[int, int]] = {}
    for step, places in enumerate(reading.touched):
        for place in map(reading.root, places):
            first, _ = lives.get(place, (step, step))
            lives[place] = first, step
    values = reading.program.values
    placed: list[int] = []
    for place in sorted(lives, key=lambda each: -values[each].size):
        value = values[place]
        if value.place is not Place.ARENA:
            continue
        offset = 0
        for other in sorted(placed, key=lambda each: values[each].offset):
            if lives[other][1] < lives[place][0] or lives[place][1] < lives[other][0]:
                continue
            if offset + value.size <= values[other].offset:
                break
            offset = max(offset, _aligned(values[other].offset + values[other].size))
        value.offset = offset
        placed.append(place)
        reading.program.arena = max(reading.program.arena, _aligned(offset + value.size))


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
