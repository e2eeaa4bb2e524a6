"""
Run what `xonnc.build` made, as NNVM's and TVM's graph executor does.

    module = graph_executor.create(graph_json, graph_executor.load_module("model.so"))
    module.load_params(Path("model.params").read_bytes())
    module.run(x=array)
    y = module.get_output(0)
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from xonnc.aligned_arrays import aligned_empty
from xonnc.argument_types import checks_arguments
from xonnc.errors import XonncError, suggest
from xonnc.formats.native.graph_json import Graph, graph_from_json
from xonnc.formats.native.param_dict import load_params
from xonnc.formats.native.program import NativeStep, RuntimeValue
from xonnc.runtime.native.graph_library import GraphLibrary, load_library
from xonnc.runtime.native.instance import Executable
from xonnc.runtime.native.jit import Threads, host_identity
from xonnc.runtime.native.onnxruntime_api import write_output
from xonnc.runtime.native.session import Session

Array = npt.NDArray[Any]


METHODS = (
    "get_input",
    "get_num_inputs",
    "get_num_outputs",
    "get_output",
    "load_params",
    "run",
    "set_input",
)
"""Methods of a module that are found by name too."""


class GraphModule:
    """A graph with its library, ready to run once it has its parameters."""

    def __init__(self, graph: Graph, library: GraphLibrary) -> None:
        self.graph = graph
        self._library = library
        self._specs = {spec.name: spec for spec in graph.params}
        self._params: dict[str, Array] = {}
        self._inputs: dict[str, object] = {}
        self._shapes: dict[str, list[int | None] | None] = {
            name: shape for name, _, shape, _ in graph.data["inputs"]
        }
        self._names = list(self._shapes)
        self._output_names: list[str] = [name for name, *_ in graph.data["outputs"]]
        self._outputs: list[RuntimeValue] = []
        self._session: Session | None = None

    def set_input(self, key: int | str | None = None, value: object = None, /, **params: object) -> None:
        """
        Set an input or parameters.

        Parameters:
            key: the name or index of an input, or the name of a parameter.
            value: its array.
            params: arrays by name.

        Raises: `XonncError` for an unknown name, another shape, or a parameter of another type.
        """
        if key is not None:
            params = {self._name(key, self._names, "input"): value, **params}
        for name, array in params.items():
            if name in self._specs:
                self._params[name] = self._checked(name, array)
                self._session = None
            elif name in self._names:
                self._require_shape(name, array)
                self._inputs[name] = array
            else:
                known = [*self._names, *self._specs]
                raise XonncError(f"no input or parameter '{name}'{suggest(name, known)}")

    def load_params(self, data: bytes) -> None:
        """
        Set parameters from bytes.

        Parameters:
            data: what `xonnc.save_params` returned.

        Raises: `XonncError` for other bytes, or parameters of another graph.
        """
        self.set_input(**load_params(data))

    def run(self, **inputs: object) -> None:
        """
        Run the graph.

        Parameters:
            inputs: arrays by name, in addition to those set before.

        Raises: `XonncError` for missing inputs or parameters, or inputs of another type or shape.
        """
        self.set_input(**inputs)
        if self._session is None:
            self._session = self._loaded()
        self._outputs = self._session.run(None, self._inputs)

    def get_num_inputs(self) -> int:
        """Return the number of inputs, parameters not included."""
        return len(self._names)

    def get_num_outputs(self) -> int:
        """Return the number of outputs."""
        return len(self._output_names)

    def get_input(self, key: int | str) -> object:
        """
        Return an input as it was set.

        Parameters:
            key: its name or index.
        """
        name = self._name(key, self._names, "input")
        if name not in self._inputs:
            raise XonncError(f"input '{name}' is not set")
        return self._inputs[name]

    def get_output(self, key: int | str, out: Array | None = None) -> RuntimeValue:
        """
        Return an output of the last run.

        Parameters:
            key: its name or index.
            out: an array that it is written to.

        Raises: `XonncError` for an unknown output, before the first run, or if `out` does not fit.
        """
        name = self._name(key, self._output_names, "output")
        if not self._outputs:
            raise XonncError(f"output '{name}': there was no run")
        found = self._outputs[self._output_names.index(name)]
        if out is None:
            return found
        write_output(name, found, out)
        return out

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """Return a method by name, as `module["set_input"]`."""
        if name not in METHODS:
            raise XonncError(f"no function '{name}'{suggest(name, METHODS)}; there are {', '.join(METHODS)}")
        return getattr(self, name)

    def _loaded(self) -> Session:
        missing = [name for name in self._specs if name not in self._params]
        if missing:
            more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
            raise XonncError(f"parameter '{missing[0]}'{more} is not set; load_params sets all")
        program = self.graph.program(lambda name: _as_bytes(self._params[name]))
        names = {step.function: step for step in program.walk_steps() if isinstance(step, NativeStep)}
        if not names:
            return Session(lambda shapes, values: Executable(program, {}, None))
        threads = Threads(self.graph.threads, self.graph.threads)
        code = self._library.load(self.graph.library, names, threads)
        executable = Executable(program, code.entries, code, threads=threads, code=self._library.code)
        return Session(lambda shapes, values: executable)

    def __repr__(self) -> str:
        names = ", ".join(self._names), ", ".join(self._output_names)
        missing = len(self._specs.keys() - self._params.keys())
        return (
            f"<GraphModule ({names[0]}) -> ({names[1]}){f', {missing} parameters not set' * bool(missing)}>"
        )

    def _require_shape(self, name: str, value: object) -> None:
        """Raise an error for a value of another shape than that of an input; lists are checked by `run`."""
        shape: Any = getattr(value, "shape", None)
        taken = self._shapes[name]
        if shape is None or taken is None:
            return
        given = [int(size) for size in shape]
        fits = [taken_size in (None, size) for size, taken_size in zip(given, taken, strict=False)]
        if len(given) != len(taken) or not all(fits):
            shown = ", ".join("?" if size is None else str(size) for size in taken)
            raise XonncError(f"input '{name}': the shape {given} was set, the graph takes [{shown}]")

    def _checked(self, name: str, value: object) -> Array:
        spec, array = self._specs[name], np.asarray(value)
        if array.shape != spec.shape or array.dtype.name != spec.dtype:
            raise XonncError(
                f"parameter '{name}': {array.dtype} {list(array.shape)}; the graph takes {spec.dtype} "
                f"{list(spec.shape)}"
            )
        return array

    def _name(self, key: int | str, names: list[str], kind: str) -> str:
        if isinstance(key, str):
            if key in names or (kind == "input" and key in self._specs):
                return key
            raise XonncError(
                f"no {kind} '{key}'{suggest(key, names)}; there are {', '.join(names) or 'none'}"
            )
        if not 0 <= key < len(names):
            raise XonncError(f"no {kind} {key}; there are {len(names)}")
        return names[key]


@checks_arguments
def create(graph: Graph | str, lib: GraphLibrary, device: str = "cpu") -> GraphModule:
    """
    Create a module that runs a graph.

    Parameters:
        graph: the graph, or its JSON.
        lib: the library that was built with it.
        device: must be `cpu`.

    Returns: the module. Its parameters are set by `load_params`, or `set_input(**params)`.

    Raises: `XonncError` for another device, a damaged graph, or one for another processor.

    Example:
        >>> graph_executor.create(Path("model.json").read_text(), graph_executor.load_module("model.so"))
    """
    if device != "cpu":
        raise XonncError(f"no device '{device}'; there is cpu")
    found = graph_from_json(graph) if isinstance(graph, str) else graph
    if found.processor and found.processor != host_identity():
        raise XonncError(
            f"the graph: code for a {found.processor.split()[0]} processor and its features, which is not "
            "this one; build for a kind of processors such as avx2"
        )
    return GraphModule(found, lib)


@checks_arguments
def load_module(path: str | Path) -> GraphLibrary:
    """
    Load a library that `export_library` wrote; its code runs with the rights of this process.

    Parameters:
        path: the file: `.so`, `.tar` or `.o`.

    Returns: the library.

    Raises: `XonncError` for a file that is none.

    Example:
        >>> graph_executor.load_module("model.so")
    """
    return load_library(path)


def _as_bytes(array: Array) -> npt.NDArray[np.uint8]:
    """Return the bytes of an array, aligned as kernels read them."""
    memory = aligned_empty(array.nbytes)
    memory[:] = np.frombuffer(array.tobytes(), np.uint8)
    return memory
