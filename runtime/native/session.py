"""A session that runs a compiled model on NumPy arrays; its API follows onnxruntime."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from os import register_at_fork
from pathlib import Path
from threading import Lock
from typing import Literal, Protocol, overload
from weakref import WeakSet

import numpy as np

from xonnc.argument_types import require_path
from xonnc.errors import DeclaredShapeError, DimensionNameError, InvalidModelError, XonncError
from xonnc.formats.html_tables import html_table
from xonnc.formats.native.partial_program import partial_program
from xonnc.formats.native.program import (
    RuntimeValue,
    SessionStep,
    TensorSpec,
)
from xonnc.formats.native.saved_program import SavedProgram, write_saved
from xonnc.runtime.native.dynamic_instance import DynamicInstance
from xonnc.runtime.native.feeds import TEXT_KINDS, check_feeds
from xonnc.runtime.native.instance import CONTIGUOUS, Array, Executable, Instance, reloaded
from xonnc.runtime.native.jit import host_identity
from xonnc.runtime.native.onnxruntime_api import (
    ModelMetadata,
    OnnxruntimeApi,
    answer,
    requested,
    require_arrays,
    require_outputs,
    require_request,
    split_request,
)
from xonnc.runtime.native.step_report import ProfileLine, ReportLine, profile_lines, report_lines
from xonnc.targets.cpu import CODE_SUFFIXES

InputShapes = Mapping[str, tuple[int, ...]]
InputValues = Mapping[str, Array]

MAX_CACHED_PROGRAMS = 16
"""Programs that a session caches for a model with dynamic shapes, one per set of input shapes."""

MAX_VALUE_SPECIALIZATIONS = 8
"""
Consecutive new sets of values of shape-determining inputs that are compiled for.

A model that receives new values in every run is not compiled further, but runs with host steps.
"""


Compile = Callable[[InputShapes, InputValues], Executable]
"""
Compile the model for input shapes by name, and for the values of shape-determining inputs.

