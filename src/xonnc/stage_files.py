"""IR in files as input of compilation: models in the onnx dialect, and dumps of the stages of native code."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import onnx
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.universe import Universe
from xdsl.utils.exceptions import ParseError

from xonnc.contexts import new_context
from xonnc.dialects.onnx.assembly.parser import UNPARSABLE, OnnxParser
from xonnc.errors import XonncError, cannot_read
from xonnc.formats.input_files import record_input
from xonnc.formats.onnx.exporter import export_proto
from xonnc.lowering.onnx_to_krnl.planning.krnl_attach_core import attached_core

SUFFIX = ".mlir"
"""The suffix of files of IR."""


ELIDED = "dense_resource<__elided__>"
"""The text in place of constants that `--elide-larger` leaves out."""


@dataclass(frozen=True)
class Stage:
    """The IR of a stage of native compilation, and the context of its constants."""

    module: ModuleOp
    context: Context


def is_ir(model: object) -> bool:
    """
    Whether a model is given as a file of IR, by its suffix.

    Parameters:
        model: the model, or its path.

    Returns: whether it is one.
    """
    return isinstance(model, str | Path) and Path(model).suffix.lower() == SUFFIX


def read_ir(path: Path, context: Context) -> ModuleOp:
    """
    Read and verify a module of any dialects.

    Parameters:
        path: the file.
        context: the context of its constants; all installed dialects are registered in it.

    Returns: the module.

    Raises: `XonncError` for a file that cannot be read, or without valid IR.
    """
    for name, factory in Universe.get_multiverse().all_dialects.items():
        if name not in context.registered_dialect_names:
            context.register_dialect(name, factory)
    record_input(path)
    try:
        text = path.read_text(encoding="utf-8")
        module = OnnxParser(context, text, str(path)).parse_module()
        module.verify()
    except OSError as error:
        raise cannot_read(path, error) from None
    except (ParseError, *UNPARSABLE) as error:
        reason = error.msg if isinstance(error, ParseError) else " ".join(str(error).split())
        raise XonncError(f"{path}: no valid IR ({reason}); 'onnx-opt {path}' shows where") from None
    if ELIDED in text:
        raise XonncError(f"{path}: constants were left out of this IR; dump it without --elide-larger")
    return module


def dialects_of(module: ModuleOp) -> set[str]:
    """
    Return the names of the dialects of the ops of a module.

    Parameters:
        module: the module.

    Returns: the names.
    """
    return {op.name.partition(".")[0] for op in module.walk()}


def model_or_stage(path: Path) -> onnx.ModelProto | Stage:
    """
    Read IR for compilation to native code.

    IR of the onnx dialect alone is a model, unless it has the core for which `xonnc compile` simplified it.

    Parameters:
        path: the file.

    Returns: the model, still to be simplified, or the stage.

    Raises: `XonncError` for a file without valid IR, or IR of which no native code is made.

    Example:
        >>> model_or_stage(Path("stages/09-krnl.mlir"))
    """
    context = new_context()
    module = read_ir(path, context)
    dialects = dialects_of(module)
    if "llvm" in dialects:
        raise XonncError(
            f"{path}: IR of the llvm dialect has no weights; compile the dump of an earlier stage, such as "
            "13-planned.mlir"
        )
    if foreign := sorted(dialects & {"dla", "tosa"}):
        raise XonncError(
            f"{path}: IR of the {foreign[0]} dialect, which is not for processors; compile the model, or a "
            "dump of 'xonnc compile --target cpu'"
        )
    if "krnl" not in dialects and attached_core(module) is None:
        try:
            return export_proto(module)
        except XonncError as error:
            raise XonncError(f"{path}: {error}") from None
    return Stage(module, context)
