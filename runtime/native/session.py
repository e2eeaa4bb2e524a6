"""Runs a compiled model on numpy arrays, in onnxruntime's manner."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from ctypes import addressof, c_char
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from time import perf_counter
from types import TracebackType
from typing import TypeGuard

import numpy as np
import numpy.typing as npt

from xonnc.errors import XonncError, near
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
)
from xonnc.formats.native.saved import Saved, write_saved
from xonnc.runtime.native.jit import Entry, host_identity
from xonnc.runtime.native.session_steps import Runner, do_step

Array = npt.NDArray[np.generic]
Shapes = Mapping[str, tuple[int, ...]]
Values = Mapping[str, Array]

KEPT_PROGRAMS = 16
"""Programs of a model with dynamic sizes that are kept, one for each set of sizes."""

MOST_STEERED = 8
"""Sets of numbers in a row that a model is compiled for; one that is fed ever new ones runs as it is."""


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


Compile = Callable[[Shapes, Values], Executable]
"""
Compiles the model for shapes of its inputs by name, and for the numbers that steering ones are.

Without either, as the model says.
"""

_Key = tuple[tuple[tuple[str, tuple[int, ...]], ...], tuple[tuple[str, bytes], ...]]


class Instance:
    """An executable with memory to run in; one run at a time."""

    def __init__(self, executable: Executable) -> None:
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
        seen = _seen(program)
        self._pointers = [each for each in moving if each[0] not in seen and _is_memory(program, *each)]
        """Those that native code alone reads and writes, so that no array is needed."""
        self._aliases = [each for each in moving if each not in self._pointers]
        self._given = self._whose()
        self.seconds = [0.0] * len(program.steps)
        """How long each step took in the last run."""
        self.has_host_steps = any(isinstance(step, HostStep) for step in program.steps)
        self.bodies: dict[int, list[Instance]] = {}
        """By step, what the session runs inside of it."""
        for number, step in enumerate(program.steps):
            if isinstance(step, SessionStep):
                self.bodies[number] = [
                    Instance(Executable(body.program, executable.entries, executable.owner))
                    for body in step.bodies
                ]
        for place, value in enumerate(program.values):
            root = program.values[self._roots[place]]
            if root.place is Place.ARENA and value.shape is not None and value.dtype is not None:
                first = root.offset + program.shift_of(place)
                start = self._arena[first : first + value.size]
                if not value.dtype.hasobject:
                    self._set(place, start.view(value.dtype).reshape(value.shape))
            elif root.place is Place.CONSTANT and root.constant is not None:
                shape = root.shape if value.shape is None else value.shape
                self._set(place, root.constant.reshape(shape or ()))

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
        try:
            results = step.run([self._held[place] for place in step.reads])
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


def _seen(program: Program) -> set[int]:
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


class _Unfit(Instance):
    """
    A model as it is, run on sizes for which it could not be compiled.

    What does not fit may be in a body that never runs; if it runs, the compiler has said best what is wrong.
    """

    def __init__(self, executable: Executable, error: XonncError) -> None:
        super().__init__(executable)
        self._error = error

    def run(self, feeds: Mapping[str, Held]) -> list[Held]:
        """The outputs for checked inputs."""
        try:
            return super().run(feeds)
        except XonncError:
            raise self._error from None


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
    return np.require(held, None, ["C", "A"])


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


@dataclass(frozen=True)
class ReportLine:
    """
    How one step runs: `native` kernels in a row, an operator by the `session`, or on the `host` and why.

    Behind a step of the session are those of its bodies.
    """

    where: str
    what: str
    node: str
    reason: str
    seconds: float
    """Of the last run."""


def _lines(instance: Instance) -> list[ReportLine]:
    lines: list[ReportLine] = []
    for number, (step, seconds) in enumerate(zip(instance.program.steps, instance.seconds, strict=True)):
        match step:
            case NativeStep():
                lines.append(ReportLine("native", " ".join(step.kernels), step.node, "", seconds))
            case HostStep():
                lines.append(ReportLine("host", step.operator, step.node, step.reason, seconds))
            case SessionStep():
                lines.append(ReportLine("session", step.operator, step.node, "", seconds))
                for body in instance.bodies[number]:
                    lines += _lines(body)
    return lines


@dataclass(frozen=True)
class ProfileLine:
    """One step of a run: the ONNX node, what computes it, `native` or on the `host`, and how long it took."""

    node: str
    kernel: str
    where: str
    microseconds: float


class Session:
    """
    A model ready to run.

    A model with dynamic sizes is compiled for each set of sizes that it is fed, once, and one that is fed
    axes, pads and the like for those. Sessions may be used from several threads; runs of one session wait for
    each other.
    """

    def __init__(self, compile_for: Compile) -> None:
        self._compile = compile_for
        self._lock = Lock()
        with _IN_MEMORY:
            self._template = Instance(compile_for({}, {}))
        self._open = [port.name for port in self.inputs if port.shape is not None and None in port.shape]
        """Inputs with dynamic sizes."""
        self._instances: OrderedDict[_Key, Instance] = OrderedDict()
        self._steered = 0
        self._last = self._template

    @property
    def inputs(self) -> Sequence[Port]:
        """What must be fed, in the model's order."""
        return self._template.program.inputs

    @property
    def outputs(self) -> Sequence[Port]:
        """What is given, in the model's order."""
        return self._template.program.outputs

    @property
    def steering(self) -> Sequence[str]:
        """Inputs whose numbers say how much is computed, which code may be made for."""
        return self._template.executable.steering

    def run(self, names: Sequence[str] | None, feeds: Mapping[str, object]) -> list[Held]:
        """
        The outputs called `names` (`None`: all) for inputs by name.

        Arrays are read where they lie if they are in rows and aligned. Raises `XonncError` for inputs that
        are missing, unknown, or of the wrong type or shape.
        """
        if names is not None:
            known = [port.name for port in self.outputs]
            for name in names:
                if name not in known:
                    raise XonncError(f"no output '{name}'{near(name, known)}; there are {', '.join(known)}")
        checked = check_feeds(self.inputs, feeds)
        with self._lock, _IN_MEMORY:
            results = self._instance(checked).run(checked)
        if names is None:
            return results
        by_name = {port.name: result for port, result in zip(self.outputs, results, strict=True)}
        return [by_name[name] for name in names]

    def _instance(self, feeds: Mapping[str, Held]) -> Instance:
        shapes: dict[str, tuple[int, ...]] = {}
        for name in self._open:
            held = feeds[name]
            if isinstance(held, np.ndarray):
                shapes[name] = held.shape
        base = self._for(shapes, {}) if shapes else self._template
        # What runs natively whatever its numbers are needs no code for them.
        names = base.executable.steering if base.has_host_steps else ()
        values = {name: held for name in names if isinstance(held := feeds[name], np.ndarray)}
        self._last = self._for(shapes, values) if values and self._steered < MOST_STEERED else base
        return self._last

    def _for(self, shapes: Shapes, values: Values) -> Instance:
        numbers = tuple((name, held.tobytes()) for name, held in sorted(values.items()))
        key = tuple(sorted(shapes.items())), numbers
        if key not in self._instances:
            self._steered += bool(values)
            self._instances[key] = self._made(shapes, values)
            if len(self._instances) > KEPT_PROGRAMS:
                self._instances.popitem(last=False)
        elif values:
            self._steered = 0
        self._instances.move_to_end(key)
        return self._instances[key]

    def _made(self, shapes: Shapes, values: Values) -> Instance:
        try:
            return Instance(self._compile(shapes, values))
        except XonncError as error:
            steps = self._template.program.steps
            if values or not any(isinstance(step, SessionStep) and step.bodies for step in steps):
                raise
            return _Unfit(self._template.executable, error)

    def report(self) -> list[ReportLine]:
        """The steps of the program of the last run, or of the model as it is before any."""
        return _lines(self._last)

    def profile(self) -> list[ProfileLine]:
        """
        How long each step of the last run took, in the order of the run.

        Kernels are steps of their own in a session that was compiled with `profile=True`.
        """
        return [
            ProfileLine(line.node, re.sub(r"_\d+$", "", line.what), line.where, line.seconds * 1e6)
            for line in self.report()
        ]

    def save(self, folder: str | Path) -> list[Path]:
        """
        Writes what the last run ran, or the model as it is before any, as `formats/native/saved.py` says.

        Gives the files: graph, library and parameters. `xonnc.load` makes a session of them, on a processor
        like this one. Raises `XonncError` for a model of which not all is native code.
        """
        ran = self._last.executable
        return write_saved(Path(folder), Saved(ran.program, ran.code, host_identity(), ran.threads))

    def host_calls(self) -> list[str]:
        """The operators that the last run gave to the reference evaluator."""
        return [line.what for line in self.report() if line.where == "host"]


