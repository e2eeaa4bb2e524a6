"""Runs a compiled model on numpy arrays, in onnxruntime's manner."""

from __future__ import annotations

import re
import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import register_at_fork
from pathlib import Path
from threading import Lock
from typing import Any, TypeGuard, cast
from weakref import WeakSet

import numpy as np

from xonnc.errors import DeclaredShapeError, XonncError, suggest
from xonnc.formats.native.program import (
    HostStep,
    NativeStep,
    OnnxMap,
    RuntimeValue,
    SessionStep,
    TensorSpec,
)
from xonnc.formats.native.saved_program import SavedProgram, write_saved
from xonnc.runtime.native.dynamic_instance import DynamicInstance
from xonnc.runtime.native.instance import CONTIGUOUS, Array, Executable, Instance, reloaded
from xonnc.runtime.native.jit import host_identity
from xonnc.runtime.native.onnxruntime_api import OnnxruntimeApi, write_output

InputShapes = Mapping[str, tuple[int, ...]]
InputValues = Mapping[str, Array]

MAX_CACHED_PROGRAMS = 16
"""Programs of a model with dynamic sizes that are kept, one for each set of sizes."""

MAX_VALUE_SPECIALIZATIONS = 8
"""Sets of numbers in a row that a model is compiled for; one that is fed ever new ones runs as it is."""


Compile = Callable[[InputShapes, InputValues], Executable]
"""
Compiles the model for shapes of its inputs by name, and for the numbers that steering ones are.

Without either, as the model says.
"""

_Key = tuple[tuple[tuple[str, tuple[int, ...]], ...], tuple[tuple[str, bytes], ...]]


def _instance_of(executable: Executable) -> Instance:
    return (DynamicInstance if executable.program.is_dynamic else Instance)(executable, _instance_of)


class _FallbackInstance(Instance):
    """
    A model as it is, run on sizes for which it could not be compiled.

    What does not fit may be in a body that never runs; if it runs, the compiler has said best what is wrong.
    """

    def __init__(self, executable: Executable, error: XonncError) -> None:
        super().__init__(executable, _instance_of)
        self._error = error

    def run_again(self, fed: Sequence[RuntimeValue]) -> list[RuntimeValue]:
        """The outputs for checked inputs of the same shapes as in the last run."""
        try:
            return super().run_again(fed)
        except XonncError:
            raise self._error from None


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


def _report_lines(instance: Instance) -> list[ReportLine]:
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
                    lines += _report_lines(body)
    return lines


@dataclass(frozen=True)
class ProfileLine:
    """One step of a run: the ONNX node, what computes it, `native` or on the `host`, and how long it took."""

    node: str
    kernel: str
    where: str
    microseconds: float


