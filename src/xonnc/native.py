"""
Compile ONNX models to native code that runs in this process.

    session = xonnc.compile("model.onnx", target="cpu")
    outputs = session.run(None, {"x": array})
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import onnx
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from xonnc.argument_types import checks_arguments
from xonnc.errors import XonncError
from xonnc.formats.native.saved_program import read_saved
from xonnc.formats.native.stored_program import StoredProgram
from xonnc.native_compilation import (
    MAX_THREADS,
    CompileOptions,
    compile_program,
    measured_tiles,
    resolve_processor,
)
from xonnc.native_sessions import load_executable, open_session
from xonnc.runtime.native.jit import Threads, host_identity
from xonnc.runtime.native.session import Session
from xonnc.transforms.models.set_layouts_onnx import Layouts
from xonnc.transforms.optimization_levels import DEFAULT_LEVEL

if TYPE_CHECKING:
    from xonnc.calibration import Samples
    from xonnc.formats.nvdla.calibration import Ranges


@checks_arguments
def compile_native(
    model: str | Path | onnx.ModelProto,
    target: str = "cpu",
    threads: int = 1,
    *,
    cache: bool = True,
    profile: bool = False,
    unsafe: bool = False,
    level: int = DEFAULT_LEVEL,
    enable_pass: Collection[str] = (),
    disable_pass: Collection[str] = (),
    tuning: bool = True,
    layouts: Layouts | None = None,
    calibrate: Samples | Callable[[ModuleOp], Ranges] | None = None,
    method: str | None = None,
    keep_float: Sequence[str] = (),
    accuracy: float | None = None,
) -> Session:
    """
    Compile a model to native code for this processor.

    Operators without a kernel run in the ONNX reference evaluator; `Session.report` lists them.

    Parameters:
        model: the path of the model, or the model in memory.
        target: `cpu` for this processor, or a processor kind such as `avx2` that it supports.
        threads: the number of threads of a run, 1 to 256.
        cache: whether compiled code is kept in the disk cache and read from it.
        profile: whether each kernel is timed, for `Session.profile`.
        unsafe: whether run-time checks of indices and counts are left out; out-of-range indices are then
            undefined behaviour.
        level: the optimization level, 0 to 3. LLVM uses the same level; 3 doubles the compile time and seldom
            gains speed, since vectorisation and tiling are done before LLVM.
        enable_pass: passes to run in addition to those of the level.
        disable_pass: passes of the level to leave out.
        tuning: whether tile sizes measured by `xonnc tune` are used, for the target `cpu`.
        layouts: layouts of inputs and outputs by name: `{"x": "NHWC"}`, or `NCHW:NHWC` with the model's own.
        calibrate: samples to quantize a float model to INT8 with, as `xonnc.quantize` takes them.
        method: how samples become ranges; `None` for the default of `xonnc.quantize`.
        keep_float: names of nodes that `calibrate` leaves in float.
        accuracy: the lowest cosine similarity of an output with the float model's, as in `xonnc.quantize`.

    Returns: a session. It compiles a program for the input shapes of each `run`, once.

    Raises:
        InvalidModelError: for an invalid model.
        UnknownNameError: for an unknown target or level.
        XonncError: for a file that is not a model, or an option out of range.

    Example:
        >>> session = xonnc.compile("model.onnx", target="cpu", threads=2)
        >>> outputs = session.run(None, {"x": array})
    """
    processor = resolve_processor(target)
    if not 1 <= threads <= MAX_THREADS:
        raise XonncError(f"threads: {threads}; 1 to {MAX_THREADS} can share a run")
    if calibrate is not None:
        # Imported late: few sessions quantize.
        from xonnc.quantizer import DEFAULT_METHOD, quantize

        found = quantize(
            model, calibrate, method=method or DEFAULT_METHOD, keep_float=keep_float, accuracy=accuracy
        )
        model = found.proto()
    elif keep_float or accuracy is not None:
        option = "keep_float" if keep_float else "accuracy"
        raise XonncError(f"{option}: without samples in calibrate= nothing is quantized")
    tiles = measured_tiles(target, tuning)
    options = CompileOptions(
        processor,
        threads,
        profile,
        unsafe,
        level,
        enable_pass=enable_pass,
        disable_pass=disable_pass,
        tiles=tiles,
        layouts=layouts or {},
    )
    return open_session(model, options, target, cache)


@checks_arguments
def load_native(folder: str | Path, threads: int | None = None) -> Session:
    """
    Load a session that `Session.save` wrote.

    The loaded session accepts the input shapes that the saved one accepts.

    Parameters:
        folder: the folder.
        threads: the number of threads of a run, at most those that it was compiled for (default: these).

    Returns: the session.

    Raises: `XonncError` for missing or damaged files, files of different programs, code for another
        processor, or more threads than it was compiled for.

    Example:
        >>> session = xonnc.load("saved")
    """
    path = Path(folder)
    if path.is_file():
        known = {
            ".so": "; xonnc.Library opens a library",
            ".xpkg": "; xonnc.load_package opens a package",
            ".nvdla": "; xonnc.Simulator runs a loadable",
            ".onnx": "; xonnc.compile compiles a model",
        }
        hint = known.get(path.suffix, "")
        raise XonncError(f"{path}: a file; load takes the folder that Session.save wrote{hint}")
    saved = read_saved(path)
    if saved.processor != host_identity():
        raise XonncError(
            f"{folder}: code for a {saved.processor.split()[0]} processor and its features, which is not "
            "this one; compile the model here"
        )
    started = saved.threads if threads is None else threads
    if not 1 <= started <= saved.threads:
        raise XonncError(
            f"threads: {started}; {folder} is compiled for 1 to {saved.threads}; compile with more threads"
        )
    stored = StoredProgram(saved.program, saved.code, ())
    loaded = load_executable(stored, Threads(saved.threads, started))
    return Session(lambda shapes, values: loaded)


def compile_module(module: ModuleOp, context: Context, target: str = "cpu") -> Session:
    """
    Compile the IR of a stage from `simplified` to `planned` to native code for this processor.

    The session accepts the input shapes of the module.

    Parameters:
        module: the module, changed in place.
        context: the context that holds its constants.
        target: `cpu` or a processor kind, as in `compile_native`.

    Returns: the session.

    Raises: `XonncError` for a module that cannot be compiled.
    """
    options = CompileOptions(resolve_processor(target))
    threads = Threads(options.threads, options.threads)
    loaded = load_executable(compile_program(module, options, context), threads)
    return Session(lambda shapes, values: loaded)
