"""Translate a module of kernels and calls into a program: values with their planned memory, and steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TypeAlias

import numpy as np
from xdsl.dialects import arith, memref, scf, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    UnrealizedConversionCastOp,
)
from xdsl.dialects.func import FuncOp
from xdsl.dialects.func import ReturnOp as FuncReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.traits import SymbolTable

from xonnc.aligned_arrays import at_a_line
from xonnc.dialects.krnl import loops
from xonnc.dialects.krnl.attributes import BLOCKS, OFFSETS, location_of, no_kernel
from xonnc.dialects.krnl.dynamic_shapes import RequireOp, ShapedOp
from xonnc.dialects.krnl.fusion import FusedOp
from xonnc.dialects.krnl.memory import CallOp, DeferredCallOp, GlobalOp, KeepOp, SeedOp
from xonnc.dialects.krnl.types import is_buffer
from xonnc.dialects.onnx.elements import elements_array
from xonnc.dialects.onnx.interface_names import are_dictionaries
from xonnc.dialects.onnx.locations import node_names, origin
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
    AttributeValue,
    BodyProgram,
    HostStep,
    NativeStep,
    Program,
    ProgramValue,
    RangeCheck,
    SessionStep,
    SizeConstraint,
    SizeExpr,
    Storage,
    TensorOrSequence,
    TensorSpec,
    aligned,
)
from xonnc.formats.onnx.exporter import export_proto
from xonnc.lowering.onnx_to_krnl.builders.checks import check_of
from xonnc.lowering.onnx_to_krnl.planning.session_ops import attributes_of, is_session_op, operator_of
from xonnc.transforms.constant_evaluation import captured, later_program_of_op, module_of_op
from xonnc.transforms.rules.reference_faults import fault


@dataclass(frozen=True)
class KernelCall:
    """
    A call of a kernel.

    `buffers` are the indices of its buffers in the pointer table, `iterations` is the size of its parallel
    range (0 if it takes none).
    """

    kernel: str
    buffers: Sequence[int]
    iterations: int
    buffer_bytes: int
    """Total size of its buffers."""
    nodes: Sequence[str] = ()
    """The ONNX nodes that it computes, the last one first."""
    size_values: Sequence[int] = ()
    """Indices of the dimensions that the kernel takes as arguments after its buffers."""
    writes: int = 1
    """The number of buffers that it writes, which come first."""
    iterations_parameter: int | None = None
    """Index of the value with the number of iterations, if that is dynamic."""
    is_sequential: bool = False
    """Whether the iterations run in order, on one thread."""

    @property
    def node(self) -> str:
        """The node that names it: the last of those that it computes."""
        return self.nodes[0] if self.nodes else ""


@dataclass(frozen=True)
class KernelGroup:
    """A function that runs consecutive steps, kernel calls parallelised over the threads or any others."""

    function: str


@dataclass(frozen=True)
class Conditional:
    """An `scf.if`: one of two call sequences, by the boolean in the buffer with index `condition`."""

    condition: int
    then: CallSequence
    otherwise: CallSequence


@dataclass(frozen=True)
class WhileLoop:
    """An `scf.while`: repeat a call sequence while the boolean in the buffer `condition` is true."""

    condition: int
    body: CallSequence


Step: TypeAlias = KernelCall | KernelGroup | Conditional | WhileLoop
"""A call, or control flow."""

CallSequence: TypeAlias = Sequence[Step]
"""Calls and control flow in order of execution."""

StepFunctions = Sequence[tuple[str, CallSequence]]
"""The functions of the program's native steps: name and call sequence."""


def kernel_calls(sequence: CallSequence) -> Iterator[KernelCall]:
    """Iterate over the kernel calls of a sequence, including those in branches and loops."""
    for step in sequence:
        match step:
            case KernelCall():
                yield step
            case Conditional():
                yield from kernel_calls(step.then)
                yield from kernel_calls(step.otherwise)
            case WhileLoop():
                yield from kernel_calls(step.body)
            case KernelGroup():
                pass