class Session(OnnxruntimeApi):
    """
    A model ready to run, with the methods of `onnxruntime.InferenceSession` that run it.

    A model with dynamic sizes is compiled once for all of them where every operator has code for that, else
    for each set of sizes that it is fed, once; one that is fed axes, pads and the like for those. Sessions
    may be used from several threads; runs of one session wait for each other. A forked child may run the
    sessions of its parent, whatever other threads did when it forked.
    """

    def __init__(
        self,
        compile_for: Compile,
        with_inputs: Callable[[frozenset[str]], Session] | None = None,
        undeclared: Callable[[], Session] | None = None,
    ) -> None:
        self._compile = compile_for
        self._undeclared = undeclared
        """Makes a session that takes no shape from what the model declares of results."""
        self._corrected: Session | None = None
        """That session, once a run has found another shape than is declared."""
        self._with_inputs = with_inputs
        """Makes a session that takes inputs which have a default in this one."""
        self._overriding: dict[frozenset[str], Session] = {}
        self._lock = Lock()
        try:
            self._template = _instance_of(compile_for({}, {}))
        except MemoryError as error:
            raise _out_of_memory(error) from error
        self._open = [
            number
            for number, port in enumerate(self.inputs)
            if port.dtype is not None and (port.shape is None or None in port.shape)
        ]
        """Inputs with dynamic sizes, or of any rank."""
        self._bound: list[tuple[str, np.dtype[np.generic], tuple[int, ...], bool]] | None = None
        """
        Name, type and shape of each input of the last run, and whether it is of strings.

        `None` if others of these need looking at.
        """
        self._instances: OrderedDict[_Key, Instance] = OrderedDict()
        self._steered = 0
        self._is_steered = False
        """Whether code is made for the numbers of the last run's inputs."""
        self._last = self._template
        self._is_forked = False
        _SESSIONS.add(self)

    def after_fork(self) -> None:
        """Forgets, in a child, the runs of threads that are not in it: their lock and their pools."""
        self._lock = Lock()
        self._is_forked = True

    def _reload(self) -> None:
        """Makes what threads that are gone may have been using anew."""
        self._is_forked = False
        self._template = _instance_of(reloaded(self._template.executable))
        self._instances = OrderedDict()
        self._last = self._template
        self._bound = None

    @property
    def inputs(self) -> Sequence[TensorSpec]:
        """What must be fed, in the model's order."""
        return self._template.program.inputs

    @property
    def outputs(self) -> Sequence[TensorSpec]:
        """What is given, in the model's order."""
        return self._template.program.outputs

    @property
    def shape_determining(self) -> Sequence[str]:
        """Inputs whose numbers say how much is computed, which code may be made for."""
        return self._template.executable.shape_determining

    @property
    def compiled(self) -> int:
        """How many programs there are: one, if that is for any sizes, and one for each set of sizes."""
        return 1 + len(self._instances)

    def run(
        self,
        names: Sequence[str] | None,
        feeds: Mapping[str, object],
        out: Mapping[str, Array] | None = None,
    ) -> list[RuntimeValue]:
        """
        The outputs called `names` (`None`: all) for inputs by name.

        Arrays are read where they lie if they are in rows and aligned; `out` has arrays that outputs
        are written to. Inputs that have a default, which
        `inputs` does not list, may be given too. Raises `XonncError` for inputs that are missing, unknown, or
        of the wrong type or shape.
        """
        if names is not None:
            self._check_outputs(names)
        with self._lock:
            try:
                results = self._checked_results(feeds)
            except MemoryError as error:
                raise _out_of_memory(error) from error
        if names is None and out is None:
            return results
        by_name = {port.name: result for port, result in zip(self.outputs, results, strict=True)}
        for name, array in (out or {}).items():
            self._check_outputs([name])
            write_output(name, by_name[name], array)
            by_name[name] = array
        return list(by_name.values()) if names is None else [by_name[name] for name in names]

    def _checked_results(self, feeds: Mapping[str, object]) -> list[RuntimeValue]:
        """The results, whatever the model declares of their shapes."""
        if self._corrected is None:
            try:
                return self._results(feeds)
            except DeclaredShapeError as error:
                if self._undeclared is None:
                    raise
                self._corrected = self._undeclared()
                warnings.warn(f"{error}; what it says of the shapes of results is ignored", stacklevel=3)
        results = self._corrected.run(None, feeds)
        self._last = self._corrected._last
        return results

    def _results(self, feeds: Mapping[str, object]) -> list[RuntimeValue]:
        if self._is_forked:
            self._reload()
        if (arrays := self._arrays_as_bound(feeds)) is not None:
            return self._last.run_again(arrays)
        self._bound = None
        _check_mapping(feeds)
        if len(feeds) > len(self.inputs) and (overridden := self._overridden(feeds)) is not None:
            results = overridden.run(None, feeds)
            self._last = overridden._last
            return results
        fed = check_feeds(self.inputs, feeds)
        instance = self._instance(fed)
        results = instance.run(fed)
        if not self._is_steered:
            self._bind(fed)
        return results

    def _bind(self, fed: Sequence[RuntimeValue]) -> None:
        """Remembers what was fed: inputs of the same types and shapes need not be looked at again."""
        arrays = [held for held in fed if isinstance(held, np.ndarray)]
        if len(arrays) == len(fed):
            self._bound = [
                (port.name, array.dtype, array.shape, array.dtype.hasobject)
                for port, array in zip(self.inputs, arrays, strict=True)
            ]

    def _arrays_as_bound(self, feeds: Mapping[str, object]) -> list[RuntimeValue] | None:
        """The inputs in their order if they are arrays in rows, of the types and shapes of the last run."""
        if self._bound is None or not isinstance(feeds, dict) or len(feeds) != len(self._bound):
            return None
        arrays: list[RuntimeValue] = []
        for name, dtype, shape, is_of_strings in self._bound:
            array = feeds.get(name)
            if type(array) is not np.ndarray or array.dtype != dtype or array.shape != shape:
                return None
            if array.flags.num & CONTIGUOUS != CONTIGUOUS:
                return None
            # Strings are read as Python's own objects, which stay whatever becomes of the array.
            arrays.append(array.copy() if is_of_strings else array)
        return arrays

    def _check_outputs(self, names: object) -> None:
        """Whether all that is asked for is there."""
        known = [port.name for port in self.outputs]
        if not _is_list(names):
            raise XonncError(f"outputs are a list of names, or None for all, found {type(names).__name__}")
        for name in names:
            if name not in known:
                raise XonncError(
                    f"no output '{name}'{suggest(str(name), known)}; there are {', '.join(known)}"
                )

    def _overridden(self, feeds: Mapping[str, object]) -> Session | None:
        """The session for more inputs than must be fed; `None` if this one knows of none."""
        known = {port.name for port in self.inputs}
        more = frozenset(str(name) for name in feeds if name not in known)
        if self._with_inputs is None or not known <= feeds.keys():
            return None
        if more not in self._overriding:
            self._overriding[more] = self._with_inputs(more)
        return self._overriding[more]

    def _instance(self, fed: Sequence[RuntimeValue]) -> Instance:
        inputs = self.inputs
        shapes: dict[str, tuple[int, ...]] = {}
        for number in self._open:
            held = fed[number]
            if isinstance(held, np.ndarray):
                shapes[inputs[number].name] = held.shape
        base = self._for(shapes, {}) if shapes and not self._fits(fed) else self._template
        # What runs natively whatever its numbers are needs no code for them.
        names = base.executable.shape_determining if base.has_host_steps else ()
        self._is_steered = bool(names)
        values = {
            port.name: held
            for port, held in zip(inputs, fed, strict=True)
            if port.name in names and isinstance(held, np.ndarray)
        }
        self._last = (
            self._for(shapes, values) if values and self._steered < MAX_VALUE_SPECIALIZATIONS else base
        )
        return self._last

    def _fits(self, fed: Sequence[RuntimeValue]) -> bool:
        """
        Whether one program is for all sizes, and takes these.

        A program for these sizes alone may take them, or says best why they do not fit.
        """
        if not isinstance(self._template, DynamicInstance):
            return False
        try:
            self._template.settle(fed)
        except XonncError:
            return False
        return True

    def _for(self, shapes: InputShapes, values: InputValues) -> Instance:
        numbers = tuple((name, held.tobytes()) for name, held in sorted(values.items()))
        key = tuple(sorted(shapes.items())), numbers
        if key not in self._instances:
            self._steered += bool(values)
            self._instances[key] = self._made(shapes, values)
            if len(self._instances) > MAX_CACHED_PROGRAMS:
                self._instances.popitem(last=False)
        elif values:
            self._steered = 0
        self._instances.move_to_end(key)
        return self._instances[key]

    def _made(self, shapes: InputShapes, values: InputValues) -> Instance:
        try:
            return _instance_of(self._compile(shapes, values))
        except XonncError as error:
            steps = self._template.program.steps
            if values or not any(isinstance(step, SessionStep) and step.bodies for step in steps):
                raise
            return _FallbackInstance(self._template.executable, error)

    def report(self) -> list[ReportLine]:
        """The steps of the program of the last run, or of the model as it is before any."""
        return _report_lines(self._last)

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
        Write the program of the last run, or the initial one, in the format of
        `formats/native/saved_program.py`.

        Gives the files: graph, library and parameters. `xonnc.load` makes a session of them, on a processor
        like this one. Raises `XonncError` for a model of which not all is native code.
        """
        ran = self._last.executable
        return write_saved(Path(folder), SavedProgram(ran.program, ran.code, host_identity(), ran.threads))

    def host_calls(self) -> list[str]:
        """The operators that the last run gave to the reference evaluator."""
        return [line.what for line in self.report() if line.where == "host"]


_SESSIONS: WeakSet[Session] = WeakSet()


def _after_fork() -> None:
    for session in _SESSIONS:
        session.after_fork()


register_at_fork(after_in_child=_after_fork)


def _out_of_memory(error: MemoryError) -> XonncError:
    return XonncError(f"there is not enough memory: {error}")


def _check_mapping(feeds: object) -> None:
    if not isinstance(feeds, Mapping):
        raise XonncError(f"inputs are a dictionary of arrays by name, found {type(feeds).__name__}")


def check_feeds(ports: Sequence[TensorSpec], feeds: Mapping[str, object]) -> list[RuntimeValue]:
    """Inputs in their order, as code can read them; `XonncError` for what does not fit."""
    checked: list[RuntimeValue] = []
    for port in ports:
        if port.name not in feeds:
            break
        checked.append(_checked(port, feeds[port.name]))
    if len(checked) == len(ports) == len(feeds):
        return checked
    known = [port.name for port in ports]
    for name in feeds:
        if name not in known:
            raise XonncError(
                f"no input '{name}'{suggest(str(name), known)}; there are {', '.join(known) or 'none'}"
            )
    missing = [name for name in known if name not in feeds]
    raise XonncError(f"input '{missing[0]}' is missing; {len(known)} must be fed")


def _checked(port: TensorSpec, given: object) -> RuntimeValue:
    if port.dtype is None:
        return _untyped(port, given)
    array = _array(given)
    if array is None:
        raise XonncError(f"input '{port.name}': a {type(given).__name__} is no array")
    if port.dtype.hasobject:
        return array.astype(np.object_)
    if array.dtype != port.dtype:
        raise XonncError(f"input '{port.name}': {array.dtype} was fed, the model takes {port.dtype}")
    if not port.accepts(array.shape):
        shape = ", ".join("?" if size is None else str(size) for size in port.shape or ())
        raise XonncError(
            f"input '{port.name}': the shape {list(array.shape)} was fed, the model takes [{shape}]"
        )
    return array if array.flags.num & CONTIGUOUS == CONTIGUOUS else np.require(array, None, ["C", "A"])


def _untyped(port: TensorSpec, given: object) -> RuntimeValue:
    """What is no tensor of numbers of one type: a sequence, a map, a sequence of maps, an optional."""
    if _is_map(given):
        return _checked_map(port, given)
    if _is_list(given):
        return tuple(_checked_map(port, each) if _is_map(each) else np.asarray(each) for each in given)
    return _array(given)


def _checked_map(port: TensorSpec, given: Mapping[object, object]) -> OnnxMap:
    """A map of Python's own strings and numbers, as numpy may have them too."""
    found: OnnxMap = {}
    for key, value in given.items():
        items = [
            each if isinstance(each, str) else np.asarray(each).reshape(-1).tolist() for each in (key, value)
        ]
        plain = [each[0] if isinstance(each, list) and len(each) == 1 else each for each in items]
        if not isinstance(plain[0], int | str) or not isinstance(plain[1], int | float | str):
            raise XonncError(
                f"input '{port.name}': {key!r}: {value!r} was fed, keys of maps are integers or strings, "
                "values numbers or strings"
            )
        found[plain[0]] = plain[1]
    return found


def _is_map(given: object) -> TypeGuard[Mapping[object, object]]:
    return isinstance(given, Mapping)


def _is_list(given: object) -> TypeGuard[Sequence[object]]:
    return isinstance(given, list | tuple)


def _array(given: object) -> Array | None:
    # What is one already first, since looking for the others takes as long as small layers.
    if type(given) is np.ndarray:
        return given
    try:
        if isinstance(given, np.ndarray | np.generic | int | float | bool | list):
            return np.asarray(given)
        # Tensors of other libraries, by the protocols that they share with numpy; without a copy where they
        # lie in memory of the CPU.
        if hasattr(given, "__dlpack__"):
            return np.from_dlpack(cast("Any", given))
        return np.asarray(given) if hasattr(given, "__array__") else None
    except (AttributeError, BufferError, OverflowError, RuntimeError, TypeError, ValueError):
        # Rows of different lengths, or numbers beyond all types.
        return None
