"""Reads a module of kernels and calls as a program: values with the memory planned for them, and steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TypeAlias

import numpy as np
from xdsl.dialects import arith, memref, scf, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    UnrealizedConversionCastOp,
)
from xdsl.dialects.func import FuncOp
from xdsl.dialects.func import ReturnOp as FuncReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.traits import SymbolTable
from xdsl.utils.hints import isa

from xonnc.dialects.krnl.attributes import BLOCKS, OFFSETS, location_of, no_kernel
from xonnc.dialects.krnl.dynamic_shapes import RequireOp, ShapedOp
from xonnc.dialects.krnl.memory import CallOp, GlobalOp, KeepOp, LaterOp, SeedOp
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
    Formula,
    HostStep,
    NativeStep,
    Place,
    Port,
    Program,
    Requirement,
    SessionStep,
    Setting,
    Tensors,
    Value,
    aligned,
)
from xonnc.formats.onnx.exporter import export_proto
from xonnc.lowering.onnx_to_krnl.checks import check_of
from xonnc.lowering.onnx_to_krnl.session_ops import attributes_of, is_session_op, operator_of
from xonnc.transforms.evaluation import captured, later_program_of_op, module_of_op
from xonnc.transforms.rules.reference_faults import is_always_wrong


@dataclass(frozen=True)
class KernelCall:
    """A kernel, the places of its buffers in the table, and its number of iterations (0: without a range)."""

    kernel: str
    places: Sequence[int]
    iterations: int
    size: int
    """Bytes of all its buffers."""
    node: str = ""
    """The ONNX node whose work it does."""
    sizes: Sequence[int] = ()
    """The places of sizes that the kernel takes behind its buffers."""
    iterations_parameter: int | None = None
    """The place of the number of iterations, where a run computes it."""


@dataclass(frozen=True)
class Part:
    """A function that runs kernels in order, threads sharing them out."""

    function: str


@dataclass(frozen=True)
class Branch:
    """One of two rows, by the boolean that the buffer at a place of the table holds."""

    condition: int
    then: Row
    otherwise: Row


@dataclass(frozen=True)
class Repeat:
    """A row again and again, as long as the boolean holds that the buffer at a place of the table has."""

    condition: int
    body: Row


Row: TypeAlias = "Sequence[KernelCall | Part | Branch | Repeat]"
"""What runs one after the other."""

Steps = Sequence[tuple[str, Row]]
"""Functions by name with what each runs."""


def calls_of(row: Row) -> Iterator[KernelCall]:
    """All calls of kernels in a row, those of branches and loops too."""
    for step in row:
        match step:
            case KernelCall():
                yield step
            case Branch():
                yield from calls_of(step.then)
                yield from calls_of(step.otherwise)
            case Repeat():
                yield from calls_of(step.body)
            case Part():
                pass


def in_parts(name: str, row: Row, parts: list[tuple[str, Sequence[KernelCall]]]) -> Row:
    """A row whose calls are functions of their own, which are added to `parts`."""
    made: list[Part | Branch | Repeat] = []
    calls: list[KernelCall] = []

    def end() -> None:
        if calls:
            made.append(Part(f"{name}_part_{len(parts)}"))
            parts.append((f"{name}_part_{len(parts)}", list(calls)))
            calls.clear()

    for step in row:
        if isinstance(step, KernelCall):
            calls.append(step)
            continue
        end()
        match step:
            case Branch():
                rows = [in_parts(name, each, parts) for each in (step.then, step.otherwise)]
                made.append(Branch(step.condition, *rows))
            case Repeat():
                made.append(Repeat(step.condition, in_parts(name, step.body, parts)))
            case Part():
                made.append(step)
    end()
    return made


@dataclass
class _Reading:
    program: Program = field(default_factory=Program)
    places: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    functions: list[tuple[str, Row]] = field(default_factory=list[tuple[str, "Row"]])
    row: list[KernelCall | Part | Branch | Repeat] = field(
        default_factory=list["KernelCall | Part | Branch | Repeat"]
    )
    """Kernels since the last step of another kind."""
    checks: list[Check] = field(default_factory=list[Check])
    """What must hold behind them."""
    numbers: dict[int, int] = field(default_factory=dict[int, int])
    """The places of sizes that are known."""

    def value(self, made: SSAValue, value: Value) -> int:
        place = self.places[made] = len(self.program.values)
        self.program.values.append(value)
        if value.place is Place.ARENA and value.same_as is None:
            self._put_in_arena(made, place)
        return place

    def _put_in_arena(self, made: SSAValue, place: int) -> None:
        """Gives a value the offset or the block that `plan-memory` has found for it."""
        value, blocks = self.program.values[place], self.program.blocks
        if (block := location_of(made, BLOCKS)) is not None:
            blocks += [[] for _ in range(block + 1 - len(blocks))]
            blocks[block].append(place)
        if (offset := location_of(made, OFFSETS)) is not None:
            value.offset = offset
            self.program.arena = max(self.program.arena, aligned(offset + value.size))

    def size(self, made: SSAValue, operator: str, *operands: int) -> None:
        """A number that a run computes."""
        self.value(made, _size(operator, *operands))

    def number(self, number: int) -> int:
        """The place of a size that is known."""
        if number not in self.numbers:
            self.program.values.append(_size("number", number))
            self.numbers[number] = len(self.program.values) - 1
        return self.numbers[number]

    def root(self, place: int) -> int:
        """The value whose memory a value is."""
        while (same := self.program.values[place].same_as) is not None:
            place = same
        return place

    def end_row(self) -> None:
        """Makes a function of the kernels since the last."""
        if self.row:
            name = f"xonnc_run_{len(self.functions)}"
            self.functions.append((name, self.row))
            kernels = [call.kernel for call in calls_of(self.row)]
            self.program.steps.append(NativeStep(name, kernels, self.checks))
            self.row, self.checks = [], []


def read_program(module: ModuleOp) -> tuple[Program, Steps]:
    """The program that a module lowered to krnl is, and the functions that its native steps call."""
    function = next((op for op in module.ops if isinstance(op, FuncOp)), None)
    if function is None:
        raise XonncError("the module has no function")
    reading = _Reading()
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
    return reading.program, reading.functions


def _size(operator: str, *operands: int) -> Value:
    return Value(Place.SIZE, (), np.dtype(np.int64), formula=Formula(operator, operands))


def _value(place: Place, type_: Attribute) -> Value:
    element = type_.element_type if is_buffer(type_) else element_type(type_)
    shape = type_.get_shape() if is_buffer(type_) else static_shape(type_)
    shape = None if shape is not None and DYNAMIC_INDEX in shape else shape
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
    if isinstance(op, SIZE_OPS):
        _read_size(op, reading)
        return
    match op:
        case GlobalOp() | ConstantOp() if op.value is not None:
            array = elements_array(op.value)
            if array is None:
                raise XonncError("a constant has no elements")
            value = _value(Place.CONSTANT, op.results[0].type)
            value.constant = np.ascontiguousarray(array)
            reading.value(op.results[0], value)
        case memref.AllocOp() | memref.SubviewOp() | UnrealizedConversionCastOp() | ShapedOp():
            _read_buffer(op, reading)
        case CallOp():
            _read_call(op, reading)
        case memref.LoadOp() | scf.IfOp() | scf.WhileOp():
            _read_control(op, reading)
        case _ if isinstance(op, ENDS):
            pass
        case KeepOp():
            reading.end_row()
            _read_keep(op, reading)
        case LaterOp():
            reading.end_row()
            _read_later(op, reading)
        case SeedOp():
            reading.end_row()
            made = reading.value(op.result, _value(Place.ARENA, op.result.type))
            reading.program.steps.append(SessionStep("Seed", node_name(op) or "", {}, [], [made]))
        case _ if is_session_op(op):
            reading.end_row()
            _read_session(op, reading)
        case _:
            reading.end_row()
            _read_host(op, reading)


def _read_buffer(
    op: memref.AllocOp | memref.SubviewOp | UnrealizedConversionCastOp | ShapedOp, reading: _Reading
) -> None:
    """A buffer of its own, or another or a part of it as something else."""
    value = _value(Place.ARENA, op.results[0].type)
    if not isinstance(op, memref.AllocOp):
        value.same_as = reading.places[op.operands[0]]
    match op:
        case memref.AllocOp():
            value.open_shape = _open_shape(op.results[0].type, op.dynamic_sizes, reading)
        case memref.SubviewOp():
            value.shift = _shift(op)
        case ShapedOp():
            value.open_shape = _open_shape(op.result.type, op.sizes, reading)
        case UnrealizedConversionCastOp() if value.shape is None:
            # A buffer may have a shape where the tensor's type has none: a product tells that an axis is 1.
            source = reading.program.values[reading.places[op.operands[0]]]
            value.open_shape, value.shape = source.open_shape, source.shape
        case _:
            pass
    place = reading.value(op.results[0], value)
    if isinstance(op, memref.AllocOp) and (check := check_of(op, place)) is not None:
        reading.checks.append(check)


def _read_size(op: Operation, reading: _Reading) -> None:
    match op:
        case arith.ConstantOp(value=IntegerAttr(value=number)):
            reading.places[op.result] = reading.number(number.data)
        case tensor.DimOp():
            axis = reading.program.values[reading.places[op.index]].formula
            assert axis is not None
            reading.size(op.result, "dim", reading.places[op.source], *axis.operands)
        case RequireOp():
            pair = reading.places[op.found], reading.places[op.expected]
            reading.program.requirements.append(Requirement(*pair, op.what.data))
        case _:
            operands = (reading.places[value] for value in op.operands)
            reading.size(op.results[0], FORMULAS[type(op)], *operands)


FORMULAS: dict[type[Operation], str] = {
    arith.AddiOp: "add",
    arith.FloorDivSIOp: "floordiv",
    arith.MaxSIOp: "max",
    arith.MinSIOp: "min",
    arith.MuliOp: "mul",
}
"""What computes sizes from sizes."""

SIZE_OPS = (arith.ConstantOp, tensor.DimOp, RequireOp, *FORMULAS)
"""What is about sizes that only a run tells."""


def _open_shape(type_: Attribute, sizes: Sequence[SSAValue], reading: _Reading) -> tuple[int, ...] | None:
    """The places of all sizes of a buffer, if some are open."""
    assert is_buffer(type_)
    if DYNAMIC_INDEX not in type_.get_shape():
        return None
    given = iter([reading.places[size] for size in sizes])
    return tuple(next(given) if size == DYNAMIC_INDEX else reading.number(size) for size in type_.get_shape())


UNTOLD = 1 << 40
"""Bytes that are taken for those of a buffer whose size only a run tells."""


def _read_call(op: CallOp, reading: _Reading) -> None:
    values = reading.program.values
    given = [reading.places[value] for value in op.parameters]
    places = [place for place in given if values[place].place is not Place.SIZE]
    sizes = [place for place in given if values[place].place is Place.SIZE]
    iterations = 0 if op.iterations is None else op.iterations.value.data
    iterations_parameter = (
        None if op.iterations_parameter is None else given[op.iterations_parameter.value.data]
    )
    size = sum(UNTOLD if values[place].shape is None else values[place].size for place in places)
    reading.row.append(
        KernelCall(op.func_name.data, places, iterations, size, node_name(op), sizes, iterations_parameter)
    )


ENDS = (NoValueOp, ReturnOp, YieldOp, FuncReturnOp, scf.YieldOp, scf.ConditionOp)
"""What nothing is to be done for: the ends of blocks, and values that are absent."""


def _read_control(op: memref.LoadOp | scf.IfOp | scf.WhileOp, reading: _Reading) -> None:
    """A branch or a loop, or the boolean in a buffer that one asks for."""
    match op:
        case memref.LoadOp():
            reading.places[op.res] = reading.places[op.memref]
        case scf.IfOp():
            _read_branch(op, reading)
        case scf.WhileOp():
            _read_repeat(op, reading)


def _read_branch(op: scf.IfOp, reading: _Reading) -> None:
    condition = reading.places[op.cond]
    rows = [_read_row(region, reading) for region in (op.true_region, op.false_region)]
    reading.row.append(Branch(condition, *rows))


def _read_repeat(op: scf.WhileOp, reading: _Reading) -> None:
    _read_row(op.before_region, reading)
    end = op.before_region.block.last_op
    assert isinstance(end, scf.ConditionOp)
    condition = reading.places[end.condition]
    body = _read_row(op.after_region, reading)
    reading.row.append(Repeat(condition, body))


def _read_row(region: Region, reading: _Reading) -> Row:
    """The kernels of a region, a row of their own."""
    outside, reading.row = reading.row, []
    steps = len(reading.program.steps)
    for op in region.ops:
        _read(op, reading)
    if len(reading.program.steps) != steps:
        raise XonncError("control flow in native code holds kernels alone")
    row, reading.row = reading.row, outside
    return row


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
    reason = no_kernel(op)
    run, model = later_program_of_op(op, inputs), _later_model_of_op(op, inputs)
    if is_always_wrong(op):
        run, model = _refusing(reason), None
    writes: list[int] = []
    for result in op.results:
        if result.type != NONE:
            value = _value(Place.ARENA, result.type)
            if value.shape is None or value.dtype is None or value.dtype.hasobject:
                value.place = Place.HELD
            writes.append(reading.value(result, value))
    reads = [reading.places[value] for value in inputs]
    reading.program.steps.append(
        HostStep(op.name.removeprefix("onnx."), node_name(op) or "", reason, run, reads, writes, model)
    )


def _later_model_of_op(op: Operation, inputs: Sequence[SSAValue]) -> Callable[[], bytes]:
    """An op as an ONNX model, made when it is asked for."""

    def model() -> bytes:
        return export_proto(module_of_op(op, inputs)).SerializeToString()

    return model


def _refusing(reason: str) -> Callable[[Sequence[Tensors]], Sequence[Tensors]]:
    """What stands in the place of a reference that is wrong."""

    def run(held: Sequence[Tensors]) -> Sequence[Tensors]:
        raise XonncError(
            f"there is no native code for it ({reason}), and the ONNX reference computes it wrongly"
        )

    return run


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
    step = SessionStep(operator_of(op), node_name(op) or "", attributes_of(op), reads, writes, bodies)
    reading.program.steps.append(step)


def _read_keep(op: KeepOp, reading: _Reading) -> None:
    """A tensor cut to the size that a run has found."""
    made = reading.value(op.result, _value(Place.HELD, op.result.type))
    reads = [reading.places[op.source], reading.places[op.count]]
    settings: dict[str, Setting] = {"axis": op.axis.value.data}
    reading.program.steps.append(SessionStep("Keep", node_name(op) or "", settings, reads, [made]))


def _read_later(op: LaterOp, reading: _Reading) -> None:
    """A function that is called with what has been found."""
    function = SymbolTable.lookup_symbol(op, op.callee)
    assert isinstance(function, FuncOp)
    body = _read_body(function.body.block, function, reading)
    reads = [reading.places[value] for value in op.inputs]
    writes: list[int] = []
    for result in op.outputs:
        value = _value(Place.ARENA, result.type)
        value.place = Place.HELD if value.shape is None else Place.ARENA
        writes.append(reading.value(result, value))
    reading.program.steps.append(SessionStep("Later", node_name(op) or "", {}, reads, writes, [body]))


def _read_body(block: Block, op: Operation, outside: _Reading) -> Body:
    """A body as a program, whose inputs are its arguments and then what it reads from around."""
    reading = _Reading(functions=outside.functions)
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
    return Body(reading.program, [outside.places[value] for value in around])


def _place_outputs(reading: _Reading) -> None:
    """What is given to the caller lies in arrays of its own."""
    for port in reading.program.outputs:
        value = reading.program.values[reading.root(port.value)]
        if value.place is Place.ARENA:
            value.place = Place.OUTPUT