def split_kernel_groups(
    name: str, sequence: CallSequence, groups: list[tuple[str, Sequence[KernelCall]]]
) -> CallSequence:
    """Move each run of consecutive calls into a function of its own, which is appended to `groups`."""
    result: list[KernelGroup | Conditional | WhileLoop] = []
    calls: list[KernelCall] = []

    def end() -> None:
        if calls:
            result.append(KernelGroup(f"{name}_part_{len(groups)}"))
            groups.append((f"{name}_part_{len(groups)}", list(calls)))
            calls.clear()

    for step in sequence:
        if isinstance(step, KernelCall):
            calls.append(step)
            continue
        end()
        match step:
            case Conditional():
                branches = [split_kernel_groups(name, each, groups) for each in (step.then, step.otherwise)]
                result.append(Conditional(step.condition, *branches))
            case WhileLoop():
                result.append(WhileLoop(step.condition, split_kernel_groups(name, step.body, groups)))
            case KernelGroup():
                result.append(step)
    end()
    return result


@dataclass
class _ProgramBuilder:
    program: Program = field(default_factory=Program)
    indices: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    functions: list[tuple[str, CallSequence]] = field(default_factory=list[tuple[str, CallSequence]])
    sequence: list[Step] = field(default_factory=list[Step])
    """Kernel calls since the last step that is not native."""
    checks: list[RangeCheck] = field(default_factory=list[RangeCheck])
    """The checks to run after these calls."""
    constants: dict[int, int] = field(default_factory=dict[int, int])
    """Indices of values for constant dimensions, by their size."""

    def add_value(self, result: SSAValue, value: ProgramValue) -> int:
        index = self.indices[result] = len(self.program.values)
        self.program.values.append(value)
        if value.storage is Storage.ARENA and value.alias_of is None:
            self._put_in_arena(result, index)
        return index

    def _put_in_arena(self, result: SSAValue, index: int) -> None:
        """Set the arena offset, or the block, that `plan-memory` assigned to a value."""
        value, blocks = self.program.values[index], self.program.blocks
        if (block := location_of(result, BLOCKS)) is not None:
            blocks += [[] for _ in range(block + 1 - len(blocks))]
            blocks[block].append(index)
        if (offset := location_of(result, OFFSETS)) is not None:
            value.offset = offset
            self.program.arena = max(self.program.arena, aligned(offset + value.size))

    def add_size(self, result: SSAValue, operator: str, *operands: int) -> None:
        """Add a dimension that each run computes."""
        self.add_value(result, _size(operator, *operands))

    def constant(self, size: int) -> int:
        """Return the index of the value for a constant dimension."""
        if size not in self.constants:
            self.program.values.append(_size("number", size))
            self.constants[size] = len(self.program.values) - 1
        return self.constants[size]

    def root(self, index: int) -> int:
        """Return the value that owns the memory of a value."""
        while (source := self.program.values[index].alias_of) is not None:
            index = source
        return index

    def end_sequence(self) -> None:
        """Close the current call sequence: make a native step of it."""
        if self.sequence:
            name = f"xonnc_run_{len(self.functions)}"
            self.functions.append((name, self.sequence))
            kernels = [call.kernel for call in kernel_calls(self.sequence)]
            self.program.steps.append(NativeStep(name, kernels, self.checks))
            self.sequence, self.checks = [], []


