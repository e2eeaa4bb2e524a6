"""
Models under verification: anything that has the outputs of an ONNX model, ready to run.

These are models, IR of any stage, native code, packages and loadables.
"""

from __future__ import annotations

import atexit
import subprocess
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from weakref import finalize

import numpy as np
import onnx

from xonnc.contexts import new_context
from xonnc.errors import XonncError, suggest
from xonnc.formats.onnx.loaded_export import load_proto, save_proto
from xonnc.formats.onnx.tensors import DTYPES
from xonnc.runtime.reference_process import ReferenceProcess
from xonnc.runtime.verification.reference_engines import Engine
from xonnc.runtime.verification.trial_inputs import Feeds
from xonnc.stage_files import dialects_of, read_ir
from xonnc.transforms.optimization_levels import DEFAULT_LEVEL, LEVELS

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from xonnc.formats.nvdla.loadable import Loadable
    from xonnc.runtime.native.session import Session
    from xonnc.runtime.nvdla.simulator import OpResult

ENGINES: Mapping[str, str] = {
    "onnxruntime": "onnxruntime without graph optimisations",
    "onnxruntime-optimized": "onnxruntime with all of them",
    "reference": "ONNX's reference evaluator",
    "simplified": "the simplified model",
    "native": "native code",
    **{f"O{level}": f"native code at -O{level}" for level in LEVELS},
    "c": "C source, compiled by the C compiler of the machine",
    "nvdla": "a loadable in the simulator",
}
"""Ways to run a model, by name."""

NOT_EXCHANGED = frozenset(
    number
    for name, number in onnx.TensorProto.DataType.items()
    if name.startswith(("BFLOAT16", "FLOAT4", "FLOAT6", "FLOAT8", "INT2", "INT4", "UINT2", "UINT4"))
)
"""Element types that onnxruntime has, but does not take from NumPy or does not give."""

MODEL_SUFFIXES = (".onnx", ".onnxtxt", ".onnxtext", ".json")
SUFFIXES = (*MODEL_SUFFIXES, ".mlir", ".so", ".c", ".xpkg", ".nvdla")

FP16_COSINE = 0.999
"""The least cosine similarity of what NVDLA computes, in FP16 or INT8."""


@dataclass(frozen=True)
class VerifiedModel:
    """A model ready to run."""

    name: str
    """File name and engine, for reports."""
    outputs: Sequence[str]
    run: Callable[[Feeds], Sequence[object]]
    """Return the outputs, in order; raises `XonncError` for inputs that it does not take."""
    proto: onnx.ModelProto | None = None
    """The model as ONNX, if it is one."""
    is_approximate: bool = False
    """Whether it computes in FP16 or INT8, so that outputs are compared by cosine similarity."""
    was_clamped: Callable[[], bool] = bool
    """Whether a result of the last run was clamped to float16's range; `False` if nothing computes in it."""


def open_model(
    path: str | Path,
    engine: str | None = None,
    *,
    target: str | None = None,
    level: int = DEFAULT_LEVEL,
) -> VerifiedModel:
    """
    Open a file to be run.

    Parameters:
        path: the file; its suffix is one of `SUFFIXES`. A folder is a saved session.
        engine: what runs an ONNX model: one of `ENGINES` (default: onnxruntime if it is installed, else the
            reference evaluator). Other files run in one way.
        target: the NVDLA configuration of a loadable or of IR for NVDLA; for native code the processor.
        level: the optimization level of the engines `simplified` and `native`.

    Returns: the opened model.

    Raises: `XonncError` for a file that cannot be read or run.

    Example:
        >>> open_model("model.onnx", "native").run({"x": array})
    """
    file = Path(path)
    if file.is_dir():
        from xonnc.native import load_native

        return of_session(load_native(file), file.name)
    suffix = file.suffix.lower()
    if suffix in MODEL_SUFFIXES:
        return open_proto(load_proto(file), engine, file.name, target=target, level=level)
    if not file.is_file():
        raise XonncError(f"{file}: no such file")
    if suffix not in SUFFIXES:
        raise XonncError(f"{file}: '{suffix}' cannot be run; what can: {', '.join(SUFFIXES)}")
    if engine is not None:
        raise XonncError(f"{file}: engine '{engine}' runs ONNX models only")
    opened = {".mlir": _ir, ".so": _library, ".c": _c_source, ".xpkg": _package, ".nvdla": _loadable}[suffix]
    return opened(file, target)


