"""
Methods of `onnxruntime.InferenceSession` for xonnc's sessions, such as `get_inputs` and `run_async`.

Code written for `onnxruntime.InferenceSession` runs with a session of xonnc in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from os import register_at_fork
from threading import Lock
from typing import Any, Protocol, cast, overload

import numpy as np
import numpy.typing as npt
from typing_extensions import TypeIs

from xonnc.errors import XonncError, suggest
from xonnc.formats.html_tables import html_table
from xonnc.formats.native.program import TensorSpec

Array = npt.NDArray[Any]
Callback = Callable[[list[Any], Any, str], None]
"""A callback of `run_async`: takes the outputs, the user's data, and the error message (empty if none)."""

ONNX_NAMES = {
    "bool": "bool",
    "float32": "float",
    "float64": "double",
    "float16": "float16",
    "bfloat16": "bfloat16",
    "object": "string",
}
"""ONNX's names of element types by NumPy's; a type that is not listed has the same name."""


@dataclass(frozen=True)
class NodeArg:
    """An input or output, as onnxruntime describes it."""

    name: str
    shape: list[int | str | None]
    """The dimensions; `None` for a dynamic one."""
    type: str
    """The type in onnxruntime's notation, such as `tensor(float)`."""


@dataclass(frozen=True)
class ModelMetadata:
    """What a model says of itself, as onnxruntime describes it."""

    producer_name: str = ""
    graph_name: str = ""
    domain: str = ""
    description: str = ""
    graph_description: str = ""
    version: int = 0
    custom_metadata_map: Mapping[str, str] = field(default_factory=dict[str, str])


class Runnable(Protocol):
    """The members that `OnnxruntimeApi` needs of the class it is mixed into."""

    @property
    def inputs(self) -> Sequence[TensorSpec]: ...
    @property
    def outputs(self) -> Sequence[TensorSpec]: ...
    def results(
        self, names: Sequence[str] | None, feeds: Mapping[str, object], out: Mapping[str, Array] | None
    ) -> Sequence[Any]: ...


class OnnxruntimeApi:
    """Methods of `onnxruntime.InferenceSession`, for a class with `inputs`, `outputs` and `results`."""

    @overload
    def run(
        self: Runnable, output_names: Mapping[str, object], *, out: Mapping[str, Array] | None = None
    ) -> dict[str, Any]: ...
    @overload
    def run(
        self: Runnable,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, object],
        out: Mapping[str, Array] | None = None,
    ) -> list[Any]: ...
    def run(
        self: Runnable,
        output_names: Sequence[str] | Mapping[str, object] | None,
        input_feed: Mapping[str, object] | None = None,
        out: Mapping[str, Array] | None = None,
    ) -> list[Any] | dict[str, Any]:
        """
        Run the model on an array for each input by name.

        `run(output_names, input_feed)` is onnxruntime's way: it returns a list of the outputs of these names,
        of all with `None`. `run(input_feed)` returns all outputs by name. Outputs in `out` are written to its
        arrays. Raises `XonncError` for inputs that are missing, unknown, or of the wrong type or shape, and
        for unknown outputs.
        """
        return answer(self, output_names, input_feed, out)

    def get_inputs(self: Runnable) -> list[NodeArg]:
        """Return the required inputs."""
        return [_node_arg(spec) for spec in self.inputs]

    def get_outputs(self: Runnable) -> list[NodeArg]:
        """Return the outputs."""
        return [_node_arg(spec) for spec in self.outputs]

    def get_providers(self) -> list[str]:
        """Return the execution providers, always the CPU's."""
        return ["CPUExecutionProvider"]

    def io_binding(self: Runnable) -> IOBinding:
        """Return a new binding of inputs and outputs to arrays, for `run_with_iobinding`."""
        return IOBinding(self)

    def run_with_iobinding(self: Runnable, binding: IOBinding) -> None:
        """Run the model on the bound inputs; outputs bound to arrays are written to them."""
        if not isinstance(cast("object", binding), IOBinding):
            raise XonncError(f"a binding comes from io_binding(), found {type(binding).__name__}")
        binding.run()

    def run_async(
        self: Runnable,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, object],
        callback: Callback,
        user_data: Any = None,
    ) -> None:
        """
        Run the model in another thread; `callback(outputs, user_data, error)` is called there at the end.

        Runs of one session are serialised.
        """
        if not callable(callback):
            raise XonncError(f"run_async: the callback is a function, found {type(callback).__name__}")

        def work() -> None:
            try:
                outputs, error = list(self.results(output_names, input_feed, None)), ""
            except XonncError as failure:
                outputs, error = cast("list[Any]", []), str(failure)
            callback(outputs, user_data, error)

        _threads().submit(work)

    def __repr__(self) -> str:
        own = cast("Runnable", self)
        inputs = ", ".join(map(_shown, own.inputs))
        outputs = ", ".join(map(_shown, own.outputs))
        return f"<{type(self).__name__} ({inputs}) -> ({outputs})>"

    def _repr_html_(self) -> str:
        """Return inputs and outputs as a table, for notebooks."""
        own = cast("Runnable", self)
        rows = [("input", *_cells(spec)) for spec in own.inputs]
        rows += [("output", *_cells(spec)) for spec in own.outputs]
        return html_table(type(self).__name__, ["", "name", "type", "shape"], rows)