def read_program(module: ModuleOp) -> tuple[Program, StepFunctions]:
    """Return the program of a module lowered to krnl, and the functions that its native steps call."""
    function = next((op for op in module.ops if isinstance(op, FuncOp)), None)
    if function is None:
        raise XonncError("the module has no function")
    builder = _ProgramBuilder()
    for argument in function.body.block.args:
        builder.add_value(argument, _value(Storage.INPUT, argument.type))
    builder.program.inputs = _tensor_specs(function.arg_attrs, function.body.block.args, builder)
    for op in function.body.block.ops:
        _read(op, builder)
    builder.end_sequence()
    end = function.body.block.last_op
    assert end is not None
    builder.program.outputs = _tensor_specs(function.res_attrs, end.operands, builder)
    _allocate_outputs(builder)
    builder.program.shareable = _shareable(function.body.block, builder)
    return builder.program, builder.functions


def _shareable(block: Block, builder: _ProgramBuilder) -> dict[int, int]:
    """Return the outputs that may be written to the memory of an input (`mayShare` after memory planning)."""
    pairs = [
        (op.parameters[target], op.parameters[source])
        for op in block.ops
        if isinstance(op, CallOp)
        for target, source in op.shareable_pairs
    ]
    root = builder.program.root_of
    return {root(builder.indices[target]): root(builder.indices[source]) for target, source in pairs}


def _size(operator: str, *operands: int) -> ProgramValue:
    return ProgramValue(Storage.SIZE, (), np.dtype(np.int64), size_expr=SizeExpr(operator, operands))


def _value(index: Storage, type_: Attribute) -> ProgramValue:
    element = type_.element_type if is_buffer(type_) else element_type(type_)
    shape = type_.get_shape() if is_buffer(type_) else static_shape(type_)
    shape = None if shape is not None and DYNAMIC_INDEX in shape else shape
    dtype = None if element is None else ELEMENT_DTYPES.get(element)
    return ProgramValue(index, shape, dtype)


def _tensor_specs(
    attributes: Attribute | None, values: Sequence[SSAValue], builder: _ProgramBuilder
) -> list[TensorSpec]:
    entries = list(attributes) if are_dictionaries(attributes) else []
    ports: list[TensorSpec] = []
    for number, value in enumerate(values):
        name = entries[number].data.get("onnx.name") if number < len(entries) else None
        shape = None
        if is_ranked(value.type):
            shape = tuple(None if size == DYNAMIC_INDEX else size for size in value.type.get_shape())
        element = element_type(value.type)
        dtype = None if element is None else ELEMENT_DTYPES.get(element)
        text = name.data if isinstance(name, StringAttr) else f"{number}"
        ports.append(TensorSpec(text, builder.indices[value], shape, dtype))
    return ports


MAX_COPIED_BYTES = 1 << 16
"""
Limit for constants that are copied to a cache line.

Kernels read scales and biases again and again from the L1 cache; larger ones mostly once, from a file that
is mapped.
"""


def _read(op: Operation, builder: _ProgramBuilder) -> None:
    if isinstance(op, SIZE_OPS):
        _read_size(op, builder)
        return
    match op:
        case GlobalOp() | ConstantOp() if op.value is not None:
            array = elements_array(op.value)
            if array is None:
                raise XonncError("a constant has no elements")
            value = _value(Storage.CONSTANT, op.results[0].type)
            array = np.ascontiguousarray(array)
            value.constant = at_a_line(array) if array.nbytes <= MAX_COPIED_BYTES else array
            builder.add_value(op.results[0], value)
        case memref.AllocOp() | memref.SubviewOp() | UnrealizedConversionCastOp() | ShapedOp():
            _read_buffer(op, builder)
        case CallOp():
            _read_call(op, builder)
        case memref.LoadOp() | scf.IfOp() | scf.WhileOp():
            _read_control(op, builder)
        case _ if isinstance(op, TERMINATORS):
            pass
        case KeepOp():
            builder.end_sequence()
            _read_keep(op, builder)
        case DeferredCallOp():
            builder.end_sequence()
            _read_later(op, builder)
        case SeedOp():
            builder.end_sequence()
            result = builder.add_value(op.result, _value(Storage.ARENA, op.result.type))
            builder.program.steps.append(SessionStep("Seed", origin(op), {}, [], [result]))
        case _ if is_session_op(op):
            builder.end_sequence()
            _read_session(op, builder)
        case _:
            builder.end_sequence()
            _read_host(op, builder)


