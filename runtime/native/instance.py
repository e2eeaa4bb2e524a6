"""An executable program bound to memory: arrays, arena and the table of pointers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from math import prod
from time import perf_counter
from typing import TypeAlias, TypeGuard

import numpy as np
import numpy.typing as npt

from xonnc.aligned_arrays import ReusedMemory, address_of, aligned_array_at, aligned_empty
from xonnc.errors import DeclaredShapeError, XonncError
from xonnc.formats.native.program import (
    BodyProgram,
    HostStep,
    NativeStep,
    Program,
    ProgramStep,
    RangeCheck,
    RuntimeValue,
    SessionStep,
    Storage,
    TensorOrSequence,
    TensorSpec,
)
from xonnc.runtime.native.jit import ONE_THREAD, Code, Entry, Threads
from xonnc.runtime.native.linked_code import LinkedCode
from xonnc.runtime.native.operator_call import Implementation, OperatorCall
from xonnc.runtime.native.session_operators import draw_seed, prepare_step

Array = npt.NDArray[np.generic]

CONTIGUOUS = 0x101
"""NumPy flags of arrays that native code can access directly: C-contiguous and aligned."""

MIN_ALIGNED_BYTES = 1 << 15
"""From this size on, aligning a result takes less time than storing it across cache lines."""

MIN_REUSED_BYTES = 1 << 20
"""From this size on, memory of results is used again: a page fault for each page takes longer."""

NewArray: TypeAlias = "tuple[int, int, tuple[int, ...], np.dtype[np.generic], int]"
"""An array to allocate for each run: value, the alias whose shape and type it has, shape, dtype, bytes."""


@dataclass(frozen=True)
class Executable:
    """A program with its loaded machine code; `owner` keeps the code loaded."""

    program: Program
    entries: Mapping[str, Entry]
    owner: object
    shape_determining: Sequence[str] = ()
    """Inputs whose values determine shapes; a program may be compiled for specific values."""
    code: bytes = b""
    threads: Threads = ONE_THREAD


def reloaded(executable: Executable) -> Executable:
    """Reload the code of an executable after a fork: a child process has no threads of the pool."""
    if executable.threads.compiled == 1:
        return executable
    if isinstance(executable.owner, LinkedCode):
        executable.owner.start()
        return executable
    if not executable.code:
        return executable
    code = Code(executable.code, executable.entries, executable.threads)
    return replace(executable, entries=code.entries, owner=code)


class _BodyRunner:
    """Runs a body of a step on the inputs that its operator gives it, and on captured values."""

    def __init__(
        self, values: Sequence[RuntimeValue], step: SessionStep, body: BodyProgram, instance: Instance
    ) -> None:
        specs, count = body.program.inputs, len(body.program.inputs) - len(body.captured)
        self._values, self._step, self._instance = values, step, instance
        self._own = specs[:count]
        self._outer = list(zip(body.captured, specs[count:], strict=True))
        self._captured: list[RuntimeValue] = []

    def read_captured(self) -> None:
        """Read the captured values, which are the same in all iterations."""
        self._captured = [_body_input(self._values[index], spec, self._step) for index, spec in self._outer]

    def __call__(self, inputs: Sequence[RuntimeValue]) -> Sequence[RuntimeValue]:
        """Run the body; the results are new arrays."""
        given = [_body_input(value, spec, self._step) for value, spec in zip(inputs, self._own, strict=True)]
        return self._instance.run(given + self._captured)


class Instance:
    """An executable with memory to run in; it supports one run at a time."""

    def __init__(self, executable: Executable, make: Callable[[Executable], Instance] | None = None) -> None:
        """Allocate memory and prepare all steps; `make` creates the instances of bodies."""
        self.executable = executable
        program = executable.program
        self.program = program
        self._arena = aligned_empty(program.arena)
        self._table = np.zeros(max(1, len(program.values)), np.uint64)
        self._table_at = self._table.ctypes.data
        self._cells = self._table.data
        """The same table as a memoryview, whose single elements are faster to access."""
        self._values: list[RuntimeValue] = [None] * len(program.values)
        self._roots = [program.root_of(index) for index in range(len(program.values))]
        self._inputs = [spec.value for spec in program.inputs]
        io_aliases = [
            (index, root)
            for index, root in enumerate(self._roots)
            if root != index
            and program.values[root].storage in (Storage.INPUT, Storage.OUTPUT, Storage.OBJECT)
        ]
        """Aliases of values whose address changes from run to run."""
        accessed = accessed_values(program)
        self._pointers = [
            each for each in io_aliases if each[0] not in accessed and _is_io_tensor(program, *each)
        ]
        """Of these, those accessed by native code only: they need an address, but no NumPy array."""
        self._aliases = [each for each in io_aliases if each not in self._pointers]
        self._followers: dict[int, list[int]] = {}
        """The aliases of each Python object."""
        for index, root in io_aliases:
            if program.values[root].storage is Storage.OBJECT:
                self._followers.setdefault(root, []).append(index)
        self._allocated = self._outputs_to_allocate(accessed)
        self._new_per_run: Sequence[NewArray] = [] if program.is_dynamic else self._new_array_specs()
        self._output_values = self._output_ownership()
        self._of_results = {*chain.from_iterable(self._allocated), *(index for index, _ in self._aliases)}
        """Values that refer to results of the last run."""
        self._reused: dict[int, ReusedMemory] = {}
        """Memory of large outputs."""
        self.output_arrays: Mapping[str, Array] = {}
        """Arrays of the caller for outputs of the next run, by name; those that do not fit are not used."""
        self.seconds = [0.0] * len(program.steps)
        """Duration of each step in the last run."""
        self.has_host_steps = any(isinstance(step, HostStep) for step in program.walk_steps())
        self.bodies: dict[int, list[Instance]] = {}
        """The instances of bodies, by step."""
        for number, step in enumerate(program.steps):
            if isinstance(step, SessionStep):
                # This class does not support dynamic shapes.
                assert make is not None or not any(body.program.is_dynamic for body in step.bodies)
                self.bodies[number] = [
                    (make or Instance)(Executable(body.program, executable.entries, executable.owner))
                    for body in step.bodies
                ]
        # Found once: it takes a walk over all values.
        is_dynamic = program.is_dynamic
        for index, value in enumerate(program.values):
            root = program.values[self._roots[index]]
            if root.storage is Storage.ARENA:
                if not is_dynamic:
                    self._bind_arena_view(index, root.offset + program.alias_offset_of(index))
            elif root.storage is Storage.CONSTANT and root.constant is not None:
                shape = root.shape if value.shape is None else value.shape
                self._set(index, root.constant.reshape(shape or ()))
        self._prepared_steps = [self._prepare(number, step) for number, step in enumerate(program.steps)]

    def _outputs_to_allocate(self, accessed: set[int]) -> list[tuple[int, int]]:
        """
        Return the outputs to allocate for each run, each with the alias whose shape and type the array gets.

        If an output is accessed through one alias only, the array is allocated in the shape of that alias,
        which saves a reshape in each run.
        """
        values = self.program.values
        found: list[tuple[int, int]] = []
        for index, value in enumerate(values):
            if value.storage is not Storage.OUTPUT or value.alias_of is not None or value.dtype is None:
                continue
            aliases = [alias for alias, root in self._aliases if root == index]
            is_one = (
                len(aliases) == 1 and index not in accessed and not self.program.alias_offset_of(aliases[0])
            )
            if is_one and values[aliases[0]].dtype is not None:
                self._aliases.remove((aliases[0], index))
                self._pointers.append((aliases[0], index))
                found.append((index, aliases[0]))
            else:
                found.append((index, index))
        return found

    def _new_array_specs(self) -> list[NewArray]:
        """Return the arrays to allocate for each run."""
        return [
            (root, index, shape := self.shape_of(index), dtype, prod(shape) * dtype.itemsize)
            for root, index in self._allocated
            if (dtype := self.program.values[index].dtype) is not None
        ]

    def shape_of(self, index: int) -> tuple[int, ...]:
        """Return the shape of a tensor in this run."""
        shape = self.program.values[index].shape
        assert shape is not None
        return shape

    def input_shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the tensors that the last run was fed, by name; none before any run."""
        fed = {spec.name: self._values[spec.value] for spec in self.program.inputs}
        return {name: value.shape for name, value in fed.items() if isinstance(value, np.ndarray)}

    def bytes_of(self, index: int) -> int:
        """Return the size of a value in the last run, in bytes."""
        value = self.program.values[index]
        if value.shape is None and value.dynamic_shape is None:
            array = self._values[self._roots[index]]
            return array.nbytes if isinstance(array, np.ndarray) else 0
        return 0 if value.dtype is None else prod(self.shape_of(index)) * value.dtype.itemsize

    def _bind_arena_view(self, index: int, first: int) -> None:
        value = self.program.values[index]
        if value.shape is not None and value.dtype is not None and not value.dtype.hasobject:
            start = self._arena[first : first + value.size]
            self._set(index, start.view(value.dtype).reshape(value.shape))

    def _set(self, index: int, array: Array) -> None:
        self._values[index] = array
        self._table[index] = array.ctypes.data

    def run(self, fed: Sequence[RuntimeValue]) -> list[RuntimeValue]:
        """Run on checked inputs; return the outputs in order."""
        return self.run_again(fed)

    def run_again(self, fed: Sequence[RuntimeValue]) -> list[RuntimeValue]:
        """Run on checked inputs of the same shapes as in the last run."""
        values, cells = self._values, self._cells
        for index, value in zip(self._inputs, fed, strict=True):
            # Captured values of a loop body are the same objects in each iteration.
            if value is not values[index]:
                self._bind_value(index, value)
        given: dict[int, Array] = {}
        if self.output_arrays:
            given = self._usable_output_arrays(fed)
            self.output_arrays = {}
        if self._reused:
            # Only the caller refers to the last results.
            for index in self._of_results:
                values[index] = None
        for root, index, shape, dtype, size in self._new_per_run:
            array = given.get(root)
            if array is None or array.size != prod(shape):
                values[index], cells[root] = self._new_array(root, shape, dtype, size)
                continue
            values[index] = array if array.shape == shape else array.reshape(shape)
            cells[root] = address_of(array)
        for index, root in self._pointers:
            cells[index] = cells[root]
        for index, root in self._aliases:
            self._alias(index, root)
        started = perf_counter()
        for number, run_step in enumerate(self._prepared_steps):
            run_step()
            ended = perf_counter()
            self.seconds[number] = ended - started
            started = ended
        return self._outputs()

    def _new_array(
        self, root: int, shape: tuple[int, ...], dtype: np.dtype[np.generic], size: int
    ) -> tuple[Array, int]:
        """
        Return an uninitialised array of an output, of so many bytes, and its address.

        It begins at a cache line unless it is small. A large one may lie where that of an earlier run was.
        """
        if size < MIN_ALIGNED_BYTES or dtype.hasobject:
            array = np.empty(shape, dtype)
            return array, address_of(array)
        if size < MIN_REUSED_BYTES:
            return aligned_array_at(shape, dtype, size)
        return self._reused.setdefault(root, ReusedMemory()).array_at(shape, dtype, size)

    def _usable_output_arrays(self, fed: Sequence[RuntimeValue]) -> dict[int, Array]:
        """
        Return the arrays of the caller that outputs can be written to directly, by value.

        They are in rows and of the right shape and type, and share no memory with each other, nor with
        inputs, unless the program updates an input in place.
        """
        allocated = {root for root, *_ in self._new_per_run}
        inputs = {index: value for index, value in zip(self._inputs, fed, strict=True)}
        usable: dict[int, Array] = {}
        for spec in self.program.outputs:
            array, root = self.output_arrays.get(spec.name), self._roots[spec.value]
            if type(array) is not np.ndarray or array.dtype != spec.dtype or not array.flags.writeable:
                continue
            if array.flags.num & CONTIGUOUS != CONTIGUOUS or array.dtype.hasobject:
                continue
            # An array of the wrong shape is refused after the run, which must not have written to it.
            if root not in allocated or array.shape != self.shape_of(spec.value):
                continue
            shared = self.program.shareable.get(root)
            others = [value for index, value in inputs.items() if index != shared]
            same = inputs.get(-1 if shared is None else shared)
            is_same = isinstance(same, np.ndarray) and _is_same_memory(same, array)
            if not is_same:
                others.append(same)
            if not any(_may_overlap(array, other) for other in (*others, *usable.values())):
                usable[root] = array
        return usable

    def _prepare(self, number: int, step: ProgramStep) -> Callable[[], None]:
        """Return a function that runs a step, with everything bound that is the same in each run."""
        match step:
            case NativeStep():
                compute = partial(self.executable.entries[step.function], self._table_at)
                return partial(self._compute_checked, compute, step.checks) if step.checks else compute
            case SessionStep(operator="Later"):
                (body,), (instance,) = step.bodies, self.bodies[number]
                reads = [index for index in step.reads if index is not None]
                inputs = list(zip([*reads, *body.captured], body.program.inputs, strict=True))
                return partial(self._run_later, step, instance, inputs)
            case SessionStep(operator="Seed", writes=[int(index)]) if (
                self.program.values[index].storage is Storage.ARENA
            ):
                return partial(self._draw_seed, index)
            case SessionStep(bodies=[]):
                # One call object for all runs: a new one takes a microsecond of a model that runs for ten.
                call = OperatorCall(step, (), ())
                perform = prepare_step(step, self._constant_operands(step))
                return partial(self._run_in_session, call, perform, self._targets(step))
            case SessionStep():
                runners = [
                    _BodyRunner(self._values, step, body, instance)
                    for body, instance in zip(step.bodies, self.bodies[number], strict=True)
                ]
                call = OperatorCall(step, (), runners)
                return partial(self._run_with_bodies, call, runners, prepare_step(step), self._targets(step))
            case HostStep():
                return partial(self._run_on_host, step)

    def _draw_seed(self, index: int) -> None:
        seed = self._values[index]
        assert isinstance(seed, np.ndarray)
        seed[0] = draw_seed()

    def _compute_checked(self, compute: Callable[[], None], checks: Sequence[RangeCheck]) -> None:
        compute()
        self._check(checks)

    def _check(self, checks: Sequence[RangeCheck]) -> None:
        for check in checks:
            value = self._values[check.value]
            assert isinstance(value, np.ndarray)
            low, high = (value if value.dtype == np.int64 else value.astype(np.int64)).tolist()
            if low < check.low or high > check.high:
                kind = DeclaredShapeError if check.is_declared else XonncError
                raise kind(check.message.format(low if low < check.low else high))

    def _bind_value(self, index: int, value: RuntimeValue) -> None:
        self._values[index] = value
        if isinstance(value, np.ndarray) and not value.dtype.hasobject:
            self._cells[index] = address_of(value)

    def _alias(self, index: int, root: int) -> None:
        source, value = self._values[root], self.program.values[index]
        if isinstance(source, np.ndarray) and value.shape is not None and value.dtype is not None:
            self._cells[index] = self._cells[root]
            # Buffers have signless integer types; tensors may be signed.
            if source.dtype != value.dtype and not source.dtype.hasobject:
                source = source.view(value.dtype)
            if source.shape != value.shape:
                source = source.reshape(value.shape)
            self._values[index] = source
            return
        self._bind_value(index, source)

    def _run_on_host(self, step: HostStep) -> None:
        operands = [tensors for index in step.reads if is_tensor_value(tensors := self._values[index])]
        if len(operands) != len(step.reads):
            raise XonncError(f"{step.node or step.operator}: the ONNX reference evaluator takes no maps")
        try:
            results = step.run(operands)
        except XonncError as error:
            raise XonncError(f"{step.node or step.operator}: {error}") from error
        for index, result in zip(step.writes, results, strict=True):
            self._write(step, index, result)

    def _run_with_bodies(
        self,
        call: OperatorCall,
        runners: Sequence[_BodyRunner],
        perform: Implementation,
        targets: Sequence[tuple[int | None, bool]],
    ) -> None:
        """Run an operator of the session that runs its bodies."""
        for runner in runners:
            runner.read_captured()
        self._run_in_session(call, perform, targets)

    def _constant_operands(self, step: SessionStep) -> dict[int, Array]:
        """Return the operands of a step that are constants, by number."""
        found: dict[int, Array] = {}
        for number, index in enumerate(step.reads):
            if index is not None and self.program.values[self._roots[index]].storage is Storage.CONSTANT:
                value = self._values[index]
                if isinstance(value, np.ndarray):
                    found[number] = value
        return found

    def _targets(self, step: SessionStep) -> list[tuple[int | None, bool]]:
        """Return the results of a step, and whether they are objects without aliases, which are assigned."""
        return [
            (
                index,
                index is not None
                and self.program.values[index].storage is Storage.OBJECT
                and index not in self._followers,
            )
            for index in step.writes
        ]

    def _run_in_session(
        self, call: OperatorCall, perform: Implementation, targets: Sequence[tuple[int | None, bool]]
    ) -> None:
        """Run an operator of the session with its operands."""
        values = self._values
        call.operands = [None if index is None else values[index] for index in call.reads]
        for (index, is_assigned), result in zip(targets, perform(call), strict=True):
            if is_assigned and index is not None:
                values[index] = result
            elif index is not None:
                self._write(call.step, index, result)

    def _run_later(
        self, step: SessionStep, instance: Instance, inputs: Sequence[tuple[int, TensorSpec]]
    ) -> None:
        """Run a function that was compiled as a body, because the shapes of its inputs are data-dependent."""
        results = instance.run([_body_input(self._values[index], spec, step) for index, spec in inputs])
        for index, result in zip(step.writes, results, strict=True):
            if index is not None:
                self._write(step, index, result)

    def _write(self, step: HostStep | SessionStep, index: int, result: RuntimeValue) -> None:
        if self.program.values[index].storage is Storage.OBJECT:
            self._values[index] = result
            for other in self._followers.get(index, ()):
                self._alias(other, index)
            return
        target = self._values[index]
        if not isinstance(result, np.ndarray) or not isinstance(target, np.ndarray):
            raise XonncError(
                f"{step.node or step.operator}: returns a value that is not a tensor, where one is expected"
            )
        # Types are mostly the same object, and comparing them takes ten times as long as `is`.
        is_same_type = result.dtype is target.dtype or result.dtype == target.dtype
        if not is_same_type or result.shape != target.shape:
            raise DeclaredShapeError(
                f"{step.node or step.operator}: gives {result.dtype}{list(result.shape)}, "
                f"the model says {target.dtype}{list(target.shape)}"
            )
        target[...] = result

    def _output_ownership(self) -> list[tuple[int, bool]]:
        """Return the value of each output, and whether its array can be returned without a copy."""
        roots = [self._roots[spec.value] for spec in self.program.outputs]
        return [
            (
                spec.value,
                self.program.values[root].storage in (Storage.OUTPUT, Storage.OBJECT)
                and root not in roots[:number],
            )
            for number, (spec, root) in enumerate(zip(self.program.outputs, roots, strict=True))
        ]

    def _outputs(self) -> list[RuntimeValue]:
        """Return the outputs; constants, inputs and duplicates are copied, as the caller owns the results."""
        found: list[RuntimeValue] = []
        for index, is_own in self._output_values:
            value = self._values[index]
            found.append(value if is_own or not isinstance(value, np.ndarray) else value.copy())
        return found


