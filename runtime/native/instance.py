"""A program with memory to run in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from ctypes import addressof, c_char
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TypeGuard

import numpy as np
import numpy.typing as npt

from xonnc.errors import XonncError
from xonnc.formats.native.program import (
    Body,
    Check,
    Held,
    HostStep,
    NativeStep,
    Place,
    Port,
    Program,
    SessionStep,
    Tensors,
)
from xonnc.runtime.native.calls import Runner
from xonnc.runtime.native.jit import Code, Entry
from xonnc.runtime.native.session_steps import do_step

Array = npt.NDArray[np.generic]


@dataclass(frozen=True)
class Executable:
    """A program and its machine code, loaded; `owner` keeps what is loaded alive."""

    program: Program
    entries: Mapping[str, Entry]
    owner: object
    steering: Sequence[str] = ()
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
        self._held: list[Held] = [None] * len(program.values)
        self._roots = [program.root_of(place) for place in range(len(program.values))]
        self._made = [
            (place, value.shape, value.dtype)
            for place, value in enumerate(program.values)
            if value.place is Place.OUTPUT and value.same_as is None and value.shape is not None
        ]
        """Arrays that are made for each run."""
        moving = [
            (place, root)
            for place, root in enumerate(self._roots)
            if root != place and program.values[root].place in (Place.INPUT, Place.OUTPUT, Place.HELD)
        ]
        """Values that lie where others do, which are not always in the same place."""
        seen = seen_places(program)
        self._pointers = [each for each in moving if each[0] not in seen and _is_memory(program, *each)]
        """Those that native code alone reads and writes, so that no array is needed."""
        self._aliases = [each for each in moving if each not in self._pointers]
        self._given = self._whose()
        self.seconds = [0.0] * len(program.steps)
        """How long each step took in the last run."""
        self.has_host_steps = any(isinstance(step, HostStep) for step in program.every_step())
        self.bodies: dict[int, list[Instance]] = {}
        """By step, what the session runs inside of it."""
        for number, step in enumerate(program.steps):
            if isinstance(step, SessionStep):
                # A plain instance knows no sizes of a run.
                assert make is not None or not any(body.program.is_open for body in step.bodies)
                self.bodies[number] = [
                    (make or Instance)(Executable(body.program, executable.entries, executable.owner))
                    for body in step.bodies
                ]
        for place, value in enumerate(program.values):
            root = program.values[self._roots[place]]
            if root.place is Place.ARENA:
                if not program.is_open:
                    self._place_in_arena(place, root.offset + program.shift_of(place))
            elif root.place is Place.CONSTANT and root.constant is not None:
                shape = root.shape if value.shape is None else value.shape
                self._set(place, root.constant.reshape(shape or ()))

    def _place_in_arena(self, place: int, first: int) -> None:
        value = self.program.values[place]
        if value.shape is not None and value.dtype is not None and not value.dtype.hasobject:
            start = self._arena[first : first + value.size]
            self._set(place, start.view(value.dtype).reshape(value.shape))

    def _set(self, place: int, array: Array) -> None:
        self._held[place] = array
        self._table[place] = array.ctypes.data

    def run(self, feeds: Mapping[str, Held]) -> list[Held]:
        """The outputs for checked inputs."""
        program = self.program
        for port in program.inputs:
            self._give(port.value, feeds[port.name])
        for place, shape, dtype in self._made:
            self._give(place, np.empty(shape, dtype))
        for place, root in self._pointers:
            self._cells[place] = self._cells[root]
        for place, root in self._aliases:
            self._alias(place, root)
        for number, step in enumerate(program.steps):
            started = perf_counter()
            if isinstance(step, NativeStep):
                self.executable.entries[step.function](self._table_at)
                if step.checks:
                    self._check(step.checks)
            elif isinstance(step, SessionStep):
                self._own(number, step)
            else:
                self._host(step)
            self.seconds[number] = perf_counter() - started
        return self._outputs()

    def _check(self, checks: Sequence[Check]) -> None:
        for check in checks:
            held = self._held[check.value]
            assert isinstance(held, np.ndarray)
            least, most = held.astype(np.int64).tolist()
            if least < check.least or most > check.most:
                raise XonncError(check.message.format(least if least < check.least else most))

    def _give(self, place: int, held: Held) -> None:
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
        held = [tensors for place in step.reads if is_tensors(tensors := self._held[place])]
        if len(held) != len(step.reads):
            raise XonncError(f"{step.node or step.operator}: the ONNX reference evaluator takes no maps")
        try:
            results = step.run(held)
        except XonncError as error:
            raise XonncError(f"{step.node or step.operator}: {error}") from error
        self._write(step, step.writes, results)

    def _own(self, number: int, step: SessionStep) -> None:
        """A step of the session's own: it is given what it reads, and functions that run its bodies."""
        held = [None if place is None else self._held[place] for place in step.reads]
        runners = [
            self._runner(step, body, instance)
            for body, instance in zip(step.bodies, self.bodies[number], strict=True)
        ]
        results = do_step(step, held, runners)
        wanted = [place for place in step.writes if place is not None]
        given = [result for place, result in zip(step.writes, results, strict=True) if place is not None]
        self._write(step, wanted, given)

    def _runner(self, step: SessionStep, body: Body, instance: Instance) -> Runner:
        around = [self._held[place] for place in body.captured]
        ports = body.program.inputs

        def run(inputs: Sequence[Held]) -> Sequence[Held]:
            feeds: dict[str, Held] = {}
            for port, held in zip(ports, [*inputs, *around], strict=True):
                feeds[port.name] = _fed(held, port, step)
            return instance.run(feeds)

        return run

    def _write(self, step: HostStep | SessionStep, writes: Sequence[int], results: Sequence[Held]) -> None:
        for place, result in zip(writes, results, strict=True):
            value = self.program.values[place]
            if value.place is Place.HELD:
                self._held[place] = result
                for other, root in enumerate(self._roots):
                    if root == place and other != place:
                        self._alias(other, root)
                continue
            target = self._held[place]
            if not isinstance(result, np.ndarray) or not isinstance(target, np.ndarray):
                raise XonncError(f"{step.node or step.operator}: gives no tensor where one is expected")
            if result.shape != target.shape or result.dtype != target.dtype:
                raise XonncError(
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
                self.program.values[root].place in (Place.OUTPUT, Place.HELD) and root not in roots[:number],
            )
            for number, (port, root) in enumerate(zip(self.program.outputs, roots, strict=True))
        ]

    def _outputs(self) -> list[Held]:
        """Arrays of the caller's own: what is a constant, an input or given twice is copied."""
        found: list[Held] = []
        for place, is_own in self._given:
            held = self._held[place]
            found.append(held if is_own or not isinstance(held, np.ndarray) else held.copy())
        return found


