"""A program with memory to run in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from ctypes import addressof, c_char
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from time import perf_counter
from typing import Protocol, TypeAlias, TypeGuard

import numpy as np
import numpy.typing as npt

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
from xonnc.runtime.native.jit import Code, Entry
from xonnc.runtime.native.operator_call import BodyFunction, Implementation, OperatorCall
from xonnc.runtime.native.session_operators import prepare_step

Array = npt.NDArray[np.generic]

CONTIGUOUS = 0x101
"""NumPy's flags of arrays that code can read where they lie: contiguous in C's order, and aligned."""

NewArray: TypeAlias = "tuple[int, int, tuple[int, ...], np.dtype[np.generic]]"
"""An array that is allocated for each run: the value that it is, the one as which it is seen, shape, type."""


class _Char(Protocol):
    """What is used of `c_char`, whose types know no arrays before Python 3.12."""

    def from_buffer(self, source: Array, /) -> c_char: ...


_char: _Char = import_module("ctypes").c_char


@dataclass(frozen=True)
class Executable:
    """A program and its machine code, loaded; `owner` keeps what is loaded alive."""

    program: Program
    entries: Mapping[str, Entry]
    owner: object
    shape_determining: Sequence[str] = ()
    """Inputs whose numbers say how much is computed, which code may be made for."""
    code: bytes = b""
    threads: int = 1


def reloaded(executable: Executable) -> Executable:
    """The executable with its code loaded anew: a forked child has none of the threads of its pool."""
    if executable.threads == 1 or not executable.code:
        return executable
    code = Code(executable.code, executable.entries, executable.threads)
    return replace(executable, entries=code.entries, owner=code)


class Instance:
    """An executable with memory to run in; one run at a time."""

    def __init__(self, executable: Executable, make: Callable[[Executable], Instance] | None = None) -> None:
        """`make` makes the instances of what the session runs inside of steps."""
        self.executable = executable
        program = executable.program
        self.program = program
        self._arena = aligned_empty(program.arena)
        self._table = np.zeros(max(1, len(program.values)), np.uint64)
        self._table_at = self._table.ctypes.data
        self._cells = self._table.data
        """The table, faster to read and write one by one."""
        self._held: list[RuntimeValue] = [None] * len(program.values)
        self._roots = [program.root_of(place) for place in range(len(program.values))]
        self._inputs = [port.value for port in program.inputs]
        moving = [
            (place, root)
            for place, root in enumerate(self._roots)
            if root != place
            and program.values[root].storage in (Storage.INPUT, Storage.OUTPUT, Storage.OBJECT)
        ]
        """Values that lie where others do, which are not always in the same place."""
        seen = accessed_values(program)
        self._pointers = [each for each in moving if each[0] not in seen and _is_io_tensor(program, *each)]
        """Those that native code alone reads and writes, so that no array is needed."""
        self._aliases = [each for each in moving if each not in self._pointers]
        self._followers: dict[int, list[int]] = {}
        """The other values that lie where a Python object does."""
        for place, root in moving:
            if program.values[root].storage is Storage.OBJECT:
                self._followers.setdefault(root, []).append(place)
        self._allocated = self._new_arrays(seen)
        self._made: Sequence[NewArray] = [] if program.is_dynamic else self._shapes_made()
        self._given = self._whose()
        self.seconds = [0.0] * len(program.steps)
        """How long each step took in the last run."""
        self.has_host_steps = any(isinstance(step, HostStep) for step in program.walk_steps())
        self.bodies: dict[int, list[Instance]] = {}
        """By step, what the session runs inside of it."""
        for number, step in enumerate(program.steps):
            if isinstance(step, SessionStep):
                # A plain instance knows no sizes of a run.
                assert make is not None or not any(body.program.is_dynamic for body in step.bodies)
                self.bodies[number] = [
                    (make or Instance)(Executable(body.program, executable.entries, executable.owner))
                    for body in step.bodies
                ]
        for place, value in enumerate(program.values):
            root = program.values[self._roots[place]]
            if root.storage is Storage.ARENA:
                if not program.is_dynamic:
                    self._place_in_arena(place, root.offset + program.alias_offset_of(place))
            elif root.storage is Storage.CONSTANT and root.constant is not None:
                shape = root.shape if value.shape is None else value.shape
                self._set(place, root.constant.reshape(shape or ()))
        self._work = [self._work_of(number, step) for number, step in enumerate(program.steps)]

    def _new_arrays(self, seen: set[int]) -> list[tuple[int, int]]:
        """
        The values that are allocated for each run, and the value whose shape and type the array has.

        That is the output itself where nothing else is seen of the memory, so that it need not be reshaped.
        """
        values = self.program.values
        found: list[tuple[int, int]] = []
        for place, value in enumerate(values):
            if value.storage is not Storage.OUTPUT or value.alias_of is not None or value.dtype is None:
                continue
            aliases = [alias for alias, root in self._aliases if root == place]
            is_one = len(aliases) == 1 and place not in seen and not self.program.alias_offset_of(aliases[0])
            if is_one and values[aliases[0]].dtype is not None:
                self._aliases.remove((aliases[0], place))
                self._pointers.append((aliases[0], place))
                found.append((place, aliases[0]))
            else:
                found.append((place, place))
        return found

    def _shapes_made(self) -> list[NewArray]:
        """The arrays that are allocated for each run."""
        return [
            (root, place, self.shape_of(place), dtype)
            for root, place in self._allocated
            if (dtype := self.program.values[place].dtype) is not None
        ]

    def shape_of(self, place: int) -> tuple[int, ...]:
        """The shape of a tensor in this run."""
        shape = self.program.values[place].shape
        assert shape is not None
        return shape

    def _place_in_arena(self, place: int, first: int) -> None:
        value = self.program.values[place]
        if value.shape is not None and value.dtype is not None and not value.dtype.hasobject:
            start = self._arena[first : first + value.size]
            self._set(place, start.view(value.dtype).reshape(value.shape))

    def _set(self, place: int, array: Array) -> None:
        self._held[place] = array
        self._table[place] = array.ctypes.data

    def run(self, fed: Sequence[RuntimeValue]) -> list[RuntimeValue]:
        """The outputs for checked inputs, in their order."""
        return self.run_again(fed)

    def run_again(self, fed: Sequence[RuntimeValue]) -> list[RuntimeValue]:
        """The outputs for checked inputs of the same shapes as in the last run."""
        held_by_place, cells = self._held, self._cells
        for place, held in zip(self._inputs, fed, strict=True):
            # What a loop captures is the same in each iteration.
            if held is not held_by_place[place]:
                self._give(place, held)
        for root, place, shape, dtype in self._made:
            held_by_place[place] = array = np.empty(shape, dtype)
            cells[root] = address_of(array)
        for place, root in self._pointers:
            cells[place] = cells[root]
        for place, root in self._aliases:
            self._alias(place, root)
        started = perf_counter()
        for number, work in enumerate(self._work):
            work()
            ended = perf_counter()
            self.seconds[number] = ended - started
            started = ended
        return self._outputs()

    def _work_of(self, number: int, step: ProgramStep) -> Callable[[], None]:
        """What a run does for a step, with all that is the same in each run found beforehand."""
        match step:
            case NativeStep():
                compute = partial(self.executable.entries[step.function], self._table_at)
                return partial(self._compute_checked, compute, step.checks) if step.checks else compute
            case SessionStep():
                return partial(self._own, number, step, prepare_step(step))
            case HostStep():
                return partial(self._host, step)

    def _compute_checked(self, compute: Callable[[], None], checks: Sequence[RangeCheck]) -> None:
        compute()
        self._check(checks)

    def _check(self, checks: Sequence[RangeCheck]) -> None:
        for check in checks:
            held = self._held[check.value]
            assert isinstance(held, np.ndarray)
            least, most = held.astype(np.int64).tolist()
            if least < check.low or most > check.high:
                kind = DeclaredShapeError if check.is_declared else XonncError
                raise kind(check.message.format(least if least < check.low else most))

    def _give(self, place: int, held: RuntimeValue) -> None:
        self._held[place] = held
        if isinstance(held, np.ndarray) and not held.dtype.hasobject:
            self._cells[place] = address_of(held)

    def _alias(self, place: int, root: int) -> None:
        held, value = self._held[root], self.program.values[place]
        if isinstance(held, np.ndarray) and value.shape is not None and value.dtype is not None:
            self._cells[place] = self._cells[root]
            # Buffers hold integers without sign, which tensors may have.
            if held.dtype != value.dtype and not held.dtype.hasobject:
                held = held.view(value.dtype)
            if held.shape != value.shape:
                held = held.reshape(value.shape)
            self._held[place] = held
            return
        self._give(place, held)

    def _host(self, step: HostStep) -> None:
        held = [tensors for place in step.reads if is_tensor_value(tensors := self._held[place])]
        if len(held) != len(step.reads):
            raise XonncError(f"{step.node or step.operator}: the ONNX reference evaluator takes no maps")
        try:
            results = step.run(held)
        except XonncError as error:
            raise XonncError(f"{step.node or step.operator}: {error}") from error
        for place, result in zip(step.writes, results, strict=True):
            self._write(step, place, result)

    def _own(self, number: int, step: SessionStep, perform: Implementation) -> None:
        """A step of the session's own: it is given what it reads, and functions that run its bodies."""
        held = [None if place is None else self._held[place] for place in step.reads]
        runners = [
            self._runner(step, body, instance)
            for body, instance in zip(step.bodies, self.bodies.get(number, ()), strict=True)
        ]
        results = perform(OperatorCall(step, held, runners))
        for place, result in zip(step.writes, results, strict=True):
            if place is not None:
                self._write(step, place, result)

    def _runner(self, step: SessionStep, body: BodyProgram, instance: Instance) -> BodyFunction:
        count = len(body.program.inputs) - len(body.captured)
        own, outer = body.program.inputs[:count], body.program.inputs[count:]
        around = [
            _body_input(self._held[place], port, step)
            for place, port in zip(body.captured, outer, strict=True)
        ]

        def run(inputs: Sequence[RuntimeValue]) -> Sequence[RuntimeValue]:
            given = [_body_input(held, port, step) for held, port in zip(inputs, own, strict=True)]
            return instance.run(given + around)

        return run

    def _write(self, step: HostStep | SessionStep, place: int, result: RuntimeValue) -> None:
        if self.program.values[place].storage is Storage.OBJECT:
            self._held[place] = result
            for other in self._followers.get(place, ()):
                self._alias(other, place)
            return
        target = self._held[place]
        if not isinstance(result, np.ndarray) or not isinstance(target, np.ndarray):
            raise XonncError(f"{step.node or step.operator}: gives no tensor where one is expected")
        if result.shape != target.shape or result.dtype != target.dtype:
            raise DeclaredShapeError(
                f"{step.node or step.operator}: gives {result.dtype}{list(result.shape)}, "
                f"the model says {target.dtype}{list(target.shape)}"
            )
        np.copyto(target, result)

    def _whose(self) -> list[tuple[int, bool]]:
        """The values of the outputs; whether they are arrays of the caller's own already."""
        roots = [self._roots[port.value] for port in self.program.outputs]
        return [
            (
                port.value,
                self.program.values[root].storage in (Storage.OUTPUT, Storage.OBJECT)
                and root not in roots[:number],
            )
            for number, (port, root) in enumerate(zip(self.program.outputs, roots, strict=True))
        ]

    def _outputs(self) -> list[RuntimeValue]:
        """Arrays of the caller's own: what is a constant, an input or given twice is copied."""
        found: list[RuntimeValue] = []
        for place, is_own in self._given:
            held = self._held[place]
            found.append(held if is_own or not isinstance(held, np.ndarray) else held.copy())
        return found