def open_proto(
    model: onnx.ModelProto,
    engine: str | None = None,
    name: str = "model",
    *,
    target: str | None = None,
    level: int = DEFAULT_LEVEL,
) -> VerifiedModel:
    """
    Open an ONNX model in memory.

    Parameters: `model`; `engine`, `target` and `level` as in `open_model`; `name` is its name in reports.

    Returns: the opened model.

    Raises: `XonncError` if the engine does not take the model.
    """
    chosen = engine or ("onnxruntime" if has_onnxruntime() else "reference")
    if chosen not in ENGINES:
        hint = suggest(chosen, ENGINES) or f"; there are {', '.join(ENGINES)}"
        raise XonncError(f"no engine '{chosen}'{hint}")
    if chosen in ("onnxruntime", "onnxruntime-optimized"):
        return _in_onnxruntime(model, name, chosen == "onnxruntime-optimized", is_default=engine is None)
    if chosen == "reference":
        return _by_reference(model, name)
    if chosen == "simplified":
        from xonnc.simplifier import simplify

        made = simplify(model, level=level).proto()
        return _renamed(open_proto(made, None, name), f"{name} simplified")
    if chosen == "nvdla":
        return _compiled_loadable(model, name, target)
    if chosen == "c":
        return open_compiled_c(model, name, level=level)
    from xonnc.native import compile_native

    number = level if chosen == "native" else int(chosen[1:])
    session = compile_native(model, target or "cpu", cache=False, level=number)
    return of_session(session, f"{name} native -O{number}", model)


def of_session(session: Session, name: str, proto: onnx.ModelProto | None = None) -> VerifiedModel:
    """
    Wrap a session of native code.

    Parameters: `session`, its `name` in reports, and the model `proto` that it was compiled from.

    Returns: the opened model.
    """
    outputs = [port.name for port in session.outputs]
    return VerifiedModel(name, outputs, lambda feeds: session.run(None, feeds), proto)


def open_compiled_c(
    model: onnx.ModelProto, name: str, disable_pass: Collection[str] = (), level: int = DEFAULT_LEVEL
) -> VerifiedModel:
    """
    Compile a model to C source, and that by the C compiler of the machine.

    Parameters: `model`; `name` is its name in reports, `disable_pass` has the passes of `level` to leave out.

    Returns: the opened model.

    Raises: `XonncError` if the model has no C source, or there is no C compiler.
    """
    from xonnc.artifacts import compile_artifact

    with TemporaryDirectory(prefix="xonnc-") as folder:
        path = Path(folder) / "model.c"
        compile_artifact(model, path, level=level, disable_pass=disable_pass)
        opened = _c_source(path, None)
    return VerifiedModel(f"{name} C", opened.outputs, opened.run, model)


def has_onnxruntime() -> bool:
    """
    Whether onnxruntime is installed.

    Returns: whether it is.
    """
    return find_spec("onnxruntime") is not None


def _renamed(model: VerifiedModel, name: str) -> VerifiedModel:
    return replace(model, name=name)