class IOBinding:
    """Arrays bound to the inputs and outputs of a session."""

    def __init__(self, session: Runnable) -> None:
        self._session = session
        self._inputs: dict[str, object] = {}
        self._outputs: dict[str, Array | None] = {}
        self._results: list[Any] = []

    def bind_cpu_input(self, name: str, array: object) -> None:
        """Bind an array, which the next runs read, to an input."""
        _require(name, [spec.name for spec in self._session.inputs], "input")
        self._inputs[name] = array

    bind_ortvalue_input = bind_cpu_input

    def bind_output(self, name: str, array: Array | None = None) -> None:
        """Request an output; if an array of its type and shape is given, runs write the output into it."""
        _require(name, [spec.name for spec in self._session.outputs], "output")
        self._outputs[name] = array

    def clear_binding_inputs(self) -> None:
        """Remove all bindings of inputs."""
        self._inputs.clear()

    def clear_binding_outputs(self) -> None:
        """Remove all bindings of outputs."""
        self._outputs.clear()

    def get_outputs(self) -> list[Any]:
        """Return the outputs of the last run, in the order in which they were bound."""
        return self._results

    copy_outputs_to_cpu = get_outputs

    def run(self) -> None:
        """Run the model on the bound inputs."""
        names = list(self._outputs) or None
        arrays = {name: array for name, array in self._outputs.items() if array is not None}
        self._results = list(self._session.results(names, self._inputs, arrays))


def answer(
    session: Runnable,
    output_names: Sequence[str] | Mapping[str, object] | None,
    input_feed: Mapping[str, object] | None,
    out: Mapping[str, Array] | None,
) -> list[Any] | dict[str, Any]:
    """Return what `run` returns for its arguments."""
    names, feeds = split_request(output_names, input_feed)
    results = list(session.results(names, feeds, out))
    if isinstance(output_names, Mapping):
        return dict(zip((spec.name for spec in session.outputs), results, strict=True))
    return results


def split_request(
    output_names: Sequence[str] | Mapping[str, object] | None, input_feed: Mapping[str, object] | None
) -> tuple[Sequence[str] | None, Mapping[str, object]]:
    """
    Return the names of outputs (`None`: all) and the inputs that `run` is given.

    Parameters:
        output_names: the names, or the inputs if they are all that is given.
        input_feed: the inputs after names.

    Raises: `XonncError` if inputs are missing, given twice, or no dictionary.
    """
    if isinstance(output_names, Mapping):
        if input_feed is not None:
            raise XonncError(
                "run takes inputs, or names of outputs and inputs; "
                f"found inputs and {type(input_feed).__name__}"
            )
        return None, output_names
    require_arrays(input_feed)
    assert input_feed is not None
    return output_names, input_feed