def _read_buffer(
    op: memref.AllocOp | memref.SubviewOp | UnrealizedConversionCastOp | ShapedOp, builder: _ProgramBuilder
) -> None:
    """Read an allocation or a view (subview, cast, reshape) of a buffer."""
    value = _value(Storage.ARENA, op.results[0].type)
    if not isinstance(op, memref.AllocOp):
        value.alias_of = builder.indices[op.operands[0]]
    match op:
        case memref.AllocOp():
            value.dynamic_shape = _dynamic_shape(op.results[0].type, op.dynamic_sizes, builder)
        case memref.SubviewOp():
            value.alias_offset = _subview_offset(op)
        case ShapedOp():
            value.dynamic_shape = _dynamic_shape(op.result.type, op.sizes, builder)
        case UnrealizedConversionCastOp() if value.shape is None:
            # The buffer may have a static shape where the tensor has none: a kernel may imply an axis of 1.
            source = builder.program.values[builder.indices[op.operands[0]]]
            value.dynamic_shape, value.shape = source.dynamic_shape, source.shape
        case _:
            pass
    index = builder.add_value(op.results[0], value)
    if isinstance(op, memref.AllocOp) and (check := check_of(op, index)) is not None:
        builder.checks.append(check)


def _read_size(op: Operation, builder: _ProgramBuilder) -> None:
    match op:
        case arith.ConstantOp(value=IntegerAttr(value=number)):
            builder.indices[op.result] = builder.constant(number.data)
        case tensor.DimOp():
            axis = builder.program.values[builder.indices[op.index]].size_expr
            assert axis is not None
            builder.add_size(op.result, "dim", builder.indices[op.source], *axis.operands)
        case RequireOp():
            pair = builder.indices[op.found], builder.indices[op.expected]
            builder.program.constraints.append(SizeConstraint(*pair, op.what.data))
        case _:
            operands = (builder.indices[value] for value in op.operands)
            builder.add_size(op.results[0], SIZE_OPERATORS[type(op)], *operands)


SIZE_OPERATORS: dict[type[Operation], str] = {
    arith.AddiOp: "add",
    arith.FloorDivSIOp: "floordiv",
    arith.MaxSIOp: "max",
    arith.MinSIOp: "min",
    arith.MuliOp: "mul",
}
"""Arithmetic on dimensions, by its `SizeExpr` operator."""

SIZE_OPS = (arith.ConstantOp, tensor.DimOp, RequireOp, *SIZE_OPERATORS)
"""Operations on dynamic dimensions."""


def _dynamic_shape(
    type_: Attribute, sizes: Sequence[SSAValue], builder: _ProgramBuilder
) -> tuple[int, ...] | None:
    """Return the values that are the dimensions of a buffer; `None` if its shape is static."""
    assert is_buffer(type_)
    if DYNAMIC_INDEX not in type_.get_shape():
        return None
    given = iter([builder.indices[size] for size in sizes])
    return tuple(
        next(given) if size == DYNAMIC_INDEX else builder.constant(size) for size in type_.get_shape()
    )


ASSUMED_DYNAMIC_BYTES = 1 << 40
"""Size assumed for a buffer of dynamic shape: large enough that its kernel is always parallelised."""


def _read_call(op: CallOp, builder: _ProgramBuilder) -> None:
    values = builder.program.values
    given = [builder.indices[value] for value in op.parameters]
    operand_indices = [index for index in given if values[index].storage is not Storage.SIZE]
    sizes = [index for index in given if values[index].storage is Storage.SIZE]
    iterations = 0 if op.iterations is None else op.iterations.value.data
    iterations_parameter = (
        None if op.iterations_parameter is None else given[op.iterations_parameter.value.data]
    )
    size = sum(
        ASSUMED_DYNAMIC_BYTES if values[index].shape is None else values[index].size
        for index in operand_indices
    )
    builder.sequence.append(
        KernelCall(
            op.func_name.data,
            operand_indices,
            iterations,
            size,
            node_names(op),
            sizes,
            len(op.outputs),
            iterations_parameter,
            op.sequential is not None,
        )
    )