class _InMemory:
    """Where arrays are made that may not fit."""

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, MemoryError):
            raise XonncError(f"there is not enough memory: {error}") from error


_IN_MEMORY = _InMemory()


def check_feeds(ports: Sequence[Port], feeds: Mapping[str, object]) -> dict[str, Held]:
    """Inputs as code can read them; `XonncError` for what does not fit."""
    checked: dict[str, Held] = {}
    for port in ports:
        if port.name not in feeds:
            break
        checked[port.name] = _checked(port, feeds[port.name])
    if len(checked) == len(ports) == len(feeds):
        return checked
    known = [port.name for port in ports]
    for name in feeds:
        if name not in known:
            raise XonncError(
                f"no input '{name}'{near(str(name), known)}; there are {', '.join(known) or 'none'}"
            )
    missing = [name for name in known if name not in feeds]
    raise XonncError(f"input '{missing[0]}' is missing; {len(known)} must be fed")


def _checked(port: Port, given: object) -> Held:
    if port.dtype is None:
        return tuple(map(np.asarray, given)) if _is_list(given) else _array(given)
    array = _array(given)
    if array is None:
        raise XonncError(f"input '{port.name}': a {type(given).__name__} is no array")
    if port.dtype.hasobject:
        return array.astype(np.object_)
    if array.dtype != port.dtype:
        raise XonncError(f"input '{port.name}': {array.dtype} was fed, the model takes {port.dtype}")
    if port.shape is not None and array.shape != port.shape:
        fits = len(array.shape) == len(port.shape) and all(
            wanted in (None, size) for size, wanted in zip(array.shape, port.shape, strict=True)
        )
        if not fits:
            shape = ", ".join("?" if size is None else str(size) for size in port.shape)
            raise XonncError(
                f"input '{port.name}': the shape {list(array.shape)} was fed, the model takes [{shape}]"
            )
    is_in_rows = array.flags.c_contiguous and array.flags.aligned
    return array if is_in_rows else np.require(array, None, ["C", "A"])


def _is_list(given: object) -> TypeGuard[Sequence[object]]:
    return isinstance(given, list | tuple)


def _array(given: object) -> Array | None:
    # What is one already first, since looking for the others takes as long as small layers.
    if type(given) is np.ndarray:
        return given
    return (
        np.asarray(given) if isinstance(given, np.ndarray | np.generic | int | float | bool | list) else None
    )