def is_tensors(held: Held) -> TypeGuard[Tensors]:
    """Whether a value is a tensor, a sequence of tensors, or nothing."""
    if isinstance(held, tuple):
        return all(isinstance(each, np.ndarray) for each in held)
    return not isinstance(held, dict)


def seen_places(program: Program) -> set[int]:
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


def _is_memory(program: Program, place: int, root: int) -> bool:
    """Whether a value is a tensor of numbers that lies in an input or output."""
    dtype = program.values[place].dtype
    is_array = program.values[root].place in (Place.INPUT, Place.OUTPUT)
    return is_array and dtype is not None and not dtype.hasobject


def _fed(held: Held, port: Port, step: SessionStep) -> Held:
    """A value that a body is given, as its code can read it."""
    if not isinstance(held, np.ndarray) or port.dtype is None or port.dtype.hasobject:
        return held
    if port.shape == () and held.size == 1:
        held = held.reshape(())
    fits = port.shape is None or (
        len(held.shape) == len(port.shape)
        and all(wanted in (None, size) for size, wanted in zip(held.shape, port.shape, strict=True))
    )
    if held.dtype != port.dtype or not fits:
        raise XonncError(
            f"{step.node or step.operator}: its body is given {held.dtype}{list(held.shape)}, "
            f"the model says {port.dtype}{list(port.shape or ())}"
        )
    is_in_rows = held.flags.c_contiguous and held.flags.aligned
    return held if is_in_rows else np.require(held, None, ["C", "A"])


def address_of(array: Array) -> int:
    """Where an array of elements in rows begins."""
    try:
        # Twice as fast as `ctypes.data`, which counts in models of some microseconds.
        return addressof(c_char.from_buffer(array.data))
    except (TypeError, ValueError):  # it is read-only, empty, or of numbers that Python does not know
        return array.ctypes.data


def aligned_empty(size: int) -> npt.NDArray[np.uint8]:
    """Bytes that begin at a multiple of 64."""
    memory = np.empty(size + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + size]
