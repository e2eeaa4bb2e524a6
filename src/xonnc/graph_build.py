"""
Build a model into a graph, a library and parameters, as in NNVM and TVM.

    graph, lib, params = xonnc.build("model.onnx", "cpu", shape={"x": (1, 3, 224, 224)})
    lib.export_library("model.so")
    Path("model.json").write_text(graph.json())
    Path("model.params").write_bytes(xonnc.save_params(params))
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import onnx
from onnx import numpy_helper

from xonnc.argument_types import checks_arguments
from xonnc.artifacts import prepared_module
from xonnc.errors import XonncError, suggest
from xonnc.formats.native.graph_json import Graph, GraphKernel, graph_of
from xonnc.formats.native.program import HostStep, Program
from xonnc.formats.native.program_json import has_strings, is_serializable
from xonnc.formats.onnx.load_model import load
from xonnc.lowering.krnl_to_llvm.llvm_ir_text import llvm_module, llvm_text
from xonnc.lowering.native.c_kernels import c_unit
from xonnc.lowering.native.read_program import kernel_calls
from xonnc.native_compilation import (
    MAX_THREADS,
    CompileOptions,
    lower_to_program,
    measured_tiles,
    resolve_processor,
)
from xonnc.runtime.native.c_compiler import with_c_kernels
from xonnc.runtime.native.graph_library import GraphLibrary, identity_function
from xonnc.runtime.native.jit import host_identity, is_foreign, object_code
from xonnc.transforms.optimization_levels import DEFAULT_LEVEL

Array = npt.NDArray[Any]


class BuiltModel(NamedTuple):
    """The result of `build`; it unpacks to `graph, lib, params`."""

    graph: Graph
    lib: GraphLibrary
    params: dict[str, Array]
    """The constants as kernels read them: folded, and prepacked for the processor."""


@dataclass(frozen=True)
class BuildConfig:
    """Options of the builds within a `build_config`."""

    opt_level: int = DEFAULT_LEVEL
    required_pass: tuple[str, ...] = ()
    disabled_pass: tuple[str, ...] = ()


_DEFAULT = BuildConfig()
_CONFIG: ContextVar[BuildConfig] = ContextVar("build_config", default=_DEFAULT)


@contextmanager
def build_config(**options: int | Sequence[str]) -> Generator[BuildConfig]:
    """
    Set options for the builds in a `with` statement; what is not given is inherited from the one around it.

    Parameters:
        options: `opt_level`, 0 to 3; `required_pass` (or `add_pass`), passes to run in addition to those of
            the level; `disabled_pass`, passes to leave out.

    Returns: a context manager that gives the options.

    Raises: `XonncError` for an unknown option, level or pass.

    Example:
        >>> with xonnc.build_config(opt_level=3, disabled_pass=["fuse-onnx"]):
        ...     graph, lib, params = xonnc.build("model.onnx")
    """
    known = ("opt_level", "required_pass", "add_pass", "disabled_pass")
    found = _CONFIG.get()
    for name, value in options.items():
        if name not in known:
            hint = suggest(name, known) or f"; there are {', '.join(known)}"
            raise XonncError(f"build_config: no option '{name}'{hint}")
        if name == "opt_level":
            if not isinstance(value, int):
                raise XonncError(f"opt_level: {value!r}; it takes 0 to 3")
            found = replace(found, opt_level=value)
        elif isinstance(value, int | str):
            raise XonncError(f"{name}: {value!r}; it takes a list of names of passes")
        elif name == "disabled_pass":
            found = replace(found, disabled_pass=tuple(value))
        else:
            found = replace(found, required_pass=tuple(value))
    # Checks the level and the passes.
    CompileOptions(
        resolve_processor("cpu"),
        level=found.opt_level,
        enable_pass=found.required_pass,
        disable_pass=found.disabled_pass,
    )
    token = _CONFIG.set(found)
    try:
        yield found
    finally:
        _CONFIG.reset(token)


@checks_arguments
def build(
    model: str | Path | onnx.ModelProto,
    target: str = "cpu",
    *,
    shape: Mapping[str, Sequence[int]] | None = None,
    dtype: str | Mapping[str, str] | None = None,
    params: Mapping[str, Any] | None = None,
    layout: Mapping[str, str] | None = None,
    threads: int = 1,
) -> BuiltModel:
    """
    Compile a model to a graph, a library of kernels, and parameters, each saved and loaded by itself.

    `xonnc.build_config` sets the optimisation level and passes.

    Parameters:
        model: the path of the model, or the model in memory.
        target: `cpu` for this processor, or a processor kind (`avx2`, …), which need not be this one's.
        shape: static shapes for dynamic inputs, by name.
        dtype: the element types of inputs, all or by name, which must be those of the model.
        params: arrays by name that replace initializers of the model.
        layout: layouts of inputs and outputs by name, as in `xonnc.compile`.
        threads: the number of threads of a run.

    Returns: `graph`, `lib` and `params`.

    Raises:
        InvalidModelError: for an invalid model.
        XonncError: for an unknown target, input or parameter, other types, or an operator without native
            code.

    Example:
        >>> graph, lib, params = xonnc.build("model.onnx", "avx2", shape={"x": (1, 3, 224, 224)})
    """
    config = _CONFIG.get()
    if not 1 <= threads <= MAX_THREADS:
        raise XonncError(f"threads: {threads}; 1 to {MAX_THREADS} can share a run")
    if params:
        model = _with_params(model, params)
    options = CompileOptions(
        resolve_processor(target, needs_host=False),
        threads,
        level=config.opt_level,
        enable_pass=config.required_pass,
        disable_pass=config.disabled_pass,
        tiles=measured_tiles(target, True),
        layouts=layout or {},
    )
    module, context = prepared_module(model, options, shape)
    program, steps, kernels = lower_to_program(module, options, context)
    _require_native(program)
    _require_types(program, dtype)
    processor = options.processor
    unit = c_unit(kernels)
    lowered = llvm_module(kernels, steps, processor.vector_bytes, threads)
    text = llvm_text(lowered, steps, threads, processor.triple)
    identity = sha256(text.encode()).hexdigest()[:32]
    text += f"\ndefine void @{identity_function(identity)}(ptr %table) {{\n  ret void\n}}\n"
    is_this = target == "cpu"
    code = object_code(text, None if is_this else processor.features, processor.triple, options.level)
    code = with_c_kernels(code, unit, processor.triple if is_foreign(processor.triple) else "")
    calls = [
        GraphKernel(call.kernel, call.node, call.buffers) for _, row in steps for call in kernel_calls(row)
    ]
    host = host_identity() if is_this else ""
    graph, constants = graph_of(program, calls, identity, processor.name, host, threads)
    return BuiltModel(graph, GraphLibrary(code, triple=processor.triple), constants)


def _require_native(program: Program) -> None:
    if is_serializable(program) and not has_strings(program):
        return
    hosts = [step for step in program.walk_steps() if isinstance(step, HostStep)]
    if hosts:
        raise XonncError(f"{hosts[0].node}: {hosts[0].operator} has no native code; xonnc.compile runs it")
    raise XonncError("native kernels do not support tensors of strings; xonnc.compile runs it")


def _require_types(program: Program, dtype: str | Mapping[str, str] | None) -> None:
    inputs = {spec.name: spec.dtype for spec in program.inputs}
    dtypes = dict.fromkeys(inputs, dtype) if isinstance(dtype, str) else dtype or {}
    for name, given in dtypes.items():
        if name not in inputs:
            raise XonncError(
                f"dtype: no input '{name}'{suggest(name, inputs)}; there are {', '.join(inputs)}"
            )
        own = inputs[name]
        if own is not None and own.name != given:
            raise XonncError(f"input '{name}': {own.name} in the model, dtype says {given}")


def _with_params(model: str | Path | onnx.ModelProto, params: Mapping[str, Any]) -> onnx.ModelProto:
    """Return a copy of the model with other values of initializers."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model if isinstance(model, onnx.ModelProto) else load(model).proto)
    found = {each.name: each for each in copy.graph.initializer}
    for name, value in params.items():
        if name not in found:
            raise XonncError(f"params: no initializer '{name}'{suggest(name, found)}")
        array = np.asarray(value)
        tensor = numpy_helper.from_array(array, name)
        old = found[name]
        if tensor.data_type != old.data_type or list(tensor.dims) != list(old.dims):
            expected = onnx.TensorProto.DataType.Name(old.data_type).lower()
            raise XonncError(
                f"params: '{name}': {array.dtype} {list(array.shape)}; "
                f"the model has {expected} {list(old.dims)}"
            )
        old.CopyFrom(tensor)
    return copy