TERMINATORS = (NoValueOp, ReturnOp, YieldOp, FuncReturnOp, loops.YieldOp, scf.YieldOp, scf.ConditionOp)
"""Operations that need no code: terminators and absent optional values."""


def _read_control(op: memref.LoadOp | scf.IfOp | scf.WhileOp, builder: _ProgramBuilder) -> None:
    """Read an `scf.if`, an `scf.while`, or the load of their condition."""
    match op:
        case memref.LoadOp():
            builder.indices[op.res] = builder.indices[op.memref]
        case scf.IfOp():
            _read_if(op, builder)
        case scf.WhileOp():
            _read_while(op, builder)


def _read_if(op: scf.IfOp, builder: _ProgramBuilder) -> None:
    condition = builder.indices[op.cond]
    branches = [_read_call_sequence(region, builder) for region in (op.true_region, op.false_region)]
    builder.sequence.append(Conditional(condition, *branches))


def _read_while(op: scf.WhileOp, builder: _ProgramBuilder) -> None:
    _read_call_sequence(op.before_region, builder)
    end = op.before_region.block.last_op
    assert isinstance(end, scf.ConditionOp)
    condition = builder.indices[end.condition]
    body = _read_call_sequence(op.after_region, builder)
    builder.sequence.append(WhileLoop(condition, body))


def _read_call_sequence(region: Region, builder: _ProgramBuilder) -> CallSequence:
    """Read the calls of a region as a nested sequence."""
    outside, builder.sequence = builder.sequence, []
    steps = len(builder.program.steps)
    for op in region.ops:
        _read(op, builder)
    if len(builder.program.steps) != steps:
        raise XonncError("control flow in native code may contain kernel calls only")
    sequence, builder.sequence = builder.sequence, outside
    return sequence


def _subview_offset(op: memref.SubviewOp) -> int:
    """Return the byte offset of a subview in its buffer."""
    assert is_buffer(op.source.type)
    shape = op.source.type.get_shape()
    offsets = [int(offset) for offset in op.static_offsets.get_values()]
    elements = sum(offset * prod(shape[axis + 1 :]) for axis, offset in enumerate(offsets))
    return elements * ELEMENT_DTYPES[op.source.type.element_type].itemsize


def _read_host(op: Operation, builder: _ProgramBuilder) -> None:
    # Outer values that a body captures become inputs; constants are copied into the body instead, since the
    # reference evaluator does not resolve captures for every operator.
    captures = [value for value in captured(op) if not isinstance(value.owner, ConstantOp)]
    read = dict.fromkeys((*(value for value in op.operands if value.type != NONE), *captures))
    inputs = [value for value in read if value in builder.indices]
    reason = no_kernel(op)
    run, model = later_program_of_op(op, inputs), _lazy_model_of_op(op, inputs)
    if (wrong := fault(op)) is not None:
        run, model = _raise_refusal(reason, wrong), None
    writes: list[int] = []
    for result in op.results:
        if result.type != NONE:
            value = _value(Storage.ARENA, result.type)
            if value.shape is None or value.dtype is None or value.dtype.hasobject:
                value.storage = Storage.OBJECT
            writes.append(builder.add_value(result, value))
    reads = [builder.indices[value] for value in inputs]
    builder.program.steps.append(HostStep(operator_of(op), origin(op), reason, run, reads, writes, model))