def _is_same_memory(one: Array, other: Array) -> bool:
    """Whether two contiguous arrays are the same bytes."""
    return one.nbytes == other.nbytes and address_of(one) == address_of(other)


def _may_overlap(array: Array, other: RuntimeValue) -> bool:
    """Whether a value may have memory in common with an array."""
    if isinstance(other, tuple):
        return any(_may_overlap(array, each) for each in other)
    return isinstance(other, np.ndarray) and np.may_share_memory(array, other)


def is_tensor_value(value: RuntimeValue) -> TypeGuard[TensorOrSequence]:
    """Whether a value is a tensor, a sequence of tensors, or an empty optional."""
    if isinstance(value, tuple):
        return all(isinstance(each, np.ndarray) for each in value)
    return not isinstance(value, dict)


def accessed_values(program: Program) -> set[int]:
    """Return the values that are outputs, or that steps other than native ones access."""
    accessed: set[int | None] = {spec.value for spec in program.outputs}
    for step in program.steps:
        if isinstance(step, NativeStep):
            accessed.update(check.value for check in step.checks)
        else:
            accessed.update(step.reads, step.writes)
        if isinstance(step, SessionStep):
            accessed.update(index for body in step.bodies for index in body.captured)
    return {index for index in accessed if index is not None}


def _is_io_tensor(program: Program, index: int, root: int) -> bool:
    """Whether a value is a numeric tensor that aliases an input or output."""
    dtype = program.values[index].dtype
    is_array = program.values[root].storage in (Storage.INPUT, Storage.OUTPUT)
    return is_array and dtype is not None and not dtype.hasobject


def _body_input(value: RuntimeValue, spec: TensorSpec, step: SessionStep) -> RuntimeValue:
    """Check an input of a body and return it in a form that native code can access."""
    if (
        type(value) is np.ndarray
        and value.dtype is spec.dtype
        and (value.shape == spec.shape or (spec.shape and spec.accepts(value.shape)))
        and value.flags.num & CONTIGUOUS == CONTIGUOUS
    ):
        return value
    if not isinstance(value, np.ndarray) or spec.dtype is None or spec.dtype.hasobject:
        return value
    if spec.shape == () and value.size == 1:
        value = value.reshape(())
    if value.dtype != spec.dtype or not spec.accepts(value.shape):
        raise DeclaredShapeError(
            f"{step.node or step.operator}: its body is given {value.dtype}{list(value.shape)}, "
            f"the model says {spec.dtype}{list(spec.shape or ())}"
        )
    return value if value.flags.num & CONTIGUOUS == CONTIGUOUS else np.require(value, None, ["C", "A"])