def _in_onnxruntime(model: onnx.ModelProto, name: str, is_optimized: bool, is_default: bool) -> VerifiedModel:
    """onnxruntime in a child process, which its crashes end alone."""
    if is_default and any(_element_type(info) in NOT_EXCHANGED for info in _ports(model)):
        with suppress(XonncError):
            return _by_reference(model, name)
    dtypes = [DTYPES.get(_element_type(info)) for info in model.graph.output]
    folder = TemporaryDirectory(prefix="xonnc-")
    process = _reference_process()
    path = Path(folder.name) / "model.onnx"
    save_proto(model, path)
    session = process.open(path, is_optimized)
    try:
        outputs = session.output_names()
    except XonncError as error:
        folder.cleanup()
        if is_default:
            # An operator without a kernel there: the reference evaluator may have it.
            with suppress(XonncError):
                return _by_reference(model, name)
        raise XonncError(str(error).replace(str(path), name)) from None

    def run(feeds: Feeds) -> Sequence[object]:
        try:
            values = session.run(feeds)
        except XonncError as error:
            raise XonncError(str(error).replace(str(path), name)) from None
        return [_of_declared_type(*pair) for pair in zip(values, dtypes, strict=True)]

    engine_name = "onnxruntime-optimized" if is_optimized else "onnxruntime"
    finalize(session, folder.cleanup)
    return VerifiedModel(f"{name} {engine_name}", outputs, run, model)


def _ports(model: onnx.ModelProto) -> Sequence[onnx.ValueInfoProto]:
    return [*model.graph.input, *model.graph.output]


def _element_type(info: onnx.ValueInfoProto) -> int:
    return info.type.tensor_type.elem_type


def _of_declared_type(value: object, dtype: np.dtype[Any] | None) -> object:
    """Return an output of onnxruntime, whose float8 of some formats are bytes."""
    if dtype is None or not dtype.name.startswith("float8"):
        return value
    array = np.asarray(value)
    return array.view(dtype) if array.dtype == np.uint8 else array


@cache
def _reference_process() -> ReferenceProcess:
    """The child process, which all models share."""
    process = ReferenceProcess()
    atexit.register(process.close)
    return process


def _by_reference(model: onnx.ModelProto, name: str) -> VerifiedModel:
    engine = Engine(model, by_reference=True)
    return VerifiedModel(
        f"{name} reference", engine.outputs, lambda feeds: list(engine.run(feeds).values()), model
    )


def _ir(path: Path, target: str | None) -> VerifiedModel:
    """IR of any stage but `llvm`, compiled from there on."""
    context = new_context()
    module = read_ir(path, context)
    dialects = dialects_of(module)
    if "llvm" in dialects:
        raise XonncError(f"{path}: the llvm dialect cannot be run; dump an earlier stage, such as 'planned'")
    if "dla" in dialects:
        return _dla_ir(path, module, target)
    if "krnl" not in dialects:
        from xonnc.formats.onnx.exporter import export_proto

        try:
            return open_proto(export_proto(module), None, path.name)
        except XonncError:
            # Legalised operators may be of a newer opset than the model, which only native code takes.
            module = read_ir(path, context)
    from xonnc.native import compile_module

    return of_session(compile_module(module, context, target or "cpu"), f"{path.name} native")


def _dla_ir(path: Path, module: ModuleOp, target: str | None) -> VerifiedModel:
    from xonnc.dialects.dla.storage import MemoryOp
    from xonnc.formats.nvdla.reader import parse_loadable
    from xonnc.formats.nvdla.writer import to_bytes
    from xonnc.lowering.dla_to_loadable.emit_loadable import loadable_of
    from xonnc.targets import DEFAULT_TARGET, load_target

    if not any(isinstance(op, MemoryOp) for op in module.walk()):
        raise XonncError(f"{path}: no value in it has an address; continue it with 'onnx-opt --dla-allocate'")
    hardware = load_target(target or DEFAULT_TARGET)
    return _simulated(parse_loadable(to_bytes(loadable_of(module, hardware)), path.name), path, target)


def _library(path: Path, target: str | None) -> VerifiedModel:
    from xonnc.runtime.native.library import Library

    library = Library(path)
    outputs = [port.name for port in library.outputs]
    return VerifiedModel(path.name, outputs, lambda feeds: library.run(None, feeds))


