"""
One `compile` for every target.

    xonnc.compile("model.onnx").run(None, {"x": array})                        # this processor
    xonnc.compile("model.onnx", "nv_small", calibrate="images.npz").save("model.xpkg")
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, TypeAlias, cast, overload

import onnx

from xonnc.errors import XonncError, suggest
from xonnc.native import compile_native
from xonnc.plugins.backends import backend_of, require_target
from xonnc.plugins.loading import load_installed
from xonnc.targets.cpu import cpu_names

if TYPE_CHECKING:
    from xonnc.backend_model import BackendModel
    from xonnc.dla_model import DlaModel
    from xonnc.runtime.native.session import Session
    from xonnc.tosa import TosaOutput

ModelSource: TypeAlias = (
    "str | os.PathLike[str] | bytes | bytearray | memoryview | IO[bytes] | onnx.ModelProto"
)
"""A model: a file's path, its content, an open file, or the model in memory."""

CpuName = Literal["cpu", "avx512bf16", "avx512vnni", "avx512", "avxvnni", "avx2", "aarch64", "portable"]
"""The targets that are processors."""

CompiledModel: TypeAlias = "Session | DlaModel | BackendModel | TosaOutput"

TOSA = "tosa"
"""The target whose output other compilers read."""


@overload
def compile(model: ModelSource, target: CpuName = "cpu", **options: Any) -> Session: ...
@overload
def compile(model: ModelSource, target: str = "cpu", **options: Any) -> CompiledModel: ...
def compile(model: ModelSource, target: str = "cpu", **options: Any) -> CompiledModel:
    """
    Compile a model for a target.

    Parameters:
        model: a path, bytes, a binary file object or a `ModelProto`.
        target: `cpu` for this processor, a processor kind such as `avx2`, an NVDLA configuration such as
            `nv_small`, the name of a plug-in's target, the path of a TOML file that describes one, or `tosa`.
        options: for processors those of `xonnc.native.compile_native`: threads, level, profile, unsafe,
            cache, enable_pass, disable_pass, tuning, layouts. For the others: strict, input_shapes. For
            NVDLA: host (the triple for which a saved package has object files). For processors and NVDLA:
            calibrate (samples to quantize with, a file of them, or a function from a module to ranges),
            method, keep_float, accuracy, wide, wide_budget.

    Returns: a `Session`, a `DlaModel`, a `BackendModel` or a `TosaOutput`; all have `run`, `save`, `report`,
        `inputs` and `outputs`, and the methods of `onnxruntime.InferenceSession` that run models.

    Raises:
        InvalidModelError: for an invalid model.
        UnknownNameError: for an unknown target.
        XonncError: for what is no model, or an option that the target does not have.

    Example:
        >>> xonnc.compile("model.onnx", threads=2).run(None, {"x": array})
        >>> xonnc.compile("model.onnx", "nv_full").save("model.nvdla")
    """
    if not isinstance(cast("object", target), str):
        kind = type(target).__name__
        raise XonncError(f"target: {target!r} is of type {kind}; it takes the name of a target")
    if target == "cpu" or target in cpu_names():
        _require_options(options, compile_native, target)
        return compile_native(_in_memory(model), target, **options)
    load_installed()
    if backend_of(target) is not None:
        from xonnc.backend_model import compile_for_plugin

        _require_options(options, compile_for_plugin, target)
        return compile_for_plugin(_in_memory(model), target, **options)
    if target == TOSA:
        from xonnc.tosa import compile_tosa

        _require_options(options, compile_tosa, target)
        return compile_tosa(_in_memory(model), **options)
    require_target(target, TOSA)
    # Imported late: sessions need nothing of it.
    from xonnc.dla_model import compile_for_dla

    _require_options(options, compile_for_dla, target)
    return compile_for_dla(_in_memory(model), target, **options)


def _require_options(options: Mapping[str, object], function: Callable[..., object], target: str) -> None:
    known = [
        each.name
        for each in inspect.signature(function).parameters.values()
        if each.name not in ("model", "path", "target", "on_stage")
    ]
    for name in options:
        if name not in known:
            hint = suggest(name, known) or f"; there are {', '.join(known)}"
            raise XonncError(f"no option '{name}' for target {target}{hint}")


def _in_memory(model: ModelSource) -> str | Path | onnx.ModelProto:
    """A path as it is; bytes and file objects as a model."""
    if isinstance(model, onnx.ModelProto):
        return model
    if isinstance(model, str | os.PathLike):
        return Path(model)
    content = bytes(model) if isinstance(model, bytes | bytearray | memoryview) else _content(model)
    try:
        return onnx.load_model_from_string(content)
    except Exception as error:
        raise XonncError(f"the model: {len(content)} bytes that are no ONNX model") from error


def _content(file: object) -> bytes:
    read = getattr(file, "read", None)
    content = read() if callable(read) else None
    if not isinstance(content, bytes):
        raise XonncError(
            f"the model: not a {type(file).__name__}; give a path, bytes, a binary file or a ModelProto"
        )
    return content