Without either, the model is compiled as it is.
"""

_Key = tuple[tuple[tuple[str, tuple[int, ...]], ...], tuple[tuple[str, bytes], ...]]


def _instance_of(executable: Executable) -> Instance:
    return (DynamicInstance if executable.program.is_dynamic else Instance)(executable, _instance_of)


class _FallbackInstance(Instance):
    """
    The unspecialised program of a model, run for input shapes for which compilation failed.

    The invalid operator may be in a body that never runs. If the run fails too, the error of the compiler is
    raised, which is more precise.
    """

    def __init__(self, executable: Executable, error: XonncError) -> None:
        super().__init__(executable, _instance_of)
        self._error = error

    def run_again(self, fed: Sequence[RuntimeValue]) -> list[RuntimeValue]:
        """Run on checked inputs; on failure raise the error of the compiler."""
        try:
            return super().run_again(fed)
        except XonncError:
            raise self._error from None


class SessionSource(Protocol):
    """The source of a session."""

    def for_debugging(self) -> Session:
        """Compile a session whose outputs are all named values."""
        ...

    def pickled(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        """Return a function and its arguments that create an equal session in another process."""
        ...

    def multiplications(self, shapes: InputShapes) -> Mapping[str, int]:
        """Return the multiplications of each node for inputs of these shapes."""
        ...

    def write_code(self, path: Path) -> list[Path]:
        """Write the model as native code ahead of time; return the files."""
        ...

    def metadata(self) -> ModelMetadata:
        """Return what the model says of itself."""
        ...


class Session(OnnxruntimeApi):
    """
    A model ready to run, with the methods of `onnxruntime.InferenceSession` that run it.

    A model with dynamic shapes is compiled once if every operator supports them, else once for each set of
    input shapes. Where the values of inputs determine shapes (axes, pads, …), it may be compiled for these
    values too. Sessions are thread-safe; runs of one session are serialised. A forked child process may run
    the sessions of its parent, whatever other threads did at the time of the fork.
    """

    def __init__(
        self,
        compile_for: Compile,
        with_inputs: Callable[[frozenset[str]], Session] | None = None,
        undeclared: Callable[[], Session] | None = None,
        source: SessionSource | None = None,
    ) -> None:
        self._compile = compile_for
        self._undeclared = undeclared
        """Create a session that ignores the result shapes that the model declares."""
        self._corrected: Session | None = None
        """The session without declared shapes, once a run has contradicted one."""
        self._with_inputs = with_inputs
        """Create a session with additional inputs that have a default value in this one."""
        self._source = source
        self._debugging: Session | None = None
        """The session that returns all named values."""
        self._overriding: dict[frozenset[str], Session] = {}
        self._lock = Lock()
        try:
            self._template = _instance_of(compile_for({}, {}))
        except MemoryError as error:
            raise _out_of_memory(error) from error
        self._dynamic_inputs = [
            number
            for number, spec in enumerate(self.inputs)
            if spec.dtype is not None and (spec.shape is None or None in spec.shape)
        ]
        """Indices of inputs of dynamic shape or unknown rank."""
        self._bound: list[tuple[str, np.dtype[np.generic], tuple[int, ...], bool]] | None = None
        """
        Name, type and shape of each input of the last run, and whether it is a string tensor.

        Inputs that match need no further checks; `None` if all inputs must be checked.
        """
        self._instances: OrderedDict[_Key, Instance] = OrderedDict()
        self._value_specializations = 0
        self._is_value_specialized = False
        """Whether the last run used a program for specific input values."""
        self._last = self._template
        self._is_forked = False
        _SESSIONS.add(self)

    def after_fork(self) -> None:
        """Reset the lock and mark code for reloading, in a forked child that lacks the parent's threads."""
        self._lock = Lock()
        self._is_forked = True

    def _reload(self) -> None:
        """Recreate everything that threads of the parent may have been using."""
        self._is_forked = False
        self._template = _instance_of(reloaded(self._template.executable))
        self._instances = OrderedDict()
        self._last = self._template
        self._bound = None

    @property
    def inputs(self) -> Sequence[TensorSpec]:
        """The required inputs, in the model's order."""
        return self._template.program.inputs

    @property
    def outputs(self) -> Sequence[TensorSpec]:
        """The outputs, in the model's order."""
        return self._template.program.outputs

    @property
    def shape_determining(self) -> Sequence[str]:
        """Inputs whose values determine shapes; a program may be compiled for specific values."""
        return self._template.executable.shape_determining

    @property
    def compiled(self) -> int:
        """The number of programs: the unspecialised one, and one per set of input shapes and values."""
        return 1 + len(self._instances)

    @overload
    def run(
        self,
        output_names: Mapping[str, object],
        *,
        out: Mapping[str, Array] | None = None,
        debug: Literal[False] = False,
    ) -> dict[str, RuntimeValue]: ...
    @overload
    def run(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, object],
        out: Mapping[str, Array] | None = None,
        debug: Literal[False] = False,
    ) -> list[RuntimeValue]: ...
    @overload
    def run(
        self, output_names: None, input_feed: Mapping[str, object], out: None = None, *, debug: Literal[True]
    ) -> dict[str, RuntimeValue]: ...
    @overload
    def run(
        self, output_names: Mapping[str, object], *, out: None = None, debug: Literal[True]
    ) -> dict[str, RuntimeValue]: ...
    def run(
        self,
        output_names: Sequence[str] | Mapping[str, object] | None,
        input_feed: Mapping[str, object] | None = None,
        out: Mapping[str, Array] | None = None,
        debug: bool = False,
    ) -> list[RuntimeValue] | dict[str, RuntimeValue]:
        """
        Run the model on an array for each input by name.

        `run(output_names, input_feed)` is onnxruntime's way: it returns a list of the outputs of these names,
        of all with `None`. `run(input_feed)` returns all outputs by name.

        Arrays are read where they lie if they are in rows and aligned; `out` has arrays that outputs are
        written to, without a copy if they are in rows too. An array may be both an input and an output: a
        key-value cache is then updated in place. Inputs that have a default, which `inputs` does not list,
        may be given too. Raises `XonncError` for inputs that are missing, unknown, or of the wrong type or
        shape, and for unknown outputs.

        With `debug`, return a dictionary of every named value of the graph that an output depends on instead,
        computed without optimisations; values inside bodies of control flow and local functions are not
        included. The model is compiled once more for this, at the first such run.
        """
        if debug:
            return self._named_values(split_request(output_names, input_feed)[1])
        return answer(self, output_names, input_feed, out)

    def results(
        self, names: Sequence[str] | None, feeds: Mapping[str, object], out: Mapping[str, Array] | None
    ) -> list[RuntimeValue]:
        """Return outputs as `run` does."""
        if names is not None or out is not None:
            require_request([spec.name for spec in self.outputs], names, out)
        with self._lock:
            try:
                results = self._checked_results(feeds, out or {})
            except MemoryError as error:
                raise _out_of_memory(error) from error
        if names is None and out is None:
            return results
        by_name = {spec.name: result for spec, result in zip(self.outputs, results, strict=True)}
        return requested(by_name, names, out)

    def _named_values(self, feeds: Mapping[str, object]) -> dict[str, RuntimeValue]:
        """Run a program whose outputs are all named values."""
        if self._source is None:
            raise XonncError("debug: a session that was loaded has no model; compile the model instead")
        if self._debugging is None:
            self._debugging = self._source.for_debugging()
        results = self._debugging.run(None, feeds)
        return {spec.name: result for spec, result in zip(self._debugging.outputs, results, strict=True)}

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        """Pickle as the model and the options, which are compiled again, or found in the disk cache."""
        if self._source is None:
            raise XonncError("a session that was loaded cannot be pickled; pickle the folder that it is from")
        return self._source.pickled()

    def _checked_results(self, feeds: Mapping[str, object], out: Mapping[str, Array]) -> list[RuntimeValue]:
        """Run; if what the model declares of shapes is wrong, warn and run without that."""
        if self._corrected is None:
            try:
                return self._results(feeds, out)
            except (DimensionNameError, InvalidModelError) as error:
                return self._results_undeclared(feeds, error)
            except (DeclaredShapeError, MemoryError) as error:
                # Memory runs out where a result is declared far larger than it is.
                if self._undeclared is None:
                    raise
                self._corrected = self._undeclared()
                which = "its inferred" if isinstance(error, DeclaredShapeError) else "the declared"
                warnings.warn(f"{error}; {which} result shapes are ignored", stacklevel=5)
        return self._corrected_results(self._corrected, feeds)

    def _results_undeclared(
        self, feeds: Mapping[str, object], error: DimensionNameError | InvalidModelError
    ) -> list[RuntimeValue]:
        """
        Run without what the model declares; if the operators do not take the sizes either, raise `error`.

        onnxruntime compares no names, and exporters give one name to dimensions that differ: a merged decoder
        of optimum gets an empty cache of the encoder's states in its first run. Nor does it compare sizes of
        inner values: torch declares the batch of its example where inputs have any.
        """
        if self._undeclared is None:
            raise error
        corrected = self._undeclared()
        try:
            results = self._corrected_results(corrected, feeds)
        except XonncError:
            raise error from None
        self._corrected = corrected
        which = "names of dimensions" if isinstance(error, DimensionNameError) else "declared shapes"
        warnings.warn(f"{error}; the {which} are ignored", stacklevel=6)
        return results

    def _corrected_results(self, corrected: Session, feeds: Mapping[str, object]) -> list[RuntimeValue]:
        results = corrected.run(None, feeds)
        self._last = corrected._last
        return results

    def _results(self, feeds: Mapping[str, object], out: Mapping[str, Array]) -> list[RuntimeValue]:
        if self._is_forked:
            self._reload()
        if (arrays := self._matching_arrays(feeds)) is not None:
            self._last.output_arrays = out
            return self._last.run_again(arrays)
        self._bound = None
        require_arrays(feeds)
        if (
            len(feeds) > len(self.inputs)
            and (overridden := self._with_defaults_overridden(feeds)) is not None
        ):
            results = overridden.run(None, feeds)
            self._last = overridden._last
            return results
        fed = check_feeds(self.inputs, feeds)
        instance = self._instance(fed)
        instance.output_arrays = out
        results = instance.run(fed)
        if not self._is_value_specialized:
            self._bind(fed)
        return results

    def _bind(self, fed: Sequence[RuntimeValue]) -> None:
        """Remember types and shapes of the inputs: equal ones need no checks in later runs."""
        arrays = [value for value in fed if isinstance(value, np.ndarray)]
        if len(arrays) == len(fed):
            self._bound = [
                (spec.name, array.dtype, array.shape, array.dtype.hasobject)
                for spec, array in zip(self.inputs, arrays, strict=True)
            ]

    def _matching_arrays(self, feeds: Mapping[str, object]) -> list[RuntimeValue] | None:
        """Return the inputs in order if all are arrays with types and shapes of the last run, else `None`."""
        if self._bound is None or not isinstance(feeds, dict) or len(feeds) != len(self._bound):
            return None
        arrays: list[RuntimeValue] = []
        for name, dtype, shape, is_of_strings in self._bound:
            array = feeds.get(name)
            if type(array) is not np.ndarray or array.shape != shape:
                return None
            if is_of_strings:
                if array.dtype.kind not in TEXT_KINDS:
                    return None
                # A copy: NumPy's texts become Python objects, and results may share these with inputs, which
                # the caller may change.
                arrays.append(array.astype(np.object_))
            elif array.dtype != dtype or array.flags.num & CONTIGUOUS != CONTIGUOUS:
                return None
            else:
                arrays.append(array)
        return arrays

    def _with_defaults_overridden(self, feeds: Mapping[str, object]) -> Session | None:
        """Return the session for feeds with additional inputs; `None` if there are none with defaults."""
        known = {spec.name for spec in self.inputs}
        more = frozenset(str(name) for name in feeds if name not in known)
        if self._with_inputs is None or not known <= feeds.keys():
            return None
        if more not in self._overriding:
            self._overriding[more] = self._with_inputs(more)
        return self._overriding[more]

    def _instance(self, fed: Sequence[RuntimeValue]) -> Instance:
        inputs = self.inputs
        shapes: dict[str, tuple[int, ...]] = {}
        for number in self._dynamic_inputs:
            value = fed[number]
            if isinstance(value, np.ndarray):
                shapes[inputs[number].name] = value.shape
        base = self._specialized(shapes, {}) if shapes and not self._fits(fed) else self._template
        # A program that is native for any input values needs no specialisation.
        names = base.executable.shape_determining if base.has_host_steps else ()
        self._is_value_specialized = bool(names)
        values = {
            spec.name: value
            for spec, value in zip(inputs, fed, strict=True)
            if spec.name in names and isinstance(value, np.ndarray)
        }
        self._last = (
            self._specialized(shapes, values)
            if values and self._value_specializations < MAX_VALUE_SPECIALIZATIONS
            else base
        )
        return self._last

    def _fits(self, fed: Sequence[RuntimeValue]) -> bool:
        """
        Whether the program for dynamic shapes accepts these inputs.

        If not, a program compiled for these shapes alone may accept them, or its error is more precise.
        """
        if not isinstance(self._template, DynamicInstance):
            return False
        try:
            self._template.set_shapes(fed)
        except XonncError:
            return False
        return True

    def _specialized(self, shapes: InputShapes, values: InputValues) -> Instance:
        numbers = tuple((name, value.tobytes()) for name, value in sorted(values.items()))
        key = tuple(sorted(shapes.items())), numbers
        if key not in self._instances:
            self._value_specializations += bool(values)
            self._instances[key] = self._compile_instance(shapes, values)
            if len(self._instances) > MAX_CACHED_PROGRAMS:
                self._instances.popitem(last=False)
        elif values:
            self._value_specializations = 0
        self._instances.move_to_end(key)
        return self._instances[key]

    def _compile_instance(self, shapes: InputShapes, values: InputValues) -> Instance:
        try:
            return _instance_of(self._compile(shapes, values))
        except DimensionNameError:
            raise
        except XonncError as error:
            steps = self._template.program.steps
            if values or not any(isinstance(step, SessionStep) and step.bodies for step in steps):
                raise
            return _FallbackInstance(self._template.executable, error)

    def with_outputs(self, names: Sequence[str]) -> Session:
        """
        Return a session that computes some of the outputs alone, from the inputs that they depend on.

        It shares the compiled code, whose steps run or not as a whole: compile with `profile` for steps of
        one kernel each.

        Raises: `XonncError` for unknown names, or a program for dynamic shapes.
        """
        require_outputs(names, [spec.name for spec in self.outputs])
        executable = self._template.executable
        if executable.program.is_dynamic:
            raise XonncError("some outputs alone: the model has dynamic shapes; compile it with fixed ones")
        part = replace(executable, program=partial_program(executable.program, names))
        return Session(lambda shapes, values: part)

    def report(self) -> list[ReportLine]:
        """Return the steps of the program of the last run; before any, of the unspecialised program."""
        return report_lines(self._last)

    def _repr_html_(self) -> str:
        """Return tables of inputs, outputs and steps, for notebooks."""
        steps = [
            (line.where, line.what, line.node, f"{line.seconds * 1e6:.1f}" if line.seconds else "")
            for line in self.report()
        ]
        return super()._repr_html_() + html_table("Steps", ["where", "kernels", "node", "µs"], steps)

    def profile(self, steps: Sequence[ReportLine] | None = None) -> list[ProfileLine]:
        """
        Return the duration of each step of the last run, in order.

        With `profile=True` at compilation, each kernel is a step of its own, whose bytes are known, and the
        multiplications of its nodes if the session has its model. `steps` is what `report` returned after
        another run on inputs of the same shapes.
        """
        lines = self.report() if steps is None else steps
        work: Mapping[str, int] = {}
        if self._source is not None:
            work = self._source.multiplications(self._last.input_shapes())
        return profile_lines(lines, work)

    def save(self, path: str | Path) -> list[Path]:
        """
        Write the program of the last run, or the initial one, to a folder in the format of
        `formats/native/saved_program.py`, or the model to a file as `xonnc.compile_artifact` does.

        Parameters:
            path: a folder; or a file that ends in .so, .o, .ll or .c.

        Returns: the paths of the files. Those of a folder are graph, library and parameters, of which
            `xonnc.load` creates a session, on a processor of the same kind.

        Raises: `XonncError` for a program with steps that are not native, and for a file of a loaded session.
        """
        target = require_path(path)
        if target.suffix in CODE_SUFFIXES:
            if self._source is None:
                raise XonncError(f"{target}: a session without its model is saved to a folder")
            return self._source.write_code(target)
        ran = self._last.executable
        if [spec.name for spec in ran.program.inputs] != [spec.name for spec in self.inputs]:
            # The last run was given an input that has an initializer.
            ran = self._template.executable
        saved = SavedProgram(ran.program, ran.code, host_identity(), ran.threads.compiled)
        return write_saved(target, saved)

    def get_modelmeta(self) -> ModelMetadata:
        """Return what the model says of itself; nothing if the session was loaded without the model."""
        return ModelMetadata() if self._source is None else self._source.metadata()

    def host_calls(self) -> list[str]:
        """Return the operators that the reference evaluator computed in the last run."""
        return [line.what for line in self.report() if line.where == "host"]


_SESSIONS: WeakSet[Session] = WeakSet()


def _after_fork() -> None:
    for session in _SESSIONS:
        session.after_fork()


register_at_fork(after_in_child=_after_fork)


def _out_of_memory(error: MemoryError) -> XonncError:
    return XonncError(f"there is not enough memory: {error}")