def require_outputs(names: object, known: Sequence[str]) -> Sequence[str]:
    """Return requested outputs; raise `XonncError` unless `names` is a list of known names."""
    if not _is_list(names):
        raise XonncError(f"outputs are a list of names, or None for all, found {type(names).__name__}")
    for name in names:
        if name not in known:
            raise XonncError(f"no output '{name}'{suggest(str(name), known)}; there are {', '.join(known)}")
    return cast("Sequence[str]", names)


def require_arrays(arrays: object, kind: str = "inputs") -> None:
    """Raise `XonncError` unless `arrays` is a dictionary."""
    if not isinstance(arrays, Mapping):
        raise XonncError(f"{kind} are a dictionary of arrays by name, found {type(arrays).__name__}")


def _is_list(value: object) -> TypeIs[Sequence[object]]:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def write_output(name: str, result: Any, array: object) -> None:
    """Copy an output into the user's array; raise `XonncError` if it does not fit or is read-only."""
    if not isinstance(array, np.ndarray) or not isinstance(result, np.ndarray):
        raise XonncError(f"output '{name}': only tensors are written to arrays, and only to numpy's")
    given, made = cast("Array", array), cast("Array", result)
    if given.shape != made.shape or given.dtype != made.dtype:
        raise XonncError(
            f"output '{name}': an array of {given.dtype} {list(given.shape)}; "
            f"the run gives {made.dtype} {list(made.shape)}"
        )
    if not given.flags.writeable:
        raise XonncError(f"output '{name}': the array is read-only")
    if not np.may_share_memory(given, made) or given.ctypes.data != made.ctypes.data:
        np.copyto(given, made)


def require_request(
    known: Sequence[str], names: Sequence[str] | None, out: Mapping[str, Array] | None
) -> None:
    """Check the names of outputs that a run is asked for, and of arrays that they are written to."""
    if names is not None:
        require_outputs(names, known)
    if out is not None:
        require_arrays(out, "arrays for outputs")
        require_outputs(list(out), known)


def requested(
    results: Mapping[str, Any], names: Sequence[str] | None, out: Mapping[str, Array] | None
) -> list[Any]:
    """Write outputs into the arrays of `out`; return those called `names` (`None`: all)."""
    found = dict(results)
    for name, array in (out or {}).items():
        write_output(name, results[name], array)
        found[name] = array
    return list(found.values()) if names is None else [found[name] for name in names]


def _node_arg(spec: TensorSpec) -> NodeArg:
    dtype = "?" if spec.dtype is None else spec.dtype.name
    type_ = ONNX_NAMES.get(dtype, dtype)
    return NodeArg(spec.name, list(spec.shape or ()), f"tensor({type_})" if spec.dtype is not None else "seq")


def _shown(spec: TensorSpec) -> str:
    name, dtype, shape = _cells(spec)
    return f"{name}: {dtype}{shape}"


def _cells(spec: TensorSpec) -> tuple[str, str, str]:
    """Return name, element type and shape as text."""
    sizes = (
        "..." if spec.shape is None else ", ".join("?" if size is None else str(size) for size in spec.shape)
    )
    return spec.name, "any" if spec.dtype is None else spec.dtype.name, f"[{sizes}]"


def _require(name: str, known: Sequence[str], kind: str) -> None:
    if name not in known:
        hint = suggest(str(name), known)
        raise XonncError(f"no {kind} '{name}'{hint}; there are {', '.join(known) or 'none'}")


_pool: list[ThreadPoolExecutor] = []
_pool_lock = Lock()

# A forked child has none of its parent's threads.
register_at_fork(after_in_child=_pool.clear)


def _threads() -> ThreadPoolExecutor:
    """Return the thread pool of `run_async`, created at the first call."""
    with _pool_lock:
        if not _pool:
            _pool.append(ThreadPoolExecutor(4, "xonnc-run"))
        return _pool[0]