def _lazy_model_of_op(op: Operation, inputs: Sequence[SSAValue]) -> Callable[[], bytes]:
    """Return a function that serialises an operation as an ONNX model."""

    def model() -> bytes:
        return export_proto(module_of_op(op, inputs)).SerializeToString()

    return model


def _raise_refusal(
    reason: str, wrong: str
) -> Callable[[Sequence[TensorOrSequence]], Sequence[TensorOrSequence]]:
    """Return a function that fails, for operators that the reference evaluator computes wrongly."""

    def run(inputs: Sequence[TensorOrSequence]) -> Sequence[TensorOrSequence]:
        raise XonncError(f"there is no native code for it ({reason}), and {wrong}")

    return run


def _read_session(op: Operation, builder: _ProgramBuilder) -> None:
    if isinstance(op, FusedOp):
        # The runtime computes a group as one operator, of what the first member reads.
        bodies, operands = [], op.members[0].operands[:1]
    else:
        bodies, operands = [_read_body(region.block, op, builder) for region in op.regions], op.operands
    reads = [builder.indices.get(value) for value in operands]
    writes: list[int | None] = []
    for result in op.results:
        index = None
        if result.type != NONE:
            value = _value(Storage.ARENA, result.type)
            if value.shape is None or value.dtype is None or value.dtype.hasobject:
                value.storage = Storage.OBJECT
            index = builder.add_value(result, value)
        writes.append(index)
    step = SessionStep(operator_of(op), origin(op), attributes_of(op), reads, writes, bodies)
    builder.program.steps.append(step)


def _read_keep(op: KeepOp, builder: _ProgramBuilder) -> None:
    """Read `krnl.keep`: slice a tensor to a data-dependent size."""
    result = builder.add_value(op.result, _value(Storage.OBJECT, op.result.type))
    reads = [builder.indices[op.source], builder.indices[op.count]]
    settings: dict[str, AttributeValue] = {"axis": op.axis.value.data}
    builder.program.steps.append(SessionStep("Keep", origin(op), settings, reads, [result]))


def _read_later(op: DeferredCallOp, builder: _ProgramBuilder) -> None:
    """Read `krnl.deferred_call`: call a function once its data-dependent inputs are computed."""
    function = SymbolTable.lookup_symbol(op, op.callee)
    assert isinstance(function, FuncOp)
    body = _read_body(function.body.block, function, builder)
    reads = [builder.indices[value] for value in op.inputs]
    writes: list[int] = []
    for result in op.outputs:
        value = _value(Storage.ARENA, result.type)
        value.storage = Storage.OBJECT if value.shape is None else Storage.ARENA
        writes.append(builder.add_value(result, value))
    builder.program.steps.append(SessionStep("Later", origin(op), {}, reads, writes, [body]))


def _read_body(block: Block, op: Operation, outside: _ProgramBuilder) -> BodyProgram:
    """Read a body as a program; its inputs are its arguments, then the values that it captures."""
    builder = _ProgramBuilder(functions=outside.functions)
    captures = list(
        dict.fromkeys(
            value
            for inner in block.walk()
            for value in inner.operands
            if not op.is_ancestor(value.owner) and value in outside.indices
        )
    )
    inputs = [*block.args, *captures]
    for value in inputs:
        builder.add_value(value, _value(Storage.INPUT, value.type))
    builder.program.inputs = _tensor_specs(None, inputs, builder)
    for inner in block.ops:
        _read(inner, builder)
    builder.end_sequence()
    end = block.last_op
    assert end is not None
    builder.program.outputs = _tensor_specs(None, end.operands, builder)
    _allocate_outputs(builder)
    return BodyProgram(builder.program, [outside.indices[value] for value in captures])


def _allocate_outputs(builder: _ProgramBuilder) -> None:
    """Store results of the program outside of the arena, in arrays that the caller owns."""
    for port in builder.program.outputs:
        value = builder.program.values[builder.root(port.value)]
        if value.storage is Storage.ARENA:
            value.storage = Storage.OUTPUT
