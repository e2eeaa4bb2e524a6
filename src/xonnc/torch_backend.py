"""
Models of PyTorch, through torch's own exporter: `pip install 'xonnc[torch]'`.

    fast = torch.compile(module, backend="xonnc")        # with torch.no_grad()
    session = xonnc.from_torch(module, (example,))
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np
import onnx

from xonnc.api import CompiledModel, compile
from xonnc.errors import XonncError
from xonnc.native import compile_native
from xonnc.runtime.native.session import Session

Run = Callable[..., Any]
"""A function from tensors to tensors."""

COLOURS = re.compile(r"\x1b\[[0-9;]*m")
"""What a terminal shows text in colours by."""


def from_torch(
    module: Any, args: Any, target: str = "cpu", *, dynamic_shapes: Any = None, **options: Any
) -> CompiledModel:
    """
    Compile a PyTorch module.

    Parameters:
        module: the `torch.nn.Module`.
        args: example inputs; a tensor is the only one.
        target: as in `xonnc.compile`.
        dynamic_shapes: the dynamic dimensions of the inputs, as `torch.onnx.export` takes them.
        options: as in `xonnc.compile`.

    Returns: a `Session` or a `DlaModel`, as `xonnc.compile` does; it takes tensors and arrays.

    Raises: `XonncError` if torch is not installed or cannot export the module, or as `xonnc.compile` does.

    Example:
        >>> xonnc.from_torch(module, (torch.zeros(1, 3, 224, 224),)).run(None, {"x": x})
    """
    torch = _torch()
    if not callable(module):
        raise XonncError(f"module: {module!r} is of type {type(module).__name__}; it takes a torch.nn.Module")
    examples = (args,) if isinstance(args, torch.Tensor) else tuple(args)
    return compile(_exported(module, examples, dynamic_shapes), target, **options)


def backend(graph: Any, examples: Sequence[Any]) -> Run:
    """
    Compile a graph for `torch.compile(module, backend="xonnc")`.

    Parameters and buffers become constants; the graph is compiled again if they change. Without gradients
    only: torch runs a graph that needs some, as well as one that xonnc does not take, with a warning.

    Parameters:
        graph: the `torch.fx.GraphModule`.
        examples: its inputs in the first call.

    Returns: a function that runs it.

    Raises: `XonncError` if torch is not installed.

    Example:
        >>> fast = torch.compile(module, backend="xonnc")
    """
    torch = _torch()
    if torch.is_grad_enabled() and any(getattr(each, "requires_grad", False) for each in examples):
        return _eager(graph, "it needs gradients; call the model within torch.no_grad()")
    if not all(isinstance(each, torch.Tensor) for each in examples):
        return _eager(graph, "it has inputs that are no tensors, such as dynamic dimensions")
    try:
        return _CompiledGraph(torch, graph, examples)
    except XonncError as error:
        return _eager(graph, str(error).splitlines()[0])


def _eager(graph: Any, reason: str) -> Run:
    warnings.warn(f"xonnc leaves a graph to torch: {reason}", stacklevel=3)
    return graph.forward


class _CompiledGraph:
    """A graph as native code; parameters are constants of it."""

    def __init__(self, torch: Any, graph: Any, examples: Sequence[Any]) -> None:
        self._torch = torch
        self._graph = graph
        self._compile(examples)

    def _compile(self, given: Sequence[Any]) -> None:
        parameter = self._torch.nn.Parameter
        self._constants = {index: each for index, each in enumerate(given) if isinstance(each, parameter)}
        self._versions = [each._version for each in self._constants.values()]
        inputs = [each for index, each in enumerate(given) if index not in self._constants]
        # torch calls a backend while it traces with fake tensors, which the exporter must not see.
        with self._torch._guards.tracing(None):
            model = _exported(_frozen(self._torch, self._graph, self._constants), tuple(inputs), None)
        self._session: Session = compile_native(model)

    def __call__(self, *given: Any) -> list[Any]:
        """Run on all inputs of the graph; return its outputs."""
        if not self._is_current(given):
            self._compile(given)
        arrays = [
            np.asarray(each.detach().cpu().numpy())
            for index, each in enumerate(given)
            if index not in self._constants
        ]
        names = [spec.name for spec in self._session.inputs]
        results = self._session.run(None, dict(zip(names, arrays, strict=True)))
        return [self._torch.from_numpy(np.asarray(each)) for each in results]

    def _is_current(self, given: Sequence[Any]) -> bool:
        """Whether the parameters are those that were compiled, unchanged."""
        return all(given[index] is each for index, each in self._constants.items()) and self._versions == [
            each._version for each in self._constants.values()
        ]


def _frozen(torch: Any, graph: Any, constants: dict[int, Any]) -> Any:
    """Return a module of the graph that holds some of its inputs."""

    class Frozen(torch.nn.Module):
        """The graph with constants for the inputs that are parameters."""

        def forward(self, *inputs: Any) -> Any:
            """Run the graph."""
            rest = iter(inputs)
            count = len(constants) + len(inputs)
            return graph(*(constants[at].detach() if at in constants else next(rest) for at in range(count)))

    return Frozen().eval()


def _exported(module: Any, args: tuple[Any, ...], dynamic_shapes: Any) -> onnx.ModelProto:
    torch = _torch()
    try:
        program = torch.onnx.export(
            module, args, dynamo=True, dynamic_shapes=dynamic_shapes, verbose=False, external_data=False
        )
    except Exception as error:
        raise XonncError(f"torch cannot export the module: {_reason(error)}") from error
    found = program.model_proto
    assert isinstance(found, onnx.ModelProto)
    return found


def _reason(error: BaseException) -> str:
    """Return the first line of what an error comes from; that of the exporter only tells its stage."""
    while error.__cause__ is not None:
        error = error.__cause__
    return (COLOURS.sub("", str(error)).strip() or type(error).__name__).splitlines()[0]


def _torch() -> Any:
    try:
        # Not an import statement: torch is an optional dependency.
        return import_module("torch")
    except ImportError:
        raise XonncError("PyTorch is not installed: pip install 'xonnc[torch]'") from None