def is_tensor_value(held: RuntimeValue) -> TypeGuard[TensorOrSequence]:
    """Whether a value is a tensor, a sequence of tensors, or nothing."""
    if isinstance(held, tuple):
        return all(isinstance(each, np.ndarray) for each in held)
    return not isinstance(held, dict)


def accessed_values(program: Program) -> set[int]:
    """The values that are given, or that other steps than native ones read or write."""
    seen: set[int | None] = {port.value for port in program.outputs}
    for step in program.steps:
        if isinstance(step, NativeStep):
            seen.update(check.value for check in step.checks)
        else:
            seen.update(step.reads, step.writes)
        if isinstance(step, SessionStep):
            seen.update(place for body in step.bodies for place in body.captured)
    return {place for place in seen if place is not None}


def _is_io_tensor(program: Program, place: int, root: int) -> bool:
    """Whether a value is a tensor of numbers that lies in an input or output."""
    dtype = program.values[place].dtype
    is_array = program.values[root].storage in (Storage.INPUT, Storage.OUTPUT)
    return is_array and dtype is not None and not dtype.hasobject


def _body_input(held: RuntimeValue, port: TensorSpec, step: SessionStep) -> RuntimeValue:
    """A value that a body is given, as its code can read it."""
    if not isinstance(held, np.ndarray) or port.dtype is None or port.dtype.hasobject:
        return held
    if port.shape == () and held.size == 1:
        held = held.reshape(())
    if held.dtype != port.dtype or not port.accepts(held.shape):
        raise DeclaredShapeError(
            f"{step.node or step.operator}: its body is given {held.dtype}{list(held.shape)}, "
            f"the model says {port.dtype}{list(port.shape or ())}"
        )
    return held if held.flags.num & CONTIGUOUS == CONTIGUOUS else np.require(held, None, ["C", "A"])


def address_of(array: Array) -> int:
    """Where an array of elements in rows begins."""
    try:
        # Twice as fast as `ctypes.data`, which counts in models of some microseconds.
        return addressof(_char.from_buffer(array))
    except (TypeError, ValueError):  # it is read-only, empty, or of numbers that Python does not know
        return array.ctypes.data


def aligned_empty(size: int) -> npt.NDArray[np.uint8]:
    """Bytes that begin at a multiple of 64."""
    memory = np.empty(size + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + size]