def _compiled_loadable(model: onnx.ModelProto, name: str, target: str | None) -> VerifiedModel:
    """A model as a loadable in the simulator; without calibration, QDQ nodes alone give INT8."""
    from xonnc.compiler import compile_model
    from xonnc.targets import DEFAULT_TARGET

    with TemporaryDirectory(prefix="xonnc-") as folder:
        path = Path(folder) / "model.onnx"
        save_proto(model, path)
        loadable = compile_model(path, target or DEFAULT_TARGET).loadable
        opened = _simulated(loadable, path, target)
    return replace(opened, name=f"{name} loadable", proto=model)


def _c_source(path: Path, target: str | None) -> VerifiedModel:
    """C source, compiled by the C compiler of the machine."""
    from xonnc.runtime.native.c_compiler import COMPILERS, c_compiler
    from xonnc.runtime.native.library import Library

    compiler = c_compiler()
    if compiler is None:
        raise XonncError(f"{path}: needs a C compiler ({', '.join(COMPILERS)}) to be run")

    folder = TemporaryDirectory(prefix="xonnc-")
    made = Path(folder.name) / f"{path.stem}.so"
    command = [*compiler, "-shared", "-fPIC", "-O1", "-o", str(made), str(path), "-lm", "-lpthread"]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if done.returncode:
        raise XonncError(f"{path}: {compiler[0]} does not compile it: {' '.join(done.stderr.split())[:300]}")
    weights = path.with_suffix(".weight")
    library = Library(made, weights if weights.is_file() else None)
    outputs = [port.name for port in library.outputs]
    finalize(library, folder.cleanup)
    return VerifiedModel(path.name, outputs, lambda feeds: library.run(None, feeds))


def _package(path: Path, target: str | None) -> VerifiedModel:
    from xonnc.package_engine import load_package

    clamped = _ClampedResults()
    package = load_package(path, target, observer=clamped.observe)

    def run(feeds: Feeds) -> Sequence[object]:
        clamped.exist = False
        return list(package.run(feeds).values())

    return VerifiedModel(
        path.name, list(package.outputs), run, is_approximate=True, was_clamped=lambda: clamped.exist
    )


def _loadable(path: Path, target: str | None) -> VerifiedModel:
    from xonnc.formats.nvdla.checks.loadable_check import read_fitting
    from xonnc.targets import DEFAULT_TARGET, load_target

    return _simulated(read_fitting(path, load_target(target or DEFAULT_TARGET)), path, target)


def _simulated(loadable: Loadable, path: Path, target: str | None) -> VerifiedModel:
    from xonnc.runtime.nvdla.simulator import Simulator
    from xonnc.targets import DEFAULT_TARGET, load_target

    clamped = _ClampedResults()
    simulator = Simulator(loadable, load_target(target or DEFAULT_TARGET), observer=clamped.observe)

    def run(feeds: Feeds) -> Sequence[object]:
        clamped.exist = False
        bound = [feeds[tensor.name].reshape(tensor.model_shape) for tensor in simulator.inputs]
        return [output.numbers for output in simulator.run(bound)]

    outputs = [tensor.name for tensor in simulator.outputs]
    return VerifiedModel(path.name, outputs, run, is_approximate=True, was_clamped=lambda: clamped.exist)


MAX_FP16 = float(np.finfo(np.float16).max)
"""65504, which hardware gives in place of larger numbers."""


@dataclass
class _ClampedResults:
    """Whether results in float16 of a run have an element of the largest magnitude."""

    exist: bool = False

    def observe(self, result: OpResult) -> None:
        """Look at the result of a hardware operation."""
        values = result.tensor()
        if values is not None and values.dtype == np.float16:
            self.exist = self.exist or bool((np.abs(values) == MAX_FP16).any())
